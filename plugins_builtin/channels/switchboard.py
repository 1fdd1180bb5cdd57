"""The channels of one server: events on their way in, and to the clients that subscribed."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
from pydantic import ValidationError
from starlette.routing import BaseRoute, Route

from frontmcp import Caller, RequestContext, Resource
from frontmcp.errors import FrontMcpError, describe
from frontmcp.interfaces import MOST_EVENTS, at_event_depth, event_depth
from plugins_builtin.channels.sources import SOURCE, Replay, Source, WebhookSource, told
from plugins_builtin.channels.webhook import Webhook

logger = logging.getLogger("frontmcp.channels")


class Feed:
    """One channel: its entry, where its events come from, and what became of them."""

    def __init__(self, entry: Any, source: Source, replay: Replay) -> None:
        self.entry = entry
        self.name: str = entry.name
        self.source = source
        self.uri = f"channel://{self.name}"
        self.counts: Counter[str] = Counter(handled=0, skipped=0, failed=0)
        self.events: deque[Mapping[str, Any]] = deque(maxlen=replay.max_events)

    def read(self) -> dict[str, Any]:
        """What a client reads: the last events, and how many were handled, skipped and failed since the start."""
        return {"channel": self.name, "events": list(self.events), **self.counts}


class Switchboard:
    """Tells channels of events, and clients of what channels made of them.

    :ivar problems: everything wrong with the channels, in words.
    """

    def __init__(self, server: Any, entries: Sequence[Any]) -> None:
        self._server = server
        self.problems: list[str] = []
        self._feeds = [feed for entry in entries if (feed := self._feed(entry)) is not None]
        self.problems += _taken_twice(self._feeds)

    def _feed(self, entry: Any) -> Feed | None:
        definition = entry.definition
        try:
            return Feed(
                entry, SOURCE.validate_python(definition.event_source), Replay.model_validate(definition.replay)
            )
        except ValidationError as error:
            what = "replay" if error.title == "Replay" else "source"
            self.problems += [
                f"{definition.place}: {what}{_path(each['loc'])}: {told(each)}"
                for each in error.errors(include_url=False, include_input=False)
            ]
            return None

    def provided(self) -> Iterator[Any]:
        """The resources that clients read and subscribe to, and the tools that come with channels."""
        for feed in self._feeds:
            definition = feed.entry.definition
            about = definition.description or f"Events of the channel {feed.name}"
            resource = Resource(
                feed.uri, name=feed.name, description=about, mime_type="application/json", **definition.events
            )
            resource.bind(feed.read, None)
            yield resource
            yield from definition.tools

    def routes(self) -> list[BaseRoute]:
        """Where webhooks are received."""
        routes: list[BaseRoute] = []
        for feed in self._feeds:
            source = feed.source
            if not isinstance(source, WebhookSource):
                continue
            if source.secret is None:
                logger.warning(
                    "%s: anybody who reaches %s can send it events; give its source a secret",
                    feed.entry.definition.place,
                    source.path,
                )
            handle = partial(self.handle, feed)
            routes.append(Route(source.path, Webhook(feed.name, source, handle, self._server.wire.callers)))
        return routes

    async def emitted(self, event: str, payload: Any) -> None:
        """Tell the channels that want an event of the application, all at once. Their errors stay with them."""
        wanting = [feed for feed in self._feeds if feed.source.wants(feed.name, event, payload)]
        if not wanting:
            return
        depth = event_depth()
        if depth >= MOST_EVENTS:
            logger.error(
                "the event %r is not told to %s: handlers of events, and runs they started, are nested deeper than %d",
                event,
                ", ".join(f'"{feed.name}"' for feed in wanting),
                MOST_EVENTS,
            )
            return
        with at_event_depth(depth + 1):
            async with anyio.create_task_group() as group:
                for feed in wanting:
                    group.start_soon(self._handle_quietly, feed, payload)

    async def _handle_quietly(self, feed: Feed, payload: Any) -> None:
        try:
            await self.handle(feed, payload)
        except FrontMcpError:
            # It is counted and logged already; who emitted the event has nothing to do with it.
            return

    async def handle(self, feed: Feed, payload: Any, request: RequestContext | None = None) -> bool:
        """Let a channel handle an event, and tell clients what it made of it; whether there was anything to tell.

        :param request: what brought the event from outside.
        :raises FrontMcpError: it failed; that is counted and logged.
        """
        try:
            event = await self._called(feed, payload, request)
        except FrontMcpError as error:
            feed.counts["failed"] += 1
            logger.warning('channel "%s" failed: %s', feed.name, describe(error), exc_info=_unexpected(error))
            raise
        if event.content is None:
            feed.counts["skipped"] += 1
            return False
        feed.counts["handled"] += 1
        feed.events.append({"content": event.content, "meta": event.meta})
        await self._server.resource_updated(feed.uri)
        return True

    async def _called(self, feed: Feed, payload: Any, request: RequestContext | None) -> Any:
        arguments = {"payload": payload}
        if request is None:
            return await self._server.call(feed.entry, arguments, origin="channel", caller=Caller.anonymous())
        return await self._server.call(feed.entry, arguments, origin="client", surface="http-trigger", request=request)


def _unexpected(error: FrontMcpError) -> BaseException | None:
    return None if error.public else error


def _path(steps: Sequence[int | str]) -> str:
    return "".join(f".{step}" for step in steps if step != "")


def _taken_twice(feeds: Sequence[Feed]) -> Iterator[str]:
    """Two channels of one name would share a resource, two webhooks of one path a route."""
    taken: dict[str, Feed] = {}
    for feed in feeds:
        keys = [f'the name "{feed.name}"']
        if isinstance(feed.source, WebhookSource):
            keys.append(f'the path "{feed.source.path}"')
        for key in keys:
            if (other := taken.setdefault(key, feed)) is not feed:
                yield f"{feed.entry.definition.place} and {other.entry.definition.place} both have {key}; change one"
