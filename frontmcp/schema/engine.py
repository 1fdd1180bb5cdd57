"""The engine behind a JSON Schema that a user wrote: jsonschema, and jsonschema-rs where it is installed.

Loaded by the first schema that needs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from itertools import islice
from typing import Any, Final

import pydantic_core
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.exceptions import ValidationError as JsonSchemaError
from jsonschema.validators import extend, validator_for
from pydantic_core import SchemaValidator, core_schema
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, specification_with

from frontmcp.errors import ConfigurationError
from frontmcp.schema.raw import MAX_ISSUES, Json

_TELLING: Final = frozenset({
    "type", "enum", "const", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
})  # fmt: skip
"""Keywords whose value in the schema says what was expected."""


class Compiled:
    """A JSON Schema, compiled: called with JSON data it lists what is wrong with it."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._accepts = _fast_check(schema)

    @cached_property
    def _validator(self) -> Any:
        dialect = extend(validator_for(self._schema, default=Draft202012Validator), _LINEAR)
        # An empty registry: nothing is ever fetched.
        return dialect(self._schema, registry=Registry())

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


@cache
def _search(pattern: str) -> Callable[[str], bool]:
    """Whether a pattern is found in a text, in time that grows with the text alone.

    Python's own engine tries every way there is, and 30 characters can hold the process for an hour. It is left with
    patterns that look around themselves, where jsonschema-rs, which gives up in time, is not installed.
    """
    try:
        found: Callable[[str], bool] = SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    except pydantic_core.SchemaError:
        compiled = re.compile(pattern)
        return _fast_check({"pattern": pattern}) or (lambda text: compiled.search(text) is not None)
    return found


def _pattern(validator: Any, pattern: str, instance: Any, schema: Json) -> Iterator[JsonSchemaError]:
    if validator.is_type(instance, "string") and not _search(pattern)(instance):
        yield JsonSchemaError("no match")


def _pattern_properties(validator: Any, patterns: Json, instance: Any, schema: Json) -> Iterator[JsonSchemaError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if _search(pattern)(name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Json) -> Iterator[JsonSchemaError]:
    if not validator.is_type(instance, "object"):
        return
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [name for name in instance if name not in declared and not any(_search(each)(name) for each in patterns)]
    if allowed is False and extras:
        yield JsonSchemaError("more than is declared")
    elif validator.is_type(allowed, "object"):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)


_LINEAR: Final[Mapping[str, Any]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}
"""The keywords that search for patterns in what was sent."""


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
