"""From what a user wrote to JSON Schema and a compiled validator: arguments in, results out.

Everything here is built once, when an entry is registered. No error text carries a value the caller
sent, for any form of schema.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import math
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

import pydantic_core
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.exceptions import ValidationError as JsonSchemaError
from jsonschema.validators import validator_for
from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
from referencing.exceptions import Unresolvable
from typing_extensions import is_typeddict

from frontmcp.content import CONTENT_TYPES, annotates_content
from frontmcp.errors import ConfigurationError, InvalidInputError, InvalidOutputError

Json: TypeAlias = dict[str, Any]
Shape: TypeAlias = Mapping[str, Any]


class JsonSchema:
    """A JSON Schema (2020-12) that is served verbatim; for ``input_schema=`` and ``output_schema=``.

    :param schema: the schema; a ``$ref`` may point into it, never to the network.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema: Json = dict(schema)


SchemaLike: TypeAlias = type[BaseModel] | Shape | JsonSchema


class _CompactSchema(GenerateJsonSchema):
    """Leaves out the titles that only repeat a field's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class Input:
    """The arguments of an entry: their schema, and typed input from them.

    :ivar schema: as listed.
    :ivar validate: arguments → a dict of typed values, or the model; raises `InvalidInputError`.
    """

    __slots__ = ("schema", "validate")

    def __init__(self, schema: Json, validate: Callable[[Mapping[str, Any]], Any]) -> None:
        self.schema = schema
        self.validate = validate


def input_from_model(model: type[BaseModel], *, as_model: bool) -> Input:
    """Arguments that are the fields of ``model``; typed input is the model itself or its fields."""
    validate_python = model.__pydantic_validator__.validate_python
    schema = model_schema(model, mode="validation")
    declared = frozenset(_property_names(schema))

    def validate(arguments: Mapping[str, Any]) -> Any:
        try:
            instance = validate_python(arguments)
        except ValidationError as error:
            raise InvalidInputError(validation_errors=issues(error, arguments, declared)) from None
        if as_model:
            return instance
        extra = instance.__pydantic_extra__
        return {**instance.__dict__, **extra} if extra else instance.__dict__

    return Input(schema, validate)


def input_from_json_schema(given: JsonSchema) -> Input:
    """Arguments that match a raw JSON Schema; defaults of its properties are filled in."""
    check = JsonSchemaCheck(given.schema)
    if given.schema.get("type", "object") != "object":
        raise ConfigurationError('an input schema must have "type": "object"')
    properties: Mapping[str, Any] = given.schema.get("properties", {})
    defaults = {name: p["default"] for name, p in properties.items() if isinstance(p, dict) and "default" in p}
    declared = frozenset(_property_names(given.schema))

    def validate(arguments: Mapping[str, Any]) -> Any:
        filled = {**defaults, **arguments}
        if (error := check(filled)) is not None:
            raise InvalidInputError(validation_errors=[_json_schema_issue(error, declared)])
        return filled

    return Input({"type": "object", **given.schema}, validate)


def model_from_shape(shape: Shape, name: str, *, extra: Literal["ignore", "allow"] = "ignore") -> type[BaseModel]:
    """A model from ``{"id": str, "limit": (int, 10), …}``.

    :raises ConfigurationError: a field can't be part of a schema, named with the reason.
    """
    fields: dict[str, Any] = {
        field: given if isinstance(given, tuple) else (given, ...) for field, given in shape.items()
    }
    config = ConfigDict(extra=extra, allow_inf_nan=False, protected_namespaces=(), arbitrary_types_allowed=False)
    try:
        with warnings.catch_warnings():
            # A field may be called like a method of BaseModel: instances never leave this module.
            warnings.simplefilter("ignore", UserWarning)
            return create_model(name, __config__=config, **fields)
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        raise ConfigurationError(str(error).split("\n")[0]) from error


def model_schema(model: Any, *, mode: Literal["validation", "serialization"]) -> Json:
    """The JSON Schema of a type, its local references inlined but for recursive ones."""
    adapter = TypeAdapter(model) if not isinstance(model, TypeAdapter) else model
    try:
        schema = adapter.json_schema(mode=mode, schema_generator=_CompactSchema)
    except PydanticUserError as error:
        raise ConfigurationError(str(error).split("\n")[0]) from error
    schema = inline_references(schema)
    schema.pop("title", None)
    if schema.get("type") == "object":
        schema.setdefault("properties", {})
    return schema


def inline_references(schema: Json) -> Json:
    """``schema`` with each local ``$ref`` replaced by what it names; recursive definitions stay."""
    definitions: Json = schema.get("$defs", {})
    recursive = {name for name in definitions if _reaches(name, name, definitions, set())}

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(item) for item in node]
        if not isinstance(node, dict):
            return node
        name = _definition(node)
        if name is None or name in recursive or name not in definitions:
            return {key: inline(value) for key, value in node.items() if key != "$defs"}
        return {**inline(definitions[name]), **{k: inline(v) for k, v in node.items() if k != "$ref"}}

    inlined: Json = inline(schema)
    if recursive:
        inlined["$defs"] = {name: inline(definitions[name]) for name in definitions if name in recursive}
    return inlined


def _definition(node: Json) -> str | None:
    reference = node.get("$ref")
    prefix = "#/$defs/"
    return reference[len(prefix) :] if isinstance(reference, str) and reference.startswith(prefix) else None


def _reaches(start: str, goal: str, definitions: Json, seen: set[str]) -> bool:
    for node in _nodes(definitions[start]):
        name = _definition(node)
        if name == goal:
            return True
        if name is not None and name in definitions and name not in seen:
            seen.add(name)
            if _reaches(name, goal, definitions, seen):
                return True
    return False


def _nodes(node: Any) -> Iterator[Json]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _nodes(value)
    elif isinstance(node, list):
        for item in node:
            yield from _nodes(item)


def _property_names(schema: Json) -> Iterator[str]:
    for node in _nodes(schema):
        properties = node.get("properties")
        if isinstance(properties, dict):
            yield from properties


class JsonSchemaCheck:
    """A raw JSON Schema, compiled: called with data it gives the first error, or None.

    :raises ConfigurationError: the schema is not valid, or refers outside itself.
    """

    def __init__(self, schema: Json) -> None:
        validator_class = validator_for(schema, default=Draft202012Validator)
        try:
            validator_class.check_schema(schema)
        except SchemaError as error:
            raise ConfigurationError(f"not a valid JSON Schema: {error.message}") from error
        self._validator = validator_class(schema)
        for node in _nodes(schema):
            self._refuse_remote(node.get("$ref"))
        self._is_valid = _fast_check(schema)

    def _refuse_remote(self, reference: Any) -> None:
        if not isinstance(reference, str) or reference.startswith("#"):
            return
        try:
            self._validator._resolver.lookup(reference)  # type: ignore[attr-defined]
        except Unresolvable:
            raise ConfigurationError(f'"$ref": "{reference}" points outside the schema; nothing is fetched') from None

    def __call__(self, data: Any) -> JsonSchemaError | None:
        if self._is_valid is not None and self._is_valid(data):
            return None
        return next(iter(self._validator.iter_errors(data)), None)


def _fast_check(schema: Json) -> Callable[[Any], bool] | None:
    try:
        import jsonschema_rs
    except ImportError:
        return None

    def refuse(uri: str) -> Any:
        raise ValueError(f"remote reference {uri}")

    check: Callable[[Any], bool] = jsonschema_rs.validator_for(schema, retriever=refuse).is_valid
    return check


def issues(error: ValidationError, data: Any, declared: frozenset[str]) -> list[Json]:
    """What is wrong, for the caller: ``path``, ``message`` and ``type``, without any value it sent."""
    return [
        {"path": _data_path(each["loc"], data, declared), "message": _message(each), "type": each["type"]}
        for each in error.errors(include_url=False)
    ]


def _data_path(location: Sequence[str | int], data: Any, declared: frozenset[str]) -> list[str | int]:
    """The part of pydantic's location that leads through the data: no labels of union members.

    A key that the schema does not declare is the caller's own and shown as ``*``.
    """
    path: list[str | int] = []
    for index, step in enumerate(location):
        last = index == len(location) - 1
        if isinstance(step, int):
            path.append(step)
            data = data[step] if isinstance(data, list | tuple) and -1 < step < len(data) else None
        elif isinstance(data, Mapping) and step in data:
            path.append(step if step in declared else "*")
            data = data[step]
        elif step in declared and last:
            path.append(step)
    return path


_ECHOING_TYPES = {
    "union_tag_invalid": "Input tag is none of the expected tags",
    "url_scheme": "URL scheme is not allowed",
}


def _message(issue: Any) -> str:
    """pydantic's own message, unless it could repeat what the caller sent."""
    if issue["type"] in _ECHOING_TYPES:
        return _ECHOING_TYPES[issue["type"]]
    message: str = issue["msg"]
    if any(leaf in message for leaf in _leaves(issue["input"])):
        return "Value is not valid"
    return message


def _leaves(value: Any) -> Iterator[str]:
    """Every scalar in a value as text, but for what any message could contain by chance."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(key)
            yield from _leaves(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool) and len(text := str(value)) > 1:
        yield text


def _json_schema_issue(error: JsonSchemaError, declared: frozenset[str]) -> Json:
    path = [step if isinstance(step, int) or step in declared else "*" for step in error.absolute_path]
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        message, path = "Field required", [*path, *missing[:1]]
    elif error.validator in ("type", "enum", "const", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
                             "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"):  # fmt: skip
        message = f"Value does not match {error.validator}: {error.validator_value}"
    else:
        message = f"Value does not match {error.validator}"
    return {"path": path, "message": message, "type": str(error.validator)}


def scrub(error: ValidationError) -> ValidationError:
    """The same error without the input values that its text would show."""
    bare: list[Any] = [
        {"type": pydantic_core.PydanticCustomError(each["type"], "{text}", {"text": _message(each)}), "loc": each["loc"],
         "input": None}
        for each in error.errors(include_url=False)
    ]  # fmt: skip
    scrubbed = ValidationError.from_exception_data(error.title, bare, hide_input=True)
    return scrubbed.with_traceback(error.__traceback__)


class Output:
    """The result of an entry that says what it returns.

    :ivar schema: as listed to clients that take any JSON.
    :ivar wraps_null: the value travels as ``{"result": value}`` in every era, since it may be null.
    :ivar check: value → JSON data; raises `InvalidOutputError`.
    """

    __slots__ = ("check", "schema", "wraps_null")

    def __init__(self, schema: Json, check: Callable[[Any], Any]) -> None:
        self.wraps_null = _admits_null(schema)
        self.schema = wrapped_schema(schema) if self.wraps_null else schema
        self.check = check

    @property
    def object_schema(self) -> Json:
        """As listed to clients up to 2025-11-25, whose results are objects."""
        return self.schema if self.is_object else wrapped_schema(self.schema)

    @property
    def is_object(self) -> bool:
        return self.schema.get("type") == "object"


def wrapped_schema(schema: Json) -> Json:
    """The schema of ``{"result": value}`` for the schema of a value."""
    inner = dict(schema)
    definitions = inner.pop("$defs", None)
    wrapped: Json = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    return wrapped if definitions is None else {**wrapped, "$defs": definitions}


def _admits_null(schema: Json) -> bool:
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    if "enum" in schema and None in schema["enum"]:
        return True
    return any(_admits_null(each) for key in ("anyOf", "oneOf") for each in schema.get(key, ()))


def output_from_type(annotation: Any) -> Output:
    """A result that is of a type; data beyond it is dropped."""
    if _is_named_tuple(annotation):
        annotation = _model_from_named_tuple(annotation)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    except (PydanticUserError, NameError) as error:
        raise ConfigurationError(f"output schema: {str(error).splitlines()[0]}") from error
    schema = model_schema(adapter, mode="serialization")
    validate, dump = adapter.validator.validate_python, adapter.serializer.to_python
    custom = _has_custom_serializer(adapter.core_schema)

    def check(value: Any) -> Any:
        try:
            plain = _plain(value) if custom else jsonable(value, by_alias=False)
            valid = validate(plain, by_alias=True, by_name=True)
        except ValidationError as error:
            path = ".".join(str(step) for step in _data_path(error.errors()[0]["loc"], value, _AnyName()))
            raise InvalidOutputError("output does not match outputSchema", path) from None
        return dump(valid, mode="json", by_alias=True)

    return Output(schema, check)


def output_from_json_schema(given: JsonSchema) -> Output:
    """A result that matches a raw JSON Schema."""
    compiled = JsonSchemaCheck(given.schema)

    def check(value: Any) -> Any:
        data = jsonable(value)
        if (error := compiled(data)) is not None:
            raise InvalidOutputError("output does not match outputSchema", error.json_path.removeprefix("$").lstrip("."))
        return data

    return Output(dict(given.schema), check)


class _AnyName(frozenset[str]):
    """Declares every name: what a tool returned is the server's own and may be named."""

    def __contains__(self, name: object) -> bool:
        return True


def _has_custom_serializer(node: Any) -> bool:
    """Whether a core schema has a serializer function: then data must not be dumped twice."""
    if isinstance(node, dict):
        serialization = node.get("serialization")
        if isinstance(serialization, dict) and str(serialization.get("type", "")).startswith("function"):
            return True
        return any(_has_custom_serializer(value) for value in node.values())
    if isinstance(node, list | tuple):
        return any(_has_custom_serializer(item) for item in node)
    return False


def _plain(value: Any) -> Any:
    """``value`` with models and dataclasses opened to dicts, so that their fields are validated anew."""
    if isinstance(value, BaseModel):
        return {name: _plain(item) for name, item in value.__dict__.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _is_named_tuple(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields")


def _model_from_named_tuple(annotation: Any) -> type[BaseModel]:
    hints = typing.get_type_hints(annotation, include_extras=True)
    defaults = annotation._field_defaults
    shape = {name: (hints.get(name, Any), defaults.get(name, ...)) for name in annotation._fields}
    return model_from_shape(shape, annotation.__name__)


_SCALARS = (int, float, bool)


def output_type(annotation: Any) -> Any:
    """The type to check results against, for a return annotation; None when it says nothing (api.md)."""
    return annotation if _says_something(annotation) else None


def _says_something(annotation: Any) -> bool:
    if isinstance(annotation, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        return _says_something(annotation.__value__)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        return _says_something(arguments[0])
    if origin is Literal:
        return True
    if origin in (Union, types.UnionType):
        members = [each for each in arguments if each is not type(None)]
        return bool(members) and all(_says_something(each) for each in members)
    if isinstance(origin, type) and not issubclass(origin, BaseModel):
        if issubclass(origin, Mapping | list | tuple | set | frozenset | Sequence):
            return _element(origin, arguments) is not Any and not annotates_content(annotation)
        return dataclasses.is_dataclass(origin) or is_typeddict(origin)
    if not isinstance(annotation, type) and origin is None:
        return False
    return _is_data_type(origin or annotation)


def _element(origin: type, arguments: tuple[Any, ...]) -> Any:
    """What a container holds; `Any` when nothing is said of it."""
    if not arguments:
        return Any
    last = arguments[-1] if not (issubclass(origin, tuple) and arguments[-1] is Ellipsis) else arguments[0]
    return Any if isinstance(last, typing.TypeVar) else last


def _is_data_type(annotation: Any) -> bool:
    if issubclass(annotation, CONTENT_TYPES):
        return False
    return (
        issubclass(annotation, (*_SCALARS, BaseModel, enum.Enum))
        or dataclasses.is_dataclass(annotation)
        or is_typeddict(annotation)
        or _is_named_tuple(annotation)
    )


def jsonable(value: Any, *, by_alias: bool = True) -> Any:
    """A value as JSON-mode data.

    :raises InvalidOutputError: a part of it is no JSON, named by its path.
    """
    try:
        return pydantic_core.to_jsonable_python(value, by_alias=by_alias, round_trip=not by_alias)
    except (pydantic_core.PydanticSerializationError, ValueError, RecursionError):
        raise InvalidOutputError("not serializable as JSON", _unserializable_path(value)) from None


def _unserializable_path(value: Any) -> str:
    """Where the first part that is no JSON stands; bounded, since a value may contain itself."""
    path: list[str] = []
    for _ in range(100):
        for key, item in _children(value):
            try:
                pydantic_core.to_jsonable_python(item)
            except (pydantic_core.PydanticSerializationError, ValueError, RecursionError):
                path.append(str(key))
                value = item
                break
        else:
            break
    return ".".join(path[:20])


def _children(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, BaseModel):
        yield from value.__dict__.items()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


def json_text(data: Any) -> str:
    """Compact JSON of JSON-mode data.

    :raises InvalidOutputError: a number in it is not finite, named by its path.
    """
    encoded = pydantic_core.to_json(data, inf_nan_mode="constants")
    if (b"NaN" in encoded or b"Infinity" in encoded) and (path := _non_finite_path(data, ())) is not None:
        raise InvalidOutputError("number is not finite", ".".join(map(str, path)))
    return encoded.decode()


def _non_finite_path(data: Any, path: tuple[Any, ...]) -> tuple[Any, ...] | None:
    if isinstance(data, float) and not math.isfinite(data):
        return path
    for key, item in _children(data):
        if (found := _non_finite_path(item, (*path, key))) is not None:
            return found
    return None


def parameters(function: Callable[..., Any], namespace: Mapping[str, Any] | None) -> dict[str, inspect.Parameter]:
    """The parameters of a function, their annotations resolved, ``self`` left out; ``return`` too.

    :param namespace: names that annotations may use beside the module's, such as local classes.
    :raises NameError: an annotation names something that does not exist (yet).
    """
    hints = typing.get_type_hints(function, localns=dict(namespace) if namespace else None, include_extras=True)
    signature = inspect.signature(function)
    resolved = {
        name: parameter.replace(annotation=hints.get(name, Any))
        for name, parameter in signature.parameters.items()
        if name != "self"
    }
    returned = inspect.Parameter("returned", inspect.Parameter.KEYWORD_ONLY, annotation=hints.get("return", Any))
    return {**resolved, "return": returned}
