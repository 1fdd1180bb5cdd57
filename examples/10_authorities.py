"""Who may call what: profiles, permissions and a rule that reads the arguments.

The same policy holds for lists, for clients' calls and for calls between tools, always against the person who made the
outermost call. Over stdio and in memory ``auth={"local": …}`` says who that is; over HTTP bearer tokens do.
"""

from __future__ import annotations

from typing import Any

from frontmcp import App, FrontMcp, Tool, ToolContext

OWNERS = {"T-1": "nour", "T-2": "dana"}


class Tickets:
    """Answers questions about relationships."""

    async def check(self, type: str, resource: str, resource_id: str, sub: str, ctx: Any) -> bool:
        return (type, resource) == ("owner", "ticket") and OWNERS.get(resource_id) == sub


@Tool(description="Delete closed tickets", authorities="admin")
async def purge_closed(ctx: ToolContext) -> dict[str, Any]:
    return {"purged": 31, "by": ctx.auth.sub}


@Tool(description="Clean up for the week")
async def weekly_cleanup(ctx: ToolContext) -> dict[str, Any]:
    return (await ctx.call_tool("purge_closed")).structured_content or {}


@Tool(
    description="Close a ticket: its owner may, and admins",
    authorities={
        "any_of": [
            "admin",
            {"relationships": {"type": "owner", "resource": "ticket", "resource_id": {"from_input": "id"}}},
        ]
    },
)
async def close_ticket(id: str) -> dict[str, str]:
    return {"id": id, "status": "closed"}


server = FrontMcp(
    "help-desk",
    apps=[App(id="desk", tools=[purge_closed, weekly_cleanup, close_ticket])],
    authorities={"profiles": {"admin": {"roles": {"any": ["admin"]}}}, "relationship_resolver": Tickets()},
    auth={"local": {"sub": "nour"}},
)

if __name__ == "__main__":
    server.run()
