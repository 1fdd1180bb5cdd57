"""Resources and prompts call tools too."""

from __future__ import annotations

import json

import pytest

from frontmcp import (
    App,
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


@pytest.fixture
def server() -> FrontMcp:
    desk = App(
        id="help-desk",
        name="Help Desk",
        tools=[GetTicket],
        resources=[Ticket],
        prompts=[HandoverNote],
    )
    return FrontMcp(info={"name": "help-desk", "version": "1.0.0"}, apps=[desk])


async def test_a_resource_serves_a_tools_result(mcp) -> None:
    read = await mcp.resources.read("tickets://T-1")
    assert json.loads(read.text()) == {"id": "T-1", "title": "Cannot log in", "status": "open"}
    assert read.mime_type() == "application/json"


async def test_a_prompt_reads_through_a_tool(mcp) -> None:
    prompt = await mcp.prompts.get("handover_note", {"id": "T-1"})
    assert prompt.text() == 'Write a handover note for ticket T-1, "Cannot log in", which is open.'
