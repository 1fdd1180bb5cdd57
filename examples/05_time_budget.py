"""An inner call with a time budget of its own, in two forms.

``signal=AbortSignal.timeout(…)`` stops a tool that listens to its `self.signal`; anyio's cancel scopes stop any async
tool, wherever it waits.
"""

from __future__ import annotations

from typing import Any

import anyio

from frontmcp import AbortSignal, App, FrontMcp, Tool, ToolContext

TOO_LONG = "The history took too long to load."


@Tool(description="Get a ticket, with its history when that is quick to load")
class GetTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        ticket = {"id": id, "title": "Cannot log in"}
        try:
            history = await self.call_tool("load_history", {"id": id}, signal=AbortSignal.timeout(0.1))
        except Exception:
            return {**ticket, "history": None, "note": TOO_LONG}
        return {**ticket, "history": history.structured_content}


@Tool(description="The same, by native cancellation")
class GetTicketScoped(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        ticket = {"id": id, "title": "Cannot log in"}
        with anyio.move_on_after(0.1):
            history = await self.call_tool("load_history", {"id": id})
            return {**ticket, "history": history.structured_content}
        return {**ticket, "history": None, "note": TOO_LONG}


@Tool(description="Load a ticket's history from the archive", visibility="internal")
class LoadHistory(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        await self.signal.wait(timeout=2)  # stands in for a slow query that gives up when it is told to
        self.signal.raise_if_aborted()
        return {"id": id, "events": 12}


server = FrontMcp("help-desk", apps=[App(id="desk", name="Help Desk", tools=[GetTicket, GetTicketScoped, LoadHistory])])

if __name__ == "__main__":
    server.run()
