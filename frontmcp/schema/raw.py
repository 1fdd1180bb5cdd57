"""JSON Schema as such: one that a user wrote; its references; the wrapping of what is no object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

MAX_ISSUES: Final = 50
"""How many issues an error lists."""


class JsonSchema:
    """A JSON Schema (2020-12) that is served verbatim; for ``input_schema=`` and ``output_schema=``.

    :param schema: the schema; a ``$ref`` may point into it, never to the network.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema: Json = dict(schema)

    @cached_property
    def check(self) -> SchemaCheck:
        """Lists what is wrong with JSON data."""
        return SchemaCheck(self.schema)


class SchemaCheck:
    """A JSON Schema: called with JSON data it lists what is wrong with it.

    Compiled at its first use, since the engine is heavy and most servers never need it.
    """

    def __init__(self, schema: Json) -> None:
        self._schema = schema

    @cached_property
    def _compiled(self) -> Callable[[Any], list[Json]]:
        from frontmcp.schema.engine import Compiled

        return Compiled(self._schema)

    def __call__(self, data: Any) -> list[Json]:
        """The issues, each with ``path``, ``message`` and ``type``, none with a value of the data."""
        return self._compiled(data)


def load_engine() -> None:
    """Load what a `SchemaCheck` is compiled by, before a call has to wait for it."""
    from frontmcp.schema.engine import Compiled  # noqa: F401


def check_schema(schema: Json) -> None:
    """Refuse a schema that is not valid, or refers outside itself.

    :raises ConfigurationError: with the reason.
    """
    from frontmcp.schema.engine import check_schema as check

    check(schema)


def inline_references(schema: Json) -> Json:
    """``schema`` with each local ``$ref`` replaced by what it names; recursive definitions stay.

    For what pydantic makes: definitions stand in ``$defs`` at the root.
    """
    definitions: Json = schema.get("$defs", {})
    recursive = {name for name in definitions if _reaches(name, name, definitions)}

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(item) for item in node]
        if not isinstance(node, dict):
            return node
        name = _definition(node)
        if name is None or name in recursive:
            return {key: inline(value) for key, value in node.items()}
        return {**inline(definitions[name]), **{key: inline(value) for key, value in node.items() if key != "$ref"}}

    root = {key: value for key, value in schema.items() if key != "$defs"}
    if (name := _definition(root)) in recursive:
        # The protocol wants to see "type": "object" at the root.
        root = {**definitions[name], **{key: value for key, value in root.items() if key != "$ref"}}
    inlined: Json = inline(root)
    kept = {name: inline(definition) for name, definition in definitions.items() if name in recursive}
    return {**inlined, "$defs": kept} if kept else inlined


def _definition(node: Json) -> Any:
    reference = node.get("$ref")
    prefix = "#/$defs/"
    return reference.removeprefix(prefix) if isinstance(reference, str) and reference.startswith(prefix) else None


def _reaches(start: str, goal: str, definitions: Json) -> bool:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for node in nodes(definitions[ahead.pop()]):
            name = _definition(node)
            if name == goal:
                return True
            if name is not None and name not in seen:
                seen.add(name)
                ahead.append(name)
    return False


def nodes(node: Any) -> Iterator[Json]:
    """Every object in a schema, itself first."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)
    elif isinstance(node, list):
        for item in node:
            yield from nodes(item)


def property_names(schema: Json) -> frozenset[str]:
    """The names of all properties that a schema declares, at any level."""
    declaring = (node["properties"] for node in nodes(schema) if isinstance(node.get("properties"), dict))
    return frozenset(name for properties in declaring for name in properties)


def admits_null(schema: Json, definitions: Json) -> bool:
    """Whether null can match a schema; in doubt it can.

    :param definitions: what its references name.
    """
    if (name := _definition(schema)) is not None:
        return admits_null(definitions.get(name, {}), definitions)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(admits_null(each, definitions) for each in schema[keyword])
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return "null" in kinds
    if "allOf" in schema:
        return all(admits_null(each, definitions) for each in schema["allOf"])
    return None in schema["enum"] if "enum" in schema else schema.get("const") is None


def wrapped_schema(schema: Json) -> Json:
    """The schema of ``{"result": value}`` for the schema of a value."""
    wrapper: Json = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    if "$id" in schema:
        # Its references start at itself wherever it stands.
        return wrapper
    inner = _moved(schema, "#/properties/result")
    wrapper["properties"] = {"result": inner}
    return wrapper | {key: inner.pop(key) for key in ("$schema", "$defs") if key in inner}


def _moved(node: Any, place: str) -> Any:
    """A schema whose references to its own root are made good for standing at ``place``; ``$defs`` stay at the root."""
    if isinstance(node, list):
        return [_moved(item, place) for item in node]
    if not isinstance(node, dict):
        return node
    moved = {key: _moved(value, place) for key, value in node.items()}
    reference = moved.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")) and _definition(moved) is None:
        moved["$ref"] = place + reference[1:]
    return moved
