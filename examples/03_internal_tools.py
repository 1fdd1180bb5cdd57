"""Tools that clients can't call, as building blocks of one that they can.

``visibility="internal"`` refuses clients and answers other tools; ``"hidden"`` only leaves a tool out of lists;
``available_when={"surface": […]}`` without ``"mcp"`` hides it from MCP clients, but not from a tool's `call_tool`.
"""

from __future__ import annotations

from typing import Any

from frontmcp import App, FrontMcp, Tool, ToolContext


@Tool(description="Summarize this week's tickets")
class WeeklyDigest(ToolContext):
    async def execute(self) -> dict[str, Any]:
        counts = await self.call_tool("count_tickets")
        escalations = await self.call_tool("count_escalations")
        return {"week": "2026-W39", **(counts.structured_content or {}), **(escalations.structured_content or {})}


@Tool(description="Count tickets by status", visibility="internal")
async def count_tickets() -> dict[str, int]:
    return {"open": 12, "closed": 31}


@Tool(description="Count escalated tickets", available_when={"surface": ["agent"]})
async def count_escalations() -> dict[str, int]:
    return {"escalated": 2}


@Tool(description="Say whether the archive is reachable", visibility="hidden")
async def diagnose() -> dict[str, bool]:
    return {"archive": True}


desk = App(id="desk", name="Help Desk", tools=[WeeklyDigest, count_tickets, count_escalations, diagnose])
server = FrontMcp("help-desk", apps=[desk])

if __name__ == "__main__":
    server.run()
