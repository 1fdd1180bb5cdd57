"""`AbortSignal` and `AbortController`: cooperative cancellation, readable from any thread.

anyio's cancel scopes are the native form; a signal is for code that looks for itself: a sync tool in
a worker thread, a loop that wants to stop at a good place, a client library with a cancel call.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import anyio
import anyio.from_thread
import anyio.lowlevel

logger = logging.getLogger("frontmcp.abort")


class Aborted(Exception):
    """Raised by `AbortSignal.raise_if_aborted` when the reason is no exception itself."""


class AbortSignal:
    """Tells whether work should stop. Made by `AbortController`, `timeout` and `any`."""

    __slots__ = ("__weakref__", "_callbacks", "_deadline", "_lock", "_reason", "_since", "_sources")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: object | None = None
        self._since = math.inf
        self._deadline = math.inf
        self._callbacks: list[Callable[[], object]] = []
        self._sources: tuple[AbortSignal, ...] = ()

    @staticmethod
    def timeout(seconds: float) -> AbortSignal:
        """A signal that is aborted ``seconds`` from now, with a `TimeoutError` as its reason.

        The deadline is read, not scheduled: no task or timer owns it. So a callback of such a signal
        runs when somebody looks at it or waits for it after the deadline.
        """
        signal = AbortSignal()
        signal._deadline = time.monotonic() + seconds
        return signal

    @staticmethod
    def any(*signals: AbortSignal) -> AbortSignal:
        """A signal that is aborted as soon as one of ``signals`` is, with the reason of the first.

        It asks its sources when it is asked. They know of it only while it has callbacks or waiters, so a long-lived
        source does not keep it alive.
        """
        combined = AbortSignal()
        combined._sources = signals
        return combined

    @property
    def aborted(self) -> bool:
        """Whether the work should stop."""
        return self._reason is not None or self._check()

    @property
    def reason(self) -> object | None:
        """Why: what `AbortController.abort` was given, a `TimeoutError` after a timeout; None before."""
        return self._reason if self.aborted else None

    def raise_if_aborted(self) -> None:
        """Raise the reason, or `Aborted` with it when the reason is no exception."""
        if self.aborted:
            self._raise()

    def _raise(self) -> NoReturn:
        if isinstance(self._reason, Exception):
            raise self._reason
        raise Aborted(str(self._reason))

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until the signal is aborted.

        :param timeout: seconds to wait at most; None waits without end.
        :returns: whether it is aborted.
        """
        if self.aborted:
            return True
        end = math.inf if timeout is None else time.monotonic() + timeout
        woken = anyio.Event()
        remove = self.add_callback(_waker(woken))
        try:
            # A clock may be a little behind the other.
            while not self.aborted and (left := min(end, self._earliest_deadline()) - time.monotonic()) > 0:
                with anyio.move_on_after(None if left == math.inf else left):
                    await woken.wait()
        finally:
            remove()
        return self.aborted

    def _earliest_deadline(self) -> float:
        return min((self._deadline, *(source._earliest_deadline() for source in self._sources)))

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run ``callback`` once, when the signal is aborted; at once when it already is.

        It runs in the thread that aborts (see `timeout` for deadlines). What it raises is logged.

        :returns: a function that takes the callback back.
        """
        if self.aborted or not self._add(callback):
            _run(callback)
        return lambda: self._remove(callback)

    def _add(self, callback: Callable[[], object]) -> bool:
        with self._lock:
            if self._reason is not None:
                return False
            if callback not in self._callbacks:
                self._callbacks.append(callback)
        self._follow()
        return True

    def _remove(self, callback: Callable[[], object]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
        self._follow()

    def _follow(self) -> None:
        """Be told by the sources as long as there is somebody to tell, and no longer."""
        for source in self._sources:
            if self._callbacks:
                source.add_callback(self._check)
            else:
                source._remove(self._check)

    def unlink(self) -> None:
        """Stop following the sources of `any`."""
        sources, self._sources = self._sources, ()
        for source in sources:
            source._remove(self._check)

    def _check(self) -> bool:
        """Notice an aborted source or a passed deadline."""
        aborted = [source for source in self._sources if source.aborted]
        if aborted:
            first = min(aborted, key=lambda source: source._since)
            self._abort(first._reason, first._since)
        elif time.monotonic() >= self._deadline:
            self._abort(TimeoutError("The time for this call is over"), self._deadline)
        return self._reason is not None

    def _abort(self, reason: object, since: float) -> None:
        with self._lock:
            if self._reason is not None:
                return
            self._since = since
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        self._follow()
        for callback in callbacks:
            _run(callback)


def _run(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception:
        logger.exception("a callback of an abort signal failed")


def _waker(event: anyio.Event) -> Callable[[], None]:
    """A function that sets an event of this event loop, from any thread."""
    token, thread = anyio.lowlevel.current_token(), threading.get_ident()

    def wake() -> None:
        if threading.get_ident() == thread:
            event.set()
        else:
            # The event loop may have ended in the meantime, and whoever waited with it.
            with suppress(RuntimeError):
                anyio.from_thread.run_sync(event.set, token=token)

    return wake


class AbortController:
    """Owns a signal: whoever holds the controller may abort, whoever holds the signal may look."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: object = "aborted") -> None:
        """Abort the signal; a second time changes nothing.

        :param reason: an exception, which `AbortSignal.raise_if_aborted` raises, or any text.
        """
        self.signal._abort("aborted" if reason is None else reason, time.monotonic())
