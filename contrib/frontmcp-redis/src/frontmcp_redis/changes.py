"""Changes of lists and resources, told to the other processes of a server."""

from __future__ import annotations

import logging
import random
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
import redis
import redis.asyncio

from frontmcp.interfaces import EVERYTHING
from frontmcp_redis.connection import TIMEOUT, Connections

logger = logging.getLogger("frontmcp.redis")

CHANNEL: Final = "frontmcp:changes:"
MOST_WAITING: Final = 1000
"""How many changes wait to be told, each once; what would be more is told as `EVERYTHING`."""

QUIET: Final = 10.0
"""Seconds without a message after which Redis is asked whether it is still there."""

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 5.0
"""Seconds between two attempts to connect, give or take a half; doubled from the first to the longest."""


class Waiting:
    """Changes that one task is still to tell, each once."""

    def __init__(self) -> None:
        self._changes: dict[str, None] = {}
        self._added: anyio.Event | None = None

    def __len__(self) -> int:
        return len(self._changes)

    def add(self, change: str) -> None:
        """Tell this too."""
        if EVERYTHING in self._changes:
            return
        if len(self._changes) >= MOST_WAITING and change not in self._changes:
            change = EVERYTHING
        if change == EVERYTHING:
            self._changes.clear()
        self._changes[change] = None
        if self._added is not None:
            self._added.set()

    async def next(self) -> str:
        """What has waited longest; waits until there is something."""
        while not self._changes:
            self._added = anyio.Event()
            await self._added.wait()
        change = next(iter(self._changes))
        del self._changes[change]
        return change


class Outage:
    """What is said while Redis is away, and how long to wait before the next attempt."""

    def __init__(self) -> None:
        self._is_told = False
        self._wait = FIRST_WAIT

    def noticed(self, error: BaseException) -> None:
        """Redis does not answer."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if not self._is_told:
            self._is_told = True
            logger.warning("changes are not passed on between processes: %s", type(error).__name__)

    def ended(self) -> None:
        """It does."""
        if self._is_told:
            logger.info("changes are passed on between processes again")
        self._is_told = False
        self._wait = FIRST_WAIT

    async def wait(self) -> None:
        """Leave it alone for a while, a longer one each time."""
        await anyio.sleep(self._wait * random.uniform(0.5, 1.5))
        self._wait = min(self._wait * 2, LONGEST_WAIT)


class RedisChangeBus:
    """A `frontmcp.interfaces.ChangeBus` over a channel of Redis.

    Redis keeps nothing for those who are away. So whenever a connection is made, the clients of this process are told
    that everything may have changed.

    :param url: ``redis://``, ``rediss://`` or ``unix://``.
    :param name: the server's, which its processes share.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._channel = f"{CHANNEL}{name}"
        self._own = secrets.token_hex(8)
        self._outgoing = Waiting()

    async def publish(self, change: str) -> None:
        self._outgoing.add(change)

    async def run(self, heard: Callable[[str], Awaitable[None]]) -> None:
        incoming, outage = Waiting(), Outage()
        async with anyio.create_task_group() as group:
            group.start_soon(_tell, incoming, heard)
            while True:
                try:
                    await self._connected(incoming, outage)
                except* (redis.RedisError, OSError) as lost:
                    outage.noticed(lost)
                await outage.wait()

    async def _connected(self, incoming: Waiting, outage: Outage) -> None:
        """Send and hear until the connection is lost, which raises."""
        # No retries: a connection that is made anew in silence would hide that changes were missed.
        connections = Connections(self._url, retries=0)
        client = connections.client()
        try:
            async with client.pubsub() as subscription:
                await subscription.subscribe(self._channel)
                await _answer(subscription, "subscribe")
                outage.ended()
                incoming.add(EVERYTHING)
                async with anyio.create_task_group() as group:
                    group.start_soon(self._send, client)
                    await self._hear(subscription, incoming)
        finally:
            with anyio.move_on_after(TIMEOUT, shield=True):
                await connections.aclose()

    async def _send(self, client: redis.asyncio.Redis) -> None:
        while True:
            change = await self._outgoing.next()
            try:
                await client.publish(self._channel, f"{self._own} {change}")
            except BaseException:
                self._outgoing.add(change)
                raise

    async def _hear(self, subscription: Any, incoming: Waiting) -> None:
        while True:
            message = await subscription.get_message(timeout=QUIET)
            if message is None:
                await subscription.ping()
                message = await _answer(subscription, "pong", "message")
            if message["type"] == "message":
                sender, _, change = message["data"].decode(errors="replace").partition(" ")
                if sender != self._own:
                    incoming.add(change)


async def _answer(subscription: Any, *types: str) -> Any:
    message = await subscription.get_message(timeout=TIMEOUT)
    if message is None or message["type"] not in types:
        raise redis.TimeoutError("Redis does not answer")
    return message


async def _tell(incoming: Waiting, heard: Callable[[str], Awaitable[None]]) -> None:
    while True:
        change = await incoming.next()
        try:
            await heard(change)
        except Exception:
            logger.exception("a change of another process could not be told")
