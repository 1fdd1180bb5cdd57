"""A process of a server with several: calls its tools as it is told, and says how they ended.

``worker.py URL LEASE`` reads lines ``TOOL COUNT`` and answers each with the number of calls that passed. The tool
``hold`` says ``inside`` and never ends.
"""

from __future__ import annotations

import sys

import anyio
import anyio.to_thread
from frontmcp_redis import RedisGuards

from frontmcp import FrontMcp, PublicMcpError, Tool, create_direct


@Tool(rate_limit={"max_requests": 100, "window_ms": 600_000})
async def ping() -> str:
    return "pong"


@Tool(concurrency={"max_concurrent": 1})
async def hold() -> str:
    print("inside", flush=True)  # noqa: T201
    await anyio.sleep_forever()
    return "never"


async def main(url: str, lease: str) -> None:
    throttle = {"store": {"url": url, "lease": float(lease)}}
    server = FrontMcp("workers", tools=[ping, hold], plugins=[RedisGuards], throttle=throttle)
    async with create_direct(server) as direct:
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            name, count = line.split()
            passed = []

            async def call(name: str = name, passed: list[str] = passed) -> None:
                try:
                    await direct.call_tool(name)
                    passed.append(name)
                except PublicMcpError:
                    pass

            async with anyio.create_task_group() as group:
                for _ in range(int(count)):
                    group.start_soon(call)
            print(len(passed), flush=True)  # noqa: T201


anyio.run(main, *sys.argv[1:])
