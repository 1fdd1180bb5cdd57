"""MCP over streamable HTTP: a Starlette app that can be mounted, and uvicorn to serve it."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Set
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
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
from frontmcp.logs import announce
from frontmcp.threads import leave
from frontmcp.transports.admission import Admission
from frontmcp.transports.callers import ACCESS, Access
from frontmcp.transports.in_flight import InFlight
from frontmcp.transports.listing import warn_of_missing_descriptions
from frontmcp.transports.options import HttpOptions
from frontmcp.transports.posts import PostGuard
from frontmcp.transports.replay import ReplayingSessions
from frontmcp.transports.wire import Wire

logger = logging.getLogger("frontmcp.http")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LOOPBACK_HOSTS = tuple(f"{host}{port}" for host in ("127.0.0.1", "localhost", "[::1]") for port in ("", ":*"))
"""Clients of port 80 name none."""

INTERRUPTED = 130
"""The exit code of a process that SIGINT ended."""


def http_app(
    served: Any, options: HttpOptions, around: Callable[[], AbstractContextManager[None]] = nullcontext
) -> HttpApp:
    """An ASGI app that serves MCP, alone or mounted in another app.

    :param around: entered while the app runs.
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
    access = Access(options.trusted_proxy_depth, _security(options))
    sessions = partial(_sessions, wire, options)
    provided = [route for routes in served.hooks.call("provide_routes", served) for route in routes]
    _check_paths({route.path for route in provided if hasattr(route, "path")}, options.path)
    if not options.stateless and wire.in_flight not in wire.server.middleware:
        wire.server.middleware.append(wire.in_flight)
    limits = options.model_dump(include={"body_timeout", "max_body", "stateless"})
    endpoint = StreamableHTTPASGIApp(sessions())
    guarded = PostGuard(endpoint, wire.in_flight, **limits)
    return HttpApp(
        access,
        routes=[
            Route(options.path, Admission(guarded, wire.callers)),
            Route("/healthz", _healthy),
            Route("/readyz", _ready(served)),
            *provided,
        ],
        middleware=_middleware(options),
        lifespan=lambda _: _living(endpoint, sessions, around),
    )


@asynccontextmanager
async def _living(
    endpoint: StreamableHTTPASGIApp,
    sessions: Callable[[], StreamableHTTPSessionManager],
    around: Callable[[], AbstractContextManager[None]],
) -> AsyncIterator[None]:
    # The SDK's manager runs once, and an app may start again, as under a test client.
    endpoint.session_manager = sessions()
    with around():
        async with endpoint.session_manager.run():
            yield


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
    """Starts itself at its first request where nobody runs its lifespan: Starlette does not for a mounted app.

    It does so anew in each event loop: a test client may bring one for each request.

    :param access: noted on every request.
    """

    _running = False
    _tried: tuple[Any, anyio.Event] | None = None
    _holder: Any = None

    def __init__(self, access: Access, **parts: Any) -> None:
        super().__init__(**parts)
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._with_lifespan(scope, receive, send)
        elif self._running or await self._start_mounted():
            await super().__call__({**scope, ACCESS: self._access}, receive, send)
        else:
            await PlainTextResponse("the server could not start; its log says why\n", 503)(scope, receive, send)

    async def _with_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noticing(message: Message) -> None:
            self._running = message["type"] == "lifespan.startup.complete"
            await send(message)

        await super().__call__(scope, receive, noticing)

    async def _start_mounted(self) -> bool:
        """Hold the lifespan open in a task of its own, which ends with the event loop; whether it has begun."""
        loop = anyio.lowlevel.current_token()
        if self._tried is None or self._tried[0] != loop:
            self._tried = (loop, anyio.Event())
            self._holder = start_task(self._hold, self._tried[1])
        await self._tried[1].wait()
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
    """How uvicorn serves the app: its proxy headers and handlers of logs off, a bound on requests in flight, a grace
    at the end.
    """
    return uvicorn.Config(
        app,
        host=options.host,
        port=options.port,
        log_config=None,
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
        self._options = options
        self._app = http_app(served, options)
        self._wire = served.wire
        super().__init__(uvicorn_config(self._app, options, lifespan="off"))

    async def _serve(self, sockets: list[socket.socket] | None = None) -> None:
        with self._served.lifetime.when_broken(self._stop):
            async with self._app.started():
                await super()._serve(sockets)

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

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for bound in sockets or ():
            told = f"{self._served.name} {self._served.version} at {url_of(bound, self._options)}"
            announce(self._served.log_options, told)

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


def url_of(bound: socket.socket, options: HttpOptions) -> str:
    """Where the MCP endpoint is."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"http://{host}:{bound.getsockname()[1]}{options.path}"


def run_http(served: Any, options: HttpOptions) -> None:
    """Serve over HTTP until SIGINT or SIGTERM, then exit; calls in flight get ``grace`` seconds.

    :raises ConfigurationError: the port is taken, or can't be bound.
    :raises SystemExit: with 130 after SIGINT, with 0 after SIGTERM.
    """
    with bind(options) as bound, _ending_on_sigterm():
        server = OnlyServer(served, options)
        try:
            server.run([bound])
        except (KeyboardInterrupt, SystemExit) as ended:
            code = INTERRUPTED if isinstance(ended, KeyboardInterrupt) else 0
            if server.has_orphans:
                leave(code)
            sys.exit(code)


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """Exit with 0 on SIGTERM: uvicorn sends it again once it has shut down, which would kill the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
                yield url_of(bound, options)
            finally:
                served.wire.close_streams()
                server.should_exit = True
