"""A process of a server over HTTP, whose tools change what it serves: ``http_worker.py REDIS PORT``."""

from __future__ import annotations

import sys
from typing import Literal

from frontmcp_redis import RedisChanges

from frontmcp import FrontMcp, Tool

url, port = sys.argv[1:]
server = FrontMcp("workers", plugins=[RedisChanges], change_bus=url, autoload_plugins=False)


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


server.run("http", port=int(port))
