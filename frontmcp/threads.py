"""Worker threads for sync bodies: limited per depth, and honest about threads nobody waits for any more."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from frontmcp.errors import ServerBusyError


class _Slots:
    """The thread slots of one depth in one event loop."""

    def __init__(self, total: int) -> None:
        self.limiter = anyio.CapacityLimiter(total)
        self.orphans = 0


class Threads:
    """Runs sync functions in threads, at most ``limit`` at each depth of nested calls.

    One limit for all depths would deadlock once every thread waits for a tool that needs a thread. A function
    whose caller is cancelled keeps its slot until it ends; when only such orphans are left, a call is refused.

    :param limit: threads per depth.
    """

    def __init__(self, limit: int = 40) -> None:
        self.limit = limit
        self._slots: dict[tuple[Any, int], _Slots] = {}

    @property
    def orphans(self) -> int:
        """How many threads run on though nobody waits for them."""
        return sum(slots.orphans for slots in self._slots.values())

    @property
    def exhausted(self) -> bool:
        """Whether, at some depth, every slot is held by an orphan."""
        return any(slots.orphans >= self.limit for slots in self._slots.values())

    async def run(self, depth: int, function: Callable[[], Any]) -> Any:
        """The result of ``function``, run in a thread.

        :param depth: how deep the call is nested; each depth has its own slots.
        :raises ServerBusyError: every slot of the depth is held by an orphan.
        """
        slots = self._slots_of(depth)
        if slots.orphans >= self.limit:
            raise ServerBusyError
        loan = _Loan(slots)
        await slots.limiter.acquire_on_behalf_of(loan)
        try:
            result = await anyio.to_thread.run_sync(
                loan.work, function, abandon_on_cancel=True, limiter=_unlimited()
            )
        finally:
            loan.leave()
        return await result if inspect.isawaitable(result) else result

    def _slots_of(self, depth: int) -> _Slots:
        key = (anyio.lowlevel.current_token(), depth)
        slots = self._slots.get(key)
        if slots is None:
            slots = self._slots[key] = _Slots(self.limit)
        return slots


def _unlimited() -> anyio.CapacityLimiter:
    """anyio gives its own slot back when a thread is abandoned, so ours are counted apart from it."""
    return anyio.CapacityLimiter(1)


class _Loan:
    """One slot while one function runs: given back by whoever ends last, the caller or the thread."""

    def __init__(self, slots: _Slots) -> None:
        self._slots = slots
        self._lock = threading.Lock()
        self._started = False
        self._ended = False
        self._left = False

    def work(self, function: Callable[[], Any]) -> Any:
        self._started = True
        try:
            return function()
        finally:
            with self._lock:
                self._ended = True
                orphaned = self._left
            if orphaned:
                self._return_from_thread()

    def leave(self) -> None:
        """The caller waits no longer: the function has ended, or the caller was cancelled."""
        with self._lock:
            self._left = True
            orphaned = self._started and not self._ended
        if orphaned:
            self._slots.orphans += 1
        else:
            self._slots.limiter.release_on_behalf_of(self)

    def _return_from_thread(self) -> None:
        try:
            anyio.from_thread.run_sync(self._return)
        except RuntimeError:
            # The event loop has ended before the thread, and the slots with it.
            pass

    def _return(self) -> None:
        self._slots.orphans -= 1
        self._slots.limiter.release_on_behalf_of(self)
