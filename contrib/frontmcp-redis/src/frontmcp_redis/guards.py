"""Rate limits and concurrency slots that all processes share.

Counting is exact by the server's clock. A slot is a lease: its process renews it while the call runs, so that the slot
of a process that was killed comes back when its lease is over.
"""

from __future__ import annotations

import itertools
import math
import random
import secrets
import time
from contextlib import suppress
from typing import Any, Final

import anyio

from frontmcp_redis.connection import TIMEOUT, Connections
from frontmcp_redis.leases import Keeper

HIT: Final = """
local t = redis.call('TIME')
local now, window, limit = t[1] * 1000000 + t[2], tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if redis.call('ZSCORE', KEYS[1], ARGV[3]) then return 0 end
local count = redis.call('ZCARD', KEYS[1])
if count >= limit then
  return redis.call('ZRANGE', KEYS[1], count - limit, count - limit, 'WITHSCORES')[2] + window - now
end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
return 0
"""
"""Counts a token in a sorted set of times, in microseconds of the server's clock; else how long until there is room."""

ACQUIRE: Final = """
local t = redis.call('TIME')
local now, lease = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[3]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + lease, ARGV[3])
redis.call('PEXPIRE', KEYS[1], lease * 2)
return 1
"""
"""Puts a token into a sorted set of leases by their ends, in milliseconds of the server's clock, if there is room."""

PREFIX: Final = "frontmcp:"

POLL: Final = 0.05
"""Seconds between two looks for a slot, give or take a half, so that those who wait don't all look at once."""


class RedisGuardStore:
    """A `frontmcp.interfaces.GuardStore` in Redis.

    :param url: ``redis://``, ``rediss://`` or ``unix://``.
    :param lease: seconds after which the slots of a process that was killed come back.
    """

    shared = True

    def __init__(self, url: str, lease: float = 15.0) -> None:
        self._connections = Connections(url)
        self._lease = lease
        self._keeper = Keeper(self._connections, lease)
        self._tokens = (f"{secrets.token_hex(8)}-{number}" for number in itertools.count())

    async def hit(self, key: str, *, limit: int, window: float) -> float | None:
        microseconds = round(window * 1_000_000)
        wait = await self._run(HIT, f"{PREFIX}{key}", microseconds, limit, next(self._tokens))
        return wait / 1_000_000 if wait else None

    async def acquire(self, key: str, *, limit: int, timeout: float) -> RedisSlot | None:
        slot = RedisSlot(self._connections, self._keeper, f"{PREFIX}{key}", next(self._tokens))
        end = time.monotonic() + timeout
        try:
            while not await self._run(ACQUIRE, slot.key, math.ceil(self._lease * 1000), limit, slot.token):
                left = end - time.monotonic()
                if left <= 0:
                    return None
                await anyio.sleep(min(left, POLL * random.uniform(0.5, 1.5)))
        except BaseException:
            # The answer that it was given may be on its way.
            self._keeper.drop(slot.key, slot.token)
            raise
        self._keeper.hold(slot.key, slot.token)
        return slot

    async def _run(self, script: str, key: str, *arguments: Any) -> Any:
        return await self._connections.client().eval(script, 1, key, *arguments)

    async def aclose(self) -> None:
        self._keeper.stop()
        await self._connections.aclose()


class RedisSlot:
    """A slot of a `RedisGuardStore`.

    :ivar key: where the leases are.
    :ivar token: which of them is this one's.
    """

    def __init__(self, connections: Connections, keeper: Keeper, key: str, token: str) -> None:
        self._connections = connections
        self._keeper = keeper
        self.key = key
        self.token = token

    async def release(self) -> None:
        self._keeper.let_go(self.key, self.token)
        with anyio.move_on_after(TIMEOUT, shield=True):
            with suppress(Exception):
                await self._connections.client().zrem(self.key, self.token)
                return
        # It comes back when the keeper gets through, or when its lease is over.
        self._keeper.drop(self.key, self.token)

    def release_later(self) -> None:
        self._keeper.drop(self.key, self.token)
