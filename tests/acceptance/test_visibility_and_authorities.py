"""Tools that clients can't call, and authorities that are checked against the same caller."""

from __future__ import annotations

from typing import Any

import pytest

from frontmcp import App, FrontMcp, Tool, ToolContext, create_direct


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


@Tool(description="Delete closed tickets", visibility="internal", authorities="admin")
class PurgeClosed(ToolContext):
    async def execute(self) -> dict[str, Any]:
        return {"purged": 31, "by": self.auth.user.sub}


@Tool(description="Purge closed tickets, for admins")
class WeeklyCleanup(ToolContext):
    async def execute(self) -> dict[str, Any]:
        return (await self.call_tool("purge_closed")).structured_content


@Tool(description="Not listed, but callable", visibility="hidden")
class Diagnose(ToolContext):
    async def execute(self) -> dict[str, bool]:
        return {"ok": True}


def make_server(**options: Any) -> FrontMcp:
    tools = [WeeklyDigest, CountTickets, CountEscalations, PurgeClosed, WeeklyCleanup, Diagnose]
    return FrontMcp(
        info={"name": "help-desk", "version": "1.0.0"},
        apps=[App(id="desk", name="Help Desk", tools=tools)],
        authorities={
            "claims_mapping": {"roles": "roles"},
            "profiles": {"admin": {"roles": {"any": ["admin"]}}},
        },
        **options,
    )


@pytest.fixture
def server() -> FrontMcp:
    return make_server()


async def test_another_tool_reaches_them(mcp) -> None:
    result = await mcp.tools.call("weekly_digest")
    assert result.json() == {"week": "2026-W39", "open": 12, "closed": 31, "escalated": 2}


async def test_clients_neither_see_nor_call_them(mcp) -> None:
    names = [tool.name for tool in await mcp.tools.list()]
    assert {"count_tickets", "count_escalations", "purge_closed", "diagnose"}.isdisjoint(names)
    for name in ["count_tickets", "desk.count_tickets", "desk:count-tickets", "count_escalations"]:
        (await mcp.tools.call(name)).assert_error("TOOL_NOT_FOUND")
    (await mcp.tools.call("desk.diagnose")).assert_ok()


async def test_authorities_are_checked_against_the_outer_caller(mcp) -> None:
    result = await mcp.tools.call("weekly_cleanup")
    result.assert_error("AUTHORITY_DENIED")
    assert result.text() == (
        """Access denied to Tool "desk:purge_closed": profile:admin: roles.any: user has none of 'admin'"""
    )


async def test_an_admin_passes_in_process() -> None:
    async with create_direct(make_server()) as direct:
        admin = {"user": {"sub": "nour", "roles": ["admin"]}}
        result = await direct.call_tool("weekly_cleanup", auth_context=admin)
        assert result.structured_content == {"purged": 31, "by": "nour"}
        # A later anonymous call on the same server runs as nobody else.
        with pytest.raises(Exception, match="Access denied") as refused:
            await direct.call_tool("weekly_cleanup")
        assert refused.value.code == "AUTHORITY_DENIED"


def test_authorities_without_the_plugin_that_checks_them_stop_the_server() -> None:
    with pytest.raises(Exception, match="authorities"):
        make_server(plugins=["no:authorities"]).check()
