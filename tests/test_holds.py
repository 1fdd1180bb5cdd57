"""What must hold under hands that try to break it: each test stands for a kind of fault that was there once."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import anyio
import httpx2
import pytest
from pydantic import BaseModel, SecretStr
from starlette.applications import Starlette
from starlette.routing import Mount

from frontmcp import (
    Around,
    CallToolResult,
    ConfigurationError,
    FrontMcp,
    Plugin,
    Tool,
    ToolContext,
    ToolNotFoundError,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.errors import InvalidOutputError
from frontmcp.logs import TextFormatter
from frontmcp.testing import Road, connect


class Form(BaseModel):
    yes: bool


async def test_kept_results_go_to_the_call_that_asked_the_same() -> None:
    ran: list[str] = []

    @Tool
    async def balance(account: SecretStr) -> str:
        name = account.get_secret_value()
        ran.append(name)
        await anyio.sleep(0.2 if name == "alice" and len(ran) < 3 else 0)
        return f"balance of {name}"

    @Tool
    async def both(ctx: ToolContext) -> dict[str, str]:
        found: dict[str, str] = {}

        async def get(account: str) -> None:
            found[account] = (await ctx.call_tool("balance", {"account": account})).content[0].text  # type: ignore[union-attr]

        async def ask() -> None:
            await anyio.sleep(0.05)
            await ctx.elicit("ok?", Form)

        await asyncio.gather(get("alice"), get("bob"), ask())
        return found

    async with connect(FrontMcp("bank", tools=[balance, both]), Road("2026-07-28", "memory")) as mcp:
        mcp.on_elicitation(lambda message, form: {"yes": True})
        result = await mcp.tools.call("both")
    assert result.json() == {"alice": "balance of alice", "bob": "balance of bob"}


async def test_a_tool_that_was_refused_while_running_is_not_there() -> None:
    server = FrontMcp("s")

    @server.tool
    async def kept() -> str:
        return "kept"

    async with create_direct(server) as direct:
        with pytest.raises(ConfigurationError, match="visibility"):

            @server.tool(name="purge", visibility="intrnal")
            async def purge() -> str:
                return "purged"

        assert [tool.name for tool in await direct.list_tools()] == ["kept"]
        with pytest.raises(ToolNotFoundError):
            await direct.call_tool("purge")
        server.check()


async def test_a_formatter_that_changes_a_checked_result_is_checked_again() -> None:
    class Out(BaseModel):
        n: int

    class Meddler(Plugin):
        name = "test.meddler"

        @hookimpl
        def format_result(self, call: Any, value: Any) -> CallToolResult:
            result: CallToolResult = call.format(value)
            result.structured_content["n"] = "not an int"
            return result

    @Tool
    async def number() -> Out:
        return Out(n=1)

    async with create_direct(FrontMcp("s", tools=[number], plugins=[Meddler])) as direct:
        with pytest.raises(InvalidOutputError):
            await direct.call_tool("number")


async def test_a_retry_does_not_see_what_the_body_did_to_its_input() -> None:
    seen: list[list[Any]] = []

    class Retry(Plugin):
        name = "test.retry"

        @Around("execute")
        async def retry(self, call: Any, call_next: Any) -> Any:
            for _ in range(3):
                try:
                    return await call_next()
                except RuntimeError:
                    pass
            return "gave up"

    @Tool
    async def flaky(items: Any) -> str:
        seen.append(list(items))
        items.append("mutated")
        raise RuntimeError

    async with create_direct(FrontMcp("s", tools=[flaky], plugins=[Retry])) as direct:
        await direct.call_tool("flaky", {"items": ["a"]})
    assert seen == [["a"], ["a"], ["a"]]


async def test_a_sync_body_whose_client_has_gone_calls_no_more_tools() -> None:
    deleted: list[int] = []
    called, gone = threading.Event(), threading.Event()

    @Tool
    async def delete(n: int) -> None:
        deleted.append(n)

    @Tool
    def batch(ctx: ToolContext) -> None:
        for n in range(4):
            ctx.call_tool_sync("delete", {"n": n})
            called.set()
            gone.wait(10)

    server = FrontMcp("s", tools=[delete, batch])
    async with create_direct(server) as direct:
        async with anyio.create_task_group() as group:
            group.start_soon(direct.call_tool, "batch")
            while not called.is_set():
                await anyio.sleep(0.002)
            group.cancel_scope.cancel()
        gone.set()
        while server.threads.orphans:
            await anyio.sleep(0.02)
    assert deleted == [0]


def test_what_a_client_says_begins_no_line_of_the_log() -> None:
    record = logging.makeLogRecord({"msg": "refused", "path": "x]\n12:00:00 INFO forged", "caller": "a\nb"})
    assert "\n" not in TextFormatter().format(record)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"locked": ("authorites",)}, 'there is no setting "authorites"; did you mean "authorities"?'),
        ({"paginaton": 3}, 'there is no setting "paginaton"; did you mean "pagination"?'),
    ],
)
def test_a_misspelt_setting_stops_the_start(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("s", **options).check()
    assert told in str(refused.value)


def test_settings_hold_before_the_server_is_checked() -> None:
    server = FrontMcp("s", version="1.2", instructions="hi", pagination=10)
    assert (server.version, server.instructions, server.pagination) == ("1.2", "hi", 10)


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [("delet_all", "delete_all"), ("delte_*", "delete_all"), ("purg_*", "purge_all_closed_tickets"), ("xyz_*", None)],
)
def test_a_guard_for_no_tool_is_told(pattern: str, meant: str | None, caplog: pytest.LogCaptureFixture) -> None:
    class Guard(Plugin):
        name = "test.guard"

        @Will("execute", tools=pattern)
        async def refuse(self, call: Any) -> None: ...

    @Tool
    async def delete_all() -> None: ...

    @Tool
    async def purge_all_closed_tickets() -> None: ...

    FrontMcp("s", tools=[delete_all, purge_all_closed_tickets], plugins=[Guard]).check()
    assert f"tools='{pattern}' matches no tool" in caplog.text
    assert ("did you mean" in caplog.text) == (meant is not None)
    assert meant is None or f'; did you mean "{meant}"?' in caplog.text


def test_a_context_of_another_framework_is_no_argument() -> None:
    async def get(ctx, x: int) -> int:  # type: ignore[no-untyped-def]
        return x

    with pytest.raises(ConfigurationError, match="annotate it with ToolContext"):
        FrontMcp("s", tools=[get]).check()


async def test_a_forgotten_await_is_told() -> None:
    @Tool
    async def outer(ctx: ToolContext) -> Any:
        return ctx.call_tool("outer")

    async with create_direct(FrontMcp("s", tools=[outer])) as direct:
        with pytest.raises(InvalidOutputError, match=r"Context.call_tool\(\) was not awaited"):
            await direct.call_tool("outer")


async def test_the_first_requests_of_a_mounted_app_may_come_at_once() -> None:
    @Tool
    async def ping() -> str:
        return "pong"

    app = Starlette(routes=[Mount("/x", app=FrontMcp("s", tools=[ping]).http_app())])
    headers = {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "ping", "host": "localhost:1",
    }  # fmt: skip
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ping", "_meta": meta}}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost:1") as http:
        answers = await asyncio.gather(*(http.post("/x/mcp", json=body, headers=headers) for _ in range(5)))
    assert [answer.status_code for answer in answers] == [200] * 5
