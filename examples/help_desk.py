"""A help desk: the server that `make demo` runs, and that an mcp.json can start.

Four tools are for clients. Two of them are made of others; three of those are internal, and no client sees them.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import anyio
from pydantic import BaseModel, Field

from frontmcp import App, FlowControl, FrontMcp, PublicMcpError, ToolContext

TicketId = Annotated[str, Field(description="Ticket id, like T-1", pattern=r"^T-\d+$")]
Status = Literal["open", "closed"]


class Ticket(BaseModel):
    id: str
    title: str
    customer: str
    status: Status = "open"
    idle_days: int = 0


class Closed(BaseModel):
    id: str
    emailed: bool
    note: str = ""


class Mail(NamedTuple):
    to: str
    message_id: str


TICKETS = {
    ticket.id: ticket
    for ticket in (
        Ticket(id="T-1", title="Cannot log in", customer="dana@acme.example", idle_days=9),
        Ticket(id="T-2", title="Invoice is wrong", customer="lee@globex.example", idle_days=12),
        Ticket(id="T-3", title="Dark mode, please", customer="kim@initech.example", idle_days=31),
        Ticket(id="T-4", title="Export hangs", customer="ada@umbrella.example", idle_days=1),
    )
}

desk = App(id="desk", name="Help Desk")


@desk.tool
async def list_tickets(status: Status | None = None) -> list[Ticket]:
    """List support tickets, all or those of one status."""
    return [ticket for ticket in TICKETS.values() if status in (None, ticket.status)]


@desk.tool(description="Close a support ticket and tell the customer")
class CloseTicket(ToolContext):
    async def execute(self, id: TicketId) -> Closed:
        await self.call_tool("find_ticket", {"id": id})
        ticket = TICKETS[id]
        ticket.status = "closed"
        try:
            await self.call_tool("email_customer", {"to": ticket.customer, "subject": f"{id} is closed"})
        except FlowControl as failure:
            return Closed(id=id, emailed=False, note=str(failure.original_error))
        return Closed(id=id, emailed=True)


@desk.tool(description="Close every ticket that nobody has touched for some days")
class CloseStale(ToolContext):
    async def execute(self, days: Annotated[int, Field(ge=1)] = 7) -> list[Closed]:
        stale = [ticket for ticket in TICKETS.values() if ticket.status == "open" and ticket.idle_days >= days]
        closed = []
        for count, ticket in enumerate(stale, start=1):
            result = await self.call_tool("close_ticket", {"id": ticket.id})
            closed.append(Closed.model_validate(result.structured_content))
            await self.progress(count, len(stale), f"Closed {ticket.id}")
        return closed


@desk.tool
async def count_in_crm() -> int:
    """Count the tickets in the CRM."""
    raise ConnectionError("crm-7.internal refused the password of svc_desk")  # a bug that clients must not read


@desk.tool(visibility="internal")
async def find_ticket(ctx: ToolContext, id: TicketId) -> Ticket:
    """Get one ticket, or fail in words that a model understands."""
    if id not in TICKETS:
        ctx.fail(PublicMcpError(f"There's no ticket {id}.", "NO_TICKET"))
    return TICKETS[id]


@desk.tool(description="Send an email to a customer", visibility="internal")
class EmailCustomer(ToolContext):
    async def execute(self, to: str, subject: str) -> Mail:
        await self.call_tool("check_mailbox", {"address": to})
        await anyio.sleep(0.02)  # stands in for a mail server
        return Mail(to, "msg-1042")


@desk.tool(description="Refuse addresses that take no mail", visibility="internal")
class CheckMailbox(ToolContext):
    async def execute(self, address: str) -> bool:
        await anyio.sleep(0.005)
        if address.endswith("@globex.example"):
            self.fail(PublicMcpError("globex.example is refusing our mail.", "MAIL_REFUSED"))
        return True


server = FrontMcp(info={"name": "help-desk", "version": "1.0.0"}, apps=[desk])

if __name__ == "__main__":
    server.run()
