"""MCP over streamable HTTP: a Starlette app that can be mounted, and uvicorn to serve it."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import sniffio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frontmcp.errors import ConfigurationError
from frontmcp.transports.wire import InFlight

logger = logging.getLogger("frontmcp.http")

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class HttpOptions(BaseModel):
    """The options of the HTTP transport: ``FrontMcp(http={…})``, ``http_app(…)``, ``run("http", …)``.

    :ivar host: the address to bind; loopback checks Host and Origin headers by itself.
    :ivar port: the port to bind.
    :ivar path: where the MCP endpoint is; ``/healthz`` and ``/readyz`` stand beside it.
    :ivar stateless: no sessions for clients up to 2025-11-25, so that any worker can answer them; they can't be asked
        anything then, and hear of no changes.
    :ivar json_response: answer with JSON only: no progress, no log messages, no cancellation by a closed connection.
    :ivar allowed_hosts: values of the Host header to accept, like ``"mcp.example.com"`` or ``"localhost:*"``.
    :ivar allowed_origins: values of the Origin header to accept.
    :ivar cors_origins: browser origins that may read answers.
    :ivar max_body: the largest request body, in bytes; a larger one gets 413.
    :ivar limit_concurrency: requests in flight; further ones get 503.
    :ivar trusted_proxy_depth: how many proxies in front add to ``X-Forwarded-For``; 0 ignores the header.
    :ivar grace: seconds that calls in flight get at shutdown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    path: str = Field("/mcp", pattern="^/")
    stateless: bool = False
    json_response: bool = False
    allowed_hosts: Sequence[str] | None = None
    allowed_origins: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    max_body: int = Field(4 * 1024 * 1024, gt=0)
    limit_concurrency: int | None = Field(1000, gt=0)
    trusted_proxy_depth: int = Field(0, ge=0)
    grace: int = Field(10, ge=0)


def http_app(served: Any, options: HttpOptions) -> Starlette:
    """An ASGI app that serves MCP, alone or mounted in another app.

    :raises ConfigurationError: the server can't start.
    """
    served.check()
    if options.host not in LOOPBACK and options.allowed_hosts is None:
        logger.warning(
            "serving on %s without a check of the Host header: name the hosts clients use in http's allowed_hosts",
            options.host,
        )
    wire = served.wire
    wire.trusted_proxy_depth = options.trusted_proxy_depth
    provided = [route for routes in served.hooks.call("provide_routes", served) for route in routes]
    inner: Starlette = wire.server.streamable_http_app(
        streamable_http_path=options.path,
        stateless_http=options.stateless,
        json_response=options.json_response,
        transport_security=_security(options),
        host=options.host,
        max_request_body_size=options.max_body,
        custom_starlette_routes=[Route("/healthz", _healthy), Route("/readyz", _ready(served)), *provided],
    )
    manager = wire.server.session_manager
    app = _App(
        routes=inner.routes,
        middleware=_middleware(options),
        lifespan=lambda _: manager.run(),
    )
    if not options.stateless:
        wire.server.middleware.append(wire.in_flight)
        app.guard = InFlightGuard(wire.in_flight, options.max_body)
    return app


def _security(options: HttpOptions) -> TransportSecuritySettings | None:
    if options.allowed_hosts is None and not options.allowed_origins:
        return None
    loopback = [f"{host}:*" for host in ("127.0.0.1", "localhost", "[::1]")]
    return TransportSecuritySettings(
        allowed_hosts=list(options.allowed_hosts if options.allowed_hosts is not None else loopback),
        allowed_origins=list(options.allowed_origins),
    )


def _middleware(options: HttpOptions) -> list[Middleware]:
    if not options.cors_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(options.cors_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            expose_headers=["mcp-session-id"],
        )
    ]


async def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _ready(served: Any) -> Callable[[Request], Any]:
    async def ready(request: Request) -> Response:
        if served.threads.exhausted:
            return PlainTextResponse("every worker thread is held by an abandoned call\n", 503)
        return PlainTextResponse("ready\n") if served.started else PlainTextResponse("not started\n", 503)

    return ready


class _App(Starlette):
    """Starts itself at its first request where nobody runs its lifespan: Starlette does not for a mounted app."""

    guard: InFlightGuard | None = None
    _running = False
    _holder: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._with_lifespan(scope, receive, send)
            return
        if not self._running:
            await self._start_mounted()
        if self.guard is not None and scope["type"] == "http":
            await self.guard(super().__call__, scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def _with_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noticing(message: Message) -> None:
            self._running = message["type"] == "lifespan.startup.complete"
            await send(message)

        await super().__call__(scope, receive, noticing)

    async def _start_mounted(self) -> None:
        """Hold the lifespan open in a task of its own, which ends with the event loop."""
        self._running = True
        ready = anyio.Event()
        if sniffio.current_async_library() == "asyncio":
            self._holder = asyncio.get_running_loop().create_task(self._hold(ready))
        else:
            import trio

            self._holder = trio.lowlevel.spawn_system_task(self._hold, ready)
        await ready.wait()

    async def _hold(self, ready: anyio.Event) -> None:
        try:
            lifespan: AbstractAsyncContextManager[Any] = self.router.lifespan_context(self)
            async with lifespan:
                ready.set()
                await anyio.sleep_forever()
        except Exception:
            logger.exception("the mounted server could not start")
            self._running = False
            ready.set()


class InFlightGuard:
    """Refuses a request whose id is still in flight on the same session.

    The SDK would hand one of the two callers the other's answer. Sessions are those of clients up to 2025-11-25.

    :param in_flight: requests by session; the wire says whose handler runs.
    :param max_body: what is larger is refused further in, and not read here.
    """

    def __init__(self, in_flight: InFlight, max_body: int) -> None:
        self._in_flight = in_flight
        self._max_body = max_body
        self._told = False

    async def __call__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        session = _session_of(scope)
        if session is None:
            await app(scope, receive, send)
            return
        messages = [message async for message in _body_messages(receive, self._max_body)]
        request_id = _request_id(b"".join(message.get("body", b"") for message in messages))
        if request_id is None:
            await app(scope, _replay(messages, receive), send)
        elif not await self._in_flight.arrive(session, request_id):
            await self._refuse(request_id, scope, receive, send)
        else:
            try:
                await app(scope, _replay(messages, receive), send)
            finally:
                self._in_flight.leave(session, request_id)

    async def _refuse(self, request_id: Any, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._told:
            self._told = True
            logger.warning(
                "a client reuses a request id while that request is in flight; such clients need http stateless=True"
            )
        error = {"code": INVALID_REQUEST, "message": "A request with this id is still in flight on this session"}
        await JSONResponse({"jsonrpc": "2.0", "id": request_id, "error": error}, 400)(scope, receive, send)


def _session_of(scope: Scope) -> str | None:
    """The session of a POST in an older protocol version; None for all else."""
    if scope["method"] != "POST":
        return None
    session = None
    for name, value in scope["headers"]:
        if name == b"mcp-session-id":
            session = value.decode("latin-1")
        elif name == b"mcp-protocol-version" and value.decode("latin-1") in MODERN_PROTOCOL_VERSIONS:
            return None
    return session


async def _body_messages(receive: Receive, most: int) -> AsyncIterator[Message]:
    size = 0
    while size <= most:
        message = await receive()
        yield message
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def _replay(messages: list[Message], receive: Receive) -> Receive:
    waiting = iter(messages)

    async def next_message() -> Message:
        message: MutableMapping[str, Any] | None = next(waiting, None)
        return message if message is not None else await receive()

    return next_message


def _request_id(body: bytes) -> Any:
    """The id of a request; None for notifications, answers and what can't be read."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or "method" not in message:
        return None
    request_id = message.get("id")
    return request_id if isinstance(request_id, str | int) else None


def uvicorn_config(app: Any, options: HttpOptions, **more: Any) -> uvicorn.Config:
    """How uvicorn serves the app: its own proxy headers off, a bound on requests in flight, a grace at the end."""
    return uvicorn.Config(
        app,
        host=options.host,
        port=options.port,
        log_level="warning",
        timeout_graceful_shutdown=options.grace,
        limit_concurrency=options.limit_concurrency,
        proxy_headers=False,
        server_header=False,
        **more,
    )


class HttpServer(uvicorn.Server):
    """uvicorn, ending open subscription streams when it is told to stop; they would hold the shutdown."""

    def __init__(self, config: uvicorn.Config, close_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._close_streams = close_streams

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._close_streams()
        super().handle_exit(sig, frame)


def run_http(served: Any, options: HttpOptions) -> None:
    """Serve over HTTP until SIGINT or SIGTERM; calls in flight get ``grace`` seconds."""
    app = http_app(served, options)
    HttpServer(uvicorn_config(app, options), served.wire.close_streams).run()


@asynccontextmanager
async def serving(served: Any, options: HttpOptions) -> AsyncIterator[str]:
    """Serve over HTTP in this event loop while the block runs; gives the endpoint's URL.

    :param options: port 0 takes a free one.
    """
    config = uvicorn_config(http_app(served, options), options)
    config.load()
    sockets = [config.bind_socket()] if options.port else [_free_socket(options.host)]
    server = HttpServer(config, served.wire.close_streams)
    async with anyio.create_task_group() as group:
        group.start_soon(server._serve, sockets)
        while not server.started:
            await anyio.sleep(0.01)
        try:
            host, port = sockets[0].getsockname()[:2]
            yield f"http://{host}:{port}{options.path}"
        finally:
            served.wire.close_streams()
            server.should_exit = True


def _free_socket(host: str) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.bind((host, 0))
    return bound


def options_from(*layers: dict[str, Any]) -> HttpOptions:
    """Options from tables, the later winning.

    :raises ConfigurationError: an option is unknown or has a wrong value, each named.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update({key: value for key, value in layer.items() if value is not None})
    try:
        return HttpOptions(**merged)
    except ValidationError as error:
        raise ConfigurationError(
            f"http option {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
        ) from None
