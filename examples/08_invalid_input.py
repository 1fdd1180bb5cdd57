"""An inner call's input error reaches the model as if its own arguments were wrong; and how to spare it that.

`reassign_ticket` builds arguments that `set_assignee` refuses, so the model reads of a field `agent` it never sent.
`reassign_ticket_checked` states the rule in its own input, where the model can see and follow it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from frontmcp import App, FrontMcp, Tool, ToolContext

AgentId = Annotated[str, Field(pattern="^[a-z]+$", description="Agent id, like sam")]


@Tool(description="Move a ticket to another agent")
class ReassignTicket(ToolContext):
    async def execute(self, id: str, to: str) -> Any:
        return (await self.call_tool("set_assignee", {"id": id, "agent": to})).structured_content


@Tool(description="Move a ticket to another agent")
class ReassignTicketChecked(ToolContext):
    async def execute(self, id: str, to: AgentId) -> Any:
        return (await self.call_tool("set_assignee", {"id": id, "agent": to})).structured_content


@Tool(description="Set a ticket's assignee", visibility="internal")
async def set_assignee(id: str, agent: AgentId) -> dict[str, str]:
    return {"id": id, "agent": agent}


tools = [ReassignTicket, ReassignTicketChecked, set_assignee]
server = FrontMcp("help-desk", apps=[App(id="desk", name="Help Desk", tools=tools)])

if __name__ == "__main__":
    server.run()
