"""Our own figures, in process: ``make bench``. CPU time of this process, the least of some rounds.

For figures beside those of others, see the Makefile.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from frontmcp import Around, FrontMcp, Plugin, Tool, ToolContext, Will, create_direct

ROUNDS = 7
Work = Callable[[], Awaitable[Any]]


@Tool
async def echo(text: str) -> dict[str, str]:
    return {"text": text}


@Tool
async def fan(ctx: ToolContext, n: int) -> dict[str, int]:
    for _ in range(n):
        await ctx.call_tool("echo", {"text": "x"})
    return {"n": n}


@Tool
async def deep(ctx: ToolContext, depth: int) -> dict[str, int]:
    if depth > 0:
        await ctx.call_tool("deep", {"depth": depth - 1})
    return {"depth": depth}


@Tool
async def large() -> dict[str, list[str]]:
    return {"rows": ["x" * 97] * 1000}


@Tool
async def free(text: str) -> dict[str, str]:
    return {"text": text}


@Tool(authorities="admin", rate_limit={"max_requests": 1_000_000, "window_ms": 10, "partition_by": "user"})
async def guarded(text: str) -> dict[str, str]:
    return {"text": text}


@Tool
async def nap(seconds: float) -> dict[str, float]:
    await anyio.sleep(seconds)
    return {"slept": seconds}


def filler(index: int) -> Tool[Any]:
    async def tool(n: int = 0) -> dict[str, int]:
        return {"n": n}

    return Tool(name=f"tool_{index}", description="One of many")(tool)  # type: ignore[return-value]


def will(index: int, tools: str | None = None) -> Plugin:
    class Noop(Plugin):
        name = f"bench.will-{index}"

        @Will("execute", tools=tools)
        async def will(self, call: Any) -> None: ...

    return Noop()


def around(index: int, tools: str | None = None) -> Plugin:
    class Noop(Plugin):
        name = f"bench.around-{index}"

        @Around("execute", tools=tools)
        async def around(self, call: Any, call_next: Any) -> Any:
            return await call_next()

    return Noop()


def make(plugins: list[Plugin] | None = None, fillers: int = 5) -> FrontMcp:
    return FrontMcp(
        "bench",
        tools=[echo, fan, deep, large, nap, *map(filler, range(fillers))],
        plugins=plugins or [],
        pagination=None,
        max_call_depth=10_000,
        environment="production",
        autoload_plugins=False,
    )


async def cpu(work: Work, times: int) -> float:
    """Microseconds of CPU for each time."""
    await work()
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        began = time.process_time_ns()
        for _ in range(times):
            await work()
        best = min(best, (time.process_time_ns() - began) / 1000 / times)
    return best


async def called(server: FrontMcp, name: str = "echo", arguments: Any = None, times: int = 2000) -> float:
    arguments = {"text": "x"} if arguments is None else arguments
    async with create_direct(server) as direct:
        return await cpu(lambda: direct.call_tool(name, arguments), times)


async def policed(name: str) -> float:
    """A tool of a server with policies and limits, called by an admin."""
    admin: Any = {"user": {"sub": "nour", "roles": ["admin"]}}
    profiles = {"admin": {"roles": {"any": ["admin"]}}}
    server = FrontMcp("bench", tools=[free, guarded], authorities={"profiles": profiles}, autoload_plugins=False)
    async with create_direct(server) as direct:
        return await cpu(lambda: direct.call_tool(name, {"text": "x"}, auth_context=admin), 2000)


async def nested() -> float:
    """What one more inner call costs."""
    return (await called(make(), "fan", {"n": 200}, 20) - await called(make(), "fan", {"n": 100}, 20)) / 100


async def listed() -> float:
    async with create_direct(make(fillers=995)) as direct:
        return await cpu(direct.list_tools, 5)


async def at_once() -> float:
    """Wall milliseconds of a thousand calls that take fifty each."""
    best = float("inf")
    async with create_direct(make()) as direct:
        for _ in range(3):
            began = time.perf_counter()
            async with anyio.create_task_group() as group:
                for _ in range(1000):
                    group.start_soon(direct.call_tool, "nap", {"seconds": 0.05})
            best = min(best, (time.perf_counter() - began) * 1000)
    return best


async def main() -> None:
    plain = await called(make())
    rows: list[tuple[str, float, str]] = [
        ("call, 10 tools", plain, "µs"),
        ("call, 1,000 tools", await called(make(fillers=995)), "µs"),
        ("nested call, one more", await nested(), "µs"),
        ("20 Will hooks, added", await called(make([will(n) for n in range(20)])) - plain, "µs"),
        ("20 Around hooks, added", await called(make([around(n) for n in range(20)])) - plain, "µs"),
        ("20 hooks of other tools, added", await called(make([around(n, "other_*") for n in range(20)])) - plain, "µs"),
        ("a rate limit and an authority, added", await policed("guarded") - await policed("free"), "µs"),
        ("list of 1,000 tools", await listed() / 1000, "ms"),
        ("result of 100 kB", await called(make(), "large", {}, 50) / 1000, "ms"),
        ("depth of 200", await called(make(), "deep", {"depth": 200}, 20) / 1000, "ms"),
        ("1,000 calls of 50 ms at once, wall", await at_once(), "ms"),
    ]
    for name, figure, unit in rows:
        print(f"{name:<40}{figure:>10.2f} {unit}")


if __name__ == "__main__":
    sys.setrecursionlimit(1000)
    anyio.run(main)
