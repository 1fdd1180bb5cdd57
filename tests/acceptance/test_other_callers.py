"""Resources, prompts and agents call tools too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frontmcp import (
    Agent,
    AgentContext,
    App,
    Completion,
    FrontMcp,
    Prompt,
    PromptArgument,
    PromptContext,
    ResourceContext,
    ResourceTemplate,
    Tool,
    ToolContext,
)


@Tool(description="Get one support ticket by id")
class GetTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, str]:
        return {"id": id, "title": "Cannot log in", "status": "open"}


@ResourceTemplate(name="ticket", uri_template="tickets://{id}", mime_type="application/json")
class Ticket(ResourceContext):
    async def execute(self, uri: str, id: str) -> str:
        return json.dumps((await self.call_tool("get_ticket", {"id": id})).structured_content)


@Prompt(
    name="handover_note",
    description="Write a handover note for a ticket",
    arguments=[PromptArgument(name="id", required=True)],
)
class HandoverNote(PromptContext):
    async def execute(self, id: str) -> str:
        ticket = (await self.call_tool("get_ticket", {"id": id})).structured_content
        return f'Write a handover note for ticket {id}, "{ticket["title"]}", which is {ticket["status"]}.'


class ScriptedModel:
    """Stands in for a model: answers once, with text."""

    async def completion(self, prompt, tools=None, options=None) -> Completion:
        return Completion(content="High: the customer can't work.", finish_reason="stop")


@Agent(
    name="triage",
    description="Suggest a priority for a support ticket",
    system_instructions="You triage tickets for a help desk. Answer high, normal or low, and why.",
    llm={"adapter": ScriptedModel()},
)
class Triage(AgentContext):
    async def execute(self, ticket_id: str) -> dict[str, Any]:
        ticket = await self.call_tool("get_ticket", {"id": ticket_id})
        answer = await super().execute(ticket_id=ticket_id)
        return {**answer, "ticket": ticket.structured_content}


@pytest.fixture
def server() -> FrontMcp:
    desk = App(
        id="help-desk",
        name="Help Desk",
        tools=[GetTicket],
        resources=[Ticket],
        prompts=[HandoverNote],
        agents=[Triage],
    )
    return FrontMcp(info={"name": "help-desk", "version": "1.0.0"}, apps=[desk])


async def test_a_resource_serves_a_tools_result(mcp) -> None:
    read = await mcp.resources.read("tickets://T-1")
    assert json.loads(read.text()) == {"id": "T-1", "title": "Cannot log in", "status": "open"}
    assert read.mime_type() == "application/json"


async def test_a_prompt_reads_through_a_tool(mcp) -> None:
    prompt = await mcp.prompts.get("handover_note", {"id": "T-1"})
    assert prompt.text() == 'Write a handover note for ticket T-1, "Cannot log in", which is open.'


async def test_an_agent_is_a_tool_and_calls_tools(mcp) -> None:
    result = await mcp.tools.call("invoke_triage", {"ticket_id": "T-1"})
    assert result.json() == {
        "response": "High: the customer can't work.",
        "ticket": {"id": "T-1", "title": "Cannot log in", "status": "open"},
    }
