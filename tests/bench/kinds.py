"""Resources and prompts in process, beside the SDK's low-level server: ``python tests/bench/kinds.py``.

CPU time of this process, the least of some rounds. The SDK's server gives a list that was made once. Both are asked by
the SDK's client in memory.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.server import Server

from frontmcp import FrontMcp, Prompt, Resource, ResourceTemplate, create_direct

ROUNDS = 7
MANY = 1000
Work = Callable[[], Awaitable[Any]]


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


@Resource("bench://text", mime_type="text/plain")
async def text() -> str:
    return "x"


@ResourceTemplate("bench://ticket/{id}")
async def ticket(id: str) -> str:
    return id


@Prompt
async def note(id: str) -> str:
    return id


def resource(index: int) -> Any:
    async def body() -> str:
        return "x"

    return Resource(f"bench://{index}", name=f"resource_{index}", description="One of many")(body)


def prompt(index: int) -> Any:
    async def body(n: str = "") -> str:
        return n

    return Prompt(name=f"prompt_{index}", description="One of many")(body)


def ours() -> FrontMcp:
    return FrontMcp(
        "bench",
        resources=list(map(resource, range(MANY))),
        prompts=list(map(prompt, range(MANY))),
        pagination=None,
        environment="production",
        autoload_plugins=False,
    )


def theirs() -> Server[Any]:
    resources = types.ListResourcesResult(
        resources=[
            types.Resource(uri=f"bench://{n}", name=f"resource_{n}", description="One of many") for n in range(MANY)
        ]
    )
    prompts = types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=f"prompt_{n}",
                description="One of many",
                arguments=[types.PromptArgument(name="n", required=False)],
            )
            for n in range(MANY)
        ]
    )

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return resources

    async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
        return prompts

    return Server("bench", version="1", on_list_resources=list_resources, on_list_prompts=list_prompts)


async def in_process() -> list[tuple[str, float, str]]:
    server = FrontMcp(
        "bench", resources=[text, ticket], prompts=[note], environment="production", autoload_plugins=False
    )
    async with create_direct(server) as direct:
        return [
            ("resources/read", await cpu(lambda: direct.read_resource("bench://text"), 2000), "µs"),
            ("resources/read of a template", await cpu(lambda: direct.read_resource("bench://ticket/7"), 2000), "µs"),
            ("prompts/get", await cpu(lambda: direct.get_prompt("note", {"id": "7"}), 2000), "µs"),
        ]


async def listed(name: str, server: Any, mode: Any) -> list[tuple[str, float, str]]:
    # Else the client's share grows with what else is alive in the process.
    gc.freeze()
    async with Client(server, mode=mode, cache=None) as client:
        return [
            (f"list of {MANY} resources, {name}", await cpu(client.list_resources, 5) / 1000, "ms"),
            (f"list of {MANY} prompts, {name}", await cpu(client.list_prompts, 5) / 1000, "ms"),
        ]


async def main() -> None:
    rows = await in_process()
    for mode, era in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
        rows += await listed(f"{era}", ours().lowlevel, mode)
        rows += await listed(f"{era}, SDK", theirs(), mode)
    for name, figure, unit in rows:
        print(f"{name:<50}{figure:>10.2f} {unit}")


if __name__ == "__main__":
    anyio.run(main)
