"""The store of one process: exact, fair, bounded, and usable from threads."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmcp.testing import GuardStoreKit
from plugins_builtin.guards.memory import MemoryGuardStore


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryGuardStore:
    return MemoryGuardStore(max_partitions=100, clock=clock)


class TestKit(GuardStoreKit):
    @pytest.fixture
    def store(self) -> Iterator[MemoryGuardStore]:
        made = MemoryGuardStore()
        yield made
        # What is held is gone when everything was given back.
        assert made.shared is False


@given(
    gaps=st.lists(st.integers(0, 12), max_size=60),
    limit=st.integers(1, 5),
    window=st.integers(1, 10),
)
@settings(max_examples=200, deadline=None)
def test_the_limit_holds_exactly_over_any_window(gaps: list[int], limit: int, window: int) -> None:
    async def run() -> None:
        clock = Clock()
        store = MemoryGuardStore(clock=clock)
        counted: list[float] = []
        for gap in gaps:
            clock.now += gap
            recent = [time for time in counted if time > clock.now - window]
            wait = await store.hit("k", limit=limit, window=window)
            assert (wait is None) == (len(recent) < limit)
            if wait is None:
                counted.append(clock.now)
            else:
                # Not a moment sooner, not a moment later.
                assert wait == recent[0] + window - clock.now

    anyio.run(run)


async def test_what_is_counted_no_more_is_forgotten(store: MemoryGuardStore, clock: Clock) -> None:
    for number in range(10_000):
        clock.now = float(number)
        assert await store.hit(f"k{number}", limit=5, window=10) is None
    assert len(store) <= 11


async def test_partitions_beyond_the_most_are_refused_until_there_is_room(
    store: MemoryGuardStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(100):
        clock.now = float(number) / 100
        await store.hit(f"k{number}", limit=2, window=10)
    with caplog.at_level(logging.ERROR, "frontmcp.guards"):
        waits = [await store.hit(f"new{number}", limit=2, window=10) for number in range(3)]
    assert waits == [pytest.approx(10 - 0.99)] * 3
    assert len(caplog.records) == 1
    assert "max_partitions" in caplog.text
    assert await store.hit("k99", limit=2, window=10) is None
    assert len(store) == 100
    clock.now = 10.0
    assert await store.hit("new", limit=2, window=10) is None


async def test_a_hundred_thousand_partitions_are_the_most_by_default(clock: Clock) -> None:
    store = MemoryGuardStore(clock=clock)
    for number in range(100_000):
        assert await store.hit(f"user:{number}", limit=5, window=60) is None
    for number in range(1000):
        assert await store.hit(f"other:{number}", limit=5, window=60) == 60
    assert len(store) == 100_000
    clock.now = 61.0
    assert await store.hit("later", limit=5, window=60) is None
    assert len(store) == 1


async def test_room_is_made_in_all_windows(store: MemoryGuardStore, clock: Clock) -> None:
    for number in range(100):
        await store.hit(f"k{number}", limit=1, window=1)
    clock.now = 2.0
    assert await store.hit("other", limit=1, window=60) is None
    assert len(store) == 1


async def test_slots_leave_nothing_behind(store: MemoryGuardStore) -> None:
    slot = await store.acquire("k", limit=1, timeout=0)
    assert slot is not None
    assert await store.acquire("k", limit=1, timeout=0.001) is None
    await slot.release()
    assert len(store) == 0


async def test_who_waits_longest_comes_first(store: MemoryGuardStore) -> None:
    order: list[int] = []
    slot = await store.acquire("k", limit=1, timeout=0)
    assert slot is not None

    async def wait(number: int) -> None:
        mine = await store.acquire("k", limit=1, timeout=20)
        assert mine is not None
        order.append(number)
        await mine.release()

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(wait, number)
            await anyio.wait_all_tasks_blocked()
        await slot.release()
    assert order == [0, 1, 2, 3, 4]


async def test_a_slot_given_to_somebody_who_is_cancelled_goes_on_to_the_next(store: MemoryGuardStore) -> None:
    slot = await store.acquire("k", limit=1, timeout=0)
    assert slot is not None
    came: list[str] = []

    async def wait(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            mine = await store.acquire("k", limit=1, timeout=20)
            assert mine is not None
            came.append(name)
            await mine.release()

    first = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(wait, "first", first)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(wait, "second", anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        await slot.release()
        first.cancel()
    assert came[-1] == "second"
    assert len(store) == 0
