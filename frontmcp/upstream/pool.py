"""Connections with one server, one for each caller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from frontmcp.upstream.connection import Connection
from frontmcp.upstream.errors import UpstreamUnavailableError

CLOSE_SECONDS: Final = 5.0
"""How long connections may take to end in order."""


class Pool:
    """Connections by whom they speak for; bounded, and closed when nobody uses them.

    :param app_id: names the server in errors.
    :param limit: how many there may be.
    :param timeout: seconds that opening one may take, and waiting for room to.
    :param spawn: begins a task that nobody waits for.
    """

    def __init__(self, app_id: str, *, limit: int, timeout: float, spawn: Callable[..., None]) -> None:
        self._app_id = app_id
        self._limit = limit
        self._timeout = timeout
        self._spawn = spawn
        self._connections: dict[Hashable, Connection] = {}
        self._held: set[Connection] = set()
        self._freed = anyio.Event()

    def __len__(self) -> int:
        return len(self._connections)

    @asynccontextmanager
    async def lease(self, key: Hashable, make: Callable[[], Connection]) -> AsyncIterator[Connection]:
        """The open connection of a key, made where there is none; it is not closed for want of use inside.

        :raises UpstreamUnavailableError: all are in use, and stay so.
        :raises Exception: it can't be opened.
        """
        connection = self._found(key, make) or await self._awaited(key, make)
        try:
            with connection.used():
                await connection.opened(self._timeout)
                yield connection
        finally:
            self._tell_freed()

    def _found(self, key: Hashable, make: Callable[[], Connection]) -> Connection | None:
        """The connection of a key, made if there is room for it."""
        connection = self._connections.get(key)
        if connection is not None and not connection.is_closing:
            return connection
        if not self._make_room():
            return None
        connection = self._connections[key] = make()
        self._spawn(self._hold, key, connection)
        return connection

    async def _awaited(self, key: Hashable, make: Callable[[], Connection]) -> Connection:
        """The connection of a key, once there is room for it.

        :raises UpstreamUnavailableError: there is none in time.
        """
        with anyio.move_on_after(self._timeout):
            while True:
                await self._freed.wait()
                if (connection := self._found(key, make)) is not None:
                    return connection
        wrong = f"has all of its {self._limit} connections in use, for {self._timeout:g} seconds by now"
        raise UpstreamUnavailableError(self._app_id, wrong)

    def _tell_freed(self) -> None:
        """Let those who wait look whether there is room."""
        self._freed.set()
        self._freed = anyio.Event()

    async def _hold(self, key: Hashable, connection: Connection) -> None:
        self._held.add(connection)
        try:
            await connection.hold()
        finally:
            self._held.discard(connection)
            if self._connections.get(key) is connection:
                del self._connections[key]
            self._tell_freed()

    def _make_room(self) -> bool:
        """Close what nobody uses, if that is needed for one more; whether one more may be made."""
        self._connections = {key: each for key, each in self._connections.items() if not each.is_closing}
        if len(self._connections) < self._limit:
            return True
        idle = [(each.last_used, key) for key, each in self._connections.items() if each.is_idle]
        if not idle:
            return False
        _, oldest = min(idle, key=lambda pair: pair[0])
        self._connections.pop(oldest).close()
        return True

    async def aclose(self) -> None:
        """Close them all, and wait until they have ended."""
        self._connections = {}
        held = list(self._held)
        for connection in held:
            connection.close()
        with anyio.move_on_after(CLOSE_SECONDS):
            for connection in held:
                await connection.ended.wait()
        for connection in held:
            connection.cancel()
