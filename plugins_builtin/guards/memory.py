"""The store of one process: exact over any window, fair to those who wait, and bounded."""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable

from frontmcp import AbortController

logger = logging.getLogger("frontmcp.guards")

Hits = OrderedDict[str, list[float]]
"""When a key's calls were counted; the key that was counted last comes last."""


class MemoryGuardStore:
    """A `GuardStore` for one process. Its state is as large as what was counted within a window.

    :param max_partitions: how many keys it tells apart at a time; calls of any further one are refused.
    :param clock: seconds that never go back.
    """

    shared = False

    def __init__(self, max_partitions: int = 100_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_partitions = max_partitions
        self._clock = clock
        self._lock = threading.Lock()
        self._hits: dict[float, Hits] = {}
        self._slots: dict[str, _Slots] = {}
        self._was_full = False

    def __len__(self) -> int:
        """How many keys it holds."""
        return sum(map(len, self._hits.values())) + len(self._slots)

    async def hit(self, key: str, *, limit: int, window: float) -> float | None:
        with self._lock:
            now = self._clock()
            hits = self._hits.get(window)
            if hits is None:
                hits = self._hits[window] = OrderedDict()
            _forget(hits, now - window)
            times = hits.get(key)
            if times is None:
                if (wait := self._wait_for_room(now)) is not None:
                    return wait
                times = hits[key] = []
            elif times[0] <= now - window:
                del times[: bisect_right(times, now - window)]
            if len(times) >= limit:
                return times[-limit] + window - now
            times.append(now)
            hits.move_to_end(key)
        return None

    def _wait_for_room(self, now: float) -> float | None:
        """Seconds until another key can be told apart; None when there is room."""
        if sum(map(len, self._hits.values())) < self._max_partitions:
            return None
        for window, hits in self._hits.items():
            _forget(hits, now - window)
        held = {window: hits for window, hits in self._hits.items() if hits}
        if sum(map(len, held.values())) < self._max_partitions:
            return None
        if not self._was_full:
            self._was_full = True
            logger.error(
                "calls of new partitions are refused: all %d that this process tells apart were used within their "
                'window; raise throttle={"max_partitions": …} or use a shared store',
                self._max_partitions,
            )
        return min(next(iter(hits.values()))[-1] + window - now for window, hits in held.items())

    async def acquire(self, key: str, *, limit: int, timeout: float) -> MemorySlot | None:
        with self._lock:
            slots = self._slots.setdefault(key, _Slots())
            if slots.held < limit:
                slots.held += 1
                return MemorySlot(self, key)
            if timeout <= 0:
                return None
            waiter = AbortController()
            slots.waiting.append(waiter)
        granted = False
        try:
            granted = await waiter.signal.wait(timeout)
        finally:
            if not granted:
                self._leave(key, waiter)
        return MemorySlot(self, key) if granted else None

    def _leave(self, key: str, waiter: AbortController) -> None:
        """Wait no longer; a slot that was given in the meantime is somebody else's."""
        with self._lock:
            slots = self._slots.get(key)
            if slots is not None and waiter in slots.waiting:
                slots.waiting.remove(waiter)
                return
        self.give(key)

    def give(self, key: str) -> None:
        """Give a slot to whoever waits longest, from any thread."""
        with self._lock:
            slots = self._slots[key]
            if slots.waiting:
                next_one = slots.waiting.popleft()
            else:
                slots.held -= 1
                if not slots.held:
                    del self._slots[key]
                return
        next_one.abort("a slot is free")

    async def aclose(self) -> None:
        """Nothing to close: what was counted stays counted."""


class MemorySlot:
    """A slot of a `MemoryGuardStore`."""

    __slots__ = ("_key", "_store")

    def __init__(self, store: MemoryGuardStore, key: str) -> None:
        self._store = store
        self._key = key

    async def release(self) -> None:
        self._store.give(self._key)

    def release_later(self) -> None:
        self._store.give(self._key)


class _Slots:
    """The slots of one key. Who waits is told, in any thread, through a signal."""

    __slots__ = ("held", "waiting")

    def __init__(self) -> None:
        self.held = 0
        self.waiting: deque[AbortController] = deque()


def _forget(hits: Hits, before: float) -> None:
    """Drop the keys whose last call is as old as ``before``: their window is empty."""
    while hits:
        key = next(iter(hits))
        if hits[key][-1] > before:
            return
        del hits[key]
