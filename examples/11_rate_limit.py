"""Limits: how often a tool may be called, how many calls run at once, and how long one may take.

A call from another tool counts like one from a client: the CRM behind `lookup_customer` can't tell them apart either.
"""

from __future__ import annotations

from typing import Any

import anyio

from frontmcp import App, FrontMcp, RateLimitError, Tool, ToolContext


@Tool(description="Look a customer up in the CRM", rate_limit={"max_requests": 1, "window_ms": 60_000})
class LookupCustomer(ToolContext):
    async def execute(self, id: str) -> dict[str, str]:
        return {"id": id, "name": "Acme Corp"}


@Tool(description="Summarize a ticket with its customer")
class TicketSummary(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        customer = await self.call_tool("lookup_customer", {"id": "C-7"})
        return {"id": id, "customer": customer.structured_content}


@Tool(description="Summarize a ticket, with its customer while the CRM may be asked")
class PatientSummary(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        try:
            customer = await self.call_tool("lookup_customer", {"id": "C-7"})
        except RateLimitError as error:
            return {"id": id, "customer": None, "note": f"Ask again in {error.retry_after} seconds."}
        return {"id": id, "customer": customer.structured_content}


@Tool(description="Export a ticket's history", concurrency={"max_concurrent": 2, "queue_timeout_ms": 5_000})
async def export_history(id: str) -> str:
    await anyio.sleep(0.01)
    return f"{id}.csv"


@Tool(description="Search the archive", timeout={"execute_ms": 100})
async def search_archive(words: str) -> list[str]:
    await anyio.sleep(60 if words == "*" else 0)
    return []


tools = [LookupCustomer, TicketSummary, PatientSummary, export_history, search_archive]
server = FrontMcp("help-desk", apps=[App(id="desk", name="Help Desk", tools=tools)])

if __name__ == "__main__":
    server.run()
