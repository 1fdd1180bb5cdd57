"""Tools that clients can't call."""

from __future__ import annotations

from typing import Any

import pytest

from frontmcp import App, FrontMcp, Tool, ToolContext


@Tool(description="Summarize this week's tickets")
class WeeklyDigest(ToolContext):
    async def execute(self) -> dict[str, Any]:
        counts = await self.call_tool("count_tickets")
        escalations = await self.call_tool("count_escalations")
        return {"week": "2026-W39", **counts.structured_content, **escalations.structured_content}


@Tool(description="Count tickets by status", visibility="internal")
class CountTickets(ToolContext):
    async def execute(self) -> dict[str, int]:
        return {"open": 12, "closed": 31}


@Tool(description="Count escalated tickets", available_when={"surface": ["agent"]})
class CountEscalations(ToolContext):
    async def execute(self) -> dict[str, int]:
        return {"escalated": 2}


@Tool(description="Not listed, but callable", visibility="hidden")
class Diagnose(ToolContext):
    async def execute(self) -> dict[str, bool]:
        return {"ok": True}


@pytest.fixture
def server() -> FrontMcp:
    tools = [WeeklyDigest, CountTickets, CountEscalations, Diagnose]
    desk = App(id="desk", name="Help Desk", tools=tools)
    return FrontMcp(info={"name": "help-desk", "version": "1.0.0"}, apps=[desk])


async def test_another_tool_reaches_them(mcp) -> None:
    result = await mcp.tools.call("weekly_digest")
    assert result.json() == {"week": "2026-W39", "open": 12, "closed": 31, "escalated": 2}


async def test_clients_neither_see_nor_call_them(mcp) -> None:
    names = [tool.name for tool in await mcp.tools.list()]
    assert {"count_tickets", "count_escalations", "purge_closed", "diagnose"}.isdisjoint(names)
    for name in ["count_tickets", "desk.count_tickets", "desk:count-tickets", "count_escalations"]:
        (await mcp.tools.call(name)).assert_error("TOOL_NOT_FOUND")
    (await mcp.tools.call("desk.diagnose")).assert_ok()
