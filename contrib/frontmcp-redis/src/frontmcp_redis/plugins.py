"""The plugins: for limits, which need `guards`; for questions; for changes."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import sniffio
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from frontmcp import ConfigurationError, Option, Plugin, hookimpl
from frontmcp_redis.changes import RedisChangeBus
from frontmcp_redis.connection import check_url, is_redis
from frontmcp_redis.guards import RedisGuardStore
from frontmcp_redis.states import RedisStateStore

RedisUrl: TypeAlias = Annotated[str, AfterValidator(check_url)]


class _Store(BaseModel):
    """The dict that a store of limits may be given as."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    url: RedisUrl
    lease: float = Field(15, gt=0, allow_inf_nan=False)


def _problem(error: Any) -> str:
    return f"{error['loc'][0]}: {error['msg'].removeprefix('Value error, ')}"


def _need_asyncio(option: str) -> None:
    if sniffio.current_async_library() != "asyncio":
        raise ConfigurationError(f"{option}: frontmcp-redis runs on asyncio only: start the server on it")


class RedisGuards(Plugin):
    """Makes the store of ``throttle={"store": "redis://…"}``.

    A dict ``{"url": "redis://…", "lease": 15}`` says how many seconds the slots of a killed process are held.
    """

    name = "redis.guards"
    requires = ("guards",)

    def __init__(self) -> None:
        self._made = False

    @hookimpl
    def guard_store(self, config: Any) -> RedisGuardStore | None:
        given = {"url": config} if isinstance(config, str) else config
        if not isinstance(given, dict) or not is_redis(given.get("url")):
            return None
        try:
            store = _Store.model_validate(given)
        except ValidationError as error:
            raise ConfigurationError([f"throttle: store: {_problem(each)}" for each in error.errors()]) from None
        self._made = True
        return RedisGuardStore(store.url, store.lease)

    @hookimpl
    async def server_started(self) -> None:
        if self._made:
            _need_asyncio("throttle: store")


class RedisStates(Plugin):
    """Makes the store of ``state_store="redis://…"``."""

    name = "redis"
    options = (Option("state_store", RedisUrl, server=True),)

    def __init__(self) -> None:
        self._store: RedisStateStore | None = None

    @hookimpl
    def state_store(self, config: Any) -> RedisStateStore | None:
        if is_redis(config):
            self._store = RedisStateStore(config)
        return self._store

    @hookimpl
    async def server_started(self, server: Any) -> None:
        if is_redis(server.options.get("state_store")):
            _need_asyncio("state_store")

    @hookimpl
    async def server_stopping(self, server: Any) -> None:
        if self._store is not None:
            await self._store.aclose()


class RedisChanges(Plugin):
    """Makes the bus of ``change_bus="redis://…"``."""

    name = "redis.changes"
    options = (Option("change_bus", RedisUrl, server=True),)

    @hookimpl
    def change_bus(self, config: Any, server: Any) -> RedisChangeBus | None:
        if not is_redis(config):
            return None
        _need_asyncio("change_bus")
        return RedisChangeBus(config, server.name)
