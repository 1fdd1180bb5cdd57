"""From an error to what the client sees: masked or not, with its code and id, and what the log says."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any

import anyio
import pytest
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ValidationError

from frontmcp import (
    FlowControl,
    FrontMcp,
    FrontMcpError,
    InternalMcpError,
    InvalidInputError,
    InvalidOutputError,
    PublicMcpError,
    RateLimitError,
    Tool,
    ToolContext,
    ToolExecutionError,
    ToolNotFoundError,
    create_direct,
)
from frontmcp.errors import (
    CallDepthError,
    ConfigurationError,
    NotAnException,
    PluginError,
    ProviderError,
    ServerBusyError,
    describe,
    nearest,
    sendable,
    shorten,
    to_error_data,
    to_result,
    unwrap_group,
)
from frontmcp.errors.stacks import PACKAGE, user_stack

CANARY = "c4n4ry"
SUPPORT = "Internal FrontMCP error. Please contact support with error ID: "


def text_of(result: CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


def meta_of(result: CallToolResult) -> dict[str, Any]:
    assert result.meta is not None
    return result.meta


# The table

TABLE = [
    (PublicMcpError("There's no ticket T-9.", "NO_TICKET"), "NO_TICKET", "There's no ticket T-9.", None),
    (PublicMcpError("Plain"), "PUBLIC_ERROR", "Plain", None),
    (ToolNotFoundError("get_tikcet"), "TOOL_NOT_FOUND", 'Tool "get_tikcet" not found', None),
    (RateLimitError(3), "RATE_LIMIT_EXCEEDED", "Rate limit exceeded. Retry after 3 seconds", None),
    (RateLimitError(), "RATE_LIMIT_EXCEEDED", "Rate limit exceeded", None),
    (CallDepthError("a → b", 16), "CALL_DEPTH_EXCEEDED", "Calls are nested deeper than 16: a → b", None),
    (ServerBusyError(), "SERVER_BUSY", "Server is busy: every worker thread is held by an abandoned call", None),
    (InvalidInputError(), "INVALID_INPUT", "Invalid tool input", None),
    (
        InvalidOutputError("output does not match outputSchema", "status"),
        "INVALID_OUTPUT",
        "Tool output validation failed (output does not match outputSchema at status)",
        "Output validation failed. Please contact support.",
    ),
    (
        ToolExecutionError("close", RuntimeError("SMTP timeout")),
        "TOOL_EXECUTION_ERROR",
        'Tool "close" execution failed: SMTP timeout',
        SUPPORT,
    ),
    (ToolExecutionError("close"), "TOOL_EXECUTION_ERROR", 'Tool "close" execution failed: Unknown error', SUPPORT),
    (InternalMcpError("Inside"), "INTERNAL_ERROR", "Inside", SUPPORT),
    (FrontMcpError("Inside", "OWN"), "OWN", "Inside", SUPPORT),
    (
        PluginError("acme.audit", "will_execute", KeyError("k")),
        "INTERNAL_ERROR",
        "Plugin \"acme.audit\" failed in will_execute: KeyError: 'k'",
        SUPPORT,
    ),
    (ProviderError("nothing provides Db"), "PROVIDER_ERROR", "nothing provides Db", SUPPORT),
]


@pytest.mark.parametrize(("error", "code", "text", "masked"), TABLE, ids=lambda value: type(value).__name__)
class TestTable:
    def test_development_shows_the_text_and_the_stack(
        self, error: FrontMcpError, code: str, text: str, masked: str | None
    ) -> None:
        result = to_result(error, production=False)
        assert result.is_error
        assert text_of(result) == text
        assert set(meta_of(result)) - {"data"} == {"errorId", "code", "timestamp", "stack"}
        assert meta_of(result).get("data") == error.data
        assert meta_of(result)["code"] == code
        assert type(error).__name__ in meta_of(result)["stack"]

    def test_production_masks_what_is_not_public(
        self, error: FrontMcpError, code: str, text: str, masked: str | None
    ) -> None:
        result = to_result(error, production=True)
        expected = text if masked is None else masked + (meta_of(result)["errorId"] if masked is SUPPORT else "")
        assert result.is_error
        assert text_of(result) == expected
        assert set(meta_of(result)) - {"data"} == {"errorId", "code", "timestamp"}
        assert meta_of(result).get("data") == (error.data if error.public else None)
        assert meta_of(result)["code"] == code


class TestStack:
    @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
    @pytest.mark.parametrize("production", [True, False])
    async def test_it_has_the_users_frames_alone(self, caplog: pytest.LogCaptureFixture, production: bool) -> None:
        @Tool
        def bug() -> str:
            raise ValueError("bang")

        @Tool
        async def outer(self: ToolContext) -> None:
            await self.call_tool("bug", {})

        server = FrontMcp("s", tools=[bug, outer], environment="production" if production else "test")
        async with create_direct(server) as direct:
            with pytest.raises(ToolExecutionError) as caught:
                await direct.call_tool("outer", {})
        result = to_result(caught.value, production=production)
        (record,) = (record for record in caplog.records if record.name == "frontmcp.errors")
        for shown in (logging.Formatter().format(record), meta_of(result).get("stack")):
            if shown is not None:
                frames = re.findall(r'File "(.*)", line \d+, in (\w+)', shown)
                assert [name for file, name in frames if file == __file__][:2] == ["bug", "outer"]
                assert {file for file, _ in frames} == {__file__}
                assert "ValueError: bang" in shown

    def test_an_error_that_never_left_our_code_keeps_its_frames(self) -> None:
        with pytest.raises(ZeroDivisionError) as caught:
            exec(compile("1 / 0", f"{PACKAGE}/made_up.py", "exec"))
        traceback = caught.value.__traceback__
        assert traceback is not None
        assert 'made_up.py", line 1' not in user_stack(caught.value)
        assert 'made_up.py", line 1' in user_stack(caught.value.with_traceback(traceback.tb_next))


def test_every_answer_has_an_id_of_its_own() -> None:
    error = PublicMcpError("x")
    ids = {meta_of(to_result(error, production=True))["errorId"] for _ in range(10)}
    assert len(ids) == 10
    assert all(re.fullmatch(r"err_[0-9a-f]{16}", each) for each in ids)


def test_an_invalid_input_adds_its_issues_as_json() -> None:
    issues = [{"path": ["to"], "message": "Field required", "type": "missing"}]
    error = InvalidInputError(validation_errors=issues)
    head, _, details = text_of(to_result(error, production=True)).partition("\nDetails: ")
    assert (head, json.loads(details)) == ("Invalid tool input", issues)
    assert error.validation_errors == issues


def test_text_that_can_not_be_sent_is_escaped() -> None:
    result = to_result(PublicMcpError("half \ud800 of a pair"), production=False)
    assert text_of(result) == "half \\ud800 of a pair"
    assert sendable("Grüße") == "Grüße"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"half \ud800": ["\ud800"]}, {"half ?": ["?"]}),
        ({"number": float("nan")}, {"number": "NaN"}),
        ({"bytes": b"\xff"}, {"bytes": "b'\\xff'"}),
    ],
)
def test_data_that_can_not_be_sent_is_shown(given: dict[str, Any], told: dict[str, Any]) -> None:
    error = PublicMcpError("no", data={**given, "whole": 7})
    meta, data = to_result(error, production=True).meta, to_error_data(error, production=True).data
    assert meta is not None
    assert meta["data"] == {**told, "whole": 7}
    assert data.items() >= meta["data"].items()


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [(KeyError("k"), "KeyError: 'k'"), (ValueError(), "ValueError"), (Mute(), "Mute"), (RuntimeError("a"), "a")],
)
def test_an_error_is_described_by_its_message_or_its_class(error: Exception, text: str) -> None:
    assert describe(error) == text
    assert str(ToolExecutionError("t", error)) == f'Tool "t" execution failed: {text}'


@pytest.mark.parametrize(
    ("raised", "text"),
    [(SystemExit(3), "SystemExit: 3"), (SystemExit(), "SystemExit"), (BaseException(), "BaseException")],
)
def test_what_is_no_exception_is_named(raised: BaseException, text: str) -> None:
    assert str(NotAnException(raised)) == text


def test_names_in_messages_are_short_and_printable() -> None:
    assert shorten("x" * 10_000) == "x" * 128 + "…"
    assert shorten("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
    assert str(ToolNotFoundError("a\nb")) == 'Tool "a\\nb" not found'


def test_configuration_errors_list_every_problem_once() -> None:
    assert str(ConfigurationError("one")) == "one"
    error = ConfigurationError(["one", "two", "one"])
    assert error.problems == ["one", "two"]
    assert str(error) == "2 problems:\n  - one\n  - two"


def test_flow_control_is_silent_and_carries_the_error() -> None:
    original = PublicMcpError("x")
    error = FlowControl(original)
    assert (str(error), error.original_error) == ("", original)
    assert repr(error) == f"FlowControl({original!r})"
    assert not isinstance(error, FrontMcpError)


def test_a_group_is_its_first_leaf() -> None:
    first, second = ValueError("first"), ValueError("second")
    assert unwrap_group(ExceptionGroup("g", [ExceptionGroup("h", [first]), second])) is first
    assert unwrap_group(first) is first


# What the log says


def test_a_masked_error_is_in_the_log_under_its_id(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "frontmcp"):
        result = to_result(ToolExecutionError("t", RuntimeError("why")), production=True, fields={"request_id": "r-1"})
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert meta_of(result)["errorId"] in record.getMessage()
    assert 'Tool "t" execution failed: why' in record.getMessage()
    assert record.exc_info is not None
    assert record.__dict__["request_id"] == "r-1"


def test_a_public_error_is_in_the_log_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "frontmcp"):
        to_result(PublicMcpError(f"no ticket {CANARY}", "NO_TICKET"), production=True)
    (record,) = caplog.records
    assert (record.levelno, record.exc_info) == (logging.INFO, None)
    assert "NO_TICKET" in record.getMessage()
    assert CANARY not in record.getMessage()


# Through a whole call


class Ticket(BaseModel):
    id: str
    count: int


async def left_by(*tools: Any, name: str = "outer", arguments: dict[str, Any] | None = None) -> FrontMcpError:
    """The error that leaves a server for a call."""
    async with create_direct(FrontMcp("s", tools=tools)) as direct:
        with pytest.raises(FrontMcpError) as failed:
            await direct.call_tool(name, arguments)
    return failed.value


async def test_an_error_in_a_task_group_is_that_error() -> None:
    @Tool
    async def outer() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 10)
            raise PublicMcpError("No.", "NO")

    error = await left_by(outer)
    assert (error.code, str(error)) == ("NO", "No.")


async def test_self_fail_in_a_task_group_is_that_failure() -> None:
    @Tool
    class Outer(ToolContext):
        async def execute(self) -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(self.child)

        async def child(self) -> None:
            self.fail(PublicMcpError("No.", "NO"))

    assert (await left_by(Outer)).code == "NO"


async def test_a_stray_cancellation_is_an_error_of_the_tool() -> None:
    @Tool
    async def outer() -> None:
        raise asyncio.CancelledError

    assert (await left_by(outer)).code == "TOOL_EXECUTION_ERROR"


def canary_tools() -> list[Any]:
    """Tools that let an error of pydantic escape in several ways."""

    @Tool
    async def plain(given: dict[str, Any]) -> None:
        Ticket(**given)

    @Tool
    async def caused(given: dict[str, Any]) -> None:
        try:
            Ticket.model_validate(given)
        except ValidationError as error:
            raise RuntimeError("bad ticket") from error

    @Tool
    async def in_context(given: dict[str, Any]) -> None:
        try:
            Ticket.model_validate(given)
        except ValidationError:
            raise RuntimeError("bad ticket")  # noqa: B904

    @Tool
    async def grouped(given: dict[str, Any]) -> None:
        async with anyio.create_task_group():
            Ticket.model_validate(given)

    @Tool
    def threaded(given: dict[str, Any]) -> None:
        Ticket.model_validate(given)

    @Tool
    class Failed(ToolContext):
        async def execute(self, given: dict[str, Any]) -> None:
            try:
                Ticket.model_validate(given)
            except ValidationError as error:
                self.fail(error)

    @Tool
    class Nested(ToolContext):
        async def execute(self, given: dict[str, Any]) -> None:
            await self.call_tool("plain", {"given": given})

    return [plain, caused, in_context, grouped, threaded, Failed, Nested]


def everything_said(error: BaseException | None, depth: int = 10) -> str:
    if error is None or depth == 0:
        return ""
    linked = [error.__cause__, error.__context__, getattr(error, "original_error", None)]
    own = [str(error), repr(error), *getattr(error, "__notes__", ())]
    return "\n".join([*own, *(everything_said(each, depth - 1) for each in linked)])


@pytest.mark.parametrize("name", ["plain", "caused", "in_context", "grouped", "threaded", "failed", "nested"])
async def test_an_error_of_pydantic_loses_its_input_values(name: str, caplog: pytest.LogCaptureFixture) -> None:
    arguments = {"given": {"id": 3, "count": CANARY, CANARY: CANARY}}
    with caplog.at_level(logging.DEBUG):
        error = await left_by(*canary_tools(), name=name, arguments=arguments)
        assert error.code == "TOOL_EXECUTION_ERROR"
        assert CANARY not in everything_said(error)
        for production in (False, True):
            assert CANARY not in to_result(error, production=production).model_dump_json()
    for record in caplog.records:
        assert CANARY not in record.getMessage()
        assert CANARY not in logging.Formatter().format(record)


async def test_no_log_record_of_a_call_carries_its_arguments(caplog: pytest.LogCaptureFixture) -> None:
    @Tool
    async def outer(text: str, count: int) -> str:
        raise PublicMcpError("No.", "NO")

    with caplog.at_level(logging.DEBUG):
        for arguments in ({"text": CANARY, "count": 1}, {"text": CANARY, "count": CANARY}, {CANARY: CANARY}):
            to_result(await left_by(outer, arguments=arguments), production=True)
    assert caplog.records
    for record in caplog.records:
        assert CANARY not in str(record.__dict__)


def test_what_shares_half_of_its_letters_is_not_near() -> None:
    assert nearest("nope", ["openai", "jobs"]) == ""
    assert nearest("opnai", ["openai", "jobs"]) == '; did you mean "openai"?'
