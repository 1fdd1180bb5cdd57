"""`Background`: tasks that live as long as a server, not as long as who starts them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.abc
import sniffio


class Background:
    """A task group in a task of its own, on asyncio and trio.

    `start` and `stop` may be called from different tasks, as the hooks ``server_started`` and ``server_stopping`` are.
    A task that raises would end all others: what is started here lets no exception out.
    """

    def __init__(self) -> None:
        self._group: anyio.abc.TaskGroup | None = None
        self._ended = anyio.Event()

    @property
    def is_running(self) -> bool:
        return self._group is not None

    async def start(self) -> None:
        """Open the task group, in a task of the event loop's own."""
        begun, self._ended = anyio.Event(), anyio.Event()
        if sniffio.current_async_library() == "asyncio":
            self._holder = asyncio.get_running_loop().create_task(self._hold(begun, self._ended))
        else:
            import trio

            trio.lowlevel.spawn_system_task(self._hold, begun, self._ended)
        await begun.wait()

    async def _hold(self, begun: anyio.Event, ended: anyio.Event) -> None:
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                begun.set()
                await anyio.sleep_forever()
        finally:
            self._group = None
            ended.set()

    def spawn(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> None:
        """Begin a task.

        :raises RuntimeError: it is not running.
        """
        if self._group is None:
            raise RuntimeError("nothing runs in the background before the server starts, and after it stops")
        self._group.start_soon(function, *arguments)

    async def stop(self) -> None:
        """Cancel every task, and wait until they have ended."""
        if self._group is None:
            return
        self._group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._ended.wait()
