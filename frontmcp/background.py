"""`Background`: tasks that live as long as a server, not as long as who starts them."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import anyio.abc
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
