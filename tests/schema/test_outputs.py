"""Results out: which annotations say something, and JSON data that matches the schema that is listed."""

from __future__ import annotations

import dataclasses
import enum
import math
import sys
from collections import OrderedDict, UserDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp_types import ContentBlock, ResourceLink, TextContent
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    RootModel,
    computed_field,
    field_serializer,
    field_validator,
    model_serializer,
)
from typing_extensions import TypeAliasType, TypedDict

from frontmcp import Audio, CallToolResult, ConfigurationError, File, Image, InvalidOutputError, JsonSchema
from frontmcp.schema import Output, output_from_json_schema, output_from_shape, output_from_type, output_type

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Ticket(BaseModel):
    id: str
    status: Literal["open", "closed"] = "open"
    count: int = Field(0, ge=0)


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Box(BaseModel, Generic[T]):
    item: T


class Point(NamedTuple):
    x: int
    y: int = 0


class Row(TypedDict):
    id: int
    ticket: Ticket


@dataclass
class Span:
    low: int
    high: float = 1.5
    tickets: list[Ticket] = field(default_factory=list)


@dataclass
class Pair(Generic[T]):
    one: T


UserId = NewType("UserId", int)
Label = NewType("Label", str)
Numbers = TypeAliasType("Numbers", list[int])


@pytest.fixture(params=["rust", "python"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without jsonschema-rs."""
    if request.param == "python":
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    else:
        pytest.importorskip("jsonschema_rs")


# Which annotations say something

SAYS = [
    int, float, bool, Level, Color, Literal["a"], Literal[1, None], Ticket, Node, Box[int], Box, Span, Pair[int], Point,
    Row, RootModel[list[int]], list[int], list[str], list[Ticket], list[dict[str, Any]], list[date], dict[str, int],
    dict[str, str], Mapping[str, Ticket], Sequence[int], OrderedDict[str, int], set[int], frozenset[str],
    tuple[int, str], tuple[int, ...], int | float, Union[int, Ticket], Optional[int], Ticket | None,  # noqa: UP007, UP045
    list[int] | None, Annotated[int, Field(ge=0)], UserId, Numbers,
]  # fmt: skip

SAYS_NOTHING = [
    str, None, type(None), Any, object, dict, list, tuple, dict[str, Any], list[Any], set[Any], Mapping[str, Any],
    bytes, date, datetime, UUID, Decimal, Path, Label, str | None, int | str, Ticket | str, Annotated[str, "x"],
    TextContent, Image, Audio, File, ResourceLink, ContentBlock, CallToolResult, list[Image], list[TextContent | Image],
    Image | str, list[str | Image], Ticket | CallToolResult, Image | None, tuple[Image, str], T, list[T], type[int],
]  # fmt: skip


@pytest.mark.parametrize("annotation", SAYS, ids=str)
def test_an_annotation_that_says_something_has_a_schema(annotation: Any) -> None:
    assert output_type(annotation) is annotation
    Draft202012Validator.check_schema(output_from_type(annotation).schema)


@pytest.mark.parametrize("annotation", SAYS_NOTHING, ids=str)
def test_an_annotation_that_says_nothing_has_none(annotation: Any) -> None:
    assert output_type(annotation) is None


# What a value becomes


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: int


class Area(BaseModel):
    width: int

    @computed_field
    def double(self) -> int:
        return self.width * 2


class Stamped(BaseModel):
    when: datetime
    price: Decimal = Decimal("1.50")
    secret: str = Field("hidden", exclude=True)

    @field_serializer("when")
    def shortened(self, when: datetime) -> str:
        return when.strftime("%H:%M")


class Shouting(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def shout(cls, text: str) -> str:
        return f"{text}!"


class Tupled(BaseModel):
    x: int

    @model_serializer
    def serialize(self) -> list[int]:
        return [self.x]


class Aliased(BaseModel):
    user: str = Field(validation_alias="given_user", serialization_alias="userName")


class Encoded(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", ser_json_timedelta="float")

    data: bytes
    length: timedelta = timedelta(seconds=90)


Doubled = Annotated[int, PlainSerializer(lambda n: n * 2, return_type=int)]
WHEN = datetime(2026, 7, 28, 12, 30)


@pytest.mark.parametrize(
    ("annotation", "value", "data"),
    [
        (int, 3, 3),
        (int, True, 1),
        (float, 3, 3.0),
        (bool, False, False),
        (Color, Color.RED, "red"),
        (Color, "red", "red"),
        (Level, Level.LOW, 1),
        (Literal["a"], "a", "a"),
        (Ticket, Ticket(id="T"), {"id": "T", "status": "open", "count": 0}),
        (Ticket, {"id": "T", "junk": 1}, {"id": "T", "status": "open", "count": 0}),
        (list[Ticket], [{"id": "T"}, Ticket(id="U")], [{"id": i, "status": "open", "count": 0} for i in "TU"]),
        (Row, {"id": 1, "ticket": Ticket(id="T"), "x": 1},
         {"id": 1, "ticket": {"id": "T", "status": "open", "count": 0}}),
        (Span, Span(1, tickets=[Ticket(id="T", count=2)]),
         {"low": 1, "high": 1.5, "tickets": [{"id": "T", "status": "open", "count": 2}]}),
        (Span, {"low": 1, "junk": 1}, {"low": 1, "high": 1.5, "tickets": []}),
        (Pair[int], Pair(1), {"one": 1}),
        (Box[int], Box[int](item=1), {"item": 1}),
        (Box[int], Box(item=1), {"item": 1}),
        (Point, Point(1), {"x": 1, "y": 0}),
        (Point | None, Point(1), {"x": 1, "y": 0}),
        (Point | None, None, None),
        (list[Point], [Point(1)], [[1, 0]]),
        (Node, Node(name="a", children=[Node(name="b")]), {"name": "a", "children": [{"name": "b", "children": []}]}),
        (RootModel[list[int]], RootModel[list[int]]([1]), [1]),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[int, int], {1: 2}, {"1": 2}),
        (set[int], {1}, [1]),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (list[date], [date(2026, 7, 28)], ["2026-07-28"]),
        (dict[str, Any], {"id": UUID(int=1), "p": Path("a"), "d": Decimal("1.50"), "b": b"x", "c": Color.RED, "s": {1}},
         {"id": str(UUID(int=1)), "p": "a", "d": "1.50", "b": "x", "c": "red", "s": [1]}),
        (int | list[int], [1], [1]),
        (list[Any] | int, [MappingProxyType({"a": UserDict(b=1)})], [{"a": {"b": 1}}]),
        (Annotated[int, Field(ge=0)], 3, 3),
        (int, 10**30, 10**30),
        (Extra, {"id": 1, "more": date(2026, 7, 28)}, {"id": 1, "more": "2026-07-28"}),
        (Area, Area(width=2), {"width": 2, "double": 4}),
        (Area, {"width": 2}, {"width": 2, "double": 4}),
        (Stamped, Stamped(when=WHEN), {"when": "12:30", "price": "1.50"}),
        (Stamped, {"when": WHEN}, {"when": "12:30", "price": "1.50"}),
        (list[Stamped], [Stamped(when=WHEN)], [{"when": "12:30", "price": "1.50"}]),
        (Shouting, Shouting(text="hi"), {"text": "hi!"}),
        (Shouting, {"text": "hi"}, {"text": "hi!"}),
        (Tupled, Tupled(x=1), [1]),
        (Doubled, 2, 4),
        (dict[str, Doubled], {"a": 2}, {"a": 4}),
        (Aliased, Aliased(given_user="ada"), {"userName": "ada"}),
        (Aliased, {"given_user": "ada"}, {"userName": "ada"}),
        (Aliased, {"user": "ada"}, {"userName": "ada"}),
        (list[Aliased], [{"user": "ada"}], [{"userName": "ada"}]),
        (Encoded, Encoded(data=b"\xff"), {"data": "_w==", "length": 90.0}),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("compiler")
def test_a_value_becomes(annotation: Any, value: Any, data: Any) -> None:
    output = output_from_type(annotation)
    made = output.check(value)
    assert made == data
    assert type(made) is type(data)
    bare = output_from_type(annotation).schema
    listed = {"result": made} if output.wraps_null else made
    assert not list(Draft202012Validator(bare).iter_errors(listed))
    if not output.is_object:
        assert Draft202012Validator(output.object_schema).is_valid({"result": made})


class Other(BaseModel):
    id: str
    status: str = "open"
    more: int = 1


def test_another_model_with_the_same_fields_will_do() -> None:
    assert output_from_type(Ticket).check(Other(id="T")) == {"id": "T", "status": "open", "count": 0}
    assert output_from_shape({"id": str, "more": int}, "shape").check(Other(id="T")) == {"id": "T", "more": 1}


def test_what_is_text_in_json_will_do_where_text_is_asked_for() -> None:
    when = {"id": UUID(int=1), "status": "open"}
    assert output_from_type(Ticket).check(when)["id"] == str(UUID(int=1))


class Animal(BaseModel):
    name: str


class Bird(Animal):
    wings: int = 2


def test_a_subclass_shows_the_fields_of_what_is_annotated() -> None:
    assert output_from_type(Animal).check(Bird(name="a")) == {"name": "a"}


# What does not match


def refusal(output: Output, value: Any) -> str:
    with pytest.raises(InvalidOutputError) as refused:
        output.check(value)
    return str(refused.value)


MISMATCH = "Tool output validation failed (output does not match outputSchema"


def mutated(model: Any, **changes: Any) -> Any:
    model.__dict__.update(changes)
    return model


@pytest.mark.parametrize(
    ("annotation", "value", "path"),
    [
        (int, "a", ""),
        (Ticket, {"id": "T", "status": 0}, " at status"),
        (Ticket, {"status": "open"}, " at id"),
        (Ticket, "text", ""),
        (Ticket, None, ""),
        (list[Ticket], [{"id": "T"}, {"id": 1}], " at 1.id"),
        (dict[str, Ticket], {"a": {"id": "T", "count": -1}}, " at a.count"),
        (Ticket, mutated(Ticket(id="T"), count="many"), " at count"),
        (Ticket, mutated(Ticket(id="T"), count="3"), " at count"),
        (Ticket, mutated(Ticket(id="T"), count=-1), " at count"),
        (Ticket, mutated(Ticket(id="T"), status="lost"), " at status"),
        (Ticket, Ticket.model_construct(), " at id"),
        (list[Ticket], [Ticket(id="T"), mutated(Ticket(id="T"), id=None)], " at 1.id"),
        (Row, {"id": 1, "ticket": mutated(Ticket(id="T"), id=3)}, " at ticket.id"),
        (Span, dataclasses.replace(Span(1), low="x"), " at low"),
        (Span, Span(1, tickets=[mutated(Ticket(id="T"), count=-1)]), " at tickets.0.count"),
        (Box[int], mutated(Box[int](item=1), item="x"), " at item"),
        (Point, Point("x"), " at x"),  # type: ignore[arg-type]
        (Node, Node(name="a", children=[mutated(Node(name="b"), name=1)]), " at children.0.name"),
        (int | Ticket, mutated(Ticket(id="T"), count=-1), ""),
    ],
)
@pytest.mark.usefixtures("compiler")
def test_what_does_not_match_is_refused_with_its_path(annotation: Any, value: Any, path: str) -> None:
    assert refusal(output_from_type(annotation), value) == f"{MISMATCH}{path})"


class Lying(BaseModel):
    x: int

    @field_serializer("x")
    def lie(self, x: int) -> int:
        return "no number"  # type: ignore[return-value]

    @computed_field
    def y(self) -> int:
        return "no number"  # type: ignore[return-value]


def test_a_serializer_that_lies_is_found_out() -> None:
    assert refusal(output_from_type(Lying), {"x": 1}).startswith(MISMATCH)


class Opaque:
    pass


class Failing(BaseModel):
    x: int = 1

    @computed_field
    def y(self) -> int:
        raise KeyError("k")


class Loose(BaseModel):
    any: Any
    more: list[Any] = []


ring: list[Any] = [1]
ring.append({"again": ring})


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (dict[str, Any], {"a": [1, {"b": Opaque()}]}, "not serializable as JSON at a.1.b"),
        (Loose, Loose(any=Opaque()), "not serializable as JSON at any"),
        (Loose, {"any": 1, "more": [1, b"\xff"]}, "not serializable as JSON at more.1"),
        (dict[str, Any], {"a": "\ud800"}, "not serializable as JSON at a"),
        (list[Any], ring, "not serializable as JSON at 1.again"),
        (Failing, Failing(), "not serializable as JSON"),
        (Ticket, Opaque(), "not serializable as JSON"),
        (Ticket, {"id": Opaque()}, "not serializable as JSON at id"),
    ],
)
def test_what_is_no_json_is_named(annotation: Any, value: Any, text: str) -> None:
    from frontmcp.schema import json_text

    output = output_from_type(annotation)
    with pytest.raises(InvalidOutputError) as refused:
        json_text(output.check(value))
    assert str(refused.value) == f"Tool output validation failed ({text})"


def test_what_is_nested_too_deeply_is_told_without_its_path() -> None:
    from frontmcp.schema import json_text

    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(InvalidOutputError, match="nested too deeply") as refused:
        json_text(nested)
    assert refused.value.path == ""


# Null


@pytest.mark.parametrize(
    ("annotation", "admits"),
    [
        (int, False),
        (int | None, True),
        (Literal["a", None], True),
        (list[int | None], False),
        (list[int] | dict[str, int], False),
    ],
)
def test_a_type_that_admits_null_is_wrapped_too(annotation: Any, admits: bool) -> None:
    assert output_from_type(annotation).wraps_null is admits


@pytest.mark.parametrize(
    ("schema", "admits"),
    [
        ({}, True),
        ({"type": ["integer", "null"]}, True),
        ({"enum": [1, None]}, True),
        ({"const": None}, True),
        ({"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/nothing"}], "$defs": {"nothing": {"type": "null"}}}, True),
        ({"type": "object"}, False),
        ({"not": {"type": "null"}}, False),
    ],
)
def test_a_schema_that_admits_null_is_wrapped_in_every_era(schema: dict[str, Any], admits: bool) -> None:
    output = output_from_json_schema(JsonSchema(schema))
    assert output.wraps_null is admits
    assert (output.schema == schema) is not admits
    if admits:
        assert output.is_object
        assert output.object_schema is output.schema
        assert Draft202012Validator(output.schema).is_valid({"result": None})


# Raw JSON Schema and shapes


def test_a_raw_schema_is_listed_verbatim_and_holds() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "integer"}}}
    output = output_from_json_schema(JsonSchema(schema))
    assert output.schema == schema
    assert output.check({"a": 1, "b": date(2026, 7, 28)}) == {"a": 1, "b": "2026-07-28"}
    assert refusal(output, {"a": "x"}) == f"{MISMATCH} at a)"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "integer"}}},
        {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}},
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"$ref": "#/prefixItems/0"}},
        {
            "$id": "https://example.com/s",
            "type": "array",
            "items": {"$ref": "#/$defs/a"},
            "$defs": {"a": {"type": "integer"}},
        },
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array", "items": {"type": "integer"}},
        {"type": "array", "items": {"$ref": "#a"}, "$defs": {"x": {"$anchor": "a", "type": "integer"}}},
        {"definitions": {"a": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/definitions/a"}},
    ],
)
def test_references_hold_in_the_wrapped_schema_too(schema: dict[str, Any]) -> None:
    wrapped = output_from_json_schema(JsonSchema(schema)).object_schema
    Draft202012Validator.check_schema(wrapped)
    validator = Draft202012Validator(wrapped)
    assert validator.is_valid({"result": [1, 2]})
    assert not validator.is_valid({"result": ["x", "y"]})
    assert not validator.is_valid([1])
    assert not validator.is_valid({})


def test_a_recursive_type_keeps_its_definitions_at_the_root() -> None:
    schema = output_from_type(list[Node]).object_schema
    assert list(schema["$defs"]) == ["Node"]
    assert Draft202012Validator(schema).is_valid(
        {"result": [{"name": "a", "children": [{"name": "b", "children": []}]}]}
    )
    assert not Draft202012Validator(schema).is_valid({"result": [{"name": "a", "children": [{"name": 1}]}]})


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: output_from_shape({"a": int, "b": Opaque}, "x"), "field 'b': "),
        (lambda: output_from_type(Opaque), "Opaque"),
        (lambda: output_from_type(Callable[[], int]), "of a type that JSON has nothing for"),
        (lambda: output_from_json_schema(JsonSchema({"type": "objekt"})), "not a valid JSON Schema"),
        (lambda: output_from_json_schema(JsonSchema({"$ref": "https://example.com"})), "points outside"),
    ],
)
def test_what_has_no_schema_is_refused(make: Callable[[], Output], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        make()


# The law: what is sent matches what is listed


class Kitchen(BaseModel):
    """Everything at once."""

    a: int
    b: float
    c: str | None
    d: list[Color]
    e: dict[str, Level]
    f: Decimal
    g: timedelta
    h: set[int]
    i: Span
    j: Point
    k: bytes
    m: UUID | date


SMALL = st.integers(-1000, 1000)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(max_size=5)
TICKETS = st.builds(Ticket, id=TEXT, count=st.integers(0, 9))
SPANS = st.builds(Span, low=SMALL, high=FLOATS, tickets=st.lists(TICKETS, max_size=2))
KITCHENS = st.builds(
    Kitchen, a=SMALL, b=FLOATS, c=st.none() | TEXT, d=st.just([Color.RED]), e=st.just({"x": Level.LOW}),
    f=st.decimals(allow_nan=False, allow_infinity=False), g=st.timedeltas(), h=st.sets(SMALL, max_size=3), i=SPANS,
    j=st.builds(Point, SMALL, SMALL), k=TEXT.map(str.encode), m=st.uuids() | st.dates(),
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
NODES = st.deferred(lambda: st.builds(Node, name=TEXT, children=st.lists(NODES, max_size=2)))

TYPED: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers()),
    (float, FLOATS),
    (Optional[int], st.none() | SMALL),  # noqa: UP045
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (timedelta, st.timedeltas()),
    (list[Ticket | int], st.lists(TICKETS | SMALL, max_size=3)),
    (dict[str, Ticket] | None, st.none() | st.dictionaries(TEXT, TICKETS, max_size=2)),
    (dict[int, float], st.dictionaries(SMALL, FLOATS, max_size=3)),
    (tuple[int, str], st.tuples(SMALL, TEXT)),
    (Span, SPANS),
    (Kitchen, KITCHENS),
    (list[Kitchen], st.lists(KITCHENS, max_size=2)),
    (Node, NODES),
    (Box[list[Node]], st.builds(Box[list[Node]], item=st.lists(NODES, max_size=2))),
    (Area, st.builds(Area, width=SMALL)),
    (Stamped, st.builds(Stamped, when=st.datetimes(), price=st.decimals(allow_nan=False, allow_infinity=False))),
    (Encoded, st.builds(Encoded, data=st.binary(max_size=5), length=st.timedeltas())),
    (Point | Ticket, st.builds(Point, SMALL, SMALL) | TICKETS),
    (JsonValue, JSON),
    (dict[str, JsonValue], st.dictionaries(TEXT, JSON, max_size=3)),
]


def outputs(compiler: str) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        if compiler == "python":
            patch.setitem(sys.modules, "jsonschema_rs", None)
        return [
            pytest.param(output_from_type(annotation), strategy, id=f"{compiler}-{annotation}")
            for annotation, strategy in TYPED
        ]


@pytest.mark.parametrize(("output", "strategy"), [*outputs("rust"), *outputs("python")])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_what_is_sent_matches_what_is_listed_in_both_eras(
    output: Output, strategy: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    made = output.check(data.draw(strategy))
    modern = {"result": made} if output.wraps_null else made
    older = modern if output.is_object else {"result": modern}
    assert not list(Draft202012Validator(output.schema).iter_errors(modern))
    assert not list(Draft202012Validator(output.object_schema).iter_errors(older))
    output.verify(made)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("annotation", "wrap", "path"),
    [
        (float, lambda n: n, ""),
        (list[float], lambda n: [1.0, n], " at 1"),
        (Span, lambda n: Span(1, high=n), " at high"),
        (dict[str, Any], lambda n: {"a": [{"b": n}]}, " at a.0.b"),
        (Ticket | list[float], lambda n: [n], " at 0"),
    ],
)
def test_numbers_that_are_not_finite_are_named(
    annotation: Any, wrap: Callable[[float], Any], path: str, number: float
) -> None:
    from frontmcp.schema import json_text

    output = output_from_type(annotation)
    with pytest.raises(InvalidOutputError) as refused:
        json_text(output.check(wrap(number)))
    assert str(refused.value) == f"Tool output validation failed (number is not finite{path})"
