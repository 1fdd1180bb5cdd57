"""Signals: when they are aborted and why, who is told, and that nobody is remembered for longer than needed."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from frontmcp import AbortController, AbortSignal, FrontMcp, Tool, ToolContext, create_direct
from frontmcp.abort import Aborted

PATIENCE = 20
"""Seconds until a test that hangs fails."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def in_a_thread(function: Callable[[], Any]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that signals read; set its only item."""
    now = [1000.0]
    monkeypatch.setattr("frontmcp.abort.time.monotonic", lambda: now[0])
    return now


# One signal


def test_a_signal_is_aborted_once_with_its_first_reason() -> None:
    controller = AbortController()
    signal = controller.signal
    assert (signal.aborted, signal.reason) == (False, None)
    signal.raise_if_aborted()
    controller.abort("first")
    controller.abort("second")
    assert (signal.aborted, signal.reason) == (True, "first")


@pytest.mark.parametrize(
    ("reason", "raised"),
    [("enough", Aborted), (KeyError("k"), KeyError), (SystemExit(), Aborted), (None, Aborted), (0, Aborted)],
)
def test_raise_if_aborted_raises_the_reason(reason: Any, raised: type[Exception]) -> None:
    controller = AbortController()
    controller.abort(reason)
    with pytest.raises(raised):
        controller.signal.raise_if_aborted()


def test_the_default_reason_says_aborted() -> None:
    controller = AbortController()
    controller.abort()
    with pytest.raises(Aborted, match="aborted"):
        controller.signal.raise_if_aborted()


# Callbacks


def test_a_callback_runs_once_in_the_thread_that_aborts() -> None:
    controller = AbortController()
    threads: list[str] = []
    controller.signal.add_callback(lambda: threads.append(threading.current_thread().name))
    in_a_thread(controller.abort)
    controller.abort()
    assert len(threads) == 1
    assert threads[0] != threading.current_thread().name


def test_a_callback_added_late_runs_at_once() -> None:
    controller = AbortController()
    controller.abort()
    called: list[int] = []
    remove = controller.signal.add_callback(lambda: called.append(1))
    assert called == [1]
    remove()


def test_a_callback_taken_back_does_not_run() -> None:
    controller = AbortController()
    called: list[int] = []
    remove = controller.signal.add_callback(lambda: called.append(1))
    remove()
    remove()
    controller.abort()
    assert called == []


def test_a_callback_that_fails_is_logged_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    controller = AbortController()
    called: list[int] = []
    controller.signal.add_callback(lambda: {}["k"])
    controller.signal.add_callback(lambda: called.append(1))
    with caplog.at_level(logging.ERROR, "frontmcp.abort"):
        controller.abort()
    assert called == [1]
    assert "a callback of an abort signal failed" in caplog.text


def test_a_callback_may_use_the_signal() -> None:
    controller = AbortController()
    seen: list[Any] = []

    def callback() -> None:
        seen.append(controller.signal.reason)
        controller.signal.add_callback(lambda: seen.append("nested"))
        controller.abort("again")

    controller.signal.add_callback(callback)
    controller.abort("first")
    assert seen == ["first", "nested"]


# Deadlines


def test_a_timeout_is_aborted_after_its_time(clock: list[float]) -> None:
    signal = AbortSignal.timeout(5)
    clock[0] += 4.9
    assert not signal.aborted
    clock[0] += 0.1
    assert signal.aborted
    assert isinstance(signal.reason, TimeoutError)
    with pytest.raises(TimeoutError):
        signal.raise_if_aborted()


def test_a_callback_of_a_timeout_runs_when_somebody_looks(clock: list[float]) -> None:
    signal = AbortSignal.timeout(5)
    called: list[int] = []
    signal.add_callback(lambda: called.append(1))
    clock[0] += 6
    assert called == []
    assert signal.aborted
    assert called == [1]


# Several signals


def test_any_is_aborted_with_the_first_of_its_sources() -> None:
    first, second = AbortController(), AbortController()
    combined = AbortSignal.any(first.signal, second.signal)
    assert not combined.aborted
    second.abort("second")
    first.abort("first")
    assert (combined.aborted, combined.reason) == (True, "second")


def test_any_of_a_passed_deadline_and_a_later_abort(clock: list[float]) -> None:
    controller = AbortController()
    combined = AbortSignal.any(controller.signal, AbortSignal.timeout(5))
    clock[0] += 10
    controller.abort("later")
    assert isinstance(combined.reason, TimeoutError)


def test_any_of_nothing_is_never_aborted() -> None:
    assert not AbortSignal.any().aborted


def test_any_of_an_aborted_signal_is_aborted() -> None:
    controller = AbortController()
    controller.abort("before")
    assert AbortSignal.any(AbortSignal(), controller.signal).reason == "before"


def test_any_may_be_nested_and_tells_its_callbacks() -> None:
    root = AbortController()
    inner = AbortSignal.any(root.signal, AbortSignal())
    outer = AbortSignal.any(AbortSignal(), inner)
    called: list[Any] = []
    outer.add_callback(lambda: called.append(outer.reason))
    root.abort("root")
    assert called == ["root"]


def test_any_does_not_abort_its_sources() -> None:
    controller, other = AbortController(), AbortController()
    AbortSignal.any(controller.signal, other.signal)
    other.abort()
    assert not controller.signal.aborted


def test_an_unlinked_signal_stands_alone() -> None:
    controller = AbortController()
    combined = AbortSignal.any(controller.signal)
    called: list[int] = []
    combined.add_callback(lambda: called.append(1))
    combined.unlink()
    controller.abort()
    assert not combined.aborted
    assert called == []


def test_a_long_lived_source_remembers_nobody() -> None:
    source = AbortController()
    combined = [AbortSignal.any(source.signal, AbortSignal.timeout(100)) for _ in range(100)]
    remaining = [weakref.ref(signal) for signal in combined]
    removers = [signal.add_callback(lambda: None) for signal in combined[:50]]
    for remove in removers:
        remove()
    del combined, removers, remove
    gc.collect()
    assert not any(each() for each in remaining)
    assert source.signal._callbacks == []


def test_a_signal_with_a_callback_lives_as_long_as_its_source() -> None:
    source = AbortController()
    called: list[int] = []
    AbortSignal.any(source.signal).add_callback(lambda: called.append(1))
    gc.collect()
    source.abort()
    assert called == [1]


def test_threads_that_race_lose_no_callback() -> None:
    for _ in range(50):
        source = AbortController()
        combined = AbortSignal.any(source.signal)
        called: list[int] = []
        start = threading.Barrier(3)

        def add(combined: AbortSignal = combined, called: list[int] = called, start: Any = start) -> None:
            start.wait(PATIENCE)
            for n in range(20):
                combined.add_callback(lambda n=n: called.append(n))  # type: ignore[misc]

        def abort(source: AbortController = source, start: Any = start) -> None:
            start.wait(PATIENCE)
            source.abort()

        threads = [threading.Thread(target=target) for target in (add, add, abort)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert sorted(called) == sorted([*range(20), *range(20)])


# Waiting


async def test_wait_is_woken_from_the_same_thread() -> None:
    controller = AbortController()
    results: list[bool] = []

    async def wait() -> None:
        results.append(await controller.signal.wait())

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        controller.abort()
    assert results == [True, True]
    assert await controller.signal.wait()


async def test_wait_is_woken_from_another_thread() -> None:
    controller = AbortController()
    combined = AbortSignal.any(AbortSignal.timeout(100), controller.signal)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(combined.wait)
            await anyio.wait_all_tasks_blocked()
            await anyio.to_thread.run_sync(in_a_thread, controller.abort)
    assert combined.aborted


async def test_wait_gives_up_after_its_time() -> None:
    signal = AbortSignal()
    assert await signal.wait(0) is False
    assert await signal.wait(0.01) is False
    assert await AbortSignal.timeout(100).wait(0.01) is False
    assert signal._callbacks == []


async def test_wait_ends_at_the_earliest_deadline() -> None:
    signal = AbortSignal.any(AbortSignal.timeout(100), AbortSignal.any(AbortSignal.timeout(0.01)))
    with anyio.fail_after(PATIENCE):
        assert await signal.wait()
    assert isinstance(signal.reason, TimeoutError)


async def test_a_cancelled_wait_leaves_no_callback() -> None:
    source = AbortController()
    combined = AbortSignal.any(source.signal)
    async with anyio.create_task_group() as group:
        group.start_soon(combined.wait)
        await anyio.wait_all_tasks_blocked()
        assert len(source.signal._callbacks) == 1
        group.cancel_scope.cancel()
    assert combined._callbacks == source.signal._callbacks == []


def test_an_abort_after_the_event_loop_has_ended_does_nothing(anyio_backend: str) -> None:
    from frontmcp.abort import _waker

    async def main() -> Callable[[], None]:
        return _waker(anyio.Event())

    in_a_thread(anyio.run(main, backend=anyio_backend))


# In a call


async def test_a_budget_stops_the_inner_call_and_leaves_no_trace() -> None:
    @Tool
    class Slow(ToolContext):
        async def execute(self) -> bool:
            return await self.signal.wait(PATIENCE)

    @Tool
    class Budget(ToolContext):
        async def execute(self) -> list[Any]:
            inner = await self.call_tool("slow", signal=AbortSignal.timeout(0.01))
            return [inner.structured_content, self.signal.aborted, self.signal._callbacks]

    async with create_direct(FrontMcp("s", tools=[Slow, Budget])) as direct:
        result = await direct.call_tool("budget")
    assert result.content[0].text == "[true,false,[]]"  # type: ignore[union-attr]


async def test_a_sync_body_sees_its_signal() -> None:
    started, controller = threading.Event(), AbortController()

    @Tool
    class Spin(ToolContext):
        def execute(self) -> str:
            started.set()
            end = time.monotonic() + PATIENCE
            while not self.signal.aborted and time.monotonic() < end:
                time.sleep(0.001)
            return str(self.signal.reason)

    results: list[Any] = []

    async with create_direct(FrontMcp("s", tools=[Spin])) as direct:

        async def call() -> None:
            results.append(await direct.call_tool("spin", signal=controller.signal))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.to_thread.run_sync(started.wait, PATIENCE)
            controller.abort("stop")
    assert results[0].content[0].text == "stop"
