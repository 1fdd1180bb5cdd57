"""What a state carries: results and errors that come back as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ValidationError

from frontmcp import (
    FlowControl,
    InternalMcpError,
    InvalidInputError,
    PublicMcpError,
    RateLimitError,
    ToolExecutionError,
)
from frontmcp.asking.state import Record, State, dump_error, dump_result, restore
from frontmcp.call import Caller
from frontmcp.errors import NotAnException, PluginError


class Full(PublicMcpError):
    """An error with a constructor and fields of its own."""

    code = "FULL"

    def __init__(self, shelf: int, *, reasons: list[str]) -> None:
        super().__init__(f"Shelf {shelf} is full.", data={"shelf": shelf})
        self.shelf = shelf
        self.reasons = reasons


class Number(BaseModel):
    number: int


def invalid() -> ValidationError:
    try:
        Number(number="x")  # type: ignore[arg-type]
    except ValidationError as error:
        return error
    raise AssertionError


def local_error() -> PublicMcpError:
    class Local(PublicMcpError):
        code = "LOCAL"

    return Local("only here")


def again(error: BaseException) -> Exception:
    with pytest.raises(Exception) as raised:
        restore(json.loads(json.dumps(dump_error(error))), CallToolResult)
    return raised.value


@pytest.mark.parametrize(
    "error",
    [
        PublicMcpError("No stamp.", "NO_STAMP", data={"price": 85}),
        InternalMcpError("out of order"),
        InvalidInputError(validation_errors=[{"path": ["a", 0], "message": "Field required", "type": "missing"}]),
        RateLimitError(7),
        Full(3, reasons=["books"]),
        PluginError("acme.audit", "will_execute", ValueError("no ink")),
        ValueError("no ink"),
        ValueError(),
        FlowControl(),
    ],
    ids=repr,
)
def test_an_error_comes_back_as_it_was(error: Exception) -> None:
    back = again(error)
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
    assert getattr(back, "code", None) == getattr(error, "code", None)


def test_so_does_what_is_inside_it() -> None:
    back: Any = again(FlowControl(ToolExecutionError("post", Full(3, reasons=[]))))
    assert (type(back), str(back)) == (FlowControl, "")
    assert str(back.original_error) == 'Tool "post" execution failed: Shelf 3 is full.'
    assert back.original_error.original_error.shelf == 3


def test_a_failed_result_is_still_public_and_says_the_same() -> None:
    failed = CallToolResult(content=[TextContent(text="No stamp.")], is_error=True)
    back = again(ToolExecutionError.from_result("post", failed))
    assert (type(back), str(back), back.public) == (ToolExecutionError, "No stamp.", True)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (local_error(), PublicMcpError),
        (invalid(), RuntimeError),
        (KeyError("stamp"), RuntimeError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), RuntimeError),
        (SystemExit(3), RuntimeError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_one_that_can_not_be_made_again_comes_back_as_the_nearest(error: BaseException, kind: type[Exception]) -> None:
    back = again(error)
    assert (type(back), str(back)) == (kind, str(error))
    assert getattr(back, "code", None) == ("LOCAL" if kind is PublicMcpError else None)


def test_what_is_no_json_in_an_error_is_shown() -> None:
    error = PublicMcpError("No stamp.")
    error.machine = object()  # type: ignore[attr-defined]
    assert again(error).machine.startswith("<object object")  # type: ignore[attr-defined]


def test_what_a_tool_raised_that_is_no_exception() -> None:
    back: Any = again(ToolExecutionError("post", NotAnException(SystemExit(3))))
    assert (type(back.original_error), str(back.original_error)) == (NotAnException, "SystemExit: 3")


def test_a_result_comes_back_as_it_was() -> None:
    result = CallToolResult(content=[TextContent(text="[1]")], structured_content=[1], _meta={"acme/x": None})
    back = restore(json.loads(json.dumps(dump_result(result))), CallToolResult)
    assert (back.content, back.structured_content) == (result.content, result.structured_content)


def test_a_state_is_text_and_back() -> None:
    record = Record("client", "desk:post", "ab12", 1, "outer → post", {"result": {"content": []}})
    state = State("anonymous", attempt=2, asked=["a-1"], records=[record], once={"client:x": {"value": [1]}})
    assert State.load(state.dump()) == state


@pytest.mark.parametrize("text", ["", "1", "[]", "null", '"x"', "{}", '{"records": 1}', '{"records": [{}]}'])
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        State.load(text)


def test_a_state_belongs_to_one_identity_and_the_anonymous_are_one() -> None:
    nour = Caller("nour", claims={"iss": "https://id.example"})
    state = State(nour.key)
    assert state.belongs_to(Caller("nour", roles=("admin",), claims={"iss": "https://id.example"}))
    assert not state.belongs_to(Caller("nour", claims={"iss": "https://other.example"}))
    assert not state.belongs_to(Caller("Ñour"))
    assert State(Caller.anonymous().key).belongs_to(Caller.anonymous())
    assert not State(Caller.anonymous().key).belongs_to(Caller("anonymous"))
