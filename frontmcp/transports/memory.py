"""MCP between two tasks of one process, in JSON-RPC messages as over a pipe: the road of tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
from mcp.server import Server
from mcp.shared.message import SessionMessage

Streams: TypeAlias = tuple[Any, Any]
"""What a client reads messages from, and what it writes them to."""


@asynccontextmanager
async def memory_transport(server: Server[Any]) -> AsyncIterator[Streams]:
    """A client's two streams to a server, which serves them until they are closed.

    Context variables don't travel with a message: as over a wire, the server sees those it was started with.
    """
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    async with anyio.create_task_group() as group, from_client, to_client, from_server, to_server:
        group.start_soon(server.run, from_client, to_client, server.create_initialization_options())
        try:
            yield from_server, to_server
        finally:
            # The server ends when its client does: what is in flight is cancelled.
            to_server.close()
            from_server.close()
