"""The trace: what it sees of calls, that it changes none, and how it is drawn."""

from __future__ import annotations

import io
from typing import Any

import anyio
import pytest
from rich.console import Console

from frontmcp import (
    AbortSignal,
    Around,
    Call,
    CallNext,
    Did,
    FrontMcp,
    FrontMcpError,
    InvalidOutputError,
    Plugin,
    Prompt,
    PublicMcpError,
    Resource,
    Tool,
    ToolContext,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.cli.trace import Trace, TracedCall, show

STAGES = ["resolve", "authorize", "guard", "validate", "will", "execute", "did", "format"]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@Tool
async def leaf(n: int = 1) -> int:
    if n == 0:
        raise ValueError("zero")
    if n < 0:
        raise (PublicMcpError if n == -1 else FrontMcpError)("negative", "NEGATIVE")
    return n


@Tool(output_schema={"a": int})
async def wrong() -> dict[str, Any]:
    return {"a": "x"}


@Tool
async def outer(ctx: ToolContext, calls: list[tuple[str, dict[str, Any]]]) -> int:
    for name, arguments in calls:
        try:
            await ctx.call_tool(name, arguments)
        except Exception:
            continue
    return len(calls)


@Tool
async def both(ctx: ToolContext) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(ctx.call_tool, "outer", {"calls": [("leaf", {"n": 1})]})
        group.start_soon(ctx.call_tool, "outer", {"calls": [("leaf", {"n": 2}), ("leaf", {"n": 3})]})


@Tool
async def failing(ctx: ToolContext) -> None:
    ctx.fail(PublicMcpError("refused", "REFUSED"))


async def traced(name: str, arguments: dict[str, Any] | None = None, *plugins: Any, **keywords: Any) -> TracedCall:
    trace = Trace()
    server = FrontMcp("traced", tools=[leaf, wrong, outer, both, failing], plugins=plugins)
    server.add_plugin(trace, first=True)
    async with create_direct(server) as direct:
        try:
            await direct.call_tool(name, arguments, **keywords)
        except Exception:
            assert len(trace.calls) == 1
    return trace.calls[0]


async def test_a_call_has_every_stage_in_the_order_of_the_journey() -> None:
    call = await traced("leaf")
    assert (call.name, call.depth, call.outcome, call.calls) == ("leaf", 0, "ok", [])
    assert list(call.stages) == STAGES
    assert all(seconds >= 0 for seconds in call.stages.values())
    assert sum(call.stages.values()) <= call.seconds


@Resource("desk://good")
async def good() -> str:
    return "good"


@Resource("desk://bad")
async def bad() -> str:
    raise ValueError("bad")


@Prompt
async def greet(name: str) -> str:
    if not name:
        raise ValueError("nobody")
    return f"Greet {name}."


@pytest.mark.parametrize(
    ("method", "arguments", "outcome"),
    [
        ("read_resource", ("desk://good",), "ok"),
        ("read_resource", ("desk://bad",), "RESOURCE_READ_ERROR"),
        ("read_resource", ("desk://nothing",), "RESOURCE_NOT_FOUND"),
        ("get_prompt", ("greet", {"name": "Dana"}), "ok"),
        ("get_prompt", ("greet", {"name": ""}), "PROMPT_EXECUTION_FAILED"),
        ("get_prompt", ("nobody",), "PROMPT_NOT_FOUND"),
    ],
)
async def test_resources_and_prompts_are_traced_too(method: str, arguments: tuple[Any, ...], outcome: str) -> None:
    trace = Trace()
    server = FrontMcp("traced", resources=[good, bad], prompts=[greet], plugins=[trace])
    async with create_direct(server) as direct:
        if outcome == "ok":
            await getattr(direct, method)(*arguments)
        else:
            with pytest.raises(FrontMcpError) as caught:
                await getattr(direct, method)(*arguments)
            assert caught.value.code == outcome
    assert [call.outcome for call in trace.calls] == [outcome]


class Clock:
    """Time that passes only when a hook says so."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


async def test_time_goes_to_the_stage_that_took_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("frontmcp.cli.trace.time", clock)

    class Slow(Plugin):
        @hookimpl
        async def check_authorities(self, call: Call) -> None:
            clock.now += 1

        @hookimpl
        async def guard_call(self, call: Call, call_next: CallNext) -> Any:
            clock.now += 2
            result = await call_next()
            clock.now += 4
            return result

        @Will("execute")
        async def will(self, call: Call) -> None:
            clock.now += 8

        @Around("execute")
        async def around(self, call: Call, call_next: CallNext) -> Any:
            clock.now += 16
            return await call_next()

        @Did("execute")
        async def did(self, call: Call) -> None:
            clock.now += 32

    call = await traced("leaf", {}, Slow())
    taken = {stage: seconds for stage, seconds in call.stages.items() if seconds}
    assert taken == {"authorize": 1, "guard": 6, "will": 8, "execute": 16, "did": 32}


async def test_inner_calls_are_a_tree() -> None:
    call = await traced("outer", {"calls": [("outer", {"calls": [("leaf", {})]}), ("traced:leaf", {})]})
    assert [(each.name, each.depth) for each in call.walk()] == [("outer", 0), ("outer", 1), ("leaf", 2), ("leaf", 1)]


async def test_calls_at_the_same_time_keep_their_own_children() -> None:
    call = await traced("both")
    assert sorted(len(each.calls) for each in call.calls) == [1, 2]


@pytest.mark.parametrize(
    ("name", "arguments", "outcome", "last"),
    [
        ("leaf", {"n": 0}, "TOOL_EXECUTION_ERROR", "execute"),
        ("leaf", {"n": -1}, "NEGATIVE", "execute"),
        ("leaf", {"n": -2}, "TOOL_EXECUTION_ERROR", "execute"),
        ("leaf", {"n": "x"}, "INVALID_INPUT", "validate"),
        ("wrong", {}, "INVALID_OUTPUT", "format"),
        ("nobody", {}, "TOOL_NOT_FOUND", "resolve"),
        ("failing", {}, "REFUSED", "execute"),
    ],
)
@pytest.mark.parametrize("inner", [False, True])
async def test_a_failure_has_its_code_and_ends_in_its_stage(name, arguments, outcome, last, inner) -> None:
    call = await traced("outer", {"calls": [(name, arguments)]}) if inner else await traced(name, arguments)
    failed = call.calls[0] if inner else call
    assert failed.outcome == outcome
    assert [stage for stage in failed.stages if stage != "guard"][-1] == last
    assert call.outcome == ("ok" if inner else outcome)


async def test_a_failing_plugin_and_a_refusing_one() -> None:
    class Bad(Plugin):
        @Will("execute")
        async def will(self, call: Call) -> None:
            raise RuntimeError("bug")

    class No(Plugin):
        @hookimpl
        async def check_authorities(self, call: Call) -> None:
            raise PublicMcpError("no", "NO")

    assert (await traced("leaf", {}, Bad())).outcome == "INTERNAL_ERROR"
    refused = await traced("leaf", {}, No())
    assert (refused.outcome, list(refused.stages)) == ("NO", ["resolve", "authorize"])


async def test_a_cancelled_call() -> None:
    client = anyio.CancelScope()

    @Tool
    async def waits() -> None:
        client.cancel()
        await anyio.sleep_forever()

    trace = Trace()
    server = FrontMcp("traced", tools=[waits, outer])
    server.add_plugin(trace, first=True)
    async with create_direct(server) as direct:
        with client:
            await direct.call_tool("outer", {"calls": [("waits", {})]}, signal=AbortSignal.timeout(60))
    assert [call.outcome for call in trace.calls[0].walk()] == ["cancelled", "cancelled"]


async def test_the_answer_of_a_will_hook_skips_execution() -> None:
    class Answers(Plugin):
        @Will("execute")
        async def will(self, call: Call) -> None:
            call.respond(7)

    call = await traced("leaf", {}, Answers())
    assert [stage for stage in STAGES if stage not in call.stages] == ["execute", "did"]


@pytest.mark.parametrize("with_trace", [False, True])
async def test_errors_and_lists_are_the_same_with_a_trace(with_trace) -> None:
    server = FrontMcp("traced", tools=[leaf, wrong, Tool(visibility="hidden", name="quiet")(lambda: None)])
    if with_trace:
        server.add_plugin(Trace(), first=True)
    async with create_direct(server) as direct:
        assert [tool.name for tool in await direct.list_tools()] == ["leaf", "wrong"]
        with pytest.raises(InvalidOutputError):
            await direct.call_tool("wrong")


async def test_the_report_is_told_of_client_calls_and_no_more_than_so_many_are_kept() -> None:
    told: list[TracedCall] = []
    trace = Trace(told.append, keep=2)
    server = FrontMcp("traced", tools=[leaf, outer])
    server.add_plugin(trace, first=True)
    async with create_direct(server) as direct:
        for n in range(3):
            await direct.call_tool("outer", {"calls": [("leaf", {"n": n})]})
    assert [call.name for call in told] == ["outer"] * 3
    assert list(trace.calls) == told[1:]


async def test_the_tree_is_drawn() -> None:
    call = await traced("outer", {"calls": [("leaf", {}), ("leaf", {"n": -1})]})
    console = Console(file=io.StringIO(), width=200, force_terminal=False)
    show(call, console)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("outer  ")
    assert lines[0].endswith(" ms  ok")
    assert [word for word in lines[1].split() if word in STAGES] == STAGES
    assert lines[2].startswith("├── leaf")
    assert lines[4].startswith("└── leaf")
    assert lines[4].endswith("NEGATIVE")
