"""Counting calls and holding slots for them, wherever the store is; and what happens when it fails."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, TypeVar

from frontmcp import Call, CallNext, RateLimitError
from frontmcp.interfaces import GuardSlot, GuardStore, Orphan
from plugins_builtin.guards.errors import ConcurrencyLimitError, GuardUnavailableError, QueueTimeoutError
from plugins_builtin.guards.options import Concurrency, RateLimit
from plugins_builtin.guards.partitions import UNKNOWN, partition

logger = logging.getLogger("frontmcp.guards")

T = TypeVar("T")
Limit = RateLimit | Concurrency


class Counter:
    """Applies limits to calls.

    :param store: where they are counted.
    :param prefix: begins every key, for servers that share a store.
    """

    def __init__(self, store: GuardStore, prefix: str) -> None:
        self.store = store
        self._prefix = prefix
        self._told: set[str] = set()
        self._failing = False

    async def count(self, call: Call, limit: RateLimit, what: str, name: str) -> None:
        """Count a call, once in all attempts of its request.

        :param what: the canonical name of what is limited.
        :param name: its name for people.
        :raises RateLimitError: there were as many as there may be.
        """
        if call.attempt and call.parent is None:
            return
        key = self._key("rate", call, limit, what)

        async def hit() -> None:
            counting = self.store.hit(key, limit=limit.max_requests, window=limit.window_ms / 1000)
            wait = await self._answer(counting, limit, name, None)
            if wait is not None:
                raise RateLimitError(max(1, math.ceil(wait)))

        if call.parent is None or call.request.asking is None:
            await hit()
        else:
            # An inner call that was left for a question runs again with the retry; it was counted.
            await call.runner.once(call, f"counted {what}", hit)

    async def hold(self, call: Call, call_next: CallNext, limit: Concurrency, what: str, name: str) -> Any:
        """Run the rest of a call in a slot, which a thread that it abandons keeps until it ends.

        :raises ConcurrencyLimitError: every slot is taken, and the call may not wait or would wait for itself.
        :raises QueueTimeoutError: none became free in time.
        """
        slot = await self._slot(call, limit, what, name)
        try:
            return await call_next()
        finally:
            if call.orphans:
                _release_after(call.orphans, slot)
            else:
                await slot.release()

    async def _slot(self, call: Call, limit: Concurrency, what: str, name: str) -> GuardSlot:
        key = self._key("slots", call, limit, what)
        waits = limit.queue_timeout_ms
        if waits and self._is_held_by_callers(key, call, limit, what):
            waits = 0
        acquiring = self.store.acquire(key, limit=limit.max_concurrent, timeout=waits / 1000)
        slot = await self._answer(acquiring, limit, name, UNCOUNTED)
        if slot is not None:
            return slot
        if waits:
            raise QueueTimeoutError(name, waits)
        raise ConcurrencyLimitError(name, limit.max_concurrent)

    def _is_held_by_callers(self, key: str, call: Call, limit: Concurrency, what: str) -> bool:
        """Whether waiting is in vain: the calls that wait for this one hold every slot."""
        holders = [caller for caller in _callers(call) if caller.entry is call.entry]
        if len(holders) < limit.max_concurrent:
            return False
        return sum(self._key("slots", each, limit, what) == key for each in holders) >= limit.max_concurrent

    def _key(self, kind: str, call: Call, limit: Limit, what: str) -> str:
        who = partition(call, limit.partition_by)
        if who is UNKNOWN:
            self._tell(what, limit)
        return f"{self._prefix}:{what}:{kind}:{who}"

    def _tell(self, what: str, limit: Limit) -> None:
        if what not in self._told:
            self._told.add(what)
            by = limit.partition_by if isinstance(limit.partition_by, str) else "a function"
            logger.warning(
                "%s is limited by %s, and a call came without an address to tell its caller by: "
                "all such calls share one limit",
                what,
                by,
            )

    async def _answer(self, asking: Awaitable[T], limit: Limit, name: str, uncounted: T) -> T:
        """The store's answer; ``uncounted`` when it fails and the limit lets such calls pass."""
        try:
            answer = await asking
        except Exception as error:
            self._note_failure(error, name)
            if limit.on_store_failure == "allow":
                return uncounted
            raise GuardUnavailableError(name) from error
        if self._failing:
            self._failing = False
            logger.warning("the store of the limits answers again")
        return answer

    def _note_failure(self, error: Exception, name: str) -> None:
        if not self._failing:
            self._failing = True
            logger.error('the store of the limits fails, first for "%s"', name, exc_info=error)


class _Uncounted:
    """Stands for a slot that could not be had, where a call may go on without."""

    async def release(self) -> None:
        pass

    def release_later(self) -> None:
        pass


UNCOUNTED = _Uncounted()


def _release_after(orphans: Sequence[Orphan], slot: GuardSlot) -> None:
    if orphans:
        orphans[0].when_ended(lambda: _release_after(orphans[1:], slot))
    else:
        slot.release_later()


def _callers(call: Call) -> Iterator[Call]:
    parent = call.parent
    while parent is not None:
        yield parent
        parent = parent.parent
