"""Requests of sessions up to 2025-11-25 that are under way, so that no two with one id are mixed up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio

from frontmcp.transports.sdk import Ctx, connection_of

TIDY_SECONDS: Final = 5.0
"""How long an id may take to be free once its request was answered."""


class _Flight:
    """One request of an older session: on a connection, and in a handler once that has begun."""

    def __init__(self) -> None:
        self.connected = True
        self.running = False
        self.answered = False
        self.handed_over = anyio.Event()
        self.over = anyio.Event()


class InFlight:
    """Which requests of older sessions are on their way, from the arrival of the id until it can't be mixed up.

    A request is over when its connection is done *and* its handler does not run: on a session whose stream was
    dropped the handler runs on, and after an answer the SDK still tidies up. Ids that are written alike are one: the
    SDK mixes up ``1`` and ``"1"``.

    :ivar connections: how many wait for the answer to a request of an older protocol version.
    """

    def __init__(self) -> None:
        self.connections = 0
        self._flights: dict[tuple[str, str], _Flight] = {}
        self._notifications: dict[str, set[anyio.Event]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """A connection waits for an answer while the block runs."""
        self.connections += 1
        try:
            yield
        finally:
            self.connections -= 1

    @contextmanager
    def notifying(self, session: str) -> Iterator[None]:
        """A notification or an answer is handed to the session while the block runs."""
        handed_over = anyio.Event()
        notifications = self._notifications.setdefault(session, set())
        notifications.add(handed_over)
        try:
            yield
        finally:
            handed_over.set()
            notifications.discard(handed_over)
            if not notifications:
                self._notifications.pop(session, None)

    async def all_handed_over(self, session: str) -> None:
        """Wait until the session has what arrived for it: the SDK fails at what it has to hand to one that ended."""
        with anyio.move_on_after(TIDY_SECONDS):
            while arrived := self._arrived(session):
                await arrived.wait()

    def _arrived(self, session: str) -> anyio.Event | None:
        """What is set once the session has a message that waits for it."""
        requests = [flight.handed_over for (of, _), flight in self._flights.items() if of == session]
        arrived: Iterable[anyio.Event] = (*requests, *self._notifications.get(session, ()))
        return next((message for message in arrived if not message.is_set()), None)

    async def arrive(self, session: str, request_id: Any) -> bool:
        """Whether the id is free, or soon will be; then it is taken."""
        key = (session, str(request_id))
        earlier = self._flights.get(key)
        if earlier is not None and earlier.answered:
            with anyio.move_on_after(TIDY_SECONDS):
                await earlier.over.wait()
        if key in self._flights:
            return False
        self._flights[key] = _Flight()
        return True

    def leave(self, session: str, request_id: Any) -> None:
        """The connection is done with the request."""
        key = (session, str(request_id))
        self._flights[key].connected = False
        self._flights[key].handed_over.set()
        self._tidy(key)

    async def __call__(self, ctx: Ctx, call_next: Any) -> Any:
        """The SDK's middleware around every handler."""
        key = (connection_of(ctx).session_id or "", str(ctx.request_id))
        flight = self._flights.get(key)
        if flight is None:
            return await call_next(ctx)
        flight.running = True
        flight.handed_over.set()
        try:
            return await call_next(ctx)
        finally:
            flight.running, flight.answered = False, True
            self._tidy(key)

    def _tidy(self, key: tuple[str, str]) -> None:
        flight = self._flights.get(key)
        if flight is not None and not flight.connected and not flight.running:
            del self._flights[key]
            flight.over.set()
