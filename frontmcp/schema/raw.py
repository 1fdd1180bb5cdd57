"""JSON Schema as such: one that a user wrote, compiled; its references; the wrapping of what is no object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Final, TypeAlias

import pydantic_core
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.exceptions import ValidationError as JsonSchemaError
from jsonschema.validators import validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, specification_with

from frontmcp.errors import ConfigurationError

Json: TypeAlias = dict[str, Any]

MAX_ISSUES: Final = 50
"""How many issues an error lists."""

_TELLING: Final = frozenset({
    "type", "enum", "const", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
})  # fmt: skip
"""Keywords whose value in the schema says what was expected."""


class JsonSchema:
    """A JSON Schema (2020-12) that is served verbatim; for ``input_schema=`` and ``output_schema=``.

    :param schema: the schema; a ``$ref`` may point into it, never to the network.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema: Json = dict(schema)


class SchemaCheck:
    """A JSON Schema, compiled: called with JSON data it lists what is wrong with it."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._accepts = _fast_check(schema)

    @property
    def is_fast(self) -> bool:
        """Whether jsonschema-rs does the work."""
        return self._accepts is not None

    @cached_property
    def _validator(self) -> Any:
        # An empty registry: nothing is ever fetched.
        return validator_for(self._schema, default=Draft202012Validator)(self._schema, registry=Registry())

    def __call__(self, data: Any) -> list[Json]:
        """The issues, each with ``path``, ``message`` and ``type``, none with a value of the data."""
        if self._accepts is not None and self._accepts(data):
            return []
        try:
            errors = list(islice(self._validator.iter_errors(data), MAX_ISSUES))
        except RecursionError:
            return [{"path": [], "message": "Value is nested too deeply", "type": "nested_too_deeply"}]
        # A missing field is an error of its own for each field, but does not say which.
        unique = {(tuple(issue["path"]), issue["type"]): issue for error in errors for issue in _issues(error)}
        return list(unique.values())


def _fast_check(schema: Json) -> Callable[[Any], bool] | None:
    """The schema compiled by jsonschema-rs, where that is installed and can read it."""
    try:
        import jsonschema_rs
    except ImportError:
        return None

    def refuse(uri: str) -> Any:
        raise ValueError(f"remote reference {uri}")

    try:
        accepts: Callable[[Any], bool] = jsonschema_rs.validator_for(
            schema, validate_formats=False, retriever=refuse
        ).is_valid
    except ValueError:
        return None
    return accepts


def _issues(error: JsonSchemaError) -> Iterator[Json]:
    path, keyword, expected = list(error.absolute_path), str(error.validator), error.validator_value
    if keyword == "required":
        for name in expected:
            if name not in error.instance:
                yield {"path": [*path, name], "message": "Field required", "type": keyword}
    else:
        message = f"Value does not match {keyword}" + (f": {expected}" if keyword in _TELLING else "")
        yield {"path": path, "message": message, "type": keyword}


def check_schema(schema: Json) -> None:
    """Refuse a schema that is not valid, or refers outside itself.

    :raises ConfigurationError: with the reason.
    """
    dialect = validator_for(schema, default=Draft202012Validator)
    try:
        dialect.check_schema(schema)
        pydantic_core.to_json(schema)
    except SchemaError as error:
        raise ConfigurationError(f"not a valid JSON Schema: {error.message}") from error
    except ValueError as error:
        raise ConfigurationError(f"not a valid JSON Schema: {error}") from error
    specification = specification_with(dialect.META_SCHEMA["$schema"], default=DRAFT202012)
    resource = specification.create_resource(schema)
    _check_part(resource, Registry().resolver_with_root(resource))


def _check_part(resource: Resource[Any], resolver: Any) -> None:
    part = resource.contents
    if not isinstance(part, Mapping):
        return
    for keyword in ("$ref", "$dynamicRef"):
        _check_reference(keyword, part.get(keyword), resolver)
    for inner in resource.subresources():
        _check_part(inner, resolver.in_subresource(inner))


def _check_reference(keyword: str, reference: str | None, resolver: Any) -> None:
    if reference is None:
        return
    try:
        resolver.lookup(reference)
    except Unresolvable:
        raise ConfigurationError(
            f'"{keyword}": "{reference}" points outside the schema, or nowhere in it; nothing is fetched'
        ) from None


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
