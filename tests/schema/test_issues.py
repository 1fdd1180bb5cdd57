"""No error text carries a value, or a key of its own, that the caller sent: for every form of schema."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Json,
    PlainValidator,
    RootModel,
    Strict,
    Tag,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import PydanticCustomError, PydanticKnownError
from typing_extensions import TypedDict

from frontmcp import InvalidInputError, JsonSchema, Tool
from frontmcp.schema import scrub

CANARY = "c4n4ry"
NUMBER = 987650000


def refuse_with(*texts: Callable[[Any], Exception]) -> list[Any]:
    """A validator for each error: it refuses everything and tells what it refused."""

    def refusing(text: Callable[[Any], Exception]) -> Callable[[Any], Any]:
        def refuse(value: Any) -> Any:
            raise text(value)

        return refuse

    return [refusing(text) for text in texts]


LOOSE = refuse_with(
    lambda value: ValueError(value),
    lambda value: ValueError(f"{value!r} is not allowed"),
    lambda value: ValueError(f"not {str(value).upper()}"),
    lambda value: AssertionError(f"no {value}"),
    lambda value: PydanticCustomError("bad", f"bad {value}"),
    lambda value: PydanticCustomError("bad", "bad {value}", {"value": str(value)}),
    lambda value: PydanticCustomError(f"bad_{value}", "bad"),
    lambda value: PydanticCustomError("missing", f"{value} is missing"),
    lambda value: PydanticCustomError("greater_than", "not {gt}", {"gt": str(value)}),
    lambda value: PydanticCustomError("value_error", f"{value}"),
    lambda value: PydanticCustomError("union_tag_invalid", f"{value}"),
    lambda value: KeyError(value),
    lambda value: RuntimeError(f"{value}"),
)


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: Annotated[str, Field(pattern="^x$")]


class Forbidding(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: int


class After(BaseModel):
    a: Any = None

    @model_validator(mode="after")
    def refuse(self) -> After:
        raise ValueError(f"not {self}")


class Before(BaseModel):
    a: Any = None

    @model_validator(mode="before")
    @classmethod
    def refuse(cls, data: Any) -> Any:
        raise ValueError(f"not {data}")


class OneField(BaseModel):
    a: Any = None
    b: Any = None

    @field_validator("a", "b")
    @classmethod
    def refuse(cls, value: Any, info: Any) -> Any:
        assert value == info.data, f"{value} {info.data}"
        return value


class Tree(BaseModel):
    a: int
    b: list[Tree] = []


class Pair(TypedDict):
    a: int
    b: dict[str, int]


@pydantic_dataclass
class Checked:
    a: int
    b: AwareDatetime


@dataclass
class Bare:
    a: int
    b: Decimal


class Colour(Enum):
    RED = "red"


def tag_of(value: Any) -> Any:
    return value.get("kind") if isinstance(value, dict) else None


TYPES: list[Any] = [
    int, float, bool, date, datetime, AwareDatetime, time, timedelta, Decimal, UUID, IPv4Address, AnyUrl, Json[int],
    Colour, Literal["a", 1], type(None), Annotated[str, Field(max_length=1)], Annotated[str, Field(pattern="^z$")],
    Annotated[int, Field(gt=5, multiple_of=7)], Annotated[Decimal, Field(max_digits=3)], Annotated[date, Strict()],
    list[int], set[int], tuple[int, str], dict[int, int], dict[Colour, int],
    dict[Annotated[str, Field(max_length=1)], int],
    int | bool, int | list[int], Cat | Dog, Annotated[Cat | Dog, Field(discriminator="kind")],
    Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(tag_of)],
    list[Annotated[Cat | Dog, Field(discriminator="kind")]], dict[str, Cat | Forbidding],
    Forbidding, After, Before, OneField, Tree, Pair, Checked, Bare, RootModel[list[Cat]], list[Pair], Bare | Pair,
    Annotated[list[int], Field(max_length=1)], frozenset[UUID], Annotated[bytes, Field(max_length=1)],
    *(Annotated[Any, AfterValidator(each)] for each in LOOSE),
    *(Annotated[Any, BeforeValidator(each)] for each in LOOSE),
    Annotated[Any, PlainValidator(LOOSE[1], json_schema_input_type=Any)],
    Annotated[Any, WrapValidator(lambda value, handler: LOOSE[0](value))],
    Annotated[Any, AfterValidator(refuse_with(lambda value: PydanticKnownError("missing"))[0])],
    dict[str, Annotated[Any, AfterValidator(LOOSE[0])]],
]  # fmt: skip

SCHEMAS: list[dict[str, Any]] = [
    {"enum": ["a"]},
    {"const": 1},
    {"type": "string", "pattern": "^z$"},
    {"type": ["integer", "null"]},
    {"type": "object", "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"propertyNames": {"pattern": "^z$"}, "type": "object"},
    {"type": "object", "patternProperties": {".": {"type": "null"}}},
    {"type": "object", "dependentRequired": {"a": ["z"]}, "minProperties": 9},
    {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "maxItems": 1},
    {"contains": {"const": 1}, "type": "array"},
    {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["b"]}]},
    {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    {"not": {}},
    {"if": {}, "then": {"type": "integer"}},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "unevaluatedProperties": False},
    {"type": "object", "properties": {"a": {"maxLength": 1}, "b": {"minimum": 10**18}}, "required": ["a", "kind"]},
    {"$ref": "#/properties/own"},
]


def from_signature(annotation: Any) -> Tool:
    def body(own: Any) -> None: ...

    body.__annotations__["own"] = annotation
    return Tool.from_callable(body)


def from_shape(annotation: Any) -> Tool:
    def body(**given: Any) -> None: ...

    tool: Tool = Tool(input_schema={"own": annotation})
    tool.bind(body, None)
    return tool


def from_model(annotation: Any) -> Tool:
    model = type("Given", (BaseModel,), {"__annotations__": {"own": annotation}})

    def body(given: Any) -> None: ...

    body.__annotations__["given"] = model
    tool: Tool = Tool(input_schema=model)
    tool.bind(body, None)
    return tool


def from_json_schema(schema: dict[str, Any]) -> Tool:
    def body(**given: Any) -> None: ...

    tool: Tool = Tool(input_schema=JsonSchema({"properties": {"own": schema, "$defs": {}}, "required": ["own"]}))
    tool.bind(body, None)
    return tool


def from_whole_model(model: Any) -> Tool:
    def body(given: Any) -> None: ...

    body.__annotations__["given"] = model
    tool: Tool = Tool(input_schema=model)
    tool.bind(body, None)
    return tool


VALIDATORS = [
    *(make(annotation).input.validate for annotation in TYPES for make in (from_signature, from_shape, from_model)),
    *(from_json_schema(schema).input.validate for schema in SCHEMAS[:-1]),
    *(from_whole_model(model).input.validate for model in (Cat, Forbidding, After, Before, OneField, Tree)),
]

texts = st.text(max_size=5).map(lambda text: CANARY + text)
numbers = st.integers(0, 9999).map(lambda number: NUMBER + number)
leaves = texts | numbers | numbers.map(float) | st.booleans() | st.none()
keys = texts | st.sampled_from(["own", "a", "b", "kind", "name", "lives", "cat", "Cat"])
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
        | st.fixed_dictionaries({"kind": st.sampled_from(["cat", "dog"])}, optional={"name": inner, "lives": inner})
    ),
    max_leaves=8,
)


def everything_said(error: BaseException) -> Iterator[str]:
    """What a person, a client or a log can read of an error and of whatever hangs on it."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield from (str(each), repr(each), *getattr(each, "__notes__", ()))
        yield json.dumps(getattr(each, "validation_errors", ""))
        pending += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


@settings(max_examples=40, deadline=None)
@given(sent=st.dictionaries(keys, values, max_size=3) | values.map(lambda value: {"own": value}))
@example({"own": CANARY})
@example({"own": NUMBER})
@example({"own": {"kind": CANARY}})
@example({"own": {CANARY: CANARY}})
@example({"own": [{CANARY: {CANARY: NUMBER}}]})
@example({"a": NUMBER, "b": CANARY, CANARY: CANARY})
def test_no_error_text_echoes_what_was_sent(sent: dict[str, Any]) -> None:
    for validate in VALIDATORS:
        try:
            validate(sent)
        except InvalidInputError as error:
            said = "".join([error.text, *everything_said(error)]).lower()
            assert CANARY not in said
            assert str(NUMBER)[:5] not in said
            for issue in error.validation_errors:
                assert isinstance(issue["path"], list)
                assert issue["message"]
                assert issue["type"]


def issues_of(annotation: Any, value: Any) -> list[dict[str, Any]]:
    with pytest.raises(InvalidInputError) as refused:
        from_signature(annotation).input.validate({"own": value})
    return refused.value.validation_errors


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, "x", "Input should be a valid integer, unable to parse string as an integer"),
        (Annotated[int, Field(gt=10)], 10, "Input should be greater than 10"),
        (Literal["a", "b"], "c", "Input should be 'a' or 'b'"),
        (date, "2026-1", "Input should be a valid date or datetime, input is too short"),
        (UUID, "xyz", "Input should be a valid UUID"),
        (AnyUrl, "::", "Input should be a valid URL"),
        (Annotated[datetime, AwareDatetime], "2026-01-01T00:00:00", "Input should have timezone info"),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "x"},
         "Input tag is none of the expected tags: 'cat', 'dog'"),
    ],
)  # fmt: skip
def test_pydantics_own_messages_are_kept_where_they_quote_nothing(annotation: Any, value: Any, message: str) -> None:
    assert [issue["message"] for issue in issues_of(annotation, value)] == [message]


LIMIT = 5


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


def below_limit(value: int) -> int:
    if value > LIMIT:
        raise ValueError(f"{value} is not below {LIMIT}")
    return value


def asserted(value: int) -> int:
    if value > 3:
        raise AssertionError("must be small")
    return value


def in_a_helper(value: int) -> int:
    return complain("must be something else")


def complain(text: str) -> int:
    raise ValueError(text)


def custom(value: int) -> int:
    raise PydanticCustomError("odd", "must be even")


@pytest.mark.parametrize(
    ("validator", "message", "kind"),
    [
        (even, "must be even", "value_error"),
        (below_limit, "Value is not valid", "value_error"),
        (asserted, "must be small", "assertion_error"),
        (in_a_helper, "must be something else", "value_error"),
        (custom, "Value is not valid", "value_error"),
    ],
)
def test_a_validators_own_message_is_told_when_it_is_constant(validator: Any, message: str, kind: str) -> None:
    annotation = Annotated[int, AfterValidator(validator)]
    assert issues_of(annotation, 7) == [{"path": ["own"], "message": message, "type": kind}]


def test_a_validator_that_breaks_is_in_the_log_without_what_was_sent(caplog: pytest.LogCaptureFixture) -> None:
    def look_up(value: str) -> int:
        return {"known": 1}[value]

    with caplog.at_level(logging.ERROR, "frontmcp.schema"):
        issue = issues_of(Annotated[str, AfterValidator(look_up)], CANARY)
    assert issue == [{"path": [], "message": "Value is not valid", "type": "validator_error"}]
    (record,) = caplog.records
    assert record.getMessage().startswith(f"a validator raised KeyError at {__file__}:")
    assert CANARY not in record.getMessage()
    assert record.exc_info is None


@pytest.mark.parametrize(
    ("annotation", "value", "paths"),
    [
        (list[int], [1, "x"], [["own", 1]]),
        (tuple[int, int], [1, "x"], [["own", 1]]),
        (dict[str, int], {"k": "x"}, [["own", "*"]]),
        (dict[int, int], {"k": 1}, [["own", "*"]]),
        (Cat, {"kind": "cat"}, [["own", "lives"]]),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat", "lives": "x"}, [["own", "lives"]]),
        (Cat | Dog, {"kind": "dog", "name": "x", "lives": 1} | {"kind": "x"}, [["own", "kind"], ["own", "kind"]]),
        (int | str, [], [["own"], ["own"]]),
        (Forbidding, {"a": 1, "z": 1}, [["own", "*"]]),
        (Tree, {"a": 1, "b": [{"a": 1}, {"a": "x"}]}, [["own", "b", 1, "a"]]),
        (dict[str, Tree], {"a": {"a": "x"}}, [["own", "a", "a"]]),
        (list[Annotated[Cat | Dog, Field(discriminator="kind")]], [{"kind": "cat"}], [["own", 0, "lives"]]),
    ],
)
def test_a_path_leads_through_the_data(annotation: Any, value: Any, paths: list[list[Any]]) -> None:
    assert [issue["path"] for issue in issues_of(annotation, value)] == paths


# Errors of pydantic that a body lets escape


WRONG_CAT: dict[str, Any] = {"kind": "cat", "lives": CANARY}


def escaped(model: Any, value: Any) -> ValidationError:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(model).validate_python(value)
    return refused.value


@settings(max_examples=30, deadline=None)
@given(value=values)
@example({CANARY: CANARY})
def test_scrub_leaves_no_input_value(value: Any) -> None:
    for annotation in TYPES:
        try:
            TypeAdapter(annotation).validate_python(value)
        except (KeyError, RuntimeError):
            continue
        except ValidationError as error:
            wrapped = RuntimeError("it failed")
            wrapped.__cause__ = error
            for each in (error, wrapped, ExceptionGroup("some", [KeyError("k"), wrapped])):
                assert CANARY not in "".join(everything_said(scrub(each))).lower()


def test_scrub_keeps_what_helps() -> None:
    clean = scrub(scrub(escaped(Cat, WRONG_CAT)))
    assert CANARY not in "".join(traceback.format_exception(clean))
    assert "1 validation error for Cat\nlives\n  Input should be a valid integer" in str(clean)
    assert clean.__traceback__ is not None


@pytest.mark.parametrize("validate", [lambda: Cat(**WRONG_CAT), lambda: Cat.model_validate(WRONG_CAT)])
def test_scrub_names_the_fields_of_a_model(validate: Callable[[], Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        validate()
    assert scrub(refused.value).errors()[0]["loc"] == ("lives",)


def test_scrub_shows_no_key_of_a_dict() -> None:
    assert scrub(escaped(dict[str, int], {CANARY: "x"})).errors()[0]["loc"] == ("*",)


def test_scrub_reaches_causes_contexts_and_groups_and_keeps_the_rest() -> None:
    cause, context, leaf = (escaped(int, CANARY) for _ in range(3))
    error = RuntimeError("mine")
    error.__context__ = context
    group = ExceptionGroup("some", [leaf, error])
    group.__cause__ = cause
    group.__context__ = group.__cause__
    clean = scrub(group)
    assert CANARY not in "".join(everything_said(clean))
    assert clean.exceptions[1] is error
    assert isinstance(clean.__cause__, ValidationError)
    assert error.__suppress_context__ is False


def test_scrub_survives_a_circle_and_leaves_other_errors_alone() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__context__, second.__context__ = second, first
    assert scrub(first) is first
