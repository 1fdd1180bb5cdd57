"""The state store of one process, and the rule that a state is spent once."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from frontmcp import PublicMcpError
from frontmcp.asking import MemoryStateStore, State, spend
from frontmcp.interfaces import StateStore


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("frontmcp.asking.store.anyio.current_time", lambda: now[0])
    return now


async def test_it_is_a_state_store() -> None:
    assert isinstance(MemoryStateStore(), StateStore)


async def test_a_value_is_kept_for_its_time(clock: list[float]) -> None:
    store = MemoryStateStore()
    await store.set("a", b"1", ttl=10)
    clock[0] += 9.9
    assert await store.get("a") == b"1"
    clock[0] += 0.2
    assert await store.get("a") is None


async def test_a_value_replaces_another() -> None:
    store = MemoryStateStore(max_bytes=10)
    for value in (b"12345678", b"abcdefgh"):
        await store.set("a", value, ttl=10)
    assert await store.get("a") == b"abcdefgh"
    await store.set("b", b"12", ttl=10)
    assert await store.get("a") == b"abcdefgh"


async def test_a_key_is_taken_once(clock: list[float]) -> None:
    store = MemoryStateStore()
    assert await store.add("a", b"1", ttl=10)
    assert not await store.add("a", b"2", ttl=10)
    assert await store.get("a") == b"1"
    clock[0] += 11
    assert await store.add("a", b"3", ttl=10)


async def test_a_value_is_forgotten() -> None:
    store = MemoryStateStore()
    await store.set("a", b"1", ttl=10)
    await store.delete("a")
    await store.delete("never there")
    assert await store.get("a") is None


async def test_it_is_bounded_and_the_oldest_goes_first() -> None:
    store = MemoryStateStore(max_bytes=100)
    for index in range(20):
        await store.set(str(index), b"x" * 10, ttl=10)
    kept = [index for index in range(20) if await store.get(str(index)) is not None]
    assert kept == list(range(10, 20))


async def test_what_is_over_goes_before_what_is_not(clock: list[float]) -> None:
    store = MemoryStateStore(max_bytes=100)
    await store.set("long", b"x" * 40, ttl=100)
    await store.set("short", b"x" * 40, ttl=1)
    clock[0] += 2
    await store.set("new", b"x" * 40, ttl=100)
    assert [await store.get(key) is not None for key in ("long", "short", "new")] == [True, False, True]


async def test_what_is_larger_than_all_of_it_is_refused() -> None:
    with pytest.raises(ValueError, match="101 bytes"):
        await MemoryStateStore(max_bytes=100).set("a", b"x" * 101, ttl=10)


class TestSpending:
    @pytest.fixture
    def runs(self) -> list[int]:
        return []

    @pytest.fixture
    def produce(self, runs: list[int]) -> Any:
        async def produce() -> bytes:
            runs.append(len(runs))
            await anyio.sleep(0.02)
            return b"answer %d" % len(runs)

        return produce

    async def test_a_state_is_spent_once(self, produce: Any, runs: list[int]) -> None:
        store, state = MemoryStateStore(), State("anonymous")
        assert [await spend(store, state, produce) for _ in range(3)] == [b"answer 1"] * 3
        assert await spend(store, State("anonymous"), produce) == b"answer 2"

    async def test_a_state_that_is_being_spent_is_waited_for(self, produce: Any, runs: list[int]) -> None:
        store, state, given = MemoryStateStore(), State("anonymous"), []

        async def one() -> None:
            given.append(await spend(store, state, produce))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(one)
        assert given == [b"answer 1"] * 3
        assert runs == [0]

    async def test_a_call_that_was_cancelled_is_not_run_again(self, produce: Any, runs: list[int]) -> None:
        store, state = MemoryStateStore(), State("anonymous")
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(spend, store, state, produce)
                await anyio.sleep(0.005)
                scope.cancel()
        with pytest.raises(PublicMcpError, match="call the tool again") as refused:
            await spend(store, state, produce)
        assert refused.value.code == "REQUEST_CANCELLED"
        assert runs == [0]
