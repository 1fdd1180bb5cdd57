"""The roads a test client can take to a server: which protocol version, over which transport."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import IO, Any, Final, TypeAlias

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from frontmcp.server import FrontMcp
from frontmcp.testing.users import HEADER
from frontmcp.transports.http import serving
from frontmcp.transports.memory import Streams, memory_transport
from frontmcp.transports.stdio import Answering

ERAS: Final = tuple(reversed(KNOWN_PROTOCOL_VERSIONS))
"""The protocol versions a client can speak, newest first."""

TRANSPORTS: Final = ("memory", "stdio", "http")

Connect: TypeAlias = Callable[[str], AbstractAsyncContextManager[Streams]]
"""Opens a connection as the test user of a ticket; ``""`` for nobody in particular."""


@dataclass(frozen=True, slots=True)
class Road:
    """One way from a client to a server.

    :param era: the protocol version; one of `ERAS`.
    :param transport: one of `TRANSPORTS`.
    :raises ValueError: there is no such road.
    """

    era: str = ERAS[0]
    transport: str = "memory"

    def __post_init__(self) -> None:
        for name, value, known in (("era", self.era, ERAS), ("transport", self.transport, TRANSPORTS)):
            if value not in known:
                raise ValueError(f"there is no {name} {value!r}; use one of {', '.join(known)}")

    def __str__(self) -> str:
        return f"{self.era}-{self.transport}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where clients of one server connect.

    :param url: of the MCP endpoint over HTTP; None elsewhere.
    """

    connect: Connect
    url: str | None = None


@asynccontextmanager
async def served(server: FrontMcp, transport: str) -> AsyncIterator[Endpoint]:
    """Start a server, in the environment "development" unless it says otherwise, for clients of one transport."""
    requests = server.wire.requests
    before, requests.transport = requests.transport, transport
    try:
        async with server.running(), _ROADS[transport](server) as endpoint:
            yield endpoint
    finally:
        requests.transport = before


@asynccontextmanager
async def _memory(server: FrontMcp) -> AsyncIterator[Endpoint]:
    yield Endpoint(lambda user: memory_transport(server.lowlevel))


@asynccontextmanager
async def _stdio(server: FrontMcp) -> AsyncIterator[Endpoint]:
    yield Endpoint(lambda user: pipe_transport(server.lowlevel))


@asynccontextmanager
async def pipe_transport(server: Server[Any]) -> AsyncIterator[Streams]:
    """A client's two streams to a server that runs in this process, as `run("stdio")` would, over two OS pipes."""
    outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](0), _Pipe()
    incoming, to_client = anyio.create_memory_object_stream[SessionMessage | Exception](0), _Pipe()
    async with anyio.create_task_group() as group:
        group.start_soon(_serve_pipes, server, to_server.reader, to_client.writer)
        group.start_soon(_write_lines, outgoing[1], to_server.writer)
        group.start_soon(_read_lines, to_client.reader, incoming[0])
        try:
            yield incoming[1], outgoing[0]
        finally:
            outgoing[0].close()
            incoming[1].close()


class _Pipe:
    def __init__(self) -> None:
        reader, writer = os.pipe()
        self.reader: IO[str] = os.fdopen(reader, encoding="utf-8")
        self.writer: IO[str] = os.fdopen(writer, "w", encoding="utf-8")


async def _serve_pipes(server: Server[Any], reader: IO[str], writer: IO[str]) -> None:
    with reader, writer:
        async with stdio_server(anyio.wrap_file(reader), anyio.wrap_file(writer)) as (read, write):
            await server.run(Answering(read, write), write, server.create_initialization_options())


async def _write_lines(messages: Any, writer: IO[str]) -> None:
    with writer, messages, contextlib.suppress(BrokenPipeError):
        file = anyio.wrap_file(writer)
        async for each in messages:
            await file.write(each.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
            await file.flush()


async def _read_lines(reader: IO[str], messages: Any) -> None:
    with reader, messages, contextlib.suppress(anyio.BrokenResourceError):
        async for line in anyio.wrap_file(reader):
            await messages.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))


@asynccontextmanager
async def _http(server: FrontMcp) -> AsyncIterator[Endpoint]:
    options = server.http_options(host="127.0.0.1", port=0, allowed_hosts=["127.0.0.1:*"])
    async with serving(server, options) as url:
        yield Endpoint(lambda user: _http_transport(url, user), url)


@asynccontextmanager
async def _http_transport(url: str, user: str) -> AsyncIterator[Streams]:
    headers = {HEADER: user} if user else {}
    timeout = httpx2.Timeout(30, read=300)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


_ROADS: Final[dict[str, Callable[[FrontMcp], AbstractAsyncContextManager[Endpoint]]]] = {
    "memory": _memory,
    "stdio": _stdio,
    "http": _http,
}
