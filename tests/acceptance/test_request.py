"""What the called tool sees: the same caller and request, its own signal and hooks."""

from __future__ import annotations

import re
import time
from typing import Any

import anyio
import pytest

from frontmcp import AbortSignal, App, FrontMcp, Plugin, Tool, ToolContext, Will


@Tool(description="Report what an inner call sees", visibility="internal")
class Inner(ToolContext):
    async def execute(self) -> dict[str, Any]:
        return {
            "request_id": self.context.request_id,
            "sub": self.auth.user.sub,
            "note": self.context.get("note"),
            "signal": self.signal is not None and self.signal.aborted,
        }


@Tool(description="Compare with what the outer call sees")
class Outer(ToolContext):
    async def execute(self) -> dict[str, Any]:
        self.context.set("note", "from outer")
        inner = (await self.call_tool("inner")).structured_content
        return {
            "same_request": inner["request_id"] == self.context.request_id,
            "same_caller": inner["sub"] == self.auth.user.sub,
            "note": inner["note"],
        }


@Tool(description="Load a ticket's history from a slow archive", visibility="internal")
class LoadHistory(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        await self.signal.wait(timeout=2)
        self.signal.raise_if_aborted()
        return {"id": id, "events": 12}


@Tool(description="Get a ticket, with its history when that is quick to load")
class GetTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        try:
            history = await self.call_tool("load_history", {"id": id}, signal=AbortSignal.timeout(0.1))
        except Exception:
            return {"id": id, "history": None, "note": "The history took too long to load."}
        return {"id": id, "history": history.structured_content}


@Tool(description="The same budget by native cancellation")
class GetTicketScoped(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        with anyio.move_on_after(0.1):
            await self.call_tool("load_history", {"id": id})
        return {"id": id, "history": None}


@Tool(
    description="Look a customer up in the CRM",
    rate_limit={"max_requests": 1, "window_ms": 60_000},
)
class LookupCustomer(ToolContext):
    async def execute(self, id: str) -> dict[str, str]:
        return {"id": id, "name": "Acme Corp"}


@Tool(description="Summarize a ticket with its customer")
class TicketSummary(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        customer = await self.call_tool("lookup_customer", {"id": "C-7"})
        return {"id": id, "customer": customer.structured_content}


class Audit(Plugin):
    """A plugin with one hook: it sees every tool call, inner ones too."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    @Will("execute")
    async def record(self, call) -> None:
        self.seen.append((call.entry.name, call.depth))


AUDIT = Audit()


@pytest.fixture
def server() -> FrontMcp:
    AUDIT.seen.clear()
    tools = [Inner, Outer, LoadHistory, GetTicket, GetTicketScoped, LookupCustomer, TicketSummary]
    return FrontMcp(
        info={"name": "help-desk", "version": "1.0.0"},
        apps=[App(id="desk", tools=tools)],
        plugins=[AUDIT],
    )


async def test_the_same_caller_in_the_same_request(mcp) -> None:
    result = await mcp.tools.call("outer")
    assert result.json() == {"same_request": True, "same_caller": True, "note": "from outer"}


async def test_a_plugins_hook_runs_for_the_inner_call_too(mcp) -> None:
    await mcp.tools.call("outer")
    assert AUDIT.seen == [("outer", 0), ("inner", 1)]


@pytest.mark.parametrize("tool", ["get_ticket", "get_ticket_scoped"])
async def test_a_time_budget_for_the_inner_call(mcp, tool: str) -> None:
    started = time.monotonic()
    result = await mcp.tools.call(tool, {"id": "T-1"})
    assert result.json()["history"] is None
    assert time.monotonic() - started < 1


async def test_inner_calls_count_toward_the_called_tools_limit(mcp) -> None:
    (await mcp.tools.call("ticket_summary", {"id": "T-1"})).assert_ok()
    second = await mcp.tools.call("ticket_summary", {"id": "T-2"})
    second.assert_error("RATE_LIMIT_EXCEEDED")
    assert re.fullmatch(r"Rate limit exceeded\. Retry after \d+ seconds", second.text())
