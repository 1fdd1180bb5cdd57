"""``frontmcp run --http``: serve over HTTP, with one process or with many workers."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from frontmcp.cli.failures import Failure, UsageFailure, failing_with_place
from frontmcp.cli.output import clean_stdout
from frontmcp.cli.target import Source
from frontmcp.logs import announce
from frontmcp.transports.http import bind, end_streams, keep_streams, url_of, uvicorn_config
from frontmcp.transports.options import HttpOptions
from frontmcp.transports.wire import Wire

if TYPE_CHECKING:
    from starlette.applications import Starlette

APP: Final = "frontmcp.cli.serve:worker_app"
WORKER: Final = "_FRONTMCP_WORKER"
"""The variable that tells workers what to serve. Not under FRONTMCP_: that would be a setting."""

ENDING: Final[set[asyncio.Task[None]]] = set()
"""Holds what runs while a worker shuts down: an event loop does not."""

WHY_STATELESS: Final = (
    "--workers above 1 needs --stateless: a session of a client up to 2025-11-25 lives in the memory of one worker, "
    "and its next request may reach another"
)


def serve_http(source: Source, workers: int = 1) -> None:
    """Serve over HTTP until SIGINT or SIGTERM."""
    with clean_stdout():
        server = source.load(serving=True)
    options = server.http_options()
    if workers > 1 and not options.stateless:
        raise UsageFailure(WHY_STATELESS)
    if workers == 1:
        with failing_with_place(source.folder):
            server.run("http")
        return
    with bind(options) as bound:
        announce(server.log_options, f"{server.name} {server.version} at {url_of(bound, options)}, {workers} workers")
        if not _serve_workers(source, options, bound, workers):
            raise Failure(f"{server.name} could not start, see above")


def _serve_workers(source: Source, options: HttpOptions, bound: socket.socket, workers: int) -> bool:
    """Serve until SIGINT or SIGTERM; whether the workers could start."""
    os.environ[WORKER] = json.dumps(asdict(source))
    # What one worker seals, such as a list's cursor, another must be able to open.
    os.environ.setdefault("FRONTMCP_STATE_KEYS", secrets.token_hex(32))
    # Tells each worker of the others: some plugins count within one process.
    os.environ["WEB_CONCURRENCY"] = str(workers)
    supervisor = Multiprocess(uvicorn_config(APP, options, factory=True, workers=workers), [bound])
    supervisor.run()
    return all(process.exitcode != STARTUP_FAILURE for process in supervisor.processes)


def worker_app() -> Starlette:
    """The app of one worker, made anew in each."""
    server = Source(**json.loads(os.environ[WORKER])).load(serving=True)
    app = server.http_app()
    keep_streams()
    _before_exit(partial(_end_streams, server.wire))
    return app


def _end_streams(wire: Wire) -> None:
    """Begin to end what is open: streams of changes at once, those of older clients once their calls are answered."""
    wire.close_streams()
    task = asyncio.get_running_loop().create_task(end_streams(wire.in_flight))
    ENDING.add(task)


def _before_exit(do: Callable[[], None]) -> None:
    """Do something when uvicorn is told to stop, before it waits for what is open."""
    for number in (signal.SIGINT, signal.SIGTERM):
        stop = signal.getsignal(number)

        def handle(number: int, frame: Any, stop: Any = stop) -> None:
            do()
            stop(number, frame)

        signal.signal(number, handle)
