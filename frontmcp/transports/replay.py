"""What clients up to 2025-11-25 missed while their stream was broken, kept for when they come back."""

from __future__ import annotations

from collections import deque
from typing import Final

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse

MOST_EVENTS: Final = 256
"""How many messages of a session are kept, the latest."""


class SessionEvents(EventStore):
    """The latest messages of one session, on all its streams."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, str, JSONRPCMessage | None]] = deque(maxlen=MOST_EVENTS)
        self._last = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep a message, or the beginning of a stream; gives the event's id, unique in the session."""
        self._last += 1
        self._events.append((self._last, stream_id, message))
        return str(self._last)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send again what came on a stream after an event of it, up to the answer that ends it.

        :returns: the stream, if more is to come on it.
        """
        stream = next((stream for number, stream, _ in self._events if str(number) == last_event_id), None)
        if stream is None:
            return None
        last = int(last_event_id)
        # More may come while one is sent.
        while (event := self._next(last, stream)) is not None:
            last, message = event
            await send_callback(EventMessage(message, str(last)))
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                return None
        return stream

    def _next(self, last: int, stream: str) -> tuple[int, JSONRPCMessage] | None:
        later = (
            (number, message)
            for number, stream_id, message in self._events
            if number > last and stream_id == stream and message is not None
        )
        return next(later, None)


class ReplayingSessions(StreamableHTTPSessionManager):
    """Sessions that each keep their own messages: the SDK names streams by request ids, which sessions share."""

    @property
    def event_store(self) -> EventStore | None:
        """The store of a session that begins."""
        return SessionEvents()

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:
        """The SDK sets the one it was given, which would be shared."""
