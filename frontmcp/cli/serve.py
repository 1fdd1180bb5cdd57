"""``frontmcp run``: serve over stdio or HTTP, with one process or with many workers."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from frontmcp.cli.failures import Failure, UsageFailure, failing_with_place
from frontmcp.cli.output import clean_stdout, say
from frontmcp.cli.target import Source
from frontmcp.logs import configure_logging
from frontmcp.server import FrontMcp
from frontmcp.transports.http import HttpOptions, uvicorn_config

if TYPE_CHECKING:
    from starlette.applications import Starlette

APP: Final = "frontmcp.cli.serve:worker_app"
WORKER: Final = "_FRONTMCP_WORKER"
"""The variable that tells workers what to serve. Not under FRONTMCP_: that would be a setting."""

WHY_STATELESS: Final = (
    "--workers above 1 needs --stateless: a session of a client up to 2025-11-25 lives in the memory of one worker, "
    "and its next request may reach another"
)


def serve_stdio(source: Source) -> None:
    """Serve over stdin and stdout, which stay clean of whatever else is printed."""
    with clean_stdout():
        server = source.load()
    if sys.stdin.isatty():
        say(f"{server.name} speaks MCP over stdin and stdout, for a client that starts it; add --http to serve a port")
    with failing_with_place(source.folder):
        server.run("stdio")


def serve_http(source: Source, workers: int = 1) -> None:
    """Serve over HTTP until SIGINT or SIGTERM."""
    with clean_stdout():
        server = source.load()
    options = server.http_options()
    if workers > 1 and not options.stateless:
        raise UsageFailure(WHY_STATELESS)
    with bind(options) as bound:
        port = bound.getsockname()[1]
    say(f"{server.name} {server.version} at {url(options, port)}" + (f", {workers} workers" if workers > 1 else ""))
    if workers > 1:
        _serve_workers(source, options, port, workers)
    else:
        _serve_alone(server, port)


def url(options: HttpOptions, port: int) -> str:
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"http://{host}:{port}{options.path}"


def bind(options: HttpOptions) -> socket.socket:
    """A socket bound to the host and port.

    :raises Failure: it can't be, with the reason and the fix.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in options.host else socket.AF_INET)
    if os.name == "posix":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((options.host, options.port))
    except OSError as error:
        bound.close()
        raise Failure(
            f"can't serve on {options.host} port {options.port}: {error.strerror}; try another --port"
        ) from error
    return bound


def _serve_alone(server: FrontMcp, port: int) -> None:
    try:
        server.run("http", port=port)
    except SystemExit as error:
        # uvicorn has logged why, and has exit codes of its own.
        raise Failure(f"{server.name} could not start, see above") from error


def _serve_workers(source: Source, options: HttpOptions, port: int, workers: int) -> None:
    os.environ[WORKER] = json.dumps(asdict(source))
    # What one worker seals, such as a list's cursor, another must be able to open.
    os.environ.setdefault("FRONTMCP_STATE_KEYS", secrets.token_hex(32))
    # Tells each worker of the others: some plugins count within one process.
    os.environ["WEB_CONCURRENCY"] = str(workers)
    config = uvicorn_config(APP, options)
    uvicorn.run(
        APP,
        factory=True,
        workers=workers,
        host=config.host,
        port=port,
        log_level=config.log_level,
        timeout_graceful_shutdown=config.timeout_graceful_shutdown,
        limit_concurrency=config.limit_concurrency,
        proxy_headers=config.proxy_headers,
        server_header=config.server_header,
    )


def worker_app() -> Starlette:
    """The app of one worker, made anew in each."""
    server = Source(**json.loads(os.environ[WORKER])).load()
    configure_logging(server.log_options)
    app = server.http_app()
    _before_exit(server.wire.close_streams)
    return app


def _before_exit(do: Callable[[], None]) -> None:
    """Do something when uvicorn is told to stop, before it waits for what is open."""
    for number in (signal.SIGINT, signal.SIGTERM):
        stop = signal.getsignal(number)

        def handle(number: int, frame: Any, stop: Any = stop) -> None:
            do()
            stop(number, frame)

        signal.signal(number, handle)
