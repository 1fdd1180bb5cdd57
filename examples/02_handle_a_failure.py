"""An inner call never returns an error: it raises. Catch it where the outer tool can do better than fail.

What the inner tool gave to `self.fail` arrives inside a `FlowControl`; a public error it raised arrives as it is,
and any other as a `ToolExecutionError`.
"""

from __future__ import annotations

from typing import Any

from frontmcp import App, FlowControl, FrontMcp, PublicMcpError, Tool, ToolContext

CUSTOMERS = {
    "T-1": "dana@acme.example",
    "T-2": "lee@globex.example",
    "T-3": "kim@initech.example",
    "T-4": "ada@umbrella.example",
}


def reason(error: Exception) -> str:
    """Why an inner call failed, whichever way it did."""
    return str(error.original_error if isinstance(error, FlowControl) else error)


@Tool(description="Close a ticket; say so if the customer could not be told")
class CloseTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        closed = {"id": id, "status": "closed"}
        try:
            await self.call_tool("email_customer", {"to": CUSTOMERS[id], "subject": f"Your ticket {id} is closed"})
        except Exception as error:
            return {**closed, "emailed": False, "why": reason(error)}
        return {**closed, "emailed": True}


@Tool(description="Close a ticket only if the customer can be told")
class CloseTicketStrict(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        await self.call_tool("email_customer", {"to": CUSTOMERS[id], "subject": f"Your ticket {id} is closed"})
        return {"id": id, "status": "closed"}


@Tool(description="Send an email to a customer", visibility="internal")
class EmailCustomer(ToolContext):
    async def execute(self, to: str, subject: str) -> dict[str, str]:
        match to.partition("@")[2]:
            case "globex.example":
                self.fail(PublicMcpError("globex.example is refusing our mail.", "MAIL_REFUSED"))
            case "initech.example":
                raise TimeoutError("SMTP timeout")
            case "umbrella.example":
                raise PublicMcpError("umbrella.example has no mailbox for ada.", "NO_MAILBOX")
        return {"to": to}


desk = App(id="desk", name="Help Desk", tools=[CloseTicket, CloseTicketStrict, EmailCustomer])
server = FrontMcp("help-desk", apps=[desk])

if __name__ == "__main__":
    server.run()
