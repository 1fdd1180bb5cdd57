"""A wrapper that forgets to return what ``call_next()`` gave: told once, in development, with its place."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from frontmcp import (
    Around,
    Call,
    CallNext,
    Did,
    FrontMcp,
    InvalidOutputError,
    Plugin,
    Tool,
    ToolContext,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.testing import Road, connect


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@Tool
async def add(a: int = 1) -> Any:
    return a + 1


@Tool
async def nothing() -> None: ...


@Tool
async def typed() -> int:
    return 1


class Forgets(Plugin):
    @Around("execute")
    async def timed(self, call: Call, call_next: CallNext) -> Any:
        await call_next()


class Passes(Plugin):
    @Around("execute")
    async def passes(self, call: Call, call_next: CallNext) -> Any:
        return await call_next()


def line(function: Any) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno}"


async def told(caplog: pytest.LogCaptureFixture, *plugins: Any, name: str = "add", **options: Any) -> list[str]:
    caplog.set_level(logging.WARNING, "frontmcp.pipeline")
    server = FrontMcp("s", tools=[add, nothing, typed], plugins=plugins, **options)
    async with create_direct(server) as direct:
        for _ in range(2):
            await direct.call_tool(name)
    return [record.getMessage() for record in caplog.records if record.name == "frontmcp.pipeline"]


async def test_it_is_told_once_with_the_function_its_place_and_the_tool(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = await told(caplog, Forgets(), throttle={"default_timeout": {"execute_ms": 60_000}})
    assert message.startswith('tool "s:add" returned a value, but None came out of around_execute of Forgets.timed (')
    assert line(Forgets.timed) in message
    assert message.endswith(": write return await call_next()")


async def test_nothing_is_told_in_production_nor_of_what_had_no_value(caplog: pytest.LogCaptureFixture) -> None:
    assert await told(caplog, Forgets(), environment="production") == []
    assert await told(caplog, Forgets(), name="nothing") == []
    assert await told(caplog, Passes()) == []


async def test_a_wrapper_that_answers_none_by_itself_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    class Answers(Plugin):
        @Around("execute")
        async def answers(self, call: Call, call_next: CallNext) -> Any: ...

    assert await told(caplog, Answers()) == []


async def test_where_several_may_have_lost_it_all_are_named(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = await told(caplog, Passes(), Forgets())
    assert all(name in message for name in ("Passes.passes (", " or ", "Forgets.timed ("))


@pytest.mark.parametrize("stage", ["around", "did", "own", None])
async def test_a_value_that_does_not_fit_is_blamed_on_the_hook_that_gave_it(stage: str | None) -> None:
    class Spoils(Plugin):
        @Around("execute")
        async def around(self, call: Call, call_next: CallNext) -> Any:
            value = await call_next()
            return "x" if stage == "around" else value

        @Did("execute")
        async def did(self, call: Call) -> None:
            if stage == "did":
                call.output = "x"

    @Tool
    class Own(ToolContext):
        async def execute(self) -> int:
            return "x" if stage is None else 1  # type: ignore[return-value]

        @Around("execute")
        async def own(self, call: Call, call_next: CallNext) -> Any:
            value = await call_next()
            return "x" if stage == "own" else value

    async with create_direct(FrontMcp("s", tools=[Own], plugins=[Spoils()])) as direct:
        with pytest.raises(InvalidOutputError) as caught:
            await direct.call_tool("own")
    message = str(caught.value)
    assert message.startswith("Tool output validation failed (")
    assert ("in the value that" in message) is (stage is not None)
    if stage is not None:
        assert f".{stage} (" in message
        assert "output does not match outputSchema" in message


async def test_a_value_that_a_will_hook_responds_with_is_nobody_elses() -> None:
    class Responds(Plugin):
        @Will("execute")
        async def will(self, call: Call) -> None:
            call.respond("x")

    async with create_direct(FrontMcp("s", tools=[typed], plugins=[Forgets(), Responds()])) as direct:
        with pytest.raises(InvalidOutputError, match=r"^Tool output validation failed \(output does"):
            await direct.call_tool("typed")


async def test_a_guard_that_forgets_it_is_an_error_of_its_plugin() -> None:
    class Guard(Plugin):
        @hookimpl
        async def guard_call(self, call: Call, call_next: CallNext) -> Any:
            await call_next()

    async with connect(FrontMcp("s", tools=[add], plugins=[Passes(), Guard()]), Road()) as mcp:
        result = await mcp.tools.call("add")
    result.assert_error("INTERNAL_ERROR")
    assert "write return await call_next()" in result.text()
    assert line(Guard.guard_call) in result.raw.meta["stack"]
