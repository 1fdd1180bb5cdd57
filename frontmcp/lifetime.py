"""What lives while a server runs: its lifespan and providers, tasks in the background, what plugins start and stop."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from frontmcp.background import Background, Life
from frontmcp.changes import ChangeFeed
from frontmcp.definitions.app import App
from frontmcp.errors import describe, unwrap_group
from frontmcp.providers import Providers

if TYPE_CHECKING:
    from frontmcp.plugins import PluginManager
    from frontmcp.upstream.upstream import Served as Upstreaming

    class Served(Upstreaming, Protocol):
        """What this needs of a server."""

        @property
        def has_other_servers(self) -> bool: ...
        @property
        def options(self) -> dict[str, Any]: ...
        @property
        def hooks(self) -> PluginManager: ...


logger = logging.getLogger("frontmcp.server")


class Lifetime:
    """Begins with the first who uses a server, and ends with the last.

    :param apps: those that stand for other servers are found inside.
    :ivar background: tasks beside what is served.
    """

    def __init__(self, served: Served, providers: Providers, changes: ChangeFeed, apps: Iterable[App]) -> None:
        self._served = served
        self._providers = providers
        self._changes = changes
        self._apps = apps
        self.background = Background()
        self._life = Life(self._living, self._broke)
        self._stops: list[Callable[[], None]] = []

    @property
    def is_used(self) -> bool:
        """Whether it goes on, or is about to."""
        return self._life.is_used

    @property
    def has_begun(self) -> bool:
        """Whether the server is started."""
        return self._life.has_begun

    def used(self) -> AbstractAsyncContextManager[None]:
        """The server is started inside. May be nested."""
        return self._life.used()

    @contextmanager
    def when_broken(self, stop: Callable[[], None]) -> Iterator[None]:
        """``stop`` is called when the lifespan fails while the block runs."""
        self._stops.append(stop)
        try:
            yield
        finally:
            self._stops.remove(stop)

    @asynccontextmanager
    async def _living(self) -> AsyncIterator[None]:
        async with self._providers.running(self._served), self.background.running(), AsyncExitStack() as stack:
            if self._served.has_other_servers:
                from frontmcp.upstream import running

                await stack.enter_async_context(running(self._served, self._apps))
            await self._call("server_started")
            self._changes.bus = bus = self._served.hooks.call(
                "change_bus", self._served.options.get("change_bus"), self._served
            )
            if bus is not None:
                self.background.spawn(bus.run, self._changes.hear)
            try:
                yield
            finally:
                self._changes.bus = None
                with anyio.CancelScope(shield=True):
                    await self._call("server_stopping")

    async def _call(self, hook: str) -> None:
        if (chain := self._served.hooks.chain(hook)) is not None:
            await chain(self._served)

    def _broke(self, error: BaseException) -> None:
        """The lifespan, or a task of it, has failed: nothing of the server can be relied on any more."""
        logger.error("the server stops, because its lifespan failed: %s", describe(unwrap_group(error)))
        for stop in self._stops:
            stop()
