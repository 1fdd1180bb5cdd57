"""Types read by pydantic: their validator and serializer, and the JSON Schema that is listed for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import BaseModel, ConfigDict, PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from typing_extensions import TypedDict

from frontmcp.errors import ConfigurationError
from frontmcp.schema.raw import Json, JsonSchema, inline_references

Shape: TypeAlias = Mapping[str, Any]
SchemaLike: TypeAlias = type[BaseModel] | Shape | JsonSchema
Mode: TypeAlias = Literal["validation", "serialization"]

# Made from a dict that is known at run time only, which type checkers refuse.
_typed_dict: Any = TypedDict
_UNKNOWN = re.compile(r"schema for <class '(?:.*\.)?(\w+)'>")


class UnknownClass(ConfigurationError):
    """A class that is no data.

    :ivar name: the class's.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name} can't be read from JSON: make it a pydantic model or a dataclass")


class _ListedSchema(GenerateJsonSchema):
    """Without titles that repeat a field's name, and without OpenAPI's keyword for tagged unions."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Nothing: what can't be listed, such as a default that is no JSON, is left out."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def tagged_union_schema(self, schema: Any) -> Json:
        listed = super().tagged_union_schema(schema)
        listed.pop("discriminator", None)
        return listed


def adapter_of(type_: Any) -> TypeAdapter[Any]:
    """What validates and serializes a type.

    :raises ConfigurationError: the type can't be part of a schema, with the reason.
    :raises NameError: it names something that does not exist (yet).
    """
    try:
        return TypeAdapter(type_)
    except NameError:
        raise
    except PydanticSchemaGenerationError as error:
        found = _UNKNOWN.search(str(error))
        raise UnknownClass(found[1]) if found else ConfigurationError(_first_line(error)) from error
    except Exception as error:
        raise ConfigurationError(_first_line(error)) from error


def schema_of(adapter: TypeAdapter[Any], mode: Mode) -> Json:
    """The JSON Schema of a type, its local references inlined but for recursive ones.

    :raises ConfigurationError: it has none, with the reason.
    """
    try:
        schema = adapter.json_schema(mode=mode, schema_generator=_ListedSchema)
    except PydanticInvalidForJsonSchema as error:
        raise ConfigurationError("it is of a type that JSON has nothing for") from error
    except Exception as error:
        raise ConfigurationError(_first_line(error)) from error
    schema = inline_references(schema)
    schema.pop("title", None)
    return schema


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def type_of_shape(shape: Shape, name: str, *, others: Any = None) -> Any:
    """The type of ``{"id": str, "limit": (int, 10), …}``: a TypedDict, so that a field may have any name.

    :param others: the type of fields that it does not declare; None drops them.
    :raises ConfigurationError: a field can't be part of a schema, named with the reason.
    """
    for field, given in shape.items():
        if not isinstance(field, str):
            raise ConfigurationError(f"a field's name is text, not {field!r}")
        if isinstance(given, tuple) and len(given) != 2:
            raise ConfigurationError(f"a field is a type, or (type, default), not {given!r}")
        if isinstance(given, dict | list):
            raise ConfigurationError("a field is a type, or (type, default); a schema goes into JsonSchema({…})")
    extra = {} if others is None else {"extra_items": others}
    type_ = _typed_dict(name, {field: _field(given) for field, given in shape.items()}, **extra)
    type_.__pydantic_config__ = ConfigDict(allow_inf_nan=False)
    return type_


def _field(given: Any) -> Any:
    annotation, default = given if isinstance(given, tuple) else (given, ...)
    info = (
        FieldInfo.from_annotation(annotation)
        if default is ...
        else FieldInfo.from_annotated_attribute(annotation, default)
    )
    annotated = Annotated[info.annotation, info]  # type: ignore[name-defined]
    return annotated if info.is_required() else NotRequired[annotated]


def culprit(shape: Shape, mode: Mode) -> str | None:
    """The first field of a shape that can't be part of a schema."""
    for field, given in shape.items():
        try:
            schema_of(adapter_of(type_of_shape({field: given}, "Field")), mode)
        except ConfigurationError:
            return field
    return None
