"""Two agents: the front desk hands to billing what is billing's, and answers the rest itself.

Billing is internal: clients can't call it, the front desk's model can. It sees billing, and no other agent.
"""

from __future__ import annotations

from typing import Any

from frontmcp import Agent, AgentContext, FrontMcp, Tool
from frontmcp.testing import ModelRequest, ScriptedModel, calling

INVOICES = {"dana": [120, 80], "lee": []}


@Tool(description="The open invoices of a customer")
async def open_invoices(customer: str) -> list[int]:
    return INVOICES[customer]


def greet(request: ModelRequest) -> Any:
    """Stands in for the model of the front desk."""
    if request.last.role == "tool":
        return f"Billing says: {request.results[0]['response']}"
    asked = request.last.content or ""
    return calling("invoke_billing", query=asked) if "invoice" in asked else "Have you tried turning it off and on?"


def look_up(request: ModelRequest) -> Any:
    """Stands in for the model of billing."""
    if request.last.role == "tool":
        return f"{sum(request.results[0])} are open."
    return calling("open_invoices", customer="dana" if "dana" in (request.last.content or "") else "lee")


@Agent(
    description="Questions about invoices and payments",
    llm={"adapter": ScriptedModel(look_up, repeat=True)},
    input_schema={"query": str},
    tools=[open_invoices],
    visibility="internal",
)
class Billing(AgentContext):
    pass


@Agent(
    description="Any question of a customer",
    system_instructions="You are the front desk. Hand over what others know better.",
    llm={"adapter": ScriptedModel(greet, repeat=True)},
    input_schema={"query": str},
    swarm={"can_see_other_agents": True, "visible_agents": ["billing"]},
)
class FrontDesk(AgentContext):
    pass


server = FrontMcp("help-desk", agents=[FrontDesk, Billing])

if __name__ == "__main__":
    server.run()
