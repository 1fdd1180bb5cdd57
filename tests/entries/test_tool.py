"""The result of a value: content, structured content and text (api.md, "Result of a value")."""

from __future__ import annotations

import enum
import math
from collections import UserDict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from mcp_types import ImageContent, TextContent
from pydantic import BaseModel

from frontmcp import CallToolResult, FrontMcp, Image, InvalidOutputError, JsonSchema, Tool, create_direct
from frontmcp.registry import ToolEntry


class Ticket(BaseModel):
    id: str
    count: int = 0


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Span:
    low: int


class Color(enum.Enum):
    RED = "red"


class Own:
    pass


def entry_of(tool: Tool) -> ToolEntry:
    server = FrontMcp("s", tools=[tool])
    server.check()
    entry: ToolEntry = server.find(tool.name)  # type: ignore[assignment]
    return entry


def returning(annotation: Any, **options: Any) -> ToolEntry:
    """The entry of a tool with a return annotation."""

    def body() -> Any: ...

    body.__annotations__["return"] = annotation
    tool: Tool = Tool(**options)
    tool(body)
    return entry_of(tool)


def formatted(entry: ToolEntry, value: Any) -> CallToolResult:
    call: Any = None
    return entry.format(call, value)


def texts_of(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


@pytest.mark.parametrize(
    ("value", "text", "structured"),
    [
        (Ticket(id="T"), '{"id":"T","count":0}', {"id": "T", "count": 0}),
        (Span(1), '{"low":1}', {"low": 1}),
        (Point(1, 2), '{"x":1,"y":2}', {"x": 1, "y": 2}),
        ({"a": [1, None]}, '{"a":[1,null]}', {"a": [1, None]}),
        ({}, "{}", {}),
        ("text", "text", None),
        ("", "", None),
        (date(2026, 7, 28), "2026-07-28", None),
        (UUID(int=1), str(UUID(int=1)), None),
        (Color.RED, "red", None),
        (Decimal("1.50"), "1.50", None),
        (Path("a/b"), "a/b", None),
        (b"bytes", "bytes", None),
        (3, "3", None),
        (1.5, "1.5", None),
        (True, "true", None),
        ([1, "a"], '[1,"a"]', None),
        ([], "[]", None),
        ((1, 2), "[1,2]", None),
        ({1}, "[1]", None),
        ([Point(1, 2)], "[[1,2]]", None),
        (10**30, str(10**30), None),
    ],
    ids=repr,
)
def test_a_value_of_a_tool_that_says_nothing(value: Any, text: str, structured: Any) -> None:
    result = formatted(returning(Any), value)
    assert texts_of(result) == [text]
    assert result.structured_content == structured
    assert not result.is_error


def test_none_is_no_content() -> None:
    assert formatted(returning(None), None) == CallToolResult(content=[])


TEXT = TextContent(text="a")
IMAGE = Image(data=b"x")


@pytest.mark.parametrize("annotation", [Any, list[Image | str], Image])
@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (TEXT, [TextContent]),
        (IMAGE, [ImageContent]),
        ([IMAGE, TEXT], [ImageContent, TextContent]),
        (("a", IMAGE, {"b": 1}), [TextContent, ImageContent, TextContent]),
    ],
)
def test_content_is_content(annotation: Any, value: Any, kinds: list[type]) -> None:
    result = formatted(returning(annotation), value)
    assert [type(block) for block in result.content] == kinds
    assert result.structured_content is None


def test_what_stands_beside_content_becomes_text() -> None:
    assert texts_of(formatted(returning(Any), ["a", IMAGE, {"b": 1}])) == ["a", '{"b":1}']


@pytest.mark.parametrize(("annotation", "texts"), [(list[Image], []), (Any, ["[]"])])
def test_an_empty_list_is_content_where_the_annotation_says_so(annotation: Any, texts: list[str]) -> None:
    assert texts_of(formatted(returning(annotation), [])) == texts


@pytest.mark.parametrize(
    ("annotation", "value", "text", "structured"),
    [
        (Ticket, {"id": "T", "x": 1}, '{"id":"T","count":0}', {"id": "T", "count": 0}),
        (Point, Point(1, 2), '{"x":1,"y":2}', {"x": 1, "y": 2}),
        (int, 3, "3", 3),
        (list[int], [1], "[1]", [1]),
        (Literal["a"], "a", "a", "a"),
        (int | None, 3, "3", {"result": 3}),
        (int | None, None, None, {"result": None}),
        (Ticket | None, Ticket(id="T"), '{"id":"T","count":0}', {"result": {"id": "T", "count": 0}}),
    ],
)
def test_a_value_of_a_tool_with_an_output_schema(
    annotation: Any, value: Any, text: str | None, structured: Any
) -> None:
    entry = returning(annotation)
    result = formatted(entry, value)
    assert texts_of(result) == ([] if text is None else [text])
    assert result.structured_content == structured
    listed = entry.wire(name="body", modern=True).output_schema
    assert Draft202012Validator(listed).is_valid(structured)


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (Any, Own(), "(not serializable as JSON)"),
        (Any, {"a": [Own()]}, "(not serializable as JSON at a.0)"),
        (Any, [IMAGE, Own()], "(not serializable as JSON)"),
        (Any, {"image": IMAGE}, "(not serializable as JSON at image)"),
        (Any, {"a": math.nan}, "(number is not finite at a)"),
        (Any, [1, [math.inf]], "(number is not finite at 1.0)"),
        (Any, "half \ud800", "(not serializable as JSON)"),
        (Any, {"a": "half \ud800"}, "(not serializable as JSON at a)"),
        (float, math.nan, "(number is not finite)"),
        (Ticket, {"id": "T", "count": "x"}, "(output does not match outputSchema at count)"),
        (Ticket, None, "(output does not match outputSchema)"),
        (Ticket, IMAGE, "(not serializable as JSON)"),
    ],
)
def test_what_can_not_be_sent_is_refused(annotation: Any, value: Any, message: str) -> None:
    with pytest.raises(InvalidOutputError) as refused:
        formatted(returning(annotation), value)
    assert str(refused.value) == f"Tool output validation failed {message}"


def test_a_value_that_contains_itself_is_refused() -> None:
    ring: dict[str, Any] = {}
    ring["again"] = [ring]
    with pytest.raises(InvalidOutputError, match=r"not serializable as JSON at again\.0"):
        formatted(returning(Any), ring)


# A CallToolResult of the tool's own


def test_a_result_passes_as_it_is() -> None:
    result = CallToolResult(content=[TEXT], structured_content={"own": 1}, _meta={"a": 1})
    assert formatted(returning(Any), result) is result
    assert formatted(returning(CallToolResult), result) is result


@pytest.mark.parametrize("annotation", [Ticket, int, int | None])
def test_an_error_result_passes_whatever_the_schema(annotation: Any) -> None:
    result = CallToolResult(content=[TEXT], is_error=True)
    assert formatted(returning(annotation), result) is result


@pytest.mark.parametrize(
    ("annotation", "structured", "fits"),
    [
        (Ticket, {"id": "T", "count": 1}, True),
        (Ticket, {"id": "T", "count": "1"}, False),
        (Ticket, {"id": 1}, False),
        (Ticket, None, False),
        (int, 3, True),
        (int, {"result": 3}, False),
        (int | None, {"result": None}, True),
        (int | None, {"result": "x"}, False),
        (int | None, {"result": 3, "more": 1}, False),
        (int | None, 3, False),
        (Any, {"day": date(2026, 7, 28)}, True),
        (Any, {"own": Own()}, False),
        (Any, {"nan": math.nan}, False),
    ],
)
def test_the_structured_content_of_a_result_is_checked(annotation: Any, structured: Any, fits: bool) -> None:
    result = CallToolResult(content=[], structured_content=structured)
    entry = returning(annotation)
    if fits:
        assert formatted(entry, result) is result
    else:
        with pytest.raises(InvalidOutputError):
            formatted(entry, result)


# As listed


@pytest.mark.parametrize(
    ("annotation", "modern", "older"),
    [
        (
            int,
            {"type": "integer"},
            {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, None),
        (Any, None, None),
    ],
)
def test_older_clients_are_shown_an_object(annotation: Any, modern: Any, older: Any) -> None:
    entry = returning(annotation)
    assert entry.wire(name="n", modern=True).output_schema == modern
    assert entry.wire(name="n", modern=False).output_schema == (modern if older is None else older)


def test_an_output_schema_that_is_given_goes_before_the_annotation() -> None:
    entry = returning(dict[str, Any], output_schema=Ticket)
    assert formatted(entry, {"id": "T"}).structured_content == {"id": "T", "count": 0}
    entry = returning(Any, output_schema={"id": str, "n": (int, 3)})
    assert formatted(entry, {"id": "T", "x": 1}).structured_content == {"id": "T", "n": 3}
    entry = returning(Any, output_schema=JsonSchema({"type": "array", "items": {"type": "integer"}}))
    assert formatted(entry, [1]).structured_content == [1]
    entry = returning(Any, output_schema=list[Ticket] | None)
    assert formatted(entry, [{"id": "T"}]).structured_content == {"result": [{"id": "T", "count": 0}]}


async def test_a_mapping_of_any_kind_is_an_object() -> None:
    @Tool
    async def mapping() -> Any:
        return UserDict(a=MappingProxyType({"b": 1}))

    async with create_direct(FrontMcp("s", tools=[mapping])) as direct:
        result = await direct.call_tool("mapping")
    assert result.structured_content == {"a": {"b": 1}}
    assert texts_of(result) == ['{"a":{"b":1}}']
