"""Threads for sync bodies: no deadlock, no more than the limit, and orphans counted until they end."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from frontmcp import FrontMcp, Tool, ToolContext, ToolExecutionError, create_direct
from frontmcp.errors import ServerBusyError
from frontmcp.threads import Threads, _Slots

PATIENCE = 20
"""Seconds until a test that hangs fails."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Gate:
    """Holds threads until it is opened, and counts them."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._lock = threading.Lock()
        self.inside = 0
        self.most = 0

    def pass_through(self) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self._open.wait(PATIENCE)
        with self._lock:
            self.inside -= 1

    def open(self) -> None:
        self._open.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not condition():
                await anyio.sleep(0.001)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()


async def test_the_result_and_the_error_come_back() -> None:
    threads = Threads(1)
    assert await threads.run(0, lambda: threading.current_thread().name) != threading.current_thread().name
    with pytest.raises(KeyError):
        await threads.run(0, lambda: {}["k"])
    assert await threads.run(0, lambda: "again") == "again"


async def test_no_more_threads_than_the_limit_at_one_depth(gate: Gate) -> None:
    threads = Threads(3)
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(threads.run, 0, gate.pass_through)
        await gate.until(lambda: gate.inside == 3)
        await anyio.wait_all_tasks_blocked()
        gate.open()
    assert gate.most == 3


async def test_each_depth_has_slots_of_its_own(gate: Gate) -> None:
    threads = Threads(1)
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, 0, gate.pass_through)
        await gate.until(lambda: gate.inside == 1)
        assert await threads.run(1, lambda: "deeper") == "deeper"
        gate.open()


async def test_sync_tools_that_call_sync_tools_never_deadlock() -> None:
    @Tool
    class Outer(ToolContext):
        def execute(self, n: int) -> int:
            inner = self.call_tool_sync("middle", {"n": n})
            return int(inner.content[0].text)  # type: ignore[union-attr]

    @Tool
    class Middle(ToolContext):
        def execute(self, n: int) -> int:
            return int(self.call_tool_sync("inner", {"n": n}).content[0].text)  # type: ignore[union-attr]

    @Tool
    def inner(n: int) -> int:
        return n + 1

    results: set[Any] = set()
    async with create_direct(FrontMcp("s", tools=[Outer, Middle, inner], thread_limit=3)) as direct:

        async def call(n: int) -> None:
            results.add((await direct.call_tool("outer", {"n": n})).structured_content)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                for n in range(60):
                    group.start_soon(call, n)
    assert results == set(range(1, 61))


# Orphans


async def test_whoever_asks_is_told_when_an_orphan_has_ended(gate: Gate) -> None:
    threads = Threads(1)
    orphans: list[Any] = []
    ends: list[str] = []
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, 0, gate.pass_through, orphans.append)
        await gate.until(lambda: gate.inside == 1)
        group.cancel_scope.cancel()
    (orphan,) = orphans
    orphan.when_ended(lambda: ends.append("told"))
    assert ends == []
    gate.open()
    await gate.until(lambda: ends == ["told"])
    orphan.when_ended(lambda: ends.append("at once"))
    assert ends == ["told", "at once"]


async def test_a_thread_that_is_waited_for_is_no_orphan() -> None:
    orphans: list[Any] = []
    assert await Threads(1).run(0, lambda: 7, orphans.append) == 7
    assert orphans == []


async def abandon(threads: Threads, function: Callable[[], Any], started: Callable[[], bool]) -> None:
    """Run a function, and leave it once it has started."""
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, 0, function)
        with anyio.fail_after(PATIENCE):
            while not started():
                await anyio.sleep(0.001)
        group.cancel_scope.cancel()


async def test_an_abandoned_thread_keeps_its_slot_until_it_ends(gate: Gate) -> None:
    threads = Threads(2)
    await abandon(threads, gate.pass_through, lambda: gate.inside == 1)
    assert (threads.orphans, threads.exhausted) == (1, False)
    assert await threads.run(0, lambda: "the other slot") == "the other slot"
    gate.open()
    await gate.until(lambda: threads.orphans == 0)
    assert await threads.run(0, lambda: 1) == 1


async def test_with_every_slot_orphaned_a_call_is_refused_and_later_served(gate: Gate) -> None:
    threads = Threads(2)
    for n in (1, 2):
        await abandon(threads, gate.pass_through, lambda n=n: gate.inside == n)  # type: ignore[misc]
    assert (threads.orphans, threads.exhausted) == (2, True)
    for _ in range(3):
        with pytest.raises(ServerBusyError) as refused:
            await threads.run(0, lambda: 1)
    assert (refused.value.code, refused.value.public) == ("SERVER_BUSY", True)
    assert await threads.run(1, lambda: "another depth") == "another depth"
    gate.open()
    await gate.until(lambda: threads.orphans == 0)
    assert not threads.exhausted
    assert await threads.run(0, lambda: 1) == 1


async def test_whoever_waits_for_a_slot_is_refused_once_only_orphans_are_left(gate: Gate) -> None:
    threads = Threads(1)
    outcomes: list[str] = []

    async def wait() -> None:
        try:
            await threads.run(0, lambda: 1)
        except ServerBusyError:
            outcomes.append("busy")

    async with anyio.create_task_group() as group:
        async with anyio.create_task_group() as holders:
            holders.start_soon(threads.run, 0, gate.pass_through)
            await gate.until(lambda: gate.inside == 1)
            for _ in range(3):
                group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            holders.cancel_scope.cancel()
        with anyio.move_on_after(PATIENCE):
            while len(outcomes) < 3:
                await anyio.sleep(0.001)
    assert outcomes == ["busy"] * 3


async def test_a_slot_goes_to_whoever_still_waits(gate: Gate) -> None:
    threads = Threads(1)
    done: list[str] = []

    async def wait(name: str) -> None:
        done.append(await threads.run(0, lambda: name))

    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, 0, gate.pass_through)
        await gate.until(lambda: gate.inside == 1)
        async with anyio.create_task_group() as impatient:
            impatient.start_soon(wait, "gone")
            await anyio.wait_all_tasks_blocked()
            group.start_soon(wait, "patient")
            await anyio.wait_all_tasks_blocked()
            gate.open()
            impatient.cancel_scope.cancel()
    assert "patient" in done


async def test_a_slot_is_passed_on_when_whoever_was_woken_is_cancelled() -> None:
    slots = _Slots(1)
    await slots.take()
    async with anyio.create_task_group() as group:
        async with anyio.create_task_group() as first:
            first.start_soon(slots.take)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(slots.take)
            await anyio.wait_all_tasks_blocked()
            slots.give()
            first.cancel_scope.cancel()
        with anyio.move_on_after(PATIENCE) as scope:
            while slots.free:
                await anyio.sleep(0.001)
        group.cancel_scope.cancel()
    assert not scope.cancelled_caught


async def test_an_orphan_that_ends_wakes_whoever_waits() -> None:
    threads = Threads(2)
    orphan, holder = Gate(), Gate()
    await abandon(threads, orphan.pass_through, lambda: orphan.inside == 1)
    results: list[int] = []

    async def wait() -> None:
        results.append(await threads.run(0, lambda: 1))

    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, 0, holder.pass_through)
        await holder.until(lambda: holder.inside == 1)
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        orphan.open()
        await orphan.until(lambda: results == [1])
        holder.open()


async def test_a_call_cancelled_at_once_leaves_nothing_behind() -> None:
    threads = Threads(2)
    for _ in range(200):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await threads.run(0, lambda: 1)
    for _ in range(200):
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, 0, lambda: 1)
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    with anyio.fail_after(PATIENCE):
        while threads.orphans:
            await anyio.sleep(0.001)
    assert await threads.run(0, lambda: 1) == 1
    assert await threads.run(0, lambda: 2) == 2


async def test_an_orphan_of_a_tool_is_counted_by_its_server(gate: Gate) -> None:
    @Tool
    def stuck() -> None:
        gate.pass_through()

    server = FrontMcp("s", tools=[stuck], thread_limit=1)
    async with create_direct(server) as direct:
        async with anyio.create_task_group() as group:
            group.start_soon(direct.call_tool, "stuck")
            await gate.until(lambda: gate.inside == 1)
            group.cancel_scope.cancel()
        assert server.threads.exhausted
        with pytest.raises(ServerBusyError):
            await direct.call_tool("stuck")
        gate.open()
        await gate.until(lambda: not server.threads.exhausted)
        await direct.call_tool("stuck")


def test_a_thread_that_outlives_its_event_loop_ends_quietly(anyio_backend: str) -> None:
    gate = Gate()
    threads = Threads(1)
    ended = threading.Event()

    def work() -> None:
        gate.pass_through()
        ended.set()

    anyio.run(abandon, threads, work, lambda: gate.inside == 1, backend=anyio_backend)
    gate.open()
    assert ended.wait(PATIENCE)

    async def again() -> Any:
        return await threads.run(0, lambda: "another loop, other slots")

    assert anyio.run(again, backend=anyio_backend) == "another loop, other slots"


# What a body may raise


@pytest.mark.parametrize("raised", [SystemExit(3), StopIteration("x"), BaseException("base")])
async def test_whatever_a_thread_raises_is_an_error_of_its_tool(raised: BaseException) -> None:
    @Tool
    def raising() -> None:
        raise raised

    @Tool
    def fine() -> int:
        return 1

    async with create_direct(FrontMcp("s", tools=[raising, fine], thread_limit=1)) as direct:
        with pytest.raises(ToolExecutionError) as failed:
            await direct.call_tool("raising")
        assert str(failed.value).startswith('Tool "raising" execution failed: ')
        assert (await direct.call_tool("fine")).structured_content == 1


async def test_context_variables_are_visible_in_the_thread() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("seen")
    assert await Threads(1).run(0, variable.get) == "seen"


def test_no_thread_is_left_when_the_event_loop_ends(anyio_backend: str) -> None:
    @Tool
    def working(n: int) -> int:
        return n

    async def main() -> None:
        async with create_direct(FrontMcp("s", tools=[working])) as direct, anyio.create_task_group() as group:
            for n in range(20):
                group.start_soon(direct.call_tool, "working", {"n": n})

    before = set(threading.enumerate())
    anyio.run(main, backend=anyio_backend)
    for thread in set(threading.enumerate()) - before:
        if "trio" not in thread.name.lower():  # trio keeps its idle threads for ten seconds
            thread.join(PATIENCE)
            assert not thread.is_alive()
