"""What users write, as a type checker sees it: every form of definition, without ignores."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import date
from typing import Annotated, Any, NamedTuple, assert_type

from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from frontmcp import (
    AbortSignal,
    Agent,
    AgentContext,
    App,
    CallToolResult,
    Completion,
    File,
    FrontMcp,
    Image,
    Inject,
    Job,
    JobContext,
    JsonSchema,
    Provider,
    PublicMcpError,
    RequestContext,
    Step,
    Tool,
    ToolCall,
    ToolContext,
    Workflow,
    create_direct,
)


class Closed(BaseModel):
    id: str
    status: str


class Search(BaseModel):
    query: str
    limit: int = 10


class Row(TypedDict):
    id: int


class Point(NamedTuple):
    x: int


class Db:
    async def close(self) -> None: ...


# Functions and classes stay what they are.


@Tool
async def get_ticket(id: Annotated[str, Field(description="Ticket id")]) -> Closed:
    """Get one ticket."""
    return Closed(id=id, status="open")


@Tool(description="Rows since a day", annotations=ToolAnnotations(read_only_hint=True), tags=["rows"])
def export_rows(ctx: ToolContext, since: date) -> list[Row]:
    ctx.progress_sync(1, 2)
    return [Row(id=since.year)]


@Tool(name="close_ticket", description="Close a ticket", output_schema=Closed, visibility="hidden")
class CloseTicket(ToolContext):
    async def execute(self, id: str, note: str = "") -> Closed:
        if not note:
            self.fail(PublicMcpError("Say why.", "NO_NOTE"))
        return Closed(id=id, status="closed")


@Tool
class Sync(ToolContext):
    def execute(self, n: int) -> int:
        return n


@Tool(input_schema=Search, output_schema=list[Row])
class Find(ToolContext):
    async def execute(self, input: Search) -> Any:
        return [{"id": input.limit}]


@Tool(input_schema={"id": str, "limit": (int, 10)}, output_schema={"id": str})
async def shaped(id: str, limit: int) -> dict[str, str]:
    return {"id": id}


@Tool(input_schema=JsonSchema({"type": "object"}), output_schema=int | None, sync="inline")
def raw(**given: Any) -> int | None:
    return len(given) or None


@Tool(
    rate_limit={"max_requests": 1}, timeout={"execute_ms": 10}, available_when={"surface": ["agent"]}, acme_audit=True
)
async def limited() -> Point:
    return Point(1)


@Tool
async def picture() -> list[Image | str]:
    return [Image(data=b""), "a picture"]


@Tool
async def attachment() -> File:
    return File(path="notes.txt")


assert_type(Tool.of(CloseTicket), Tool)
assert_type(Tool(name="x"), Tool)


async def use_them() -> None:
    assert_type(await get_ticket("T-1"), Closed)
    assert_type(export_rows(ToolContext(), date.today()), list[Row])
    assert_type(CloseTicket(), CloseTicket)
    assert_type(await CloseTicket().execute("T-1", note="done"), Closed)
    assert_type(Sync().execute(3), int)


# Agents


class Model:
    async def completion(self, prompt: object, tools: object = None, options: object = None) -> Completion:
        return Completion("High.", [ToolCall("1", "get_ticket", {"id": "T-1"})], "tool_calls")


@Agent(
    name="triage",
    llm={"adapter": Model()},
    tools=[get_ticket],
    output_schema=Closed,
    swarm={"can_see_other_agents": True},
    execution={"max_iterations": 3},
    visibility="hidden",
)
class Triage(AgentContext):
    async def execute(self, ticket_id: str) -> dict[str, str]:
        answer = await super().execute(ticket_id=ticket_id)
        return {**answer, "ticket": ticket_id}


@Agent(llm={"provider": "openai", "model": "m", "api_key": {"env": "KEY"}, "organization": "acme"})
async def asks(ctx: AgentContext, query: str) -> str:
    return str(await ctx.execute(query))


assert_type(Agent(llm={"adapter": Model()}), Agent)
assert_type(Agent.of(Triage), Agent)
assert_type(Triage(), Triage)


# Apps and servers

desk = App(
    id="desk", name="Help Desk", tools=[get_ticket, CloseTicket, Tool.of(Sync), Db().close, lambda: 1], agents=[Triage]
)


@App(id="other", tools=[export_rows])
class Other:
    greeting = "hello"


assert_type(Other.greeting, str)


@desk.tool
async def ping(text: str) -> str:
    return text


@desk.tool(name="pong", description="Answer", visibility="internal")
def pong(text: str) -> str:
    return text


@desk.tool
class Sugar(ToolContext):
    async def execute(self) -> None: ...


@asynccontextmanager
async def lifespan(server: FrontMcp) -> AsyncIterator[dict[type, object]]:
    yield {Db: Db()}


@asynccontextmanager
async def opened() -> AsyncIterator[Db]:
    yield Db()


def of_request(request: RequestContext) -> Row:
    return Row(id=int(request.elapsed()))


server = FrontMcp(
    "help-desk",
    apps=[desk, Other],
    tools=[ping],
    providers=[Provider(Db, opened), Provider(Db, Db), Provider(dict, of_request, scope="request")],
    lifespan=lifespan,
    authorities={"profiles": {}},
)


@server.tool
async def of_server(text: str) -> str:
    return text


async def use_sugar() -> None:
    assert_type(await ping("a"), str)
    assert_type(pong("a"), str)
    assert_type(await of_server("a"), str)
    assert_type(Sugar(), Sugar)


# Dependencies


@Tool
async def stored(db: Annotated[Db, Inject()], id: str) -> None:
    await db.close()


@Tool
class Stored(ToolContext):
    async def execute(self) -> None:
        await self.get(Db).close()


async def main() -> None:
    async with create_direct(server) as direct:
        result = await direct.call_tool("close_ticket", {"id": "T-1"}, auth_context={"user": {"sub": "nour"}})
        assert_type(result, CallToolResult)
        await direct.call_tool("ping", {"text": "a"}, signal=AbortSignal.timeout(1))


@Job(retry={"max_attempts": 3}, permissions=[{"action": "read", "roles": ["admin"]}])
class Export(JobContext):
    async def execute(self, customer: str) -> int:
        self.log(f"{self.run_id} {self.attempt}")
        return 1


@Job
async def count(ctx: JobContext, day: str) -> int:
    return len(day)


counting: Callable[[JobContext, str], Coroutine[Any, Any, int]] = count

nightly = Workflow(
    name="nightly",
    steps=[
        Step("count", "count", input={"day": "monday"}),
        Step("export", "export", depends_on=["count"], condition=lambda steps: steps.get("count").outputs > 0),
    ],
    trigger={"schedule": "0 3 * * *", "run_as": {"sub": "reporter"}},
)


@Workflow(steps=[Step("count", "count")])
class Weekly:
    """Count once a week."""


reports = FrontMcp("reports", jobs=[Export, count], workflows=[nightly, Weekly], jobs_config={"max_running": 2})


@reports.job
async def purge() -> None: ...
