"""MCP over the process's stdin and stdout."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, Self

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCNotification

from frontmcp.threads import leave
from frontmcp.transports.listing import warn_of_missing_descriptions

logger = logging.getLogger("frontmcp.server")


def run_stdio(served: Any) -> None:
    """Serve until the client closes stdin, or until SIGINT or SIGTERM.

    :raises ConfigurationError: the server can't start.
    """
    served.check()
    warn_of_missing_descriptions(served.pipeline.registry)
    _warn_of_routes(served)
    served.wire.requests.transport = "stdio"
    anyio.run(_serve, served)


def _warn_of_routes(served: Any) -> None:
    """Tell of what plugins serve over HTTP alone, such as webhooks."""
    routes = [route for routes in served.hooks.call("provide_routes", served) for route in routes]
    if paths := [route.path for route in routes if hasattr(route, "path")]:
        logger.warning("over stdio nobody reaches %s: serve over HTTP for that", ", ".join(paths))


async def _serve(served: Any) -> None:
    async with anyio.create_task_group() as group, stdio_server() as (read, write):
        with anyio.CancelScope() as serving:
            group.start_soon(_stop_on_signal, serving.cancel)
            try:
                with served.lifetime.when_broken(serving.cancel):
                    await _run(served.wire.server, read, write)
            except Exception:
                if not serving.cancel_called:
                    raise
                logger.exception("the server ended badly")
                leave(1)
        if serving.cancelled_caught or served.threads.orphans:
            leave(0)
        group.cancel_scope.cancel()


async def _run(server: Server[Any], read: Any, write: Any) -> None:
    with _prints_on_stderr():
        await server.run(Answering(read, write), write, server.create_initialization_options())


@contextmanager
def _prints_on_stderr() -> Iterator[None]:
    """Let what is printed be seen at once, and leave none of it in a buffer that the client would get at the end."""
    stdout = sys.stdout
    stdout.flush()
    with redirect_stdout(sys.stderr):
        try:
            yield
        finally:
            stdout.flush()


class Answering:
    """The stream of messages from stdin, where a line that is no message gets an error instead of silence.

    The SDK takes a request for a notification where its id can't be one, such as 1.5.
    """

    def __init__(self, read: Any, write: Any) -> None:
        self._read = read
        self._write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    async def receive(self) -> Any:
        while True:
            item = await self._read.receive()
            error = _what_is_wrong(item)
            if error is None:
                return item
            await self._write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        await self._read.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._read.__aexit__(*exc)


def _what_is_wrong(item: SessionMessage | Exception) -> ErrorData | None:
    if isinstance(item, Exception):
        return ErrorData(code=PARSE_ERROR, message="Parse error: the line is no JSON-RPC message")
    message = item.message
    if isinstance(message, JSONRPCNotification) and not message.method.startswith("notifications/"):
        return ErrorData(code=INVALID_REQUEST, message="Invalid request: its id is neither text nor integer")
    return None


async def _stop_on_signal(stop: Callable[[], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            stop()
            return
