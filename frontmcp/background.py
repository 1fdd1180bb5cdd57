"""What lives as long as a server, not as long as who starts it: its `Life`, and tasks in the `Background`."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import sniffio

logger = logging.getLogger("frontmcp.server")


def start_task(function: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> Any:
    """Run a coroutine function, which must not raise, in a task that ends with the event loop at the latest.

    :returns: the task, to be kept while it runs.
    """
    if sniffio.current_async_library() == "asyncio":
        return asyncio.get_running_loop().create_task(function(*arguments))
    import trio

    return trio.lowlevel.spawn_system_task(function, *arguments)


class OwnTask:
    """Holds an async context manager in a task of its own, so that the task groups and scopes in it nest.

    `enter` and `leave` may be called from different tasks, and from inside scopes of others.

    :param ended_early: is told what the manager raised when it ends before `leave`, as when a task of its own fails.
    """

    def __init__(
        self,
        manager: AbstractAsyncContextManager[Any],
        ended_early: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._manager = manager
        self._ended_early = ended_early
        self._scope = anyio.CancelScope()
        self._begun, self._closing, self._ended = anyio.Event(), anyio.Event(), anyio.Event()
        self._error: BaseException | None = None

    async def enter(self) -> None:
        """Enter the manager; raises what it raises."""
        self._task = start_task(self._hold)
        try:
            await self._begun.wait()
        except BaseException:
            self._scope.cancel()
            with anyio.CancelScope(shield=True):
                await self._ended.wait()
            raise
        if self._error is not None:
            raise self._error

    async def leave(self) -> None:
        """Leave the manager; raises what it raises, or has raised."""
        self._closing.set()
        await self._ended.wait()
        if self._error is not None:
            raise self._error

    async def _hold(self) -> None:
        has_begun = False
        try:
            with self._scope:
                async with self._manager:
                    has_begun = True
                    self._begun.set()
                    await self._closing.wait()
        except Exception as error:
            self._error = error
            if self._ended_early is not None and has_begun and not self._closing.is_set():
                self._ended_early(error)
        finally:
            self._ended.set()
            self._begun.set()


class Life:
    """Holds an async context manager, in a task of its own, from when somebody uses it until nobody does.

    :param make: makes the manager, each time anew.
    :param ended_early: as that of `OwnTask`.
    """

    def __init__(
        self, make: Callable[[], AbstractAsyncContextManager[Any]], ended_early: Callable[[BaseException], None]
    ) -> None:
        self._make = make
        self._ended_early = ended_early
        self._users = 0
        self._changing: tuple[Any, anyio.Lock] | None = None
        self._held: OwnTask | None = None

    @property
    def is_used(self) -> bool:
        """Whether it goes on, or is about to."""
        return bool(self._users)

    @property
    def has_begun(self) -> bool:
        """Whether the manager is entered."""
        return self._held is not None

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """The manager is entered inside. May be nested."""
        changing = self._lock_of_this_loop()
        async with changing:
            self._users += 1
            if self._users == 1:
                try:
                    await self._begin()
                except BaseException:
                    self._users -= 1
                    raise
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                async with changing:
                    self._users -= 1
                    if self._users == 0:
                        await self._end()

    def _lock_of_this_loop(self) -> anyio.Lock:
        """A lock belongs to one event loop; a server may run in several, one after the other."""
        token = anyio.lowlevel.current_token()
        if self._changing is None or self._changing[0] != token:
            self._changing = (token, anyio.Lock())
        return self._changing[1]

    async def _begin(self) -> None:
        task = OwnTask(self._make(), self._ended_early)
        await task.enter()
        self._held = task

    async def _end(self) -> None:
        task, self._held = self._held, None
        assert task is not None
        await task.leave()


class Background:
    """A task group in a task of its own, on asyncio and trio.

    `start` and `stop` may be called from different tasks, as the hooks ``server_started`` and ``server_stopping`` are.
    A task that fails is logged and ends alone.
    """

    def __init__(self) -> None:
        self._group: anyio.abc.TaskGroup | None = None
        self._held: OwnTask | None = None

    @property
    def is_running(self) -> bool:
        """Whether tasks can be begun."""
        return self._group is not None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Started inside; what still runs at the end is cancelled."""
        try:
            await self.start()
            yield
        finally:
            await self.stop()

    async def start(self) -> None:
        """Open the task group, in a task of the event loop's own."""
        self._held = OwnTask(self._opened())
        await self._held.enter()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                group.cancel_scope.cancel()

    def spawn(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> None:
        """Begin a task, which sees no context variable of whoever begins it.

        :raises RuntimeError: it is not running.
        """
        if self._group is None:
            raise RuntimeError("nothing runs in the background before the server starts, and after it stops")
        contextvars.Context().run(self._group.start_soon, _logged, function, *arguments)

    async def stop(self) -> None:
        """Cancel every task, and wait until they have ended; nothing where it was never started."""
        if self._held is not None:
            with anyio.CancelScope(shield=True):
                await self._held.leave()


async def _logged(function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> None:
    try:
        await function(*arguments)
    except Exception:
        logger.exception("a background task failed: %s", getattr(function, "__qualname__", function))
