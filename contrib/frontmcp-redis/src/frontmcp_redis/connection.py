"""Connections that fail soon: who waits for Redis is a client whose call has not begun."""

from __future__ import annotations

import asyncio
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

SCHEMES = ("redis", "rediss", "unix")
TIMEOUT = 2.0
"""Seconds for a connection, and for an answer."""

CONNECTIONS = 32
"""How many one process has at most in its event loop."""


def is_redis(url: Any) -> bool:
    """Whether this is the URL of a Redis server."""
    return isinstance(url, str) and url.partition("://")[0] in SCHEMES


def check_url(url: str) -> str:
    """The URL, where it can be read.

    :raises ValueError: it can't; without what it holds, as a password that is not quoted ends up anywhere in it.
    """
    if not is_redis(url):
        raise ValueError("not the URL of a Redis server")
    try:
        parse_url(url)  # type: ignore[no-untyped-call]
    except ValueError:
        raise ValueError(
            "not a URL such as redis://user:password@host:6379/0; in a password, a / or : is percent-encoded"
        ) from None
    return url


class Connections:
    """The connections to one server: for the running event loop, and for threads.

    What is sent twice because a connection broke must do no harm: commands carry tokens of their own.

    :param retries: how often a command is sent again in a loop's connections.
    """

    def __init__(self, url: str, retries: int = 1) -> None:
        self._url = check_url(url)
        self._retries = retries
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: redis.asyncio.Redis | None = None

    def client(self) -> redis.asyncio.Redis:
        """The client of the running event loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            # Who finds every connection busy waits for one, where another pool would fail.
            retry = AsyncRetry(NoBackoff(), self._retries)
            pool = redis.asyncio.BlockingConnectionPool.from_url(
                self._url, max_connections=CONNECTIONS, timeout=TIMEOUT, retry=retry, **_timeouts()
            )
            self._client = redis.asyncio.Redis.from_pool(pool)
        return self._client

    def sync_client(self) -> redis.Redis:
        """A client for a thread."""
        return redis.Redis.from_url(self._url, retry=Retry(NoBackoff(), 1), **_timeouts())

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _timeouts() -> dict[str, Any]:
    return {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
