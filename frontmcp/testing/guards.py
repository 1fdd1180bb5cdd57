"""What every guard store must do, as tests: subclass `GuardStoreKit`, and give it a fixture ``store``."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import anyio.to_thread

from frontmcp.interfaces import GuardSlot, GuardStore

PATIENCE = 20.0
"""Seconds until a test that hangs fails."""


class GuardStoreKit:
    """Tests of a `GuardStore`.

    ``class TestMine(GuardStoreKit)`` with a fixture ``store`` that gives a store and closes it afterwards. Keys are new
    in each test, so that a store may be kept.
    """

    async def test_it_is_a_guard_store(self, store: GuardStore) -> None:
        assert isinstance(store, GuardStore)
        assert isinstance(store.shared, bool)

    async def test_as_many_calls_as_the_limit_pass(self, store: GuardStore) -> None:
        key = new_key()
        waits = [await store.hit(key, limit=3, window=60) for _ in range(5)]
        assert waits[:3] == [None] * 3
        assert all(wait is not None and 0 < wait <= 60 for wait in waits[3:])

    async def test_keys_are_counted_apart(self, store: GuardStore) -> None:
        first, second = new_key(), new_key()
        assert await store.hit(first, limit=1, window=60) is None
        assert await store.hit(second, limit=1, window=60) is None
        assert await store.hit(first, limit=1, window=60) is not None

    async def test_who_waits_as_long_as_told_passes(self, store: GuardStore) -> None:
        key = new_key()
        assert await store.hit(key, limit=1, window=0.05) is None
        with anyio.fail_after(PATIENCE):
            # Nothing tells that the window has passed.
            while (wait := await store.hit(key, limit=1, window=0.05)) is not None:  # noqa: ASYNC110
                await anyio.sleep(wait)

    async def test_what_was_refused_is_not_counted(self, store: GuardStore) -> None:
        key = new_key()
        assert await store.hit(key, limit=1, window=0.2) is None
        with anyio.fail_after(PATIENCE):
            while await store.hit(key, limit=1, window=0.2) is not None:  # noqa: ASYNC110
                await anyio.sleep(0.01)

    async def test_of_many_at_once_exactly_the_limit_passes(self, store: GuardStore) -> None:
        key = new_key()
        waits: list[float | None] = []

        async def hit() -> None:
            waits.append(await store.hit(key, limit=17, window=60))

        async with anyio.create_task_group() as group:
            for _ in range(200):
                group.start_soon(hit)
        assert waits.count(None) == 17

    async def test_no_window_has_more_than_the_limit(self, store: GuardStore) -> None:
        key, passed = new_key(), list[tuple[float, float]]()
        while len(passed) < 16:
            asked = time.monotonic()
            wait = await store.hit(key, limit=5, window=0.1)
            if wait is None:
                passed.append((asked, time.monotonic()))
            await anyio.sleep(0.007 if wait is None else wait / 2)
        # Each was counted between its question and its answer.
        assert all(passed[index + 5][1] - passed[index][0] >= 0.1 for index in range(len(passed) - 5))

    async def test_there_are_as_many_slots_as_the_limit(self, store: GuardStore) -> None:
        key = new_key()
        held = [await taken(store, key, limit=2) for _ in range(2)]
        assert await store.acquire(key, limit=2, timeout=0) is None
        assert await store.acquire(new_key(), limit=2, timeout=0) is not None
        await held[0].release()
        await taken(store, key, limit=2)

    async def test_who_waits_gets_the_slot_that_is_given_back(self, store: GuardStore) -> None:
        key = new_key()
        slot = await taken(store, key)
        async with anyio.create_task_group() as group:
            group.start_soon(_release_soon, slot)
            with anyio.fail_after(PATIENCE):
                assert await store.acquire(key, limit=1, timeout=PATIENCE) is not None

    async def test_waiting_ends_in_time(self, store: GuardStore) -> None:
        key = new_key()
        slot = await taken(store, key)
        with anyio.fail_after(PATIENCE):
            assert await store.acquire(key, limit=1, timeout=0.05) is None
        await slot.release()
        await taken(store, key)

    async def test_who_is_cancelled_while_waiting_holds_nothing(self, store: GuardStore) -> None:
        key = new_key()
        slot = await taken(store, key)
        with anyio.move_on_after(0.05):
            await store.acquire(key, limit=1, timeout=math.inf)
        await slot.release()
        await taken(store, key)

    async def test_a_slot_is_given_back_also_where_the_call_is_cancelled(self, store: GuardStore) -> None:
        key = new_key()
        slot = await taken(store, key)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await slot.release()
        await taken(store, key)

    async def test_a_slot_is_given_back_from_another_thread(self, store: GuardStore) -> None:
        key = new_key()
        slot = await taken(store, key)
        await anyio.to_thread.run_sync(slot.release_later)
        with anyio.fail_after(PATIENCE):
            assert await store.acquire(key, limit=1, timeout=PATIENCE) is not None

    async def test_never_more_than_the_limit_hold_a_slot(self, store: GuardStore) -> None:
        key = new_key()
        gauge = _Gauge()

        async def hold() -> None:
            slot = await store.acquire(key, limit=3, timeout=PATIENCE)
            assert slot is not None
            with gauge.inside():
                await anyio.sleep(0.001)
            await slot.release()

        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(hold)
        assert gauge.entered == 40
        assert gauge.most <= 3

    async def test_it_may_be_used_again_after_closing(self, store: GuardStore) -> None:
        await store.aclose()
        assert await store.hit(new_key(), limit=1, window=60) is None
        await taken(store, new_key())


class _Gauge:
    """How many were inside at once at most."""

    def __init__(self) -> None:
        self.entered = self.most = self._now = 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        self.entered += 1
        self._now += 1
        self.most = max(self.most, self._now)
        yield
        self._now -= 1


def new_key() -> str:
    """A key that no other test has."""
    return f"kit:{uuid.uuid4()}"


async def taken(store: GuardStore, key: str, limit: int = 1) -> GuardSlot:
    """A slot that is free."""
    slot = await store.acquire(key, limit=limit, timeout=0)
    assert slot is not None, "no slot was free"
    return slot


async def _release_soon(slot: GuardSlot) -> None:
    await anyio.sleep(0.02)
    await slot.release()
