"""A tool made of other tools: closing a ticket also writes to the customer.

`email_customer` is internal: other tools can call it, clients can't see it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from frontmcp import App, FrontMcp, Tool, ToolContext

CUSTOMERS = {"T-1": "dana@acme.example", "T-2": "lee@globex.example"}


class Sent(BaseModel):
    message_id: str
    to: str


@Tool(description="Close a support ticket and email the customer")
class CloseTicket(ToolContext):
    async def execute(self, id: Annotated[str, Field(description="Ticket id, like T-1")]) -> dict[str, Any]:
        email = {"to": CUSTOMERS[id], "subject": f"Your ticket {id} is closed"}
        sent = await self.call_tool("email_customer", email)
        return {"id": id, "status": "closed", "email": sent.structured_content}


@Tool(description="Send an email to a customer", visibility="internal")
async def email_customer(to: Annotated[str, Field(pattern="@")], subject: str) -> Sent:
    return Sent(message_id="msg-1042", to=to)


server = FrontMcp("help-desk", apps=[App(id="desk", name="Help Desk", tools=[CloseTicket, email_customer])])

if __name__ == "__main__":
    server.run()
