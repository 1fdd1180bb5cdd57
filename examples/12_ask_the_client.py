"""Asking the client three things at once: the user by a form, the client's model, and where its files are."""

from __future__ import annotations

from typing import Any, Literal

import anyio
from pydantic import BaseModel

from frontmcp import Accepted, FrontMcp, Tool, ToolContext
from frontmcp.errors import CapabilityNotSupportedError


class Filing(BaseModel):
    queue: Literal["billing", "support"] = "support"
    urgent: bool = False


@Tool(description="File a ticket: the user says where, the client's model writes the title")
class FileTicket(ToolContext):
    async def execute(self, text: str) -> dict[str, Any]:
        ticket: dict[str, Any] = {}
        async with anyio.create_task_group() as group:
            for ask in (self.file, self.entitle, self.locate):
                group.start_soon(ask, ticket, text)
        return (await self.call_tool("save_ticket", {"ticket": ticket})).structured_content or {}

    async def file(self, ticket: dict[str, Any], text: str) -> None:
        answer = await self.elicit("Where does this ticket belong?", Filing, key="filing")
        filing = answer.data if isinstance(answer, Accepted) else Filing()
        ticket |= filing.model_dump()

    async def entitle(self, ticket: dict[str, Any], text: str) -> None:
        try:
            said = await self.sample(f"A title of five words for: {text}", max_tokens=20, key="title")
            ticket["title"] = said.text
        except CapabilityNotSupportedError:
            ticket["title"] = text[:40]

    async def locate(self, ticket: dict[str, Any], text: str) -> None:
        try:
            ticket["files"] = [str(root.uri) for root in await self.list_roots(key="files")]
        except CapabilityNotSupportedError:
            ticket["files"] = []


@Tool(description="Save a ticket", visibility="internal")
async def save_ticket(ticket: dict[str, Any]) -> dict[str, Any]:
    return {"id": "T-44", **ticket}


server = FrontMcp("help-desk", tools=[FileTicket, save_ticket])

if __name__ == "__main__":
    server.run()
