"""How a server is reached: an SDK client for each kind of target."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, Implementation

from frontmcp.definitions.upstream import UpstreamOptions
from frontmcp.errors import ConfigurationError
from frontmcp.upstream.connection import UNSENT, Connection
from frontmcp.upstream.errors import MOST_HOPS
from frontmcp.upstream.reading import Reading

STARTED: Final = "_FRONTMCP_HOPS"
"""The variable by which a server that is started knows how many started one another before it."""

FORGOTTEN: Final = "frontmcp.forgotten"
"""The ``data`` of an error about a session that the server knows nothing of any more."""

REFUSED: Final = "frontmcp.refused"
"""The ``data`` of an error about a caller whom the server does not let in."""

UNLIMITED: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
"""A call that waits for its answer holds a connection: how many may is for limits to say, not for the client's pool."""

_UNSENT_ERRORS: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


def dial(
    options: UpstreamOptions, headers: Mapping[str, str], offers: Collection[str], info: Implementation
) -> Callable[[Connection], Client]:
    """What makes the client of a connection.

    :param offers: the capabilities that it declares: what our own client can be asked.
    """

    def client(connection: Connection) -> Client:
        return Client(
            _server(options, headers, connection.close),
            mode=options.mode,
            cache=None,
            client_info=info,
            log_level="debug",
            logging_callback=connection.on_log,
            elicitation_callback=connection.on_elicitation if "elicitation" in offers else None,
            sampling_callback=connection.on_sampling if "sampling" in offers else None,
            list_roots_callback=connection.on_roots if "roots" in offers else None,
            message_handler=connection.on_message,
        )

    return client


def _server(options: UpstreamOptions, headers: Mapping[str, str], closed: Callable[[], None]) -> Any:
    if options.is_url:
        return _http(options, headers)
    if options.command is not None:
        target = options.target
        if not isinstance(target, StdioServerParameters):
            target = StdioServerParameters(command=options.command[0], args=list(options.command[1:]))
        return _stdio(target, closed)
    return options.server


@asynccontextmanager
async def _http(options: UpstreamOptions, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    timeout = httpx2.Timeout(options.connect_timeout, read=None)
    async with (
        _HttpClient(headers=dict(headers), auth=options.auth, timeout=timeout, limits=UNLIMITED) as http,
        streamable_http_client(options.target, http_client=http) as streams,
    ):
        yield streams


class _HttpClient(httpx2.AsyncClient):
    """Answers in the name of a server that can't be reached: an exception would end every other call's request too."""

    async def send(self, request: httpx2.Request, **keywords: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **keywords)
        except httpx2.TransportError as error:
            data = UNSENT if isinstance(error, _UNSENT_ERRORS) else None
            return _answer(request, 503, CONNECTION_CLOSED, type(error).__name__, data)
        if response.status_code in (401, 403):
            await response.aclose()
            return _answer(request, 400, INVALID_REQUEST, f"HTTP {response.status_code}", REFUSED)
        if response.status_code == 404 and MCP_SESSION_ID in request.headers:
            await response.aclose()
            return _answer(request, 404, INVALID_REQUEST, "The session is over", FORGOTTEN)
        return response


def _answer(request: httpx2.Request, status: int, code: int, message: str, data: str | None) -> httpx2.Response:
    error = {"code": code, "message": message, "data": data}
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)


@asynccontextmanager
async def _stdio(parameters: StdioServerParameters, closed: Callable[[], None]) -> AsyncIterator[Any]:
    changes: dict[str, Any] = {"env": {**(parameters.env or {}), STARTED: str(_started(parameters.command) + 1)}}
    if parameters.encoding_error_handler == "strict":
        # Else one byte that is no text ends the SDK's reader, which nothing notices.
        changes["encoding_error_handler"] = "replace"
    changed = parameters.model_copy(update=changes)
    async with stdio_client(changed, errlog=sys.__stderr__ or sys.stderr) as (read, write):
        yield Reading(read, closed), write


def _started(command: str) -> int:
    """How many servers started one another, this one the last.

    :raises ConfigurationError: too many to start a further one.
    """
    said = os.environ.get(STARTED, "")
    started = int(said) if said.isdecimal() else 0
    if started >= MOST_HOPS:
        raise ConfigurationError(
            f'the command "{command}" is not run: {MOST_HOPS} servers started one another already, '
            "and may be going round in a circle"
        )
    return started
