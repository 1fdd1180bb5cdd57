"""MCP over the process's stdin and stdout."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, redirect_stdout
from typing import Any, Final, NoReturn, Self

import anyio
import anyio.lowlevel
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCNotification

from frontmcp.errors import ConfigurationError
from frontmcp.threads import leave
from frontmcp.transports.listing import warn_of_missing_descriptions

logger = logging.getLogger("frontmcp.server")

GONE: Final = "the client is gone: nobody reads stdout any more"


def run_stdio(served: Any) -> None:
    """Serve until the client closes stdin, or until SIGINT or SIGTERM.

    :raises ConfigurationError: the server can't start, or has no stdin or stdout.
    """
    served.check()
    if sys.stdin is None or sys.stdout is None:
        raise ConfigurationError("stdin or stdout is closed, and stdio needs both; without them, serve over HTTP")
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
    async with anyio.create_task_group() as group, AsyncExitStack() as life:
        with anyio.CancelScope() as serving, served.lifetime.when_broken(serving.cancel):
            group.start_soon(_stop_on_signal, serving.cancel)
            # Before stdin is read, so that a start that fails has no thread to wait for.
            with _apart(), _prints_on_stderr():
                await life.enter_async_context(served.running())
            await _exchange(served.wire.server, life.pop_all(), serving)
        if served.threads.orphans:
            leave(0)
        group.cancel_scope.cancel()


async def _exchange(server: Server[Any], life: AsyncExitStack, serving: anyio.CancelScope) -> None:
    """Let the server and its client exchange messages, and stop the server while stdout is still kept clean.

    :param life: left once no more is exchanged.
    """
    ended_well = False
    try:
        async with stdio_server() as (read, write):
            reading = Answering(read, write)
            try:
                with _prints_on_stderr():
                    async with life:
                        await server.run(reading, write, server.create_initialization_options())
                ended_well = True
                await anyio.lowlevel.checkpoint()
            except BaseException as error:
                if not reading.has_ended:
                    _leave_the_reader(error, serving)
                raise
    except* BrokenPipeError:
        if not ended_well:
            raise
        logger.warning(GONE)


def _leave_the_reader(error: BaseException, serving: anyio.CancelScope) -> NoReturn:
    """End the process, though a thread still waits for stdin."""
    if not isinstance(error, anyio.get_cancelled_exc_class()):
        logger.error("the server ended badly", exc_info=error)
        leave(1)
    if not serving.cancel_called:
        logger.warning(GONE)
    leave(0)


@contextmanager
def _apart() -> Iterator[None]:
    """Keep stdin and stdout from what is started, as the SDK does once it has them."""
    kept = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing if sys.stderr is None else 2, 1)
    try:
        yield
    finally:
        for descriptor, copy in enumerate(kept):
            os.dup2(copy, descriptor)
            os.close(copy)
        os.close(nothing)


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

    :ivar has_ended: the client has closed stdin.
    """

    has_ended = False

    def __init__(self, read: Any, write: Any) -> None:
        self._read = read
        self._write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    async def receive(self) -> Any:
        while True:
            try:
                item = await self._read.receive()
            except anyio.EndOfStream:
                self.has_ended = True
                raise
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
    if threading.current_thread() is not threading.main_thread():
        return  # Signals reach the main thread alone.
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            stop()
            break
    # Who interrupts again does not want to wait. A traceback would: for the thread that reads stdin.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
