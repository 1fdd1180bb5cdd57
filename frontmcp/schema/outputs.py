"""Results out: a schema to list, and JSON data from what a body returned, checked against it."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from frontmcp.errors import ConfigurationError, InvalidOutputError
from frontmcp.schema.issues import data_path
from frontmcp.schema.raw import Json, JsonSchema, SchemaCheck, check_schema, wrapped_schema
from frontmcp.schema.types import Shape, adapter_of, culprit, schema_of, type_of_shape
from frontmcp.schema.values import dotted, jsonable, unserializable

MISMATCH = "output does not match outputSchema"


class Output:
    """The result of an entry that says what it returns.

    :ivar schema: as listed to clients that take any JSON.
    :param dump: JSON data from a value.
    :param recheck: looks at the dumped data once more, where dumping valid input can give what does not match.
    :ivar wraps_null: the value travels as ``{"result": value}`` in every era, since it may be null.
    """

    def __init__(self, schema: Json, dump: Callable[[Any], Any], recheck: Callable[[Any], None] | None = None) -> None:
        self._issues = SchemaCheck(schema)
        self._dump = dump
        self._recheck = recheck
        self.wraps_null = not self._issues(None)
        self.schema = wrapped_schema(schema) if self.wraps_null else schema

    @property
    def is_object(self) -> bool:
        return self.schema.get("type") == "object"

    @property
    def object_schema(self) -> Json:
        """As listed to clients up to 2025-11-25, whose results are objects."""
        return self.schema if self.is_object else wrapped_schema(self.schema)

    def check(self, value: Any) -> Any:
        """JSON data from a value.

        :raises InvalidOutputError: it does not match, or a part of it is no JSON.
        """
        data = self._dump(value)
        if self._recheck is not None:
            self._recheck(data)
        return data

    def recheck_by_schema(self) -> None:
        """Check dumped data against the listed schema."""
        self._recheck = self.verify

    def verify(self, data: Any) -> None:
        """Check JSON data as it stands.

        :raises InvalidOutputError: it does not match.
        """
        if issues := self._issues(data):
            raise InvalidOutputError(MISMATCH, dotted(issues[0]["path"]))


def output_from_json_schema(given: JsonSchema) -> Output:
    """A result that matches a raw JSON Schema."""
    check_schema(given.schema)
    made = Output(given.schema, jsonable)
    made.recheck_by_schema()
    return made


def output_from_shape(shape: Shape, name: str) -> Output:
    """A result with the fields of a shape.

    :raises ConfigurationError: a field can't be part of a schema, named with the reason.
    """
    try:
        return output_from_type(type_of_shape(shape, name))
    except ConfigurationError as error:
        field = culprit(shape, "serialization")
        raise ConfigurationError(f"field {field!r}: {error}" if field is not None else str(error)) from error


def output_from_type(annotation: Any) -> Output:
    """A result that is of a type; data beyond it is dropped.

    :raises ConfigurationError: the type has no schema, with the reason.
    """
    opened = _opened(annotation)
    adapter = adapter_of(opened)
    schema = schema_of(adapter, "serialization")
    to_data = _dumper(adapter)
    dump = to_data if opened is annotation else lambda value: to_data(_without_name(value))
    if not _contains(adapter.core_schema, _may_lie):
        return Output(schema, dump)
    if not _contains(adapter.core_schema, _dumps_otherwise):
        return Output(schema, dump, _validator(adapter))
    made = Output(schema, dump)
    made.recheck_by_schema()
    return made


def _validator(adapter: TypeAdapter[Any]) -> Callable[[Any], None]:
    """Validates dumped data anew: ten times faster than its JSON Schema, where dumping gives back what was valid."""
    validate = adapter.validator.validate_python

    def recheck(data: Any) -> None:
        try:
            validate(data, by_alias=True, by_name=True)
        except ValidationError as error:
            path = data_path(error.errors(include_input=False)[0], data, _Everything())
        else:
            return
        raise InvalidOutputError(MISMATCH, dotted(path))

    return recheck


def _dumper(adapter: TypeAdapter[Any]) -> Callable[[Any], Any]:
    validate, serialize = adapter.validator.validate_python, adapter.serializer.to_python

    def dump(value: Any) -> Any:
        try:
            valid = validate(value, by_alias=True, by_name=True)
        except ValidationError:
            valid = _from_json_data(validate, value)
        try:
            return serialize(valid, mode="json", by_alias=True, warnings=False)
        except Exception as error:
            raise unserializable(value) from error

    return dump


def _from_json_data(validate: Callable[..., Any], value: Any) -> Any:
    """Once more from JSON data: another model with the same fields, a date where text is asked for."""
    data = jsonable(value)
    try:
        return validate(data, by_alias=True, by_name=True)
    except ValidationError as error:
        path = data_path(error.errors(include_input=False)[0], data, _Everything())
    raise InvalidOutputError(MISMATCH, dotted(path))


class _Everything:
    """Declares every name: what a tool returned is the server's own and may be named."""

    def __contains__(self, name: object) -> bool:
        return True


def _opened(annotation: Any) -> Any:
    """The annotation with named tuples, alone or in a union, as objects with their fields."""
    if is_named_tuple_type(annotation):
        hints = typing.get_type_hints(annotation, include_extras=True)
        defaults = annotation._field_defaults
        fields = {name: (hints.get(name, Any), defaults.get(name, ...)) for name in annotation._fields}
        return type_of_shape(fields, annotation.__name__)
    if get_origin(annotation) in (Union, types.UnionType):
        members = get_args(annotation)
        opened = tuple(map(_opened, members))
        return annotation if opened == members else Union[opened]  # noqa: UP007
    return annotation


def is_named_tuple_type(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields")


def _without_name(value: Any) -> Any:
    return value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else value


def _contains(node: Any, matches: Callable[[dict[str, Any]], bool]) -> bool:
    """Whether any part of a core schema matches."""
    if isinstance(node, dict):
        return matches(node) or any(_contains(value, matches) for value in node.values())
    return isinstance(node, list | tuple) and any(_contains(item, matches) for item in node)


def _may_lie(node: dict[str, Any]) -> bool:
    """An instance that exists already is not validated again, and a user's functions give what they give."""
    return node.get("type") in ("model", "dataclass") or _dumps_otherwise(node)


def _dumps_otherwise(node: dict[str, Any]) -> bool:
    """What is dumped may look otherwise than what is read: by a user's function, a computed field, an alias."""
    kind = node.get("type")
    return (
        kind == "computed-field"
        or (isinstance(kind, str) and kind.startswith("function"))
        or node.get("serialization_alias") != node.get("validation_alias")
    )
