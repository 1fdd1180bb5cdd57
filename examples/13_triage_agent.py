"""An agent is a tool: a model, its instructions, and tools of its own, which nobody else finds.

Its model calls tools until it knows enough; a body of its own does what no model is needed for.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from frontmcp import Agent, AgentContext, App, FrontMcp, Tool, ToolContext
from frontmcp.testing import ModelRequest, ScriptedModel, calling

TICKETS = {
    "T-1": {"id": "T-1", "title": "Cannot log in", "customer": "dana"},
    "T-2": {"id": "T-2", "title": "A wish", "customer": "lee"},
}


class Priority(BaseModel):
    priority: Literal["high", "normal", "low"]
    why: str


class Triaged(Priority):
    ticket: str


@Tool(description="Get one support ticket by id")
class GetTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, str]:
        return TICKETS[id]


@Tool(description="How much a customer pays each month")
async def revenue(customer: str) -> int:
    return 900 if customer == "dana" else 20


def think(request: ModelRequest) -> Any:
    """Stands in for a model: looks two things up at once, and answers with JSON."""
    if request.last.role == "user":
        customer = (request.last.content or "").rpartition(" ")[2]
        return [calling("revenue", customer=customer), calling("get_weather")]
    paid, _ = request.results
    return Priority(priority="high" if paid > 100 else "low", why=f"They pay {paid}.").model_dump_json()


# In earnest: llm={"provider": "openai", "model": "…"} with frontmcp-openai, or {"provider": "sampling"}: the client's.
@Agent(
    description="Suggest a priority for a support ticket",
    system_instructions="You triage tickets for a help desk.",
    llm={"adapter": ScriptedModel(think, repeat=True)},
    tools=[revenue],
    output_schema=Priority,
)
class Triage(AgentContext):
    async def execute(self, ticket_id: str) -> Triaged:
        ticket: Any = (await self.call_tool("get_ticket", {"id": ticket_id})).structured_content
        answer = await super().execute(f"{ticket['title']}, from {ticket['customer']}")
        return Triaged(**answer, ticket=ticket_id)


server = FrontMcp("help-desk", apps=[App(id="desk", name="Help Desk", tools=[GetTicket], agents=[Triage])])

if __name__ == "__main__":
    server.run()
