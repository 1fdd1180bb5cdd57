"""The server that clients run one script with: ``python server.py`` over stdio, ``python server.py PORT`` over HTTP."""

from __future__ import annotations

import sys
from typing import Literal

import anyio
from pydantic import BaseModel

from frontmcp import Accepted, FrontMcp, PublicMcpError, Tool, ToolContext

server = FrontMcp(
    "clients",
    pagination=3,
    autoload_plugins=False,
    logging={"level": "ERROR"},
    http={"event_store": True, "retry_interval": 0.05},
)


class Sure(BaseModel):
    sure: bool


@server.tool
async def find_ticket(id: str) -> dict[str, str]:
    """Find a ticket."""
    return {"id": id, "title": "Cannot log in"}


@server.tool
async def close_ticket(ctx: ToolContext, id: str) -> dict[str, str]:
    """Close a ticket, which another tool finds."""
    found = await ctx.call_tool("find_ticket", {"id": id})
    return {**found.structured_content, "status": "closed"}


@server.tool
async def import_rows(ctx: ToolContext, count: int) -> str:
    """Import rows, with progress."""
    for done in range(1, count + 1):
        await ctx.progress(done, count)
        await anyio.sleep(0.05)
    return f"{count} rows"


@server.tool
async def refuse() -> str:
    """Refuse."""
    raise PublicMcpError("The desk is closed", "CLOSED")


@server.tool
async def delete_ticket(ctx: ToolContext, id: str) -> str:
    """Delete a ticket, if the user is sure."""
    answer = await ctx.elicit(f"Delete {id}?", Sure)
    return f"deleted {id}" if isinstance(answer, Accepted) and answer.data.sure else "kept"


@server.tool
async def take_long(ctx: ToolContext) -> str:
    """Give up the connection, and answer when the client has come back."""
    await ctx.close_stream()
    await anyio.sleep(0.3)
    return "done"


@Tool(name="passing", description="Is there for a moment")
async def passing() -> None: ...


@server.tool
async def change_tools() -> str:
    """Add a tool and remove it."""
    await server.add_tool(passing)
    await server.remove_tool("passing")
    return "changed"


@server.resource("desk://hours", mime_type="text/plain")
async def hours() -> str:
    """When the desk is open."""
    return "9 to 5"


@server.resource("tickets://{id}")
async def ticket(id: str) -> dict[str, str]:
    """One ticket."""
    return {"id": id}


@server.prompt
async def note(id: str, tone: Literal["short", "long"]) -> str:
    """Write a note on a ticket."""
    return f"Write a {tone} note on {id}."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("http", port=int(sys.argv[1]))
    else:
        server.run()
