"""What a context can do, in a call and outside one."""

from __future__ import annotations

import logging
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from frontmcp import FrontMcp, PublicMcpError, Tool, ToolContext, ToolExecutionError, create_direct
from frontmcp.testing.client import connect


async def call(tool: Any, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
    async with create_direct(FrontMcp("s", tools=[tool])) as direct:
        return await direct.call_tool(Tool.of(tool).name, arguments, **options)


def text_of(result: Any) -> str:
    text: str = result.content[0].text
    return text


@pytest.mark.parametrize("attribute", ["call", "name", "input", "auth", "context", "signal", "logger"])
def test_outside_a_call_a_context_says_where_to_go(attribute: str) -> None:
    with pytest.raises(RuntimeError, match="ToolContext is not in a call: use create_direct or the mcp fixture"):
        getattr(ToolContext(), attribute)


@pytest.mark.parametrize("method", ["call_tool", "get"])
def test_outside_a_call_its_methods_say_so_too(method: str) -> None:
    with pytest.raises(RuntimeError, match="is not in a call"):
        getattr(ToolContext(), method)("x")


async def test_a_context_shows_its_call() -> None:
    @Tool
    class Show(ToolContext):
        async def execute(self, a: int) -> dict[str, Any]:
            assert self.call.input is self.input
            assert self.call.request is self.context
            return {
                "name": self.name,
                "input": self.input,
                "sub": self.auth.sub,
                "roles": self.auth.roles,
                "aborted": self.signal.aborted,
                "transport": self.context.transport,
            }

    result = await call(Show, {"a": "1"}, auth_context={"user": {"sub": "nour", "roles": ["admin"]}})
    assert result.structured_content == {
        "name": "show",
        "input": {"a": 1},
        "sub": "nour",
        "roles": ["admin"],
        "aborted": False,
        "transport": "direct",
    }


async def test_fail_ends_the_call_with_a_public_error() -> None:
    @Tool
    class Failing(ToolContext):
        async def execute(self) -> None:
            self.fail(PublicMcpError("No.", "NO"))

    with pytest.raises(PublicMcpError, match=r"No\."):
        await call(Failing)


@pytest.mark.parametrize("given", ["just text", KeyError("k"), SystemExit(3)])
async def test_fail_with_anything_else_is_like_raising_it(given: Any) -> None:
    @Tool
    class Failing(ToolContext):
        async def execute(self) -> None:
            self.fail(given)

    with pytest.raises(ToolExecutionError, match=r'^Tool "failing" execution failed: '):
        await call(Failing)


async def test_fail_can_be_swallowed_by_a_bare_except() -> None:
    @Tool
    class Swallowing(ToolContext):
        async def execute(self) -> str:
            try:
                self.fail("no")
            except Exception as error:
                return type(error).__name__

    assert text_of(await call(Swallowing)) == "FlowControl"


@pytest.mark.parametrize(("value", "text"), [("text", "text"), ({"a": 1}, '{"a":1}'), (None, None), ([1], "[1]")])
async def test_respond_ends_the_call_with_a_value(value: Any, text: str | None) -> None:
    @Tool
    class Responding(ToolContext):
        async def execute(self) -> str:
            self.respond(value)

    result = await call(Responding)
    assert (text_of(result) if result.content else None) == text
    assert not result.is_error


async def test_the_logger_is_bound_to_the_request(caplog: pytest.LogCaptureFixture) -> None:
    @Tool
    class Logging(ToolContext):
        async def execute(self) -> str:
            self.logger.info("hello %s", "there", extra={"own": 1})
            return self.context.request_id

    with caplog.at_level(logging.INFO):
        request_id = text_of(await call(Logging, auth_context={"user": {"sub": "nour"}}))
    (record,) = [record for record in caplog.records if record.name == "frontmcp.tool.logging"]
    assert record.getMessage() == "hello there"
    fields = {key: record.__dict__[key] for key in ("request_id", "caller", "path", "own")}
    assert fields == {"request_id": request_id, "caller": "nour", "path": "logging", "own": 1}


async def test_once_runs_a_function_and_gives_its_result() -> None:
    @Tool
    class Once(ToolContext):
        async def execute(self) -> list[Any]:
            async def later() -> int:
                return 2

            return [await self.once("a", lambda: 1), await self.once("b", later)]

    assert text_of(await call(Once)) == "[1,2]"


async def test_progress_and_notify_go_nowhere_where_there_is_no_client() -> None:
    @Tool
    class Reporting(ToolContext):
        async def execute(self) -> str:
            await self.progress(1, 2, "half")
            await self.notify({"any": "json"}, "warning")
            return "fine"

    assert text_of(await call(Reporting)) == "fine"


@pytest.mark.parametrize("transport", ["memory", "direct"])
@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("progress", ("abc",), "progress: progress must be a number, not str"),
        ("progress", (None,), "progress: progress must be a number, not NoneType"),
        ("progress", (1, "abc"), "progress: total must be a number, not str"),
        ("progress", (1, 2, 3), "progress: message must be text, not int"),
        ("notify", ("x", "bogus"), "notify: there is no such level; use debug, info, notice, warning, error, "),
        ("notify", ("x", 3), "notify: there is no such level; use debug, info, "),
        ("notify", ("x", ["info"]), "notify: there is no such level; use debug, info, "),
    ],
)
async def test_what_no_client_can_be_told_is_the_callers_mistake(
    method: str, given: tuple[Any, ...], said: str, transport: str
) -> None:
    @Tool
    class Reporting(ToolContext):
        async def execute(self) -> None:
            await getattr(self, method)(*given)

    expected = f'Tool "reporting" execution failed: {said}'
    if transport == "direct":
        with pytest.raises(ToolExecutionError, match=f"^{expected}"):
            await call(Reporting)
    else:
        async with connect(FrontMcp("s", tools=[Reporting])) as client:
            result = await client.tools.call("reporting")
        assert result.code == "TOOL_EXECUTION_ERROR"
        assert result.text().startswith(expected)


@pytest.mark.parametrize("number", [True, 1, 0.5, Decimal("0.5"), Fraction(1, 2)])
async def test_progress_takes_any_number(number: Any) -> None:
    @Tool
    class Reporting(ToolContext):
        async def execute(self) -> None:
            await self.progress(number, number)

    async with connect(FrontMcp("s", tools=[Reporting])) as client:
        (await client.tools.call("reporting")).assert_ok()
        (told,) = client.notifications.progress()
    assert told.progress == number
