"""What a model may do is what its caller may do: its tools are guarded like all others, and it is told why not.

The agent refunds. Large refunds are for managers, and one refund a minute is enough for anybody.
"""

from __future__ import annotations

import re
from typing import Any

from frontmcp import Agent, AgentContext, FrontMcp, Tool
from frontmcp.testing import ModelRequest, ScriptedModel, calling

SMALL = {"attributes": {"conditions": [{"path": "input.amount", "op": "lte", "value": 50}]}}
MANAGER = {"roles": {"any": ["manager"]}}


@Tool(
    description="Refund a customer",
    authorities={"any_of": [MANAGER, SMALL]},
    rate_limit={"max_requests": 1, "window_ms": 60_000, "partition_by": "user"},
)
async def refund(customer: str, amount: int) -> dict[str, Any]:
    return {"customer": customer, "refunded": amount}


@Tool(description="Close an account", authorities=MANAGER)
async def close_account(customer: str) -> str:
    return f"{customer} is no customer any more."


def help_out(request: ModelRequest) -> Any:
    """Stands in for a model: does what it is asked, and says what it was told."""
    if request.last.role == "user":
        amount = int((re.findall(r"\d+", request.last.content or "") or ["0"])[0])
        return calling("refund", customer="dana", amount=amount)
    told = request.results[0]
    return f"Sorry: {told['error']}" if "error" in told else f"I refunded {told['refunded']}."


@Agent(
    description="Help with refunds",
    llm={"adapter": ScriptedModel(help_out, repeat=True)},
    input_schema={"query": str},
    tools=[refund, close_account],
)
class Support(AgentContext):
    pass


server = FrontMcp("help-desk", agents=[Support], authorities={})

if __name__ == "__main__":
    server.run()
