"""How each kind of failure of an inner call arrives, caught and uncaught."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from frontmcp import App, FlowControl, FrontMcp, FrontMcpError, PublicMcpError, Tool, ToolContext


class Ticket(BaseModel):
    id: str
    status: str


@Tool(description="Get one support ticket by id", output_schema=Ticket)
class GetTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        if id == "T-9":
            self.fail(PublicMcpError(f"There's no ticket {id}.", "NO_TICKET"))
        return {"id": id, "status": 0 if id == "T-0" else "open"}  # the status of T-0 does not match Ticket


@Tool(description="Read a ticket through get_ticket, and let whatever fails pass")
class RelayTicket(ToolContext):
    async def execute(self, id: str) -> Any:
        return (await self.call_tool("get_ticket", {"id": id})).structured_content


@Tool(description="Show how each kind of failure arrives")
class TryFailures(ToolContext):
    async def execute(self) -> dict[str, Any]:
        attempts: list[tuple[str, dict[str, Any]]] = [
            ("get_ticket", {"id": "T-9"}),  # fails by self.fail
            ("get_ticket", {"id": "T-0"}),  # returns what its output schema does not allow
            ("get_ticket", {"ticket": "T-1"}),  # gets arguments its input schema does not allow
            ("get_tikcet", {"id": "T-1"}),  # does not exist
        ]
        return {"caught": [await self.failure_of(name, arguments) for name, arguments in attempts]}

    async def failure_of(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            await self.call_tool(name, arguments)
        except FlowControl as flow:
            original = flow.original_error
            assert isinstance(original, PublicMcpError)
            return {"flow_control": True, "original": {"message": original.message, "code": original.code}}
        except FrontMcpError as error:
            return {"flow_control": False, "message": error.message, "code": error.code}
        return {}


server = FrontMcp("help-desk", apps=[App(id="desk", name="Help Desk", tools=[GetTicket, RelayTicket, TryFailures])])

if __name__ == "__main__":
    server.run()
