"""Every spelling that finds a tool, for clients and for `call_tool` alike."""

from __future__ import annotations

from frontmcp import App, FrontMcp, Tool, ToolContext, ToolNotFoundError

SPELLINGS = ["get_ticket", "desk:get_ticket", "desk.get_ticket", "get-ticket", "billing:get_ticket"]


@Tool
async def get_ticket(id: str) -> dict[str, str]:
    """Get one support ticket by id."""
    return {"id": id, "status": "open"}


@Tool(description="Call get_ticket by each of its names")
class TryNames(ToolContext):
    async def execute(self) -> dict[str, str]:
        found = {}
        for name in SPELLINGS:
            try:
                await self.call_tool(name, {"id": "T-1"})
                found[name] = "found"
            except ToolNotFoundError as error:
                found[name] = error.message
        return found


server = FrontMcp("help-desk", apps=[App(id="desk", name="Help Desk", tools=[get_ticket, TryNames])])

if __name__ == "__main__":
    server.run()
