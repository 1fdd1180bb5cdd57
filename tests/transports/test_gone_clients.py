"""A client that goes away cancels its call; on a session of an older client only its word and the session's end do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import pytest

from frontmcp import AbortSignal, FrontMcp, Tool, ToolContext
from frontmcp.transports.http import serving

OLD, NEW = "2025-11-25", "2026-07-28"
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
META = {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # uvicorn is an asyncio server


@dataclass
class Bench:
    """A server whose tool says how it ended, and raw clients of it."""

    url: str
    begun: anyio.Event
    ended: anyio.Event
    outcome: list[str]
    http: httpx2.AsyncClient
    session: dict[str, str] = field(default_factory=dict)

    async def open(self) -> None:
        params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        answer = await self.post({"id": 0, "method": "initialize", "params": params})
        self.session = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": OLD}
        await self.post({"method": "notifications/initialized"})

    async def post(self, message: dict[str, Any]) -> httpx2.Response:
        return await self.http.post(self.url, json={"jsonrpc": "2.0", **message}, headers=JSON | self.session)

    @asynccontextmanager
    async def calling(self, era: str, name: str) -> AsyncIterator[Any]:
        """A call under way, on a connection of its own that ends with the block."""
        params: dict[str, Any] = {"name": name, "arguments": {}}
        headers = JSON | self.session | {"mcp-protocol-version": era}
        if era == NEW:
            params["_meta"] = META
            headers |= {"mcp-method": "tools/call", "mcp-name": name}
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()
        host, port = self.url.removeprefix("http://").removesuffix("/mcp").split(":")
        lines = [f"{key}: {value}" for key, value in {**headers, "host": f"{host}:{port}"}.items()]
        head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"content-length: {len(body)}", "", ""])
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(head.encode() + body)
            with anyio.fail_after(10):
                await self.begun.wait()
            yield stream

    async def end(self) -> str:
        with anyio.fail_after(10):
            await self.ended.wait()
        return self.outcome[0]


@asynccontextmanager
async def bench(**options: Any) -> AsyncIterator[Bench]:
    begun, ended = anyio.Event(), anyio.Event()
    outcome: list[str] = []
    signals: list[AbortSignal] = []

    async def work(ctx: ToolContext, seconds: float) -> None:
        begun.set()
        signals.append(ctx.signal)
        try:
            await anyio.sleep(seconds)
            outcome.append("finished")
        except anyio.get_cancelled_exc_class():
            outcome.append("cancelled")
            raise
        finally:
            ended.set()

    @Tool
    async def silent(ctx: ToolContext) -> None:
        await work(ctx, 30)

    @Tool
    async def talking(ctx: ToolContext) -> None:
        await ctx.progress(1, 2)
        await ctx.notify("half way")
        await work(ctx, 30)

    @Tool
    async def short(ctx: ToolContext) -> None:
        await work(ctx, 0.5)

    @Tool
    async def nested(ctx: ToolContext) -> None:
        await ctx.call_tool("silent")

    server = FrontMcp("gone", tools=[silent, talking, short, nested], autoload_plugins=False)
    options = {"port": 0, "grace": 1, **options}
    async with serving(server, server.http_options(**options)) as url, httpx2.AsyncClient(timeout=20) as http:
        yield Bench(url, begun, ended, outcome, http)
    assert len(server.wire.in_flight) == 0
    assert [signal.aborted for signal in signals] == [outcome == ["cancelled"]]


@pytest.mark.parametrize("name", ["silent", "talking", "nested"])
async def test_a_closed_connection_cancels_under_2026(name: str) -> None:
    async with bench() as it:
        async with it.calling(NEW, name):
            pass
        assert await it.end() == "cancelled"


@pytest.mark.parametrize("name", ["silent", "talking", "nested"])
async def test_a_closed_connection_cancels_without_sessions(name: str) -> None:
    async with bench(stateless=True) as it:
        async with it.calling(OLD, name):
            pass
        assert await it.end() == "cancelled"


async def test_a_half_closed_connection_is_a_closed_one() -> None:
    async with bench() as it, it.calling(NEW, "silent") as stream:
        await stream.send_eof()
        assert await it.end() == "cancelled"


async def test_a_dropped_stream_of_a_session_is_no_cancellation() -> None:
    async with bench() as it:
        await it.open()
        async with it.calling(OLD, "short"):
            pass
        assert await it.end() == "finished"


@pytest.mark.parametrize("name", ["silent", "talking", "nested"])
@pytest.mark.parametrize("dropped", [True, False])
async def test_a_session_is_told_to_cancel(name: str, dropped: bool) -> None:
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 7}}
    async with bench() as it:
        await it.open()
        async with it.calling(OLD, name) as stream:
            if dropped:
                await stream.aclose()
            assert (await it.post(cancelled)).status_code == 202
            assert await it.end() == "cancelled"


async def test_another_session_can_not_cancel() -> None:
    async with bench() as it:
        await it.open()
        mine = it.session
        async with it.calling(OLD, "short"):
            it.session = {}
            await it.open()
            await it.post({"method": "notifications/cancelled", "params": {"requestId": 7}})
            it.session = mine
            assert await it.end() == "finished"


@pytest.mark.parametrize("dropped", [True, False])
async def test_the_end_of_a_session_cancels(dropped: bool) -> None:
    async with bench() as it:
        await it.open()
        async with it.calling(OLD, "silent") as stream:
            if dropped:
                await stream.aclose()
            assert (await it.http.delete(it.url, headers=JSON | it.session)).status_code == 200
            assert await it.end() == "cancelled"
        assert (await it.post({"id": 8, "method": "ping"})).status_code == 404


async def test_a_session_that_nobody_comes_back_to_ends_with_its_calls() -> None:
    async with bench(session_idle_timeout=0.5) as it:
        await it.open()
        async with it.calling(OLD, "silent"):
            await anyio.sleep(0.8)
            assert not it.ended.is_set()
        assert await it.end() == "cancelled"
