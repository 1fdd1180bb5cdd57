"""A process of a server over HTTP, whose tools change what it serves and ask: ``http_worker.py REDIS PORT``."""

from __future__ import annotations

import os
import sys
from typing import Literal

from frontmcp_redis import RedisChanges, RedisStates
from pydantic import BaseModel

from frontmcp import Accepted, FrontMcp, Tool, ToolContext

url, port = sys.argv[1:]
server = FrontMcp(
    "workers", plugins=[RedisChanges, RedisStates], change_bus=url, state_store=url, autoload_plugins=False
)


@server.resource("ticket://{id}")
async def ticket(id: str) -> str:
    return id


@server.prompt
async def note() -> str:
    return "note"


@server.tool
async def add(name: str) -> str:
    """Add a tool to this process."""

    @Tool(name=name, description="Added later")
    async def added() -> str:
        return name

    await server.add_tool(added)
    return name


@server.tool
async def update(uri: str) -> str:
    """Say that a resource was updated."""
    await server.resource_updated(uri)
    return uri


@server.tool
async def relist(name: Literal["tools", "resources", "prompts"]) -> str:
    """Say that a list changed."""
    await server.list_changed(name)
    return name


class Sure(BaseModel):
    sure: bool


runs = [0]


@server.tool
async def prepare() -> str:
    """Say in which process, and that it was long."""
    return f"{os.getpid()} {'x' * 40_000}"


@server.tool
async def purge(ctx: ToolContext) -> str:
    """Ask, and say which process prepared and which one finished, how often."""
    prepared = (await ctx.call_tool("prepare")).content[0].text  # type: ignore[union-attr]
    answer = await ctx.elicit("Sure?", Sure)
    runs[0] += 1
    sure = isinstance(answer, Accepted) and answer.data.sure
    return f"{prepared.split()[0]} {os.getpid()} {sure} {runs[0]}"


server.run("http", port=int(port))
