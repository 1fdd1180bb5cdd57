"""A webhook like GitHub's: a labelled issue becomes a ticket, and clients that subscribed hear of it.

Run it with a secret, and post to it as GitHub would:

    GITHUB_SECRET=s3cret frontmcp run examples/github_webhook.py --http
"""

from __future__ import annotations

from pydantic import BaseModel

from frontmcp import Channel, ChannelContext, FrontMcp, Tool, ToolContext

tickets: dict[str, str] = {}


class Label(BaseModel):
    name: str


class Issue(BaseModel):
    number: int
    title: str


class Event(BaseModel):
    action: str
    issue: Issue
    label: Label | None = None


class Post(BaseModel):
    """What a webhook hands over: the body, with the ``headers``, ``method`` and ``query`` that are not needed here."""

    body: Event


@Tool(available_when={"surface": ["http-trigger"]})
class OpenTicket(ToolContext):
    """Open a ticket for an issue. Only webhooks lead here: no client can call it."""

    async def execute(self, number: int, title: str) -> dict[str, str]:
        ticket = f"GH-{number}"
        tickets[ticket] = title
        return {"id": ticket}


@Tool
async def list_tickets() -> dict[str, str]:
    """The tickets, by id."""
    return tickets


@Channel(
    "github",
    source={"type": "webhook", "path": "/hooks/github", "secret": {"env": "GITHUB_SECRET"}},
    rate_limit={"max_requests": 100, "window_ms": 60_000, "partition_by": "ip"},
)
class GitHub(ChannelContext):
    """Issues that people label as support."""

    async def on_event(self, payload: Post) -> str | None:
        event = payload.body
        if event.action != "labeled" or event.label is None or event.label.name != "support":
            return None
        opened = await self.call_tool("open_ticket", {"number": event.issue.number, "title": event.issue.title})
        return f"{opened.structured_content['id']} opened: {event.issue.title}"


server = FrontMcp("help-desk", tools=[OpenTicket, list_tickets], channels=[GitHub])

if __name__ == "__main__":
    server.run("http")
