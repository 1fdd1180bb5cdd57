"""Worker threads for sync bodies: limited per depth, and honest about threads nobody waits for any more."""

from __future__ import annotations

import inspect
import logging
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.lowlevel import RunVar

from frontmcp.call import Orphan
from frontmcp.errors import NotAnException, ServerBusyError


def leave(code: int) -> NoReturn:
    """End the process once everything has shut down.

    A thread that waits for stdin, or runs a call that was given up, can't be interrupted, and Python would wait for it.
    """
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)


class Threads:
    """Runs sync functions in threads, at most ``limit`` at each depth of nested calls.

    One limit for all depths would deadlock once every thread waits for a tool that needs a thread. A function
    whose caller is cancelled keeps its slot until it ends; when only such orphans are left, a call is refused.

    :param limit: threads per depth.
    """

    def __init__(self, limit: int = 40) -> None:
        self.limit = limit
        # Per event loop: what waits in one can't be woken from another.
        self._slots: RunVar[dict[int, _Slots]] = RunVar("frontmcp.threads")

    @property
    def orphans(self) -> int:
        """How many threads of this event loop run on though nobody waits for them."""
        return sum(slots.orphans for slots in self._slots.get({}).values())

    @property
    def exhausted(self) -> bool:
        """Whether, at some depth, every slot is held by an orphan."""
        return any(slots.exhausted for slots in self._slots.get({}).values())

    async def run(
        self, depth: int, function: Callable[[], Any], abandoned: Callable[[Orphan], object] | None = None
    ) -> Any:
        """The result of ``function``, run in a thread.

        :param depth: how deep the call is nested; each depth has its own slots.
        :param abandoned: is told of the thread when the caller is cancelled and it runs on.
        :raises ServerBusyError: every slot of the depth is held by an orphan.
        """
        slots = self._slots_of(depth)
        await slots.take()
        loan = _Loan(slots)
        try:
            # In a tuple, because trio refuses a function that returns a coroutine.
            (result,) = await anyio.to_thread.run_sync(
                loan.work, function, abandon_on_cancel=True, limiter=slots.unlimited
            )
        finally:
            if loan.leave() and abandoned is not None:
                abandoned(loan)
        return await result if inspect.isawaitable(result) else result

    def _slots_of(self, depth: int) -> _Slots:
        by_depth = self._slots.get(None)
        if by_depth is None:
            self._slots.set(by_depth := {})
        slots = by_depth.get(depth)
        if slots is None:
            slots = by_depth[depth] = _Slots(self.limit)
        return slots


class _Slots:
    """The thread slots of one depth in one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = self.free = limit
        self.orphans = 0
        self._waiting: deque[anyio.Event] = deque()
        self._lock = threading.Lock()
        # anyio would give its own slot back when a thread is abandoned.
        self.unlimited = anyio.CapacityLimiter(math.inf)

    @property
    def exhausted(self) -> bool:
        return self.orphans >= self.limit

    async def take(self) -> None:
        """Take a slot; wait for one while somebody's result may free it.

        :raises ServerBusyError: only orphans hold the slots.
        """
        while (woken := self._take_or_queue()) is not None:
            try:
                await woken.wait()
            except BaseException:
                self._leave_queue(woken)
                raise

    def _take_or_queue(self) -> anyio.Event | None:
        with self._lock:
            if self.free:
                self.free -= 1
                return None
            if self.exhausted:
                raise ServerBusyError
            self._waiting.append(woken := anyio.Event())
            return woken

    def _leave_queue(self, woken: anyio.Event) -> None:
        with self._lock:
            if woken in self._waiting:
                self._waiting.remove(woken)
                return
        # It was woken for a slot that somebody else can have now.
        self._wake(1)

    def give(self) -> None:
        """Give a slot back."""
        with self._lock:
            self.free += 1
        self._wake(1)

    def orphan(self) -> None:
        """The holder of a slot is no longer waited for."""
        with self._lock:
            self.orphans += 1
        if self.exhausted:
            self._wake(len(self._waiting))

    def _wake(self, count: int) -> None:
        with self._lock:
            woken = [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]
        for each in woken:
            each.set()

    def give_from_orphan(self) -> None:
        """Give a slot back in the thread of an orphan that has ended."""
        with self._lock:
            self.orphans -= 1
            self.free += 1
            woken = self._waiting.popleft() if self._waiting else None
        if woken is not None:
            # The event loop may have ended in the meantime, and whoever waited with it.
            with suppress(RuntimeError):
                anyio.from_thread.run_sync(woken.set)


class _Loan:
    """One slot while one function runs: given back by whoever ends last, the caller or the thread."""

    def __init__(self, slots: _Slots) -> None:
        self._slots = slots
        self._lock = threading.Lock()
        self._running = False
        self._left = False
        self._callbacks: list[Callable[[], object]] = []

    def work(self, function: Callable[[], Any]) -> tuple[Any]:
        """In the thread: run the function, unless its caller has left before it began."""
        with self._lock:
            if self._left:
                return (None,)
            self._running = True
        try:
            return (function(),)
        except GeneratorExit as error:
            # A coroutine that this is thrown into would close itself.
            raise NotAnException(error) from error
        finally:
            with self._lock:
                self._running = False
                orphaned = self._left
            if orphaned:
                self._slots.give_from_orphan()
                for callback in self._callbacks:
                    callback()

    def when_ended(self, callback: Callable[[], object]) -> None:
        """Run ``callback`` when the function has ended, in its thread; at once when it has."""
        with self._lock:
            if self._running:
                self._callbacks.append(callback)
                return
        callback()

    def leave(self) -> bool:
        """In the event loop: the function has ended, or its caller was cancelled.

        :returns: whether it runs on as an orphan.
        """
        with self._lock:
            self._left = True
            orphaned = self._running
        if orphaned:
            self._slots.orphan()
        else:
            self._slots.give()
        return orphaned
