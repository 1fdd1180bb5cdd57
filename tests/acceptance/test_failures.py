"""How a failure of the called tool arrives, and what the client gets when nobody catches it."""

from __future__ import annotations

from typing import Any

import pytest

from frontmcp import App, FlowControl, FrontMcp, PublicMcpError, Tool, ToolContext

CUSTOMERS = {
    "T-1": "dana@acme.example",
    "T-2": "lee@globex.example",
    "T-3": "kim@initech.example",
    "T-4": "ada@umbrella.example",
}


def reason(error: BaseException) -> str:
    """The message of the error that the called tool failed with."""
    return str(error.original_error if isinstance(error, FlowControl) else error)


@Tool(description="Send an email", visibility="internal")
class EmailCustomer(ToolContext):
    async def execute(self, to: str) -> dict[str, str]:
        if to.endswith("@globex.example"):
            self.fail(PublicMcpError("globex.example is refusing our mail.", "MAIL_REFUSED"))
        if to.endswith("@initech.example"):
            raise RuntimeError("SMTP timeout")
        if to.endswith("@umbrella.example"):
            raise PublicMcpError("umbrella.example has no mailbox for ada.", "NO_MAILBOX")
        return {"to": to}


@Tool(description="Close a ticket; report whether the email went out")
class CloseTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        try:
            await self.call_tool("email_customer", {"to": CUSTOMERS[id]})
        except Exception as error:
            return {"id": id, "emailed": False, "why": reason(error)}
        return {"id": id, "emailed": True}


@Tool(description="Close a ticket; fail when the customer can't be emailed")
class CloseTicketStrict(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        await self.call_tool("email_customer", {"to": CUSTOMERS[id]})
        return {"id": id}


@Tool(description="Get one ticket", output_schema={"id": str, "status": str})
class GetTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        if id == "T-9":
            self.fail(PublicMcpError("There's no ticket T-9.", "NO_TICKET"))
        return {"id": id, "status": 0 if id == "T-0" else "open"}


@Tool(description="Pass on whatever get_ticket gives")
class RelayTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        return (await self.call_tool("get_ticket", {"id": id})).structured_content


@Tool(description="Show how each kind of failure arrives")
class TryFailures(ToolContext):
    async def execute(self) -> dict[str, Any]:
        caught = []
        for name, arguments in [
            ("get_ticket", {"id": "T-9"}),
            ("get_ticket", {"id": "T-0"}),
            ("get_ticket", {"ticket": "T-1"}),
            ("get_tikcet", {"id": "T-1"}),
        ]:
            try:
                await self.call_tool(name, arguments)
            except Exception as error:
                original = getattr(error, "original_error", None)
                caught.append(
                    {
                        "is_flow_control": isinstance(error, FlowControl),
                        "message": str(error),
                        "code": getattr(error, "code", None),
                        "original": original and [str(original), original.code],
                        "issues": bool(getattr(error, "validation_errors", None)),
                    }
                )
        return {"caught": caught}


@pytest.fixture
def server() -> FrontMcp:
    tools = [EmailCustomer, CloseTicket, CloseTicketStrict, GetTicket, RelayTicket, TryFailures]
    return FrontMcp(info={"name": "help-desk", "version": "1.0.0"}, apps=[App(id="desk", tools=tools)])


@pytest.mark.parametrize(
    ("id", "why"),
    [
        ("T-2", "globex.example is refusing our mail."),
        ("T-3", 'Tool "email_customer" execution failed: SMTP timeout'),
        ("T-4", "umbrella.example has no mailbox for ada."),
    ],
)
async def test_a_caught_failure(mcp, id: str, why: str) -> None:
    result = await mcp.tools.call("close_ticket", {"id": id})
    assert result.json() == {"id": id, "emailed": False, "why": why}


@pytest.mark.parametrize(
    ("id", "code", "text"),
    [
        ("T-2", "MAIL_REFUSED", "globex.example is refusing our mail."),
        ("T-4", "NO_MAILBOX", "umbrella.example has no mailbox for ada."),
        (
            "T-3",
            "TOOL_EXECUTION_ERROR",
            'Tool "close_ticket_strict" execution failed: Tool "email_customer" execution failed: SMTP timeout',
        ),
    ],
)
async def test_an_uncaught_failure_in_development(mcp, id: str, code: str, text: str) -> None:
    result = await mcp.tools.call("close_ticket_strict", {"id": id})
    result.assert_error(code)
    assert result.text() == text


async def test_each_failure_arrives_as_an_error_of_its_own(mcp) -> None:
    caught = (await mcp.tools.call("try_failures")).json()["caught"]
    assert caught == [
        {
            "is_flow_control": True,
            "message": "",
            "code": None,
            "original": ["There's no ticket T-9.", "NO_TICKET"],
            "issues": False,
        },
        {
            "is_flow_control": False,
            "message": "Tool output validation failed (output does not match outputSchema at status)",
            "code": "INVALID_OUTPUT",
            "original": None,
            "issues": False,
        },
        {
            "is_flow_control": False,
            "message": "Invalid tool input",
            "code": "INVALID_INPUT",
            "original": None,
            "issues": True,
        },
        {
            "is_flow_control": False,
            "message": 'Tool "get_tikcet" not found',
            "code": "TOOL_NOT_FOUND",
            "original": None,
            "issues": False,
        },
    ]


async def test_an_uncaught_invalid_output_keeps_its_own_code(mcp) -> None:
    result = await mcp.tools.call("relay_ticket", {"id": "T-0"})
    result.assert_error("INVALID_OUTPUT")
    assert result.text() == "Tool output validation failed (output does not match outputSchema at status)"


class TestProduction:
    @pytest.fixture
    def server(self) -> FrontMcp:
        tools = [EmailCustomer, CloseTicketStrict, GetTicket, RelayTicket]
        return FrontMcp(
            info={"name": "help-desk", "version": "1.0.0"},
            apps=[App(id="desk", tools=tools)],
            environment="production",
        )

    async def test_what_is_not_public_is_masked_behind_an_error_id(self, mcp) -> None:
        result = await mcp.tools.call("close_ticket_strict", {"id": "T-3"})
        result.assert_error("TOOL_EXECUTION_ERROR")
        meta = result.raw.meta
        assert result.text() == (f"Internal FrontMCP error. Please contact support with error ID: {meta['errorId']}")
        assert meta["errorId"].startswith("err_") and len(meta["errorId"]) == 20
        assert "stack" not in meta
        assert "SMTP" not in result.raw.model_dump_json()

    async def test_public_errors_stay_readable(self, mcp) -> None:
        (await mcp.tools.call("close_ticket_strict", {"id": "T-2"})).assert_error("MAIL_REFUSED")

    async def test_invalid_output_hides_its_message(self, mcp) -> None:
        result = await mcp.tools.call("relay_ticket", {"id": "T-0"})
        result.assert_error("INVALID_OUTPUT")
        assert result.text() == "Output validation failed. Please contact support."
