"""A server that exists already moves in: its tools get policies and limits, and new tools are built on them.

`legacy` stands for a server of the MCP SDK that somebody wrote before; a URL or a command would do as well.
"""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer

from frontmcp import App, FrontMcp, Tool, ToolContext

legacy = MCPServer("legacy")
STOCK = {"lamp": 3, "desk": 0}


@legacy.tool()
async def count_stock(item: str) -> int:
    """How many of an item there are."""
    return STOCK[item]


@legacy.tool()
async def delete_item(item: str) -> str:
    """Take an item out of the shop."""
    del STOCK[item]
    return f"{item} is gone"


@Tool
class Quote(ToolContext):
    """Say what can be sold."""

    async def execute(self, items: list[str]) -> dict[str, Any]:
        counted = {}
        for item in items:
            result = await self.call_tool("count_stock", {"item": item})
            counted[item] = (result.structured_content or {})["result"]
        return {"available": [item for item, count in counted.items() if count]}


server = FrontMcp(
    "shop",
    tools=[Quote],
    apps=[
        App.from_mcp(
            legacy,
            options={"rate_limit": {"max_requests": 100}},
            tools={"delete_*": {"authorities": {"roles": {"any": ["admin"]}}}},
        )
    ],
)

if __name__ == "__main__":
    server.run()
