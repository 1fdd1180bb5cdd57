"""`AbortSignal` and `AbortController`: cooperative cancellation, readable from any thread.

anyio's cancel scopes are the native form; a signal is for code that looks for itself: a sync tool in
a worker thread, a loop that wants to stop at a good place, a client library with a cancel call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NoReturn

import anyio


class Aborted(Exception):
    """Raised by `AbortSignal.raise_if_aborted` when the reason is no exception itself."""


class AbortSignal:
    """Tells whether work should stop. Made by `AbortController`, `timeout` and `any`."""

    __slots__ = ("_callbacks", "_deadline", "_lock", "_reason", "_sources")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: object | None = None
        self._deadline: float | None = None
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
        """A signal that is aborted as soon as one of ``signals`` is, with that one's reason.

        `unlink` lets go of the sources, so that a long-lived source does not keep it alive.
        """
        combined = AbortSignal()
        combined._sources = signals
        for source in signals:
            source.add_callback(combined._check)
        return combined

    @property
    def aborted(self) -> bool:
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
        woken = anyio.Event()
        token = anyio.lowlevel.current_token()

        def wake() -> None:
            anyio.from_thread.run_sync(woken.set, token=token)

        caller = threading.get_ident()

        def notify() -> None:
            woken.set() if threading.get_ident() == caller else wake()

        remove = self.add_callback(notify)
        try:
            with anyio.move_on_after(self._seconds_left(timeout)):
                await woken.wait()
        finally:
            remove()
        return self.aborted

    def _seconds_left(self, timeout: float | None) -> float | None:
        deadline = self._earliest_deadline()
        if deadline is None:
            return timeout
        left = max(0.0, deadline - time.monotonic())
        return left if timeout is None else min(left, timeout)

    def _earliest_deadline(self) -> float | None:
        own = [] if self._deadline is None else [self._deadline]
        deadlines = own + [d for s in self._sources if (d := s._earliest_deadline()) is not None]
        return min(deadlines, default=None)

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run ``callback`` once, when the signal is aborted; at once when it already is.

        It runs in the thread that aborts (see `timeout` for deadlines).

        :returns: a function that takes the callback back.
        """
        with self._lock:
            pending = self._reason is None
            if pending:
                self._callbacks.append(callback)
        if not pending:
            callback()

        def remove() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return remove

    def unlink(self) -> None:
        """Stop following the sources of `any`."""
        for source in self._sources:
            with source._lock:
                if self._check in source._callbacks:
                    source._callbacks.remove(self._check)
        self._sources = ()

    def _check(self) -> bool:
        """Notice an aborted source or a passed deadline."""
        for source in self._sources:
            if source.aborted:
                self._abort(source._reason)
                return True
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._abort(TimeoutError("The time for this call is over"))
            return True
        return self._reason is not None

    def _abort(self, reason: object) -> None:
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class AbortController:
    """Owns a signal: whoever holds the controller may abort, whoever holds the signal may look."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: object = "aborted") -> None:
        """Abort the signal; a second time changes nothing.

        :param reason: an exception, which `AbortSignal.raise_if_aborted` raises, or any text.
        """
        self.signal._abort(reason)
