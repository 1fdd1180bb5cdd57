"""Changes on their way to clients: lists that changed, and resources they subscribed to, in both protocol eras."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from frontmcp.call import EVERYTHING

TELL_SECONDS: Final = 5.0
"""How long a client may take to be told."""

PASSED_OVER_SECONDS: Final = 60.0
"""How long a client that took longer is told nothing."""

MOST_SUBSCRIPTIONS: Final = 1000
"""How many resources one session, or one stream, may subscribe to."""

EVENTS: Final[Mapping[str, ServerEvent]] = {
    "tools": ToolsListChanged(),
    "resources": ResourcesListChanged(),
    "prompts": PromptsListChanged(),
}
OLDER: Final[Mapping[str, Callable[[Connection], Awaitable[None]]]] = {
    "tools": lambda session: session.send_tool_list_changed(),
    "resources": lambda session: session.send_resource_list_changed(),
    "prompts": lambda session: session.send_prompt_list_changed(),
}


class Changes:
    """Who is told of changes: open streams (2026-07-28 on), and sessions of older clients.

    :ivar listen: serves ``subscriptions/listen``.
    :ivar sessions: those of older clients, with the URIs they subscribed to.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        self.sessions: dict[Connection, set[str]] = {}
        self._subscribers: dict[str, set[Connection]] = {}
        self._listened: Counter[str] = Counter()
        self._passed_over: dict[Connection, float] = {}

    def track(self, session: Connection) -> None:
        """Remember a session that can be told of changes, until it ends."""
        if session not in self.sessions and session.has_standalone_channel:
            self.sessions[session] = set()
            session.exit_stack.callback(self._forget, session)

    def _forget(self, session: Connection) -> None:
        self._passed_over.pop(session, None)
        for uri in self.sessions.pop(session, ()):
            self._drop(session, uri)

    def _drop(self, session: Connection, uri: str) -> None:
        subscribers = self._subscribers[uri]
        subscribers.discard(session)
        if not subscribers:
            del self._subscribers[uri]

    def subscribe(self, session: Connection, uri: str) -> None:
        """Tell a session of changes of a resource; one that can't be told anything is left as it is.

        :raises MCPError: it subscribed to too many.
        """
        subscribed = self.sessions.get(session)
        if subscribed is None:
            return
        if len(subscribed) >= MOST_SUBSCRIPTIONS and uri not in subscribed:
            raise MCPError(types.INVALID_REQUEST, f"A session may subscribe to {MOST_SUBSCRIPTIONS} resources")
        subscribed.add(uri)
        self._subscribers.setdefault(uri, set()).add(session)

    def unsubscribe(self, session: Connection, uri: str) -> None:
        """Tell a session no more of changes of a resource."""
        subscribed = self.sessions.get(session, set())
        if uri in subscribed:
            subscribed.discard(uri)
            self._drop(session, uri)

    @contextmanager
    def listening(self, uris: Iterable[str]) -> Iterator[None]:
        """A stream that subscribed to resources is open while the block runs."""
        listened = list(uris)
        self._listened.update(listened)
        try:
            yield
        finally:
            self._listened.subtract(listened)
            self._listened = +self._listened

    async def publish(self, what: str) -> None:
        """Tell of a change.

        :param what: ``"tools"``, ``"resources"``, ``"prompts"``, ``"resource <uri>"``, or `EVERYTHING`.
        """
        async with anyio.create_task_group() as group:
            for change in self._changes() if what == EVERYTHING else (what,):
                uri = change.removeprefix("resource ") if change.startswith("resource ") else None
                await self._bus.publish(EVENTS[change] if uri is None else ResourceUpdated(uri))
                for session in list(self.sessions if uri is None else self._subscribers.get(uri, ())):
                    group.start_soon(self._tell, session, change, uri)

    async def _tell(self, session: Connection, what: str, uri: str | None) -> None:
        # A client that opened a stream and does not read it must hold up neither the others nor who tells of changes.
        if self._passed_over.get(session, 0) > anyio.current_time():
            return
        with anyio.move_on_after(TELL_SECONDS) as telling:
            await (OLDER[what](session) if uri is None else session.send_resource_updated(uri))
        if telling.cancelled_caught and session in self.sessions:
            self._passed_over[session] = anyio.current_time() + PASSED_OVER_SECONDS

    def _changes(self) -> list[str]:
        """Everything that somebody waits to hear of."""
        return [*EVENTS, *(f"resource {uri}" for uri in {*self._subscribers, *self._listened})]


def admitted(params: types.SubscriptionsListenRequestParams, uris: list[str]) -> Any:
    """What a client asked to hear, with the resources that it may hear of."""
    wanted = params.notifications.model_copy(update={"resource_subscriptions": uris or None})
    return params.model_copy(update={"notifications": wanted})
