"""A tool built out of other tools: what the caller gets, and what the client sees."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from frontmcp import App, FrontMcp, Tool, ToolContext

TICKETS: dict[str, dict[str, str]] = {}


class Sent(BaseModel):
    message_id: str
    to: str


@Tool(name="close_ticket", description="Close a support ticket and email the customer")
class CloseTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        ticket = TICKETS[id]
        ticket["status"] = "closed"
        sent = await self.call_tool("email_customer", {"to": ticket["customer"], "subject": f"Ticket {id} is closed"})
        return {"id": id, "status": ticket["status"], "email": sent.structured_content}


@Tool(
    name="email_customer",
    description="Send an email to a customer",
    output_schema=Sent,
    visibility="internal",
)
class EmailCustomer(ToolContext):
    async def execute(self, to: str, subject: str) -> dict[str, str]:
        return {"message_id": "msg-1042", "to": to, "not_in_the_schema": "dropped"}


@Tool(description="Add two numbers")
async def add(a: int, b: int = 2) -> dict[str, int]:
    return {"sum": a + b}


@Tool(description="Call add through the pipeline")
async def add_twice(ctx: ToolContext, a: int) -> dict[str, Any]:
    once = await ctx.call_tool("add", {"a": a, "unknown": "dropped"})
    twice = await ctx.call_tool("add", {"a": once.structured_content["sum"], "b": 1})
    return {"result": twice.structured_content["sum"]}


@pytest.fixture
def server() -> FrontMcp:
    TICKETS.update({"T-1": {"customer": "dana@acme.example", "status": "open"}})
    desk = App(id="desk", name="Help Desk", tools=[CloseTicket, EmailCustomer, add, add_twice])
    return FrontMcp(info={"name": "help-desk", "version": "1.0.0"}, apps=[desk])


async def test_the_inner_result_is_the_whole_call_tool_result(mcp) -> None:
    result = await mcp.tools.call("close_ticket", {"id": "T-1"})
    assert result.json() == {
        "id": "T-1",
        "status": "closed",
        "email": {"message_id": "msg-1042", "to": "dana@acme.example"},
    }


async def test_clients_neither_see_nor_call_an_internal_tool(mcp) -> None:
    names = [tool.name for tool in await mcp.tools.list()]
    assert names == ["add", "add_twice", "close_ticket"]
    result = await mcp.tools.call("email_customer", {"to": "x@y.example", "subject": "hi"})
    result.assert_error("TOOL_NOT_FOUND")
    assert result.text() == 'Tool "email_customer" not found'
    assert result.raw.meta["code"] == "TOOL_NOT_FOUND"


async def test_a_function_tool_fills_defaults_and_drops_unknown_fields(mcp) -> None:
    result = await mcp.tools.call("add_twice", {"a": 1})
    result.assert_ok()
    assert result.json() == {"result": 4}


async def test_arguments_default_to_an_empty_mapping(mcp) -> None:
    result = await mcp.tools.call("add")
    result.assert_error("INVALID_INPUT")
    assert result.text().startswith("Invalid tool input\nDetails: [")
    assert '"path"' in result.text() and '"a"' in result.text()
