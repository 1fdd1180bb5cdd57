"""A client's streams with a test's ear on them: what arrives is written down in order, before anybody reacts to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from frontmcp.transports.memory import Streams


@asynccontextmanager
async def tapped(
    streams: AbstractAsyncContextManager[Streams], era: str, seen: list[JSONRPCNotification]
) -> AsyncIterator[Streams]:
    """The streams of a connection that is opened for a client of protocol version ``era``.

    :param seen: gets every notification.
    """
    async with streams as (reading, writing):
        yield _Listening(reading, seen), _Speaking(writing, era)


class _Stream:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


class _Listening(_Stream):
    def __init__(self, inner: Any, seen: list[JSONRPCNotification]) -> None:
        super().__init__(inner)
        self._seen = seen

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._inner.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCNotification):
            self._seen.append(item.message)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Speaking(_Stream):
    """The SDK's client offers the newest version of the older era only; this one offers the test's."""

    def __init__(self, inner: Any, era: str) -> None:
        super().__init__(inner)
        self._era = era

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCRequest) and message.method == "initialize":
            params = {**(message.params or {}), "protocolVersion": self._era}
            item = SessionMessage(message.model_copy(update={"params": params}), item.metadata)
        await self._inner.send(item)
