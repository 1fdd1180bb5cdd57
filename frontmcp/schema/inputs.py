"""Arguments in: a schema to list, and typed input from what was sent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from frontmcp.errors import ConfigurationError, InvalidInputError, InvalidOutputError
from frontmcp.schema.issues import broken_validator, data_path, issues
from frontmcp.schema.raw import Json, JsonSchema, SchemaCheck, check_schema, property_names
from frontmcp.schema.types import Shape, UnknownClass, adapter_of, culprit, schema_of, type_of_shape
from frontmcp.schema.values import PLAIN, flaw, is_sound, jsonable


class Input:
    """The arguments of an entry.

    :ivar schema: as listed.
    :ivar validate: arguments → a dict of typed values, or the model; raises `InvalidInputError`.
    """

    __slots__ = ("schema", "validate")

    def __init__(self, schema: Json, validate: Callable[[Any], Any]) -> None:
        if schema.get("type") != "object":
            raise ConfigurationError("an input schema describes an object: arguments have names")
        self.schema = schema
        self.validate = validate


def input_from_shape(shape: Shape, name: str, *, others: Any = None) -> Input:
    """Arguments that are the fields of a shape.

    :param others: the type of arguments that it does not declare; None drops them.
    :raises ConfigurationError: a field can't be part of a schema, named with the reason.
    """
    try:
        return _input_from_type(type_of_shape(shape, name, others=others))
    except ConfigurationError as error:
        field = culprit(shape, "validation")
        place = "" if field is None else f"parameter {field!r}: "
        raise ConfigurationError(f"{place}{error}{_or_inject(error)}") from error


def _or_inject(error: ConfigurationError) -> str:
    if not isinstance(error, UnknownClass):
        return ""
    return f", or let a provider give it: Annotated[{error.name}, Inject()], and Provider({error.name}) in providers="


def input_from_model(model: type[BaseModel], *, as_model: bool) -> Input:
    """Arguments that are the fields of a model.

    :param as_model: typed input is the model itself, not a dict of its fields.
    """
    made = _input_from_type(model)
    if as_model:
        return made
    validate = made.validate

    def fields(arguments: Any) -> dict[str, Any]:
        instance = validate(arguments)
        return {**instance.__dict__, **(instance.__pydantic_extra__ or {})}

    return Input(made.schema, fields)


def _input_from_type(type_: Any) -> Input:
    adapter = adapter_of(type_)
    schema = schema_of(adapter, "validation")
    if schema.get("type") == "object":
        schema.setdefault("properties", {})
    declared = property_names(schema)
    validate_python = adapter.validator.validate_python

    def validate(arguments: Any) -> Any:
        if type(arguments) is not dict and not isinstance(arguments, Mapping):
            raise not_an_object()
        try:
            typed = validate_python(arguments)
        except ValidationError as error:
            problems = issues(error, arguments, declared)
        except Exception as error:
            problems = [broken_validator(error)]
        else:
            if PLAIN.issuperset(map(type, arguments.values())) or not (problems := _flaws(arguments, declared)):
                return typed
        # Not raised while the other is handled, which would keep what was sent as its context.
        raise InvalidInputError(validation_errors=problems)

    return Input(schema, validate)


def _flaws(arguments: Mapping[str, Any], declared: frozenset[str]) -> list[Json]:
    """What the type lets pass, but is no JSON: NaN, infinities, too many levels."""
    found = None if is_sound(arguments) else flaw(arguments)
    if found is None:
        return []
    reason, path = found
    where = data_path({"loc": path, "type": reason}, arguments, declared)
    return [{"path": where, "message": f"Value is not allowed: {reason}", "type": reason.replace(" ", "_")}]


def input_from_json_schema(given: JsonSchema, *, takes_any: bool) -> Input:
    """Arguments that match a raw JSON Schema; defaults of its properties are filled in.

    :param takes_any: keep arguments that it does not declare.
    """
    check_schema(given.schema)
    schema: Json = {"type": "object", **given.schema}
    check = SchemaCheck(schema)
    declared = property_names(schema)
    properties = frozenset(schema.get("properties", ()))

    def validate(arguments: Any) -> dict[str, Any]:
        if not isinstance(arguments, Mapping):
            raise not_an_object()
        filled = _with_defaults(schema, _own_data(arguments))
        problems = [_masked(issue, filled, declared) for issue in check(filled)] or _flaws(filled, declared)
        if problems:
            raise InvalidInputError(validation_errors=problems)
        return filled if takes_any else {name: value for name, value in filled.items() if name in properties}

    return Input(schema, validate)


def not_an_object() -> InvalidInputError:
    issue = {"path": [], "message": "Input should be an object", "type": "dict_type"}
    return InvalidInputError(validation_errors=[issue])


def _own_data(arguments: Mapping[str, Any]) -> Any:
    """Arguments as JSON data that may be written to."""
    try:
        return jsonable(arguments)
    except InvalidOutputError:
        issue = {"path": [], "message": "Value is no JSON, or nested too deeply", "type": "json_type"}
    raise InvalidInputError(validation_errors=[issue])


def _with_defaults(schema: Any, data: Any) -> Any:
    """``data`` with the defaults of the properties it lacks, in nested objects too; no default is shared."""
    if not isinstance(schema, Mapping) or not isinstance(data, dict):
        return data
    for name, each in schema.get("properties", {}).items():
        if name in data:
            data[name] = _with_defaults(each, data[name])
        elif isinstance(each, Mapping) and "default" in each:
            data[name] = copy.deepcopy(each["default"])
    return data


def _masked(issue: Json, data: Any, declared: frozenset[str]) -> Json:
    path = data_path({"loc": issue["path"], "type": ""}, data, declared)
    # What is missing is not in the data, but the schema has its name.
    return {**issue, "path": [*path, *issue["path"][len(path) :]]}
