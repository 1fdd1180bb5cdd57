"""What an agent's loop costs beside its model and its tools: ``python tests/bench/agents.py``.

CPU time of this process, the least of some rounds; the model answers at once.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from frontmcp import (
    Agent,
    AgentContext,
    Caller,
    Completion,
    FrontMcp,
    RequestContext,
    Tool,
    ToolCall,
    ToolContext,
    create_direct,
)
from frontmcp.asking import MemoryStateStore, Suspension
from frontmcp.interfaces import Usage

ROUNDS = 7
TURNS = 9
USAGE = Usage(100, 10)


@Tool
async def echo(text: str) -> dict[str, str]:
    return {"text": text}


@Tool
async def nap() -> None:
    await anyio.sleep(0.05)


@Tool
async def call_echo(ctx: ToolContext, n: int) -> None:
    for _ in range(n):
        await ctx.call_tool("echo", {"text": "x"})


class Model:
    """Wants tools for some turns, then answers."""

    def __init__(self, turns: int, *calls: ToolCall) -> None:
        self.wanting = Completion(None, calls, "tool_calls", USAGE)
        self.turns = turns

    async def completion(self, prompt: Any, tools: Any = None, options: Any = None) -> Completion:
        asked = sum(message.role == "assistant" for message in prompt.messages)
        return self.wanting if asked < self.turns else Completion("done", usage=USAGE)


def agent(name: str, turns: int, *calls: ToolCall, **execution: Any) -> type[AgentContext]:
    @Agent(name=name, llm={"adapter": Model(turns, *calls)}, tools=[echo, nap], execution=execution)
    class Made(AgentContext):
        pass

    return Made


ONE = ToolCall("1", "echo", {"text": "x"})
NAPS = [ToolCall(str(n), "nap") for n in range(5)]
AGENTS = [
    agent("short", 0),
    agent("long", TURNS, ONE),
    agent("quiet", TURNS, ONE, enable_notifications=False),
    agent("naps", 2, *NAPS),
]


async def cpu(work: Callable[[], Awaitable[Any]], times: int = 100) -> float:
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


async def asked(server: FrontMcp, name: str) -> Any:
    """A call of a client of 2026-07-28 that can be asked: what is done is kept for when it comes back."""
    request = RequestContext(Caller("nour"))
    request.asking = suspension = Suspension(MemoryStateStore(), request.caller)
    call = server.pipeline.client_call(request, name, {})
    return await suspension.run(lambda: server.pipeline.run(call))


async def main() -> None:
    server = FrontMcp("bench", tools=[echo, call_echo], agents=AGENTS, environment="production", autoload_plugins=False)
    async with create_direct(server) as direct:

        async def figure(name: str, arguments: Any = None) -> float:
            return await cpu(lambda: direct.call_tool(name, arguments))

        tool = (await figure("call_echo", {"n": 20}) - await figure("call_echo", {"n": 10})) / 10
        short, plain = await figure("invoke_short"), await figure("echo", {"text": "x"})
        print(f"{'agent that answers at once':<44}{short:>8.1f} µs")
        print(f"{'a tool, called by a client':<44}{plain:>8.1f} µs")
        for name in ("long", "quiet"):
            turn = (await figure(f"invoke_{name}") - short) / TURNS
            print(f"{f'turn with a tool call, {name}':<44}{turn:>8.1f} µs, of which the call is {tool:.1f}")
        kept = (
            await cpu(lambda: asked(server, "invoke_quiet")) - await cpu(lambda: asked(server, "invoke_short"))
        ) / TURNS
        print(f"{'turn with a tool call, kept for a question':<44}{kept:>8.1f} µs")
        began = time.perf_counter()
        await direct.call_tool("invoke_naps")
        print(f"{'3 turns, 2 of 5 tools of 50 ms, wall':<44}{(time.perf_counter() - began) * 1000:>8.1f} ms")


if __name__ == "__main__":
    anyio.run(main)
