"""What a type checker must refuse; each wrong line says with which error."""

from __future__ import annotations

from frontmcp import AbortSignal, Agent, FrontMcp, Provider, Tool, ToolContext

Tool(sync="process")  # [call-overload]
Tool(name=3)  # [call-overload]
Tool(visibility="secret")  # [call-overload]
Tool(rate_limit={"max_request": 1})  # [call-overload]
Tool("get_ticket")  # [call-overload]


@Tool
async def get_ticket(id: str) -> str:
    return id


@Tool
class CloseTicket(ToolContext):
    async def execute(self, id: str) -> str:
        await self.call_tool(3)  # [arg-type]
        await self.notify("hi", level="loud")  # [arg-type]
        await self.info("hi")  # [attr-defined]
        return self.get(int)  # [return-value]


async def use_them() -> None:
    await get_ticket(3)  # [arg-type]
    await CloseTicket().execute()  # [call-arg]
    AbortSignal.timeout("5")  # [arg-type]
    Provider(str, 3)  # [arg-type]


FrontMcp("desk").mount(get_ticket)  # [attr-defined]
Agent(name="triage")  # [call-arg]
Agent(llm={"adapter": None}, execution={"max_iteration": 3})  # [arg-type]
