"""Results out: a schema to list, and JSON data from what a body returned, checked against it."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaSerializer

from frontmcp.errors import ConfigurationError, InvalidOutputError
from frontmcp.schema.issues import data_path, issues
from frontmcp.schema.raw import Json, JsonSchema, SchemaCheck, admits_null, check_schema, load_engine, wrapped_schema
from frontmcp.schema.types import Shape, adapter_of, culprit, schema_of, type_of_shape
from frontmcp.schema.values import as_object, dotted, json_text, jsonable, unserializable

MISMATCH = "output does not match outputSchema"
_UNFIT: Any = object()


Check: TypeAlias = Callable[[Any], list[Json]]
"""JSON data → what is wrong with it."""


class Output:
    """The result of an entry that says what it returns.

    :ivar schema: as listed to clients that take any JSON.
    :ivar wraps_null: the value travels as ``{"result": value}`` in every era, since it may be null.

    :param matches: checks data against ``schema``.
    :param dump: JSON data from a value.
    :param recheck: looks at what was dumped once more; None where it can't but match.
    """

    def __init__(
        self, schema: Json, matches: Check, dump: Callable[[Any], Any], recheck: Check | None, *, wraps_null: bool
    ) -> None:
        self._matches = matches
        self._dump = dump
        self._recheck = recheck
        self.wraps_null = wraps_null
        self.schema = wrapped_schema(schema) if wraps_null else schema

    @property
    def is_object(self) -> bool:
        return self.schema.get("type") == "object"

    @property
    def object_schema(self) -> Json:
        """As listed to clients up to 2025-11-25, whose results are objects."""
        return self.schema if self.is_object else wrapped_schema(self.schema)

    def prepare(self, *, verifies: bool) -> None:
        """Load what is needed to check results, for else the first call would wait for it.

        :param verifies: whether there may be results to `verify`.
        """
        if verifies or isinstance(self._recheck, SchemaCheck):
            load_engine()

    def check(self, value: Any) -> Any:
        """JSON data from a value.

        :raises InvalidOutputError: it does not match, or a part of it is no JSON.
        """
        data = self._dump(value)
        if self._recheck is not None and (issues := self._recheck(data)):
            raise _mismatch(issues[0]["path"])
        return data

    def verify(self, data: Any) -> None:
        """Check JSON data as it stands.

        :raises InvalidOutputError: it does not match.
        """
        if issues := self._matches(data):
            raise _mismatch(issues[0]["path"])


def _mismatch(path: Sequence[Any]) -> InvalidOutputError:
    return InvalidOutputError(MISMATCH, dotted(path))


def output_from_json_schema(given: JsonSchema) -> Output:
    """A result that matches a raw JSON Schema."""
    check_schema(given.schema)
    matches = SchemaCheck(given.schema)
    return Output(given.schema, matches, jsonable, matches, wraps_null=not matches(None))


def output_as_listed(given: JsonSchema) -> Output:
    """A result that travels as it is, and matches a raw JSON Schema: that of another server."""
    check_schema(given.schema)
    matches = SchemaCheck(given.schema)
    return Output(given.schema, matches, jsonable, matches, wraps_null=False)


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
    matches = SchemaCheck(schema)
    to_data = _dumper(adapter)
    dump = to_data if opened is annotation else lambda value: to_data(_without_name(value))
    nullable = admits_null(schema, schema.get("$defs", {}))
    return Output(schema, matches, dump, _recheck(adapter, matches), wraps_null=nullable)


def _recheck(adapter: TypeAdapter[Any], matches: SchemaCheck) -> Check | None:
    core = adapter.core_schema
    if not _contains(core, _may_lie):
        return None
    return matches if _contains(core, _dumps_otherwise) else _strict_check(adapter)


def _strict_check(adapter: TypeAdapter[Any]) -> Check:
    """The type itself as a check of its dumped data: in Python much faster than its JSON Schema."""
    validate = adapter.validator.validate_json

    def check(data: Any) -> list[Json]:
        try:
            validate(json_text(data), strict=True, by_alias=True, by_name=True)
        except ValidationError as error:
            return [{"path": data_path(error.errors(include_input=False)[0], data, _Everything())}]
        return []

    return check


def _dumper(adapter: TypeAdapter[Any]) -> Callable[[Any], Any]:
    validate = adapter.validator.validate_python
    # By default NaN in a value of type Any would become null in silence.
    serialize = SchemaSerializer(adapter.core_schema, {"ser_json_inf_nan": "constants"}).to_python

    def dump(value: Any) -> Any:
        try:
            valid = validate(value, by_alias=True, by_name=True)
        except ValidationError:
            valid = _UNFIT
        if valid is _UNFIT:
            # Not while the other error is handled, which shows the value, and would be the context of what is raised.
            valid = _from_json_data(validate, value)
        try:
            return serialize(valid, mode="json", by_alias=True, warnings=False, fallback=as_object)
        except Exception as error:
            raise unserializable(value) from error

    return dump


def _from_json_data(validate: Callable[..., Any], value: Any) -> Any:
    """Once more from JSON data: another model with the same fields, a date where text is asked for."""
    data = jsonable(value)
    try:
        return validate(data, by_alias=True, by_name=True)
    except ValidationError as error:
        found = issues(error, data, _Everything())[0]
    mismatch = _mismatch(found["path"])
    mismatch.add_note(found["message"])
    raise mismatch


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


def _may_lie(node: Json) -> bool:
    """An instance that exists already is not validated again, and a user's functions give what they give."""
    return node.get("type") in ("model", "dataclass") or _dumps_otherwise(node)


def _dumps_otherwise(node: Json) -> bool:
    """What is dumped may look otherwise than what is read, or reading it runs a user's own code."""
    kind = str(node.get("type"))
    return (
        kind in ("computed-field", "json")
        or kind.startswith("function")
        or node.get("serialization_alias") != node.get("validation_alias")
        or any(node.get(key) for key in ("serialization", "serialization_exclude", "post_init", "custom_init"))
        or any(key.startswith(("ser_json", "val_json")) for key in node.get("config") or ())
    )
