"""Events reach channels, channels reach tools as nobody in particular, and what comes of it reaches clients."""

from __future__ import annotations

import contextlib
import json
import logging
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from frontmcp import (
    Agent,
    AgentContext,
    App,
    Call,
    Caller,
    Channel,
    ChannelContext,
    FrontMcp,
    Job,
    JobContext,
    PublicMcpError,
    Tool,
    ToolContext,
    Will,
    create_direct,
)
from frontmcp.errors import ConfigurationError, ResourceNotFoundError
from frontmcp.testing import ScriptedModel, connect
from frontmcp.testing.roads import Road


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Closed(BaseModel):
    id: str
    at: float = 0


@Tool
async def whoami(ctx: ToolContext) -> dict[str, Any]:
    call = ctx.call
    return {"anonymous": ctx.auth.is_anonymous, "origin": call.origin, "surface": call.surface, "path": call.path}


@Tool(visibility="internal")
async def secret_step() -> str:
    return "reached"


@Channel("closed", source={"type": "app-event", "event": "ticket.closed"}, meta={"team": "support"})
class TicketClosed(ChannelContext):
    async def on_event(self, payload: Closed) -> Any:
        assert self.auth.is_anonymous
        await self.call_tool("secret_step")
        who = (await self.call_tool("whoami")).structured_content
        return {"content": f"{payload.id} closed", "meta": {"who": who}}


async def read(server: FrontMcp, name: str, **keywords: Any) -> Any:
    async with create_direct(server) as direct:
        contents = (await direct.read_resource(f"channel://{name}", **keywords)).contents
        return json.loads(contents[0].text)  # type: ignore[union-attr]


async def test_an_event_calls_tools_as_an_anonymous_caller_and_is_kept_for_clients() -> None:
    server = FrontMcp("desk", tools=[whoami, secret_step], channels=[TicketClosed])
    async with create_direct(server):
        await server.emit("ticket.closed", {"id": "T-1"})
        await server.emit("ticket.opened", {"id": "T-2"})
        seen = await read(server, "closed")
    (event,) = seen["events"]
    assert event["content"] == "T-1 closed"
    assert (event["meta"]["team"], event["meta"]["source"]) == ("support", "closed")
    assert json.loads(event["meta"]["who"]) == {
        "anonymous": True, "origin": "channel", "surface": None, "path": "closed → whoami",
    }  # fmt: skip
    assert (seen["handled"], seen["skipped"], seen["failed"]) == (1, 0, 0)


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_subscribed_clients_are_told_in_both_eras(era: str) -> None:
    server = FrontMcp("desk", tools=[whoami, secret_step], channels=[TicketClosed])
    async with connect(server, Road(era=era)) as mcp:
        assert "channel://closed" in [str(each.uri) for each in await mcp.resources.list()]
        async with mcp.resources.subscribe("channel://closed") as updates:
            await server.emit("ticket.closed", {"id": "T-9"})
            await updates.wait()
        assert (await mcp.resources.read("channel://closed")).json()["events"][0]["content"] == "T-9 closed"


@pytest.mark.parametrize(
    ("value", "content"),
    [("text", "text"), ({"content": "said"}, "said"), ({"a": 1}, '{"a":1}'), ([1], "[1]"), (None, None)],
)
async def test_what_a_channel_returns_is_what_clients_are_told(value: Any, content: str | None) -> None:
    @Channel(source={"type": "manual"})
    async def news() -> Any:
        return value

    server = FrontMcp("desk", channels=[news])
    async with create_direct(server):
        await server.emit("news")
        seen = await read(server, "news")
    assert [event["content"] for event in seen["events"]] == ([] if content is None else [content])
    assert seen["skipped"] == (content is None)


async def test_an_error_of_a_handler_is_counted_and_logged_and_stays_with_it(caplog: pytest.LogCaptureFixture) -> None:
    told = []

    @Channel(source={"type": "app-event", "event": "boom"})
    async def broken(payload: dict[str, Any]) -> None:
        raise RuntimeError("no such table")

    @Channel(source={"type": "app-event", "event": "boom"})
    async def refusing(payload: Closed) -> None: ...

    @Channel(source={"type": "app-event", "event": "boom"})
    async def other(payload: Any) -> None:
        told.append(payload)

    server = FrontMcp("desk", channels=[broken, refusing, other])
    with caplog.at_level(logging.WARNING, "frontmcp.channels"):
        async with create_direct(server):
            await server.emit("boom", {"secret": "hunter2"})
            failed = [(await read(server, name))["failed"] for name in ("broken", "refusing", "other")]
    assert (told, failed) == ([{"secret": "hunter2"}], [1, 1, 0])
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert 'channel "broken" failed: Channel "broken" execution failed: no such table' in said
    assert 'channel "refusing" failed' in said
    assert "hunter2" not in said


async def test_replay_bounds_what_is_kept() -> None:
    @Channel(source={"type": "manual"}, replay={"max_events": 2})
    def count(payload: int) -> str:
        return str(payload)

    server = FrontMcp("desk", channels=[count])
    async with create_direct(server):
        for number in range(5):
            await server.emit("count", number)
        seen = await read(server, "count")
    assert [event["content"] for event in seen["events"]] == ["3", "4"]
    assert seen["handled"] == 5


async def test_handlers_that_emit_their_own_event_come_to_an_end(caplog: pytest.LogCaptureFixture) -> None:
    runs = 0

    @Channel(source={"type": "manual"})
    async def echo(ctx: ChannelContext) -> None:
        nonlocal runs
        runs += 1
        await ctx.call.server.emit("echo")

    server = FrontMcp("desk", channels=[echo])
    async with create_direct(server):
        await server.emit("echo")
        assert runs == 16
        await server.emit("echo")
    assert runs == 32
    assert "nested deeper than 16" in caplog.text


async def test_hooks_and_limits_hold_for_channels() -> None:
    seen: list[str] = []

    @Will("execute", kinds="channel")
    async def note(call: Call) -> None:
        seen.append(f"{call.entry.kind} {call.input['payload']}")

    @Channel(source={"type": "manual"})
    async def news(payload: str) -> str:
        return payload

    server = FrontMcp("desk", channels=[news], plugins=[note])
    async with create_direct(server):
        await server.emit("news", "one")
    assert seen == ["channel one"]


async def test_options_of_events_guard_who_reads_them() -> None:
    @Channel(source={"type": "manual"}, events={"authorities": {"roles": {"any": ["staff"]}}})
    async def news() -> str:
        return "for staff"

    server = FrontMcp("desk", channels=[news])
    async with create_direct(server):
        await server.emit("news")
        with pytest.raises(PublicMcpError) as denied:
            await read(server, "news")
        assert denied.value.code == "AUTHORITY_DENIED"
        staff = {"user": {"sub": "nour", "roles": ["staff"]}}
        assert (await read(server, "news", auth_context=staff))["handled"] == 1


async def test_an_agent_that_is_done_is_an_event_beside_its_call() -> None:
    @Agent(llm={"adapter": ScriptedModel("High.")}, input_schema={"query": str})
    class Triage(AgentContext):
        """Triage a ticket."""

    @Agent(llm={"adapter": ScriptedModel("Nobody.")})
    class Escalate(AgentContext):
        """Name who is to know."""

    heard: list[Any] = []
    release = anyio.Event()

    @Channel(source={"type": "agent-completion", "agents": ["triage"]})
    async def triaged(payload: dict[str, Any]) -> None:
        await release.wait()
        heard.append(payload)

    server = FrontMcp("desk", agents=[Triage, Escalate], channels=[triaged])
    async with create_direct(server) as direct:
        await direct.call_tool("invoke_escalate")
        await direct.call_tool("invoke_triage", {"query": "T-1"})
        release.set()
        with anyio.fail_after(5):
            while not heard:
                await anyio.sleep(0.01)
    assert heard == [{"agent": "triage", "result": {"response": "High."}}]


@pytest.mark.parametrize("background", [False, True])
async def test_a_run_that_has_ended_is_an_event(background: bool) -> None:
    @Job
    async def export(fails: bool) -> int:
        if fails:
            raise PublicMcpError("no disk", "NO_DISK")
        return 43

    @Job
    async def other() -> None: ...

    heard: list[Any] = []

    @Channel(source={"type": "job-completion", "jobs": ["export"]})
    async def exported(payload: dict[str, Any]) -> None:
        heard.append(payload)

    server = FrontMcp("desk", jobs=[export, other], channels=[exported])
    async with create_direct(server) as direct:
        await direct.execute_job("other")
        await direct.execute_job("export", {"fails": False}, background=background)
        with contextlib.suppress(PublicMcpError):
            await direct.execute_job("export", {"fails": True}, background=background)
        with anyio.fail_after(5):
            while len(heard) < 2:
                await anyio.sleep(0.01)
    by_state = {each["state"]: each for each in heard}
    assert by_state["completed"]["result"] == 43
    assert by_state["failed"]["error"]["code"] == "NO_DISK"
    assert {each["jobName"] for each in heard} == {"export"}


async def test_an_agent_is_known_by_its_own_name_whatever_its_tool_is_called() -> None:
    heard: list[str] = []

    @Agent(name="triage.v2", llm={"adapter": ScriptedModel("High.")})
    class Triage(AgentContext):
        """Triage a ticket."""

    @Channel(source={"type": "agent-completion", "agents": ["triage.v2"]})
    async def triaged(payload: dict[str, Any]) -> None:
        heard.append(payload["agent"])

    server = FrontMcp("desk", agents=[Triage], channels=[triaged])
    async with create_direct(server) as direct:
        await direct.call_tool("invoke_triage_v2")
        with anyio.fail_after(5):
            while not heard:
                await anyio.sleep(0.01)
    assert heard == ["triage.v2"]


@pytest.mark.parametrize("how", ["execute_job", "through a job of the job's"])
async def test_a_channel_that_starts_the_job_it_listens_to_comes_to_an_end(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    runs = 0

    @Job
    async def export(ctx: JobContext) -> int:
        nonlocal runs
        runs += 1
        return runs

    @Job
    async def starter(ctx: JobContext) -> None:
        await ctx.call_tool("execute_job", {"name": "export", "background": True})

    @Channel(source={"type": "job-completion", "jobs": ["export"]})
    async def again(ctx: ChannelContext) -> None:
        name = "export" if how == "execute_job" else "starter"
        await ctx.call_tool("execute_job", {"name": name, "background": True})

    heard = anyio.Event()

    @Channel(source={"type": "job-completion"})
    async def other(payload: dict[str, Any]) -> None:
        heard.set()

    server = FrontMcp("desk", jobs=[export, starter], channels=[again, other])
    async with create_direct(server) as direct:
        for rounds in (1, 2):
            caplog.clear()
            await direct.execute_job("export", background=True)
            with anyio.fail_after(20):
                # The run of the starter may end before that of the job that it started, and is told of as well.
                while """'job.completed' is not told to "again", "other":""" not in caplog.text:
                    await anyio.sleep(0.01)
            assert "nested deeper than 16" in caplog.text
            assert runs == 17 * rounds
        assert heard.is_set()


async def test_a_job_that_starts_itself_is_no_circle_of_events(caplog: pytest.LogCaptureFixture) -> None:
    heard = 0

    @Job
    async def poll(ctx: JobContext, left: int = 20) -> None:
        if left:
            await ctx.call_tool("execute_job", {"name": "poll", "input": {"left": left - 1}, "background": True})

    @Channel(source={"type": "job-completion"})
    async def polled(payload: dict[str, Any]) -> None:
        nonlocal heard
        heard += 1

    async with create_direct(FrontMcp("desk", jobs=[poll], channels=[polled])) as direct:
        await direct.execute_job("poll", background=True)
        with anyio.fail_after(20):
            while heard < 21:
                await anyio.sleep(0.01)
    assert "nested deeper" not in caplog.text


async def test_a_channel_that_asks_the_agent_it_listens_to_comes_to_an_end(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel("Go on.", repeat=True)

    @Agent(name="triage", llm={"adapter": model})
    class Triage(AgentContext):
        """Triage a ticket."""

    @Channel(source={"type": "agent-completion"})
    async def again(ctx: ChannelContext) -> None:
        await ctx.call_tool("invoke_triage")

    server = FrontMcp("desk", agents=[Triage], channels=[again])
    async with create_direct(server) as direct:
        await direct.call_tool("invoke_triage")
        with anyio.fail_after(5):
            while "nested deeper than 16" not in caplog.text:
                await anyio.sleep(0.01)
    assert len(model.requests) == 17


@pytest.mark.parametrize("payload", [None, {}, "triage", {"agent": ["triage"], "jobName": {}}])
async def test_an_event_of_somebody_elses_making_is_no_completion(payload: Any) -> None:
    ran: list[Any] = []

    @Channel(source={"type": "agent-completion", "agents": ["triage"]})
    async def triaged(payload: Any) -> None:
        ran.append(payload)

    @Channel(source={"type": "job-completion", "jobs": ["export"]})
    async def exported(payload: Any) -> None:
        ran.append(payload)

    server = FrontMcp("desk", channels=[triaged, exported])
    async with create_direct(server):
        await server.emit("agent.completed", payload)
        await server.emit("job.completed", payload)
    assert ran == []


async def test_tools_of_a_channel_are_served() -> None:
    @Tool
    async def reply(text: str) -> str:
        return text

    @Channel(source={"type": "manual"}, tools=[reply])
    async def chat() -> None: ...

    server = FrontMcp("desk", apps=[App(id="a", channels=[chat])])
    async with create_direct(server) as direct:
        assert [tool.name for tool in await direct.list_tools()] == ["reply"]


async def test_no_client_can_call_a_channel() -> None:
    server = FrontMcp("desk", tools=[whoami], channels=[TicketClosed])
    async with create_direct(server) as direct:
        with pytest.raises(PublicMcpError) as error:
            await direct.call_tool("closed", {"payload": {"id": "T-1"}})
        assert error.value.code == "TOOL_NOT_FOUND"
        with pytest.raises(ResourceNotFoundError):
            await direct.read_resource("channel://other")


async def test_a_sync_channel_calls_tools() -> None:
    @Channel(source={"type": "manual"})
    def news(ctx: ChannelContext) -> Any:
        return ctx.call_tool_sync("whoami").structured_content

    server = FrontMcp("desk", tools=[whoami], channels=[news])
    async with create_direct(server):
        await server.emit("news")
        assert json.loads((await read(server, "news"))["events"][0]["content"])["anonymous"]


async def test_callers_inside_get_the_request_or_the_caller_not_both() -> None:
    server = FrontMcp("desk", tools=[whoami])
    with pytest.raises(TypeError, match="one of caller=, request= and parent="):
        server.call("whoami", origin="channel")
    result = await server.call("whoami", origin="channel", caller=Caller("a"))
    assert result.structured_content["anonymous"] is False


class TestStart:
    def problems(self, *channels: Any, **keywords: Any) -> list[str]:
        with pytest.raises(ConfigurationError) as error:
            FrontMcp("desk", channels=channels, **keywords).check()
        return error.value.problems

    def channel(self, name: str = "news", **source: Any) -> Any:
        @Channel(name, source=source)  # type: ignore[arg-type]
        async def body(payload: Any) -> None: ...

        return body

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ({"type": "webhok"}, "source: type: it is one of webhook, app-event, "),
            ({"type": "webhok"}, 'job-completion; did you mean "webhook"?'),
            ({}, 'source: it needs a "type": one of webhook, '),
            ({"type": "webhook", "path": "/a", "secrt": "x"}, 'there is no such key; did you mean "secret"?'),
            ({"type": "webhook", "path": "/a?b"}, "a path has no spaces, and none of { } ? #"),
            ({"type": "webhook"}, "source.webhook.path: Field required"),
            ({"type": "webhook", "path": "hooks"}, 'source.webhook.path: a path begins with "/"'),
            ({"type": "webhook", "path": "/a", "secret": ""}, "source.webhook.secret: is empty"),
            ({"type": "webhook", "path": "/a", "secret": {"env": "NO_SUCH"}}, "the environment has no NO_SUCH"),
            ({"type": "app-event"}, "source.app-event.event: Field required"),
            ({"type": "manual", "event": "x"}, "source.manual.event: there is no such key"),
        ],
    )
    def test_a_wrong_source_is_named_with_its_place(self, source: dict[str, Any], said: str) -> None:
        (problem,) = self.problems(self.channel(**source))
        assert problem.startswith('Channel "news" (')
        assert __file__ in problem
        assert said in problem

    def test_a_source_that_is_no_dict_is_told(self) -> None:
        with pytest.raises(ConfigurationError, match=r'source= takes a dict such as {"type": "manual"}, not an object'):
            Channel("news", source="webhook")  # type: ignore[arg-type]

    def test_every_problem_is_told_at_once_and_no_secret(self) -> None:
        problems = self.problems(
            self.channel("a", type="webhook", path="x", secret="hunter2"), self.channel("b", type="app-event")
        )
        assert len(problems) == 2
        assert "hunter2" not in " ".join(problems)

    def test_two_channels_share_neither_path_nor_name(self) -> None:
        one = App(id="one", channels=[self.channel("a", type="webhook", path="/x")])
        two = App(id="two", channels=[self.channel("a", type="webhook", path="/x")])
        problems = self.problems(apps=[one, two])
        assert any('both have the path "/x"' in each for each in problems)
        assert any('both have the name "a"' in each for each in problems)

    def test_without_the_plugin_a_channel_stops_the_start(self) -> None:
        (problem,) = self.problems(self.channel(type="manual"), plugins=["no:channels"])
        assert "no plugin claims the kind channel" in problem

    def test_a_body_takes_one_payload(self) -> None:
        @Channel(source={"type": "manual"})
        async def both(a: int, b: int) -> None: ...

        (problem,) = self.problems(both)
        assert "an event has one payload, but the body takes 'a', 'b'" in problem

    def test_a_class_without_on_event_says_so(self) -> None:
        with pytest.raises(ConfigurationError, match="the class has no method on_event"):

            @Channel(source={"type": "manual"})
            class Empty(ChannelContext): ...

    def test_a_plain_function_lacks_a_source(self) -> None:
        async def news() -> None: ...

        (problem,) = self.problems(news)
        assert "has no source: decorate it with @Channel(source=…)" in problem

    def test_replay_is_checked(self) -> None:
        @Channel(source={"type": "manual"}, replay={"max": 3})
        async def news() -> None: ...

        (problem,) = self.problems(news)
        assert "replay.max: there is no such key" in problem
