"""The server that is soaked: ``python tests/soak/server.py PORT``. Its ``/debug`` says what it holds on to."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Sequence
from typing import Any

import anyio
import psutil
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from frontmcp import (
    Call,
    CallNext,
    FrontMcp,
    Plugin,
    Prompt,
    PublicMcpError,
    Resource,
    ResourceTemplate,
    Tool,
    ToolContext,
    hookimpl,
)

OPTIONS = {
    "session_idle_timeout": 3,
    "body_timeout": 1,
    "max_sessions": 20_000,
    "limit_concurrency": 2000,
    "max_body": 1_000_000,
    "event_store": True,
}


@Tool
async def echo(n: int) -> dict[str, int]:
    return {"n": n}


@Tool(sync="thread")
def threaded(n: int) -> dict[str, int]:
    return {"n": n}


@Tool
async def chain(ctx: ToolContext, n: int) -> dict[str, int]:
    """Calls another tool, with progress."""
    await ctx.progress(1, 2, "on the way")
    inner = await ctx.call_tool("echo", {"n": n})
    await ctx.progress(2, 2)
    return inner.structured_content


@Tool
async def fail(n: int) -> None:
    raise ValueError(f"hunter2 {n}")


@Tool
async def refuse(n: int) -> None:
    raise PublicMcpError(f"refused {n}", "REFUSED")


@Tool
async def nap(seconds: float) -> dict[str, float]:
    await anyio.sleep(seconds)
    return {"slept": seconds}


@Resource("soak://text")
async def text() -> str:
    return "always the same"


@Resource("soak://bytes")
def some_bytes() -> bytes:
    return bytes(1000)


@ResourceTemplate("soak://number/{n}")
async def number(n: int) -> str:
    return f"number {n}"


@Prompt(name="note")
async def note(n: int) -> str:
    return f"note {n}."


class Watch(Plugin):
    """Counts the calls that run, and tells what is held."""

    name = "soak.watch"

    def __init__(self) -> None:
        self.running = 0
        self.calls = 0

    @hookimpl
    async def guard_call(self, call: Call, call_next: CallNext) -> Any:
        self.running += 1
        self.calls += 1
        try:
            return await call_next()
        finally:
            self.running -= 1

    @hookimpl
    def provide_routes(self, server: FrontMcp) -> Sequence[Route]:
        async def held(request: Request) -> JSONResponse:
            gc.collect()
            process = psutil.Process()
            managers = [each for each in gc.get_objects() if isinstance(each, StreamableHTTPSessionManager)]
            return JSONResponse(
                {
                    "rss": process.memory_info().rss // 1024,
                    "descriptors": process.num_fds(),
                    "tasks": len(asyncio.all_tasks()),
                    "threads": threading.active_count(),
                    "sessions": sum(len(each._server_instances) for each in managers),
                    "tracked": len(server.wire.changes.sessions),
                    "in_flight": len(server.wire.in_flight),
                    "running": self.running,
                    "calls": self.calls,
                }
            )

        return [Route("/debug", held)]


server = FrontMcp(
    "soak",
    tools=[echo, threaded, chain, fail, refuse, nap],
    resources=[text, some_bytes, number],
    prompts=[note],
    plugins=[Watch()],
    autoload_plugins=False,
    environment="production",
    http=OPTIONS,
    logging={"level": "ERROR"},
)

if __name__ == "__main__":
    server.run("http", port=int(sys.argv[1]))
