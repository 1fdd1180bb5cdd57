"""The two plugins: one for limits, which needs `guards`, and one for questions, which doesn't."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from frontmcp import Option, Plugin, hookimpl
from frontmcp_redis.connection import is_redis
from frontmcp_redis.guards import RedisGuardStore
from frontmcp_redis.states import RedisStateStore


def _redis_url(url: str) -> str:
    if not is_redis(url):
        raise ValueError("not the URL of a Redis server")
    return url


class RedisGuards(Plugin):
    """Makes the store of ``throttle={"store": "redis://…"}``.

    A dict ``{"url": "redis://…", "lease": 15}`` says how many seconds the slots of a killed process are held.
    """

    name = "redis.guards"
    requires = ("guards",)

    @hookimpl
    def guard_store(self, config: Any) -> RedisGuardStore | None:
        if isinstance(config, dict) and is_redis(config.get("url")):
            return RedisGuardStore(**config)
        return RedisGuardStore(config) if is_redis(config) else None


class RedisStates(Plugin):
    """Makes the store of ``state_store="redis://…"``."""

    name = "redis"
    options = (Option("state_store", Annotated[str, AfterValidator(_redis_url)], server=True),)

    def __init__(self) -> None:
        self._store: RedisStateStore | None = None

    @hookimpl
    def state_store(self, config: Any) -> RedisStateStore | None:
        if is_redis(config):
            self._store = RedisStateStore(config)
        return self._store

    @hookimpl
    async def server_stopping(self, server: Any) -> None:
        if self._store is not None:
            await self._store.aclose()
