"""Slots of clients that vanish, over HTTP: those they hold come back, and those they wait for go to others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx2
import pytest

from frontmcp import FrontMcp, Tool
from frontmcp.transports.http import serving

NEW = "2026-07-28"
PATIENCE = 20
META = {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": NEW,
    "mcp-method": "tools/call",
    "mcp-name": "work",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # uvicorn is an asyncio server


class Work:
    """A tool with one slot, which may never end."""

    def __init__(self) -> None:
        self.running = 0
        self.begun = 0

        @Tool(concurrency={"max_concurrent": 1, "queue_timeout_ms": 60_000})
        async def work(ends: bool) -> int:
            self.begun += 1
            self.running += 1
            assert self.running == 1
            try:
                await anyio.sleep(0 if ends else PATIENCE * 10)
            finally:
                self.running -= 1
            return self.begun

        self.server = FrontMcp("desk", tools=[work], autoload_plugins=False)

    async def until(self, running: int) -> None:
        with anyio.fail_after(PATIENCE):
            while self.running != running:
                await anyio.sleep(0.01)


async def post(url: str, *, ends: bool) -> Any:
    params = {"name": "work", "arguments": {"ends": ends}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with httpx2.AsyncClient(timeout=PATIENCE) as http:
        return (await http.post(url, json=message, headers=HEADERS)).json()


@contextmanager
def vanishing(group: Any, url: str) -> Iterator[None]:
    """A client whose connection breaks at the end of the block, before its call has ended."""
    connection = anyio.CancelScope()

    async def call() -> None:
        with connection:
            await post(url, ends=False)

    group.start_soon(call)
    yield
    connection.cancel()


async def test_slots_of_clients_that_vanish_come_back() -> None:
    work = Work()
    async with (
        serving(work.server, work.server.http_options(port=0)) as url,
        anyio.create_task_group() as group,
    ):
        with vanishing(group, url):
            await work.until(running=1)
            with vanishing(group, url):
                await anyio.sleep(0.2)
            assert work.begun == 1, "who waits is not inside"
        await work.until(running=0)
        answer = await post(url, ends=True)
        assert answer["result"]["structuredContent"] == 2, "the one that vanished while it waited never began"
