"""Arguments in: what is listed for a signature, model, shape or raw JSON Schema, and what a body gets."""

from __future__ import annotations

import contextlib
import enum
import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel
from referencing.exceptions import Unresolvable
from typing_extensions import TypedDict

from frontmcp import ConfigurationError, InvalidInputError, JsonSchema, Tool
from frontmcp.schema import Input
from frontmcp.schema.raw import SchemaCheck


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Owner(BaseModel):
    name: str
    age: int = 3


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    owner: Owner


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Point(TypedDict):
    x: int
    y: int


@dataclass
class Range:
    low: int
    high: int = 10
    marks: list[int] = field(default_factory=list)


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


def input_of(function: Callable[..., Any], **options: Any) -> Input:
    tool: Tool = Tool(**options)
    tool(function)
    return tool.input


def issues_of(entry_input: Input, arguments: Any) -> list[dict[str, Any]]:
    with pytest.raises(InvalidInputError) as refused:
        entry_input.validate(arguments)
    assert refused.value.__context__ is None, "the error that shows what was sent is not kept"
    return refused.value.validation_errors


def parameter(annotation: Any, default: Any = ...) -> Input:
    """The input of a function with one parameter ``x``."""
    if default is ...:

        def required(x: Any) -> None: ...

        required.__annotations__["x"] = annotation
        return input_of(required)

    def optional(x: Any = default) -> None: ...

    optional.__annotations__["x"] = annotation
    return input_of(optional)


# Signatures


def test_a_signature_is_an_object_of_its_parameters() -> None:
    def find(query: Annotated[str, Field(description="What to look for")], limit: int = 10) -> None: ...

    found = input_of(find)
    assert found.schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for"},
            "limit": {"type": "integer", "default": 10},
        },
        "required": ["query"],
    }
    assert found.validate({"query": "a"}) == {"query": "a", "limit": 10}


def test_a_signature_without_parameters_is_an_empty_object() -> None:
    def ping() -> None: ...

    assert input_of(ping).schema == {"type": "object", "properties": {}}
    assert input_of(ping).validate({}) == {}


@pytest.mark.parametrize(
    ("annotation", "sent", "typed"),
    [
        (str, "a", "a"),
        (int, "12", 12),
        (int, 12.0, 12),
        (float, 3, 3.0),
        (bool, "true", True),
        (date, "2026-07-28", date(2026, 7, 28)),
        (timedelta, "PT90S", timedelta(seconds=90)),
        (UUID, "12345678-1234-5678-1234-567812345678", UUID("12345678-1234-5678-1234-567812345678")),
        (Decimal, "1.50", Decimal("1.50")),
        (Path, "a/b", Path("a/b")),
        (bytes, "abc", b"abc"),
        (Color, "blue", Color.BLUE),
        (Size, 2, Size.LARGE),
        (Literal["a", 1], 1, 1),
        (Optional[int], None, None),  # noqa: UP045
        (int | str, "a", "a"),
        (list[int], ["1", 2], [1, 2]),
        (set[int], [1, 1], {1}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (Owner, {"name": "Ada"}, Owner(name="Ada")),
        (Pet, {"kind": "dog", "owner": {"name": "Ada"}}, Dog(kind="dog", owner=Owner(name="Ada"))),
        (Point, {"x": "1", "y": 2, "z": 3}, {"x": 1, "y": 2}),
        (Range, {"low": 1}, Range(1)),
        (Node, {"name": "a", "children": [{"name": "b"}]}, Node(name="a", children=[Node(name="b")])),
        (Any, {"any": ["thing"]}, {"any": ["thing"]}),
        (Annotated[int, Field(ge=3)], 3, 3),
    ],
)
def test_an_annotation_is_coerced_to(annotation: Any, sent: Any, typed: Any) -> None:
    found = parameter(annotation)
    value = found.validate({"x": sent})["x"]
    assert value == typed
    assert type(value) is type(typed)
    Draft202012Validator.check_schema(found.schema)


def test_a_parameter_without_annotation_takes_anything() -> None:
    def loose(x, y=None): ...  # type: ignore[no-untyped-def]

    assert input_of(loose).validate({"x": [1]}) == {"x": [1], "y": None}


def test_unknown_fields_are_dropped_at_every_level() -> None:
    def f(x: int, owner: Owner, point: Point) -> None: ...

    sent = {"x": 1, "junk": 1, "owner": {"name": "a", "junk": 1}, "point": {"x": 1, "y": 2, "junk": 1}}
    assert input_of(f).validate(sent) == {"x": 1, "owner": Owner(name="a"), "point": {"x": 1, "y": 2}}


def test_keyword_parameters_keep_unknown_fields_and_check_their_type() -> None:
    def anything(x: int, **others: Any) -> None: ...

    def numbers(**others: int) -> None: ...

    assert input_of(anything).validate({"x": 1, "y": "z"}) == {"x": 1, "y": "z"}
    assert input_of(anything).schema["additionalProperties"] is True
    assert input_of(numbers).validate({"a": "1"}) == {"a": 1}
    assert issues_of(input_of(numbers), {"a": "b"})[0]["path"] == ["*"]


def test_a_mutable_default_is_not_shared() -> None:
    def f(a: list[int] = [], b: Annotated[list[int], Field(default_factory=list)] = ...) -> None: ...  # type: ignore[assignment]  # noqa: B006

    found = input_of(f)
    first = found.validate({})
    first["a"].append(1)
    first["b"].append(1)
    assert found.validate({}) == {"a": [], "b": []}


def test_field_as_a_default_says_the_default_and_more() -> None:
    def f(limit: int = Field(10, ge=1, description="How many")) -> None: ...

    found = input_of(f)
    assert found.schema["properties"]["limit"] == {
        "type": "integer",
        "default": 10,
        "minimum": 1,
        "description": "How many",
    }
    assert found.validate({}) == {"limit": 10}
    assert issues_of(found, {"limit": 0})[0]["type"] == "greater_than_equal"


def test_a_default_that_is_no_json_is_left_out_of_the_schema() -> None:
    marker = object()

    def f(x: Any = marker) -> None: ...

    assert input_of(f).schema["properties"]["x"] == {}
    assert input_of(f).validate({})["x"] is marker


AWKWARD = ("schema", "copy", "json", "name", "input", "dict", "validate", "model_config", "model_dump", "_x", "fields")


@pytest.mark.parametrize("name", AWKWARD)
def test_a_parameter_may_be_called(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def f({name}: int) -> None: ...", scope)
    found = input_of(scope["f"])
    assert found.validate({name: "1"}) == {name: 1}
    assert list(found.schema["properties"]) == [name]


def test_an_alias_is_what_is_listed_and_sent() -> None:
    def f(
        from_: Annotated[str, Field(alias="from")],
        to: Annotated[str, Field(validation_alias=AliasChoices("to", "recipient"))],
    ) -> None: ...

    found = input_of(f)
    assert list(found.schema["properties"]) == ["from", "to"]
    assert found.validate({"from": "a", "recipient": "b"}) == {"from_": "a", "to": "b"}
    assert [issue["path"] for issue in issues_of(found, {"to": "b"})] == [["from"]]


def test_local_classes_and_names_defined_further_down_are_found() -> None:
    class Local(BaseModel):
        x: int

    @Tool
    def local(arg: Local) -> None: ...

    @Tool
    def later(arg: DefinedLater) -> None: ...

    assert Tool.of(local).input.validate({"arg": {"x": 1}}) == {"arg": Local(x=1)}
    assert Tool.of(later).input.validate({"arg": {"y": 1}}) == {"arg": DefinedLater(y=1)}


class DefinedLater(BaseModel):
    y: int


def test_a_name_that_exists_nowhere_is_named() -> None:
    tool: Tool = Tool()

    @tool
    def f(arg: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ConfigurationError, match=r'Tool "f" .*name \'Nowhere\' is not defined'):
        tool.build()


class Connection:
    """Nothing that pydantic knows."""


def test_a_parameter_that_has_no_schema_is_named() -> None:
    def f(ok: int, connection: Connection) -> None: ...

    tool: Tool = Tool()
    tool(f)
    with pytest.raises(ConfigurationError, match=r'Tool "f" \(.*test_inputs.py:\d+\)\): parameter \'connection\': '):
        tool.build()


# The listed schema


def references(schema: Any) -> list[str]:
    if isinstance(schema, Mapping):
        own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        return own + [each for value in schema.values() for each in references(value)]
    return [each for item in schema for each in references(item)] if isinstance(schema, list) else []


def test_local_references_are_inlined() -> None:
    def f(pet: Pet, owner: Annotated[Owner, Field(description="Whose")], color: Color = Color.RED) -> None: ...

    schema = input_of(f).schema
    assert references(schema) == []
    assert "$defs" not in schema
    assert "discriminator" not in json.dumps(schema)
    assert schema["properties"]["owner"]["description"] == "Whose"
    assert schema["properties"]["color"]["default"] == "red"
    assert not list(Draft202012Validator(schema).iter_errors({"pet": {"kind": "cat"}, "owner": {"name": "a"}}))


def test_recursive_references_stay_and_hold() -> None:
    def f(tree: Node, pet: Pet) -> None: ...

    schema = input_of(f).schema
    assert set(references(schema)) == {"#/$defs/Node"}
    assert list(schema["$defs"]) == ["Node"]
    validator = Draft202012Validator(schema)
    pet = {"kind": "cat"}
    assert validator.is_valid({"pet": pet, "tree": {"name": "a", "children": [{"name": "b"}]}})
    assert not validator.is_valid({"pet": pet, "tree": {"name": "a", "children": [{"name": 1}]}})


def test_a_recursive_model_at_the_root_is_an_object_all_the_same() -> None:
    def f(input: Node) -> None: ...

    schema = input_of(f, input_schema=Node).schema
    assert schema["type"] == "object"
    assert Draft202012Validator(schema).is_valid({"name": "a", "children": [{"name": "b"}]})
    assert not Draft202012Validator(schema).is_valid({"name": "a", "children": [{}]})


# Models


class Search(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    query: str = Field(alias="q")
    limit: int = 10


def test_a_model_is_given_whole_to_the_parameter_of_its_type() -> None:
    def f(input: Search) -> None: ...

    found = input_of(f, input_schema=Search)
    assert found.validate({"q": "a", "junk": 1}) == Search(query="a")
    assert list(found.schema["properties"]) == ["q", "limit"]


def test_a_model_is_given_as_keywords_otherwise() -> None:
    def f(query: str, limit: int) -> None: ...

    assert input_of(f, input_schema=Search).validate({"q": "a"}) == {"query": "a", "limit": 10}


def test_keywords_of_a_model_are_fresh() -> None:
    def f(query: str, limit: int) -> None: ...

    found = input_of(f, input_schema=Search)
    found.validate({"q": "a"})["limit"] = 3
    assert found.validate({"q": "a"})["limit"] == 10


def test_a_model_that_is_no_object_is_refused() -> None:
    def f(input: RootModel[list[int]]) -> None: ...

    with pytest.raises(ConfigurationError, match="describes an object"):
        input_of(f, input_schema=RootModel[list[int]])


# Shapes


def test_a_shape_has_types_defaults_and_constraints() -> None:
    def f(id: str, limit: int, to: str) -> None: ...

    found = input_of(f, input_schema={"id": str, "limit": (int, 10), "to": Annotated[str, Field(pattern=r"^[a-z]+$")]})
    assert found.validate({"id": "T-1", "to": "sam"}) == {"id": "T-1", "limit": 10, "to": "sam"}
    assert found.schema["required"] == ["id", "to"]
    assert issues_of(found, {"id": "T-1", "to": "Sam"}) == [
        {"path": ["to"], "message": "String should match pattern '^[a-z]+$'", "type": "string_pattern_mismatch"}
    ]


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ({"id": Connection}, "parameter 'id': "),
        ({"id": (int, 1, 2)}, "parameter 'id': "),
        ({3: int}, "a field's name is text, not 3"),
        ([("id", str)], "input_schema= takes a pydantic model, a shape or JsonSchema"),
    ],
)
def test_a_wrong_shape_is_refused(shape: Any, named: str) -> None:
    def f(**given: Any) -> None: ...

    tool: Tool = Tool(input_schema=shape)
    tool(f)
    with pytest.raises(ConfigurationError) as refused:
        tool.build()
    assert named in str(refused.value)


# A schema and a body that do not fit


def takes_id(id: str) -> None: ...


def takes_id_and_more(id: str, note: str) -> None: ...


RAW = JsonSchema({"properties": {"id": {"type": "string"}}})


@pytest.mark.parametrize(
    ("body", "schema", "named"),
    [
        (takes_id, {"id": str, "limit": int}, "the body has no parameter for 'limit' of input_schema="),
        (takes_id, JsonSchema({"properties": {"id": {}, "x": {}}, "required": ["id"]}), "no parameter for 'x'"),
        (takes_id_and_more, {"id": str}, "the body requires 'note'"),
        (takes_id, RAW, "the body requires 'id', which input_schema= lacks or may leave out"),
        (takes_id, Search, "the body has no parameter for 'limit', 'query'"),
    ],
)
def test_a_body_that_does_not_take_its_input_stops_the_start(body: Any, schema: Any, named: str) -> None:
    tool: Tool = Tool(input_schema=schema)
    tool.bind(body, None)
    with pytest.raises(ConfigurationError) as refused:
        tool.build()
    assert named in str(refused.value)
    assert f'Tool "{body.__name__}"' in str(refused.value)


def test_a_model_beside_required_parameters_stops_the_start() -> None:
    def f(input: Search, more: int) -> None: ...

    tool: Tool = Tool(input_schema=Search)
    tool(f)
    with pytest.raises(ConfigurationError, match="the body requires 'more'"):
        tool.build()


# Raw JSON Schema


@pytest.fixture(params=["rust", "python"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With and without jsonschema-rs."""
    if request.param == "python":
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    else:
        pytest.importorskip("jsonschema_rs")
    name: str = request.param
    return name


def raw(schema: dict[str, Any]) -> Input:
    def f(**given: Any) -> None: ...

    return input_of(f, input_schema=JsonSchema(schema))


TICKET = {
    "type": "object",
    "$comment": "kept",
    "properties": {
        "id": {"type": "string", "pattern": "^T-[0-9]+$"},
        "labels": {"type": "array", "items": {"type": "string"}, "default": ["new"]},
        "owner": {"$ref": "#/$defs/owner"},
        "options": {"type": "object", "properties": {"depth": {"type": "integer", "default": 2}}},
    },
    "required": ["id"],
    "$defs": {"owner": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}


@pytest.mark.usefixtures("compiler")
class TestRaw:
    def test_it_is_served_verbatim(self) -> None:
        assert raw(TICKET).schema == TICKET

    def test_the_protocol_wants_to_know_that_it_is_an_object(self) -> None:
        assert raw({"properties": {"id": {}}}).schema == {"type": "object", "properties": {"id": {}}}

    def test_defaults_are_filled_in_and_not_shared(self) -> None:
        found = raw(TICKET)
        sent: dict[str, Any] = {"id": "T-1", "options": {}}
        first = found.validate(sent)
        assert first == {"id": "T-1", "labels": ["new"], "options": {"depth": 2}}
        first["labels"].append("x")
        assert found.validate({"id": "T-1"})["labels"] == ["new"]
        assert sent == {"id": "T-1", "options": {}}

    def test_what_does_not_match_is_listed(self) -> None:
        sent = {"id": "x", "labels": ["a", 1], "owner": {}}
        assert sorted(issues_of(raw(TICKET), sent), key=lambda each: str(each["path"])) == [
            {"path": ["id"], "message": "Value does not match pattern: ^T-[0-9]+$", "type": "pattern"},
            {"path": ["labels", 1], "message": "Value does not match type: string", "type": "type"},
            {"path": ["owner", "name"], "message": "Field required", "type": "required"},
        ]

    def test_every_missing_field_is_listed_once(self) -> None:
        found = raw({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b", "c"]})
        assert [issue["path"] for issue in issues_of(found, {"b": 1})] == [["a"], ["c"]]

    @pytest.mark.parametrize("sent", [None, [], "text", 3])
    def test_arguments_are_an_object(self, sent: Any) -> None:
        assert issues_of(raw(TICKET), sent) == [
            {"path": [], "message": "Input should be an object", "type": "dict_type"}
        ]

    def test_numbers_that_are_not_finite_are_refused(self) -> None:
        issue = issues_of(raw({"properties": {"x": {"type": "number"}}}), {"x": math.nan})
        assert issue == [
            {"path": ["x"], "message": "Value is not allowed: number is not finite", "type": "number_is_not_finite"}
        ]

    def test_python_values_become_json(self) -> None:
        found = raw({"properties": {"day": {"type": "string"}, "marks": {"type": "array"}}})
        assert found.validate({"day": date(2026, 7, 28), "marks": (1, 2)}) == {"day": "2026-07-28", "marks": [1, 2]}
        assert issues_of(found, {"day": object()})[0]["type"] == "json_type"

    def test_a_recursive_schema_refuses_what_is_too_deep(self) -> None:
        found = raw(
            {
                "properties": {"tree": {"$ref": "#/$defs/tree"}},
                "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            }
        )
        assert found.validate({"tree": [[[]]]}) == {"tree": [[[]]]}
        deep: list[Any] = []
        for depth in range(10_000):
            deep = [deep]
            if depth == 100:
                found.validate({"tree": deep})
            if 200 < depth < 260:
                with contextlib.suppress(InvalidInputError):
                    found.validate({"tree": deep})
        assert issues_of(found, {"tree": deep})

    def test_formats_are_not_asserted(self) -> None:
        found = raw({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": {"format": "date"}}})
        assert found.validate({"x": "no date"}) == {"x": "no date"}

    def test_undeclared_arguments_reach_keyword_parameters_only(self) -> None:
        def strict(id: str) -> None: ...

        schema = JsonSchema({"properties": {"id": {"type": "string"}}, "required": ["id"]})
        assert input_of(strict, input_schema=schema).validate({"id": "a", "x": 1}) == {"id": "a"}
        assert raw(schema.schema).validate({"id": "a", "x": 1}) == {"id": "a", "x": 1}

    @pytest.mark.parametrize(
        ("schema", "named"),
        [
            ({"type": "objekt"}, "not a valid JSON Schema"),
            ({"properties": {"x": {"minimum": "a"}}}, "not a valid JSON Schema"),
            ({"type": "array"}, "describes an object"),
            ({"properties": {"x": {"$ref": "https://example.com/x.json"}}}, "points outside the schema"),
            ({"properties": {"x": {"$ref": "other.json#/a"}}}, "points outside the schema"),
            ({"properties": {"x": {"$ref": "#/$defs/nowhere"}}}, "nowhere in it"),
            ({"properties": {"x": {"$dynamicRef": "#nowhere"}}}, "nowhere in it"),
            ({"properties": {"x": {"pattern": "("}}}, "not a valid JSON Schema"),
            ({"properties": {"x": {"default": object()}}}, "not a valid JSON Schema"),
        ],
    )
    def test_a_broken_schema_is_refused(self, schema: dict[str, Any], named: str) -> None:
        with pytest.raises(ConfigurationError, match=named):
            raw(schema)

    @pytest.mark.parametrize(
        "schema",
        [
            {
                "$id": "https://example.com/t",
                "properties": {"x": {"$ref": "https://example.com/t#/$defs/a"}},
                "$defs": {"a": {}},
            },
            {"properties": {"x": {"$ref": "#/properties/y"}, "y": {"type": "integer"}}},
            {"properties": {"x": {"$ref": "#here"}}, "$defs": {"a": {"$anchor": "here", "type": "integer"}}},
            {"properties": {"x": {"$ref": "#"}}},
            {"properties": {"x": {"enum": [{"$ref": "https://example.com"}]}}},
            {"properties": {"$ref": {"type": "string"}}},
        ],
    )
    def test_references_inside_the_schema_are_fine(self, schema: dict[str, Any]) -> None:
        assert raw(schema).validate({}) == {}


@pytest.mark.usefixtures("compiler")
def test_a_schema_that_slipped_through_would_fetch_nothing_either() -> None:
    asked: list[str] = []

    class Serve(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x.json"
        with pytest.raises(Unresolvable):
            SchemaCheck({"properties": {"x": {"$ref": url}}})({"x": 1})
        server.shutdown()
    assert asked == []


# What is refused in every form


def model_form(annotation: Any) -> Input:
    model: Any = type("Given", (BaseModel,), {"__annotations__": {"x": annotation}})

    def f(input: Any) -> None: ...

    f.__annotations__["input"] = model
    return input_of(f, input_schema=model)


@pytest.mark.parametrize("form", [parameter, model_form], ids=["signature", "model"])
class TestRefused:
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize(
        ("annotation", "wrap", "path"),
        [
            (float, lambda v: v, ["x"]),
            (Any, lambda v: v, ["x"]),
            (list[Any], lambda v: [1, v], ["x", 1]),
            (dict[str, Any], lambda v: {"own": [v]}, ["x", "*", 0]),
        ],
    )
    def test_numbers_that_are_not_finite(
        self, form: Callable[[Any], Input], annotation: Any, wrap: Callable[[Any], Any], path: list[Any], value: float
    ) -> None:
        assert [issue["path"] for issue in issues_of(form(annotation), {"x": wrap(value)})] == [path]

    @pytest.mark.parametrize("annotation", [Any, Node, list[Any], dict[str, Any]])
    def test_ten_thousand_levels(self, form: Callable[[Any], Input], annotation: Any) -> None:
        deep: Any = {"name": "leaf", "children": []}
        for _ in range(10_000):
            deep = {"name": "a", "children": [deep]}
        assert issues_of(form(annotation), {"x": [deep] if annotation == list[Any] else deep})

    @pytest.mark.parametrize("sent", [None, [], "text", 3])
    def test_arguments_that_are_no_object(self, form: Callable[[Any], Input], sent: Any) -> None:
        assert issues_of(form(int), sent)[0]["path"] == []


def test_text_for_a_number_is_not_read_as_nan() -> None:
    assert issues_of(parameter(float), {"x": "nan"})[0]["type"] == "finite_number"


def test_a_hundred_thousand_wrong_items_make_a_short_error() -> None:
    assert len(issues_of(parameter(list[int]), {"x": ["a"] * 100_000})) == 50


def test_an_invalid_input_is_told_as_the_page_says() -> None:
    with pytest.raises(InvalidInputError) as refused:
        parameter(int).validate({"x": "a"})
    assert str(refused.value) == "Invalid tool input"
    head, _, details = refused.value.text.partition("\nDetails: ")
    assert head == "Invalid tool input"
    assert json.loads(details) == [
        {
            "path": ["x"],
            "message": "Input should be a valid integer, unable to parse string as an integer",
            "type": "int_parsing",
        }
    ]


def test_it_all_works_without_jsonschema_rs_installed() -> None:
    script = "import sys; sys.modules['jsonschema_rs'] = None; import frontmcp"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


PATTERN = "^(a+)+$"
SLOW = "a" * 40 + "!"


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("schema", "data", "kinds"),
    [
        ({"properties": {"x": {"pattern": PATTERN}}}, {"x": SLOW}, ["pattern"]),
        ({"properties": {"x": {"pattern": PATTERN}}}, {"x": "aaa"}, []),
        ({"properties": {"x": {"pattern": PATTERN}}}, {"x": 3}, []),
        ({"propertyNames": {"pattern": PATTERN}}, {SLOW: 1}, ["pattern"]),
        ({"patternProperties": {PATTERN: {"type": "string"}}}, {SLOW: 1, "aaa": 1}, ["type"]),
        ({"patternProperties": {PATTERN: {}}, "additionalProperties": False}, {SLOW: 1}, ["additionalProperties"]),
        ({"patternProperties": {PATTERN: {}}, "additionalProperties": False}, {"aaa": 1}, []),
        ({"patternProperties": {PATTERN: {}}, "additionalProperties": {"type": "string"}}, {SLOW: 1}, ["type"]),
        ({"properties": {"x": {}}, "additionalProperties": False}, {"x": 1, "y": 1}, ["additionalProperties"]),
        ({"properties": {"x": {"pattern": r"^(?!.*\.\.)\w+$"}}}, {"x": "a..b"}, ["pattern"]),
    ],
)
def test_what_is_sent_is_searched_for_patterns_in_linear_time(
    schema: dict[str, Any], data: Any, kinds: list[str], fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*arguments: Any) -> Any:
        raise AssertionError("Python's engine takes as long as whoever sends it likes")

    with monkeypatch.context() as patched:
        if not fast:
            patched.setitem(sys.modules, "jsonschema_rs", None)
        check = SchemaCheck({"type": "object", **schema})
        patched.setattr("re.search", never)
        found = check(data)
    assert [issue["type"] for issue in found] == kinds
