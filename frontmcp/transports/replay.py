"""What clients up to 2025-11-25 missed while their stream was broken, kept for when they come back."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse

MOST_EVENTS: Final = 256
"""How many messages of a session are kept, the latest."""

MOST_BYTES: Final = 4 * 1024 * 1024
"""How large they may be together; the latest is kept in any case."""


class Kept(NamedTuple):
    """A message on a stream.

    :ivar number: the event's id.
    :ivar message: None for the beginning of a stream.
    """

    number: int
    stream: str
    message: JSONRPCMessage | None
    size: int


class SessionEvents(EventStore):
    """The latest messages of one session, on all its streams."""

    def __init__(self) -> None:
        self._kept: deque[Kept] = deque()
        self._last = 0
        self._bytes = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep a message, or the beginning of a stream; gives the event's id, unique in the session."""
        self._last += 1
        size = 0 if message is None else len(message.model_dump_json())
        self._kept.append(Kept(self._last, stream_id, message, size))
        self._bytes += size
        while len(self._kept) > 1 and (len(self._kept) > MOST_EVENTS or self._bytes > MOST_BYTES):
            self._bytes -= self._kept.popleft().size
        return str(self._last)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send again what came on a stream after an event of it, up to the answer that ends it.

        :returns: the stream, if more is to come on it.
        """
        last = next((each for each in self._kept if str(each.number) == last_event_id), None)
        if last is None:
            return None
        # More may come while one is sent.
        while (kept := self._next(last)) is not None:
            assert kept.message is not None
            await send_callback(EventMessage(kept.message, str(kept.number)))
            if isinstance(kept.message, JSONRPCResponse | JSONRPCError) and kept.message.id is not None:
                return None
            last = kept
        return last.stream

    def _next(self, last: Kept) -> Kept | None:
        later = (each for each in self._kept if each.number > last.number and each.stream == last.stream)
        return next((each for each in later if each.message is not None), None)


class ReplayingSessions(StreamableHTTPSessionManager):
    """Sessions that each keep their own messages: the SDK names streams by request ids, which sessions share."""

    @property
    def event_store(self) -> EventStore | None:
        """The store of a session that begins."""
        return SessionEvents()

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:
        """The SDK sets the one it was given, which would be shared."""
