"""Kept results and spent states of questions, where every process finds them."""

from __future__ import annotations

import math
from typing import Final

from frontmcp_redis.connection import Connections

PREFIX: Final = "frontmcp:state:"


class RedisStateStore:
    """A `frontmcp.interfaces.StateStore` in Redis.

    :param url: ``redis://``, ``rediss://`` or ``unix://``.
    """

    def __init__(self, url: str) -> None:
        self._connections = Connections(url)

    async def get(self, key: str) -> bytes | None:
        value = await self._connections.client().get(PREFIX + key)
        return value.encode() if isinstance(value, str) else value

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        await self._connections.client().set(PREFIX + key, value, px=_milliseconds(ttl))

    async def add(self, key: str, value: bytes, *, ttl: float) -> bool:
        added = await self._connections.client().set(PREFIX + key, value, px=_milliseconds(ttl), nx=True)
        return added is not None

    async def delete(self, key: str) -> None:
        await self._connections.client().delete(PREFIX + key)

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._connections.aclose()


def _milliseconds(ttl: float) -> int:
    return max(1, math.ceil(ttl * 1000))
