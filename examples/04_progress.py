"""The progress of an inner call reaches the client of the outer one, and never goes backwards."""

from __future__ import annotations

from typing import Any

from frontmcp import App, FrontMcp, Tool, ToolContext


@Tool(description="Export every ticket and every customer")
class ExportAll(ToolContext):
    async def execute(self) -> dict[str, Any]:
        tickets = await self.call_tool("export_tickets")
        await self.progress(2, 2, "Exported customers")
        return {"files": ["tickets.csv", "customers.csv"], "tickets": tickets.structured_content}


@Tool(description="Export every ticket", visibility="internal")
async def export_tickets(ctx: ToolContext) -> dict[str, int]:
    await ctx.progress(1, 2, "Exported tickets")
    return {"rows": 43}


server = FrontMcp("help-desk", apps=[App(id="desk", name="Help Desk", tools=[ExportAll, export_tickets])])

if __name__ == "__main__":
    server.run()
