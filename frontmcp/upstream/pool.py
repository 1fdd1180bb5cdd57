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
    :param timeout: seconds that opening one may take.
    :param spawn: begins a task that nobody waits for.
    """

    def __init__(self, app_id: str, *, limit: int, timeout: float, spawn: Callable[..., None]) -> None:
        self._app_id = app_id
        self._limit = limit
        self._timeout = timeout
        self._spawn = spawn
        self._connections: dict[Hashable, Connection] = {}
        self._held: set[Connection] = set()

    def __len__(self) -> int:
        return len(self._connections)

    @asynccontextmanager
    async def lease(self, key: Hashable, make: Callable[[], Connection]) -> AsyncIterator[Connection]:
        """The open connection of a key, made where there is none; it is not closed for want of use inside.

        :raises UpstreamUnavailableError: all are in use.
        :raises Exception: it can't be opened.
        """
        connection = self._connections.get(key)
        if connection is None or connection.is_closing:
            self._make_room()
            connection = self._connections[key] = make()
            self._spawn(self._hold, key, connection)
        with connection.used():
            await connection.opened(self._timeout)
            yield connection

    async def _hold(self, key: Hashable, connection: Connection) -> None:
        self._held.add(connection)
        try:
            await connection.hold()
        finally:
            self._held.discard(connection)
            if self._connections.get(key) is connection:
                del self._connections[key]

    def _make_room(self) -> None:
        self._connections = {key: each for key, each in self._connections.items() if not each.is_closing}
        if len(self._connections) < self._limit:
            return
        idle = [(each.last_used, key) for key, each in self._connections.items() if each.is_idle]
        if not idle:
            raise UpstreamUnavailableError(self._app_id, f"has all of its {self._limit} connections in use")
        _, oldest = min(idle, key=lambda pair: pair[0])
        self._connections.pop(oldest).close()

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
