"""Tasks that run beside a server: from its start to its end, whoever starts and stops it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

from frontmcp import FrontMcp, Plugin, hookimpl
from frontmcp.background import Background, OwnTask
from frontmcp.errors import unwrap_group


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: Any) -> Any:
    return request.param


class Ticking(Plugin):
    def __init__(self) -> None:
        self.said: list[str] = []
        self.begun = anyio.Event()

    async def tick(self, word: str) -> None:
        self.said.append(word)
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.said.append("cancelled")

    @hookimpl
    def server_started(self, server: Any) -> None:
        server.background.spawn(self.tick, "tick")

    @hookimpl
    async def server_stopping(self, server: Any) -> None:
        await self.begun.wait()
        self.said.append("stopping")


async def test_a_task_runs_while_the_server_does() -> None:
    ticking = Ticking()
    server = FrontMcp("desk", plugins=[ticking])
    async with server.running():
        with anyio.fail_after(5):
            await ticking.begun.wait()
        assert ticking.said == ["tick"]
    assert ticking.said == ["tick", "stopping", "cancelled"]
    async with server.running():
        pass
    assert ticking.said[3:] == ["tick", "stopping", "cancelled"]


async def test_it_outlives_the_task_that_started_the_server() -> None:
    ticking = Ticking()
    server = FrontMcp("desk", plugins=[ticking])
    entered, left = anyio.Event(), anyio.Event()

    async def first() -> None:
        async with server.running():
            entered.set()
            await left.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await entered.wait()
        async with server.running():
            left.set()
            await anyio.wait_all_tasks_blocked()
            assert ticking.said == ["tick"]
        assert ticking.said[-1] == "cancelled"


async def test_one_that_fails_is_logged_and_ends_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise OSError("away")

    ticking = Ticking()
    server = FrontMcp("desk", plugins=[ticking])
    async with server.running():
        server.background.spawn(fail)
        await anyio.wait_all_tasks_blocked()
        assert ticking.said == ["tick"]
    assert "a background task failed" in caplog.text
    assert "OSError: away" in caplog.text


async def test_without_a_running_server_there_is_none() -> None:
    server = FrontMcp("desk")
    with pytest.raises(RuntimeError, match="before the server starts"):
        server.background.spawn(anyio.sleep_forever)


async def test_a_start_that_fails_ends_them() -> None:
    ticking = Ticking()

    class Failing(Plugin):
        @hookimpl(trylast=True)
        async def server_started(self, server: Any) -> None:
            await ticking.begun.wait()
            raise OSError("away")

    with pytest.raises(OSError, match="away"):
        async with FrontMcp("desk", plugins=[ticking, Failing]).running():
            pass
    assert ticking.said == ["tick", "cancelled"]


async def test_a_task_sees_no_context_variable_of_whoever_begins_it() -> None:
    seen: list[str] = []
    variable: ContextVar[str] = ContextVar("variable", default="nobody's")

    async def look() -> None:
        seen.append(variable.get())

    variable.set("a caller's")
    background = Background()
    async with background.running():
        background.spawn(look)
        await anyio.wait_all_tasks_blocked()
    assert seen == ["nobody's"]


class TestOwnTask:
    """An async context manager that others enter and leave."""

    @pytest.fixture
    def told(self) -> list[Any]:
        return []

    @asynccontextmanager
    async def manager(self, told: list[Any], fails_after: float | None = None) -> AsyncIterator[None]:
        async def task() -> None:
            await anyio.sleep(60 if fails_after is None else fails_after)
            raise OSError("gone")

        async with anyio.create_task_group() as group:
            group.start_soon(task)
            told.append("entered")
            try:
                yield
                group.cancel_scope.cancel()
            finally:
                told.append("left")

    async def test_its_task_groups_nest_whoever_leaves_it(self, told: list[Any]) -> None:
        held = OwnTask(self.manager(told), told.append)
        async with anyio.create_task_group() as group:
            group.start_soon(held.enter)
        with anyio.CancelScope(shield=True):
            await held.leave()
        assert told == ["entered", "left"]

    async def test_what_fails_at_the_start_is_raised_there(self, told: list[Any]) -> None:
        @asynccontextmanager
        async def failing() -> AsyncIterator[None]:
            raise OSError("no database")
            yield

        with pytest.raises(OSError, match="no database"):
            await OwnTask(failing(), told.append).enter()
        assert told == []

    async def test_what_fails_later_is_told_and_raised_at_the_end(self, told: list[Any]) -> None:
        held = OwnTask(self.manager(told, 0.01), told.append)
        await held.enter()
        await anyio.sleep(0.1)
        assert told[:2] == ["entered", "left"]
        assert isinstance(unwrap_group(told[2]), OSError)
        with pytest.raises(ExceptionGroup):
            await held.leave()

    async def test_who_gives_up_entering_leaves_nothing_behind(self, told: list[Any]) -> None:
        @asynccontextmanager
        async def slow() -> AsyncIterator[None]:
            try:
                waiting.cancel()
                await anyio.sleep_forever()
                yield
            finally:
                told.append("cleaned up")

        with anyio.CancelScope() as waiting:
            await OwnTask(slow(), told.append).enter()
        assert told == ["cleaned up"]
