"""What a test can ask of a result, and what it is told when the result is another."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from frontmcp.testing import ToolResult


def result(text: str | None = None, data: Any = None, code: str | None = None, **meta: Any) -> ToolResult:
    raw = CallToolResult(
        content=[] if text is None else [TextContent(text=text)],
        structured_content=data,
        is_error=code is not None,
        _meta={"code": code, **meta} if code is not None else None,
    )
    return ToolResult("ping", raw)


@pytest.mark.parametrize(
    ("text", "data", "value"),
    [
        ('{"a":1}', {"a": 1}, {"a": 1}),
        ("[1,2]", [1, 2], [1, 2]),
        ("[1,2]", {"result": [1, 2]}, [1, 2]),
        ("3", {"result": 3}, 3),
        ("hello", {"result": "hello"}, "hello"),
        (None, {"result": None}, None),
        ('{"result":[1]}', {"result": [1]}, {"result": [1]}),
        ("other words", {"result": [1]}, {"result": [1]}),
        ("[1,2]", None, [1, 2]),
    ],
)
def test_json_is_the_value_that_the_tool_returned(text: str | None, data: Any, value: Any) -> None:
    assert result(text, data).json() == value


def test_json_of_a_text_that_is_none_fails() -> None:
    with pytest.raises(AssertionError, match="neither structured content nor JSON"):
        result("hello").json()


def test_text_is_every_text_block() -> None:
    blocks: list[Any] = [
        TextContent(text="one"),
        ImageContent(data="", mime_type="image/png"),
        TextContent(text="two"),
    ]
    assert ToolResult("ping", CallToolResult(content=blocks)).text() == "one\ntwo"


def test_a_success() -> None:
    good = result("pong")
    assert (good.is_error, good.code) == (False, None)
    assert good.assert_ok() is good
    with pytest.raises(AssertionError, match=r'^"ping" returned \'pong\', but should have failed with NO_STAMP$'):
        good.assert_error("NO_STAMP")


def test_a_failure() -> None:
    bad = result("No stamp.", code="NO_STAMP")
    assert (bad.is_error, bad.code) == (True, "NO_STAMP")
    assert bad.assert_error() is bad.assert_error("NO_STAMP") is bad
    with pytest.raises(AssertionError, match=r'^"ping" failed with NO_STAMP: No stamp., but should have succeeded$'):
        bad.assert_ok()
    with pytest.raises(AssertionError, match="but should have failed with NO_INK"):
        bad.assert_error("NO_INK")


def test_a_failure_that_was_not_expected_shows_where_it_happened() -> None:
    with pytest.raises(AssertionError, match="On the server:\nTraceback: here"):
        result("No stamp.", code="NO_STAMP", stack="Traceback: here").assert_ok()
