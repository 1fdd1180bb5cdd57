"""MCP over streamable HTTP: a Starlette app that can be mounted, and uvicorn to serve it."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from frontmcp.background import start_task
from frontmcp.errors import ConfigurationError
from frontmcp.threads import leave
from frontmcp.transports.admission import Admission
from frontmcp.transports.in_flight import InFlight
from frontmcp.transports.listing import warn_of_missing_descriptions
from frontmcp.transports.posts import PostGuard
from frontmcp.transports.replay import ReplayingSessions
from frontmcp.transports.wire import Wire
from frontmcp.validation import issues

logger = logging.getLogger("frontmcp.http")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LOOPBACK_HOSTS = tuple(f"{host}{port}" for host in ("127.0.0.1", "localhost", "[::1]") for port in ("", ":*"))
"""Clients of port 80 name none."""

INTERRUPTED = 130
"""The exit code of a process that SIGINT ended."""


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
    :ivar body_timeout: seconds that a request's body may take to arrive; a slower one gets 408.
    :ivar session_idle_timeout: seconds without a request or an open stream after which a session of a client up to
        2025-11-25 ends; None never ends one.
    :ivar max_sessions: such sessions at a time; who would open another gets 503.
    :ivar event_store: keep the latest messages of each such session, so that a client whose stream broke fetches what
        it missed, and a call may close its stream and go on (`Context.close_stream`).
    :ivar retry_interval: seconds after which a client with a closed stream is to come back, where there is an event
        store.
    :ivar limit_concurrency: connections and requests at a time, idle connections among them; further ones get 503.
    :ivar trusted_proxy_depth: how many proxies in front add to ``X-Forwarded-For``; 0 ignores the header.
    :ivar grace: seconds that calls in flight get at shutdown.
    """

    # The environment's 1 is a number where a text is wanted too.
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    path: str = Field("/mcp", pattern="^/")
    stateless: bool = False
    json_response: bool = False
    allowed_hosts: Sequence[str] | None = None
    allowed_origins: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    max_body: int = Field(4 * 1024 * 1024, gt=0)
    body_timeout: float = Field(30, gt=0, allow_inf_nan=False)
    session_idle_timeout: float | None = Field(1800, gt=0, allow_inf_nan=False)
    max_sessions: int = Field(10_000, gt=0)
    event_store: bool = False
    retry_interval: float = Field(1, ge=0, allow_inf_nan=False)
    limit_concurrency: int | None = Field(1000, gt=0)
    trusted_proxy_depth: int = Field(0, ge=0)
    grace: int = Field(10, ge=0)

    @field_validator("allowed_hosts", "allowed_origins", "cors_origins", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        # The environment has lists of names as text.
        return [each.strip() for each in value.split(",") if each.strip()] if isinstance(value, str) else value

    @field_validator("event_store")
    @classmethod
    def _needs_sessions(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("stateless"):
            raise ValueError("it keeps messages of sessions, and stateless=True has none; drop one of the two")
        return value


def http_app(served: Any, options: HttpOptions) -> HttpApp:
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
    warn_of_missing_descriptions(served.pipeline.registry)
    wire.senders.trusted_proxy_depth = options.trusted_proxy_depth
    wire.sessions = sessions = _sessions(wire, options)
    provided = [route for routes in served.hooks.call("provide_routes", served) for route in routes]
    _check_paths({route.path for route in provided if hasattr(route, "path")}, options.path)
    if not options.stateless and wire.in_flight not in wire.server.middleware:
        wire.server.middleware.append(wire.in_flight)
    limits = options.model_dump(include={"body_timeout", "max_body", "stateless"})
    guarded = PostGuard(StreamableHTTPASGIApp(sessions), wire.in_flight, **limits)
    return HttpApp(
        routes=[
            Route(options.path, Admission(guarded, wire.senders)),
            Route("/healthz", _healthy),
            Route("/readyz", _ready(served)),
            *provided,
        ],
        middleware=_middleware(options),
        lifespan=lambda _: sessions.run(),
    )


def _check_paths(provided: Set[str], path: str) -> None:
    """Check that no route of a plugin stands where it would hear nothing.

    :raises ConfigurationError: one does; lists every problem.
    """
    ours = {"/healthz": "health is told", "/readyz": "readiness is told", path: "MCP is"}
    if taken := sorted(provided & ours.keys()):
        raise ConfigurationError(f"a plugin has a route at {at}, where {ours[at]}; change its path" for at in taken)


def _sessions(wire: Wire, options: HttpOptions) -> StreamableHTTPSessionManager:
    kind = ReplayingSessions if options.event_store else StreamableHTTPSessionManager
    return kind(
        wire.server,
        stateless=options.stateless,
        json_response=options.json_response,
        security_settings=_security(options),
        max_request_body_size=options.max_body,
        retry_interval=round(options.retry_interval * 1000),
        session_idle_timeout=options.session_idle_timeout,
        max_sessions=options.max_sessions,
    )


def _security(options: HttpOptions) -> TransportSecuritySettings | None:
    hosts, origins = options.allowed_hosts, list(options.allowed_origins)
    if hosts is None and not origins:
        if options.host not in LOOPBACK:
            return None
        origins = [f"http://{host}" for host in LOOPBACK_HOSTS]
    return TransportSecuritySettings(
        allowed_hosts=list(LOOPBACK_HOSTS if hosts is None else hosts), allowed_origins=origins
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
            expose_headers=["mcp-session-id", "www-authenticate"],
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


class HttpApp(Starlette):
    """Starts itself at its first request where nobody runs its lifespan: Starlette does not for a mounted app."""

    _running = False
    _tried: anyio.Event | None = None
    _holder: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._with_lifespan(scope, receive, send)
        elif self._running or await self._start_mounted():
            await super().__call__(scope, receive, send)
        else:
            await PlainTextResponse("the server could not start; its log says why\n", 503)(scope, receive, send)

    async def _with_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noticing(message: Message) -> None:
            self._running = message["type"] == "lifespan.startup.complete"
            await send(message)

        await super().__call__(scope, receive, noticing)

    async def _start_mounted(self) -> bool:
        """Hold the lifespan open in a task of its own, which ends with the event loop; whether it has begun."""
        if self._tried is None:
            self._tried = anyio.Event()
            self._holder = start_task(self._hold, self._tried)
        await self._tried.wait()
        return self._running

    async def _hold(self, tried: anyio.Event) -> None:
        try:
            async with self.started():
                tried.set()
                await anyio.sleep_forever()
        except Exception:
            logger.exception("the mounted server could not start")
        finally:
            tried.set()

    @asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """The app is started while the block runs; what its lifespan raises, this does."""
        lifespan: AbstractAsyncContextManager[Any] = self.router.lifespan_context(self)
        async with lifespan:
            self._running = True
            try:
                yield
            finally:
                self._running = False


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
    """uvicorn, which starts and stops the app itself, and is told to stop without open streams that would hold it.

    What the lifespan raises leaves `run`; uvicorn would log it and exit with a code of its own.
    """

    def __init__(self, served: Any, options: HttpOptions) -> None:
        self._served = served
        self._app = http_app(served, options)
        self._wire = served.wire
        super().__init__(uvicorn_config(self._app, options, lifespan="off"))

    async def _serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._served.when_broken.append(self._stop)
        try:
            async with self._app.started():
                await super()._serve(sockets)
        finally:
            self._served.when_broken.remove(self._stop)

    def _stop(self) -> None:
        self._wire.close_streams()
        self.should_exit = True

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._wire.close_streams()
        super().handle_exit(sig, frame)


class OnlyServer(HttpServer):
    """The HTTP server of a process that has no other: what it does to the streams of older clients holds for all.

    :ivar has_orphans: threads ran on for calls that were given up, when it ended.
    """

    has_orphans = False

    async def _serve(self, sockets: list[socket.socket] | None = None) -> None:
        keep_streams()
        try:
            await super()._serve(sockets)
        finally:
            self.has_orphans = self._served.threads.orphans > 0

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(end_streams, self._wire.in_flight)
            await super().shutdown(sockets)
            group.cancel_scope.cancel()


def keep_streams() -> None:
    """Let no stream of an older client end by itself when this process is told to stop: some of them carry calls."""
    AppStatus.enable_automatic_graceful_drain = False


async def end_streams(in_flight: InFlight) -> None:
    """End the streams of older clients in this process, once none of them waits for an answer."""
    while in_flight.connections:  # noqa: ASYNC110 (they are counted where no event loop is known)
        await anyio.sleep(0.05)
    AppStatus.should_exit = True


def bind(options: HttpOptions) -> socket.socket:
    """A socket bound to the host and port; port 0 takes a free one.

    :raises ConfigurationError: it can't be, with the reason and the fix.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in options.host else socket.AF_INET)
    if os.name == "posix":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((options.host, options.port))
    except OSError as error:
        bound.close()
        is_host = error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror)
        fix = "the host must be an address of this machine" if is_host else "try another port"
        raise ConfigurationError(
            f"can't serve on {options.host} port {options.port}: {error.strerror}; {fix}"
        ) from error
    return bound


def run_http(served: Any, options: HttpOptions) -> None:
    """Serve over HTTP until SIGINT or SIGTERM; calls in flight get ``grace`` seconds.

    :raises ConfigurationError: the port is taken, or can't be bound.
    """
    with bind(options) as bound:
        server = OnlyServer(served, options)
        try:
            server.run([bound])
        except KeyboardInterrupt:
            if server.has_orphans:
                leave(INTERRUPTED)
            raise


@asynccontextmanager
async def serving(served: Any, options: HttpOptions) -> AsyncIterator[str]:
    """Serve over HTTP in this event loop while the block runs; gives the endpoint's URL.

    :param options: port 0 takes a free one.
    """
    server = HttpServer(served, options)
    with bind(options) as bound:
        async with anyio.create_task_group() as group:
            group.start_soon(server._serve, [bound])
            while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
                await anyio.sleep(0.01)
            try:
                host, port = bound.getsockname()[:2]
                yield f"http://{host}:{port}{options.path}"
            finally:
                served.wire.close_streams()
                server.should_exit = True


def options_from(options: HttpOptions, overrides: Mapping[str, Any]) -> HttpOptions:
    """Options with others over them, where those are not None.

    :raises ConfigurationError: an option is unknown or has a wrong value, each named.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return HttpOptions(**{**options.model_dump(), **given}) if given else options
    except ValidationError as error:
        raise ConfigurationError(f"http option {issue}" for issue in issues(error, HttpOptions)) from None
