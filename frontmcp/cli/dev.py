"""``frontmcp dev``: serve over HTTP and reload on a change, in a child process.

The parent keeps the listening socket and watches the files. A new child first loads the target; only when that went
well does the old one stop and the new one serve. So a syntax error leaves the last good server running, no connection
is refused while one takes over, and no two of them run their lifespans at once. Children are forked from a process that
has imported everything but the target: the import would take longer than a reload may.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from importlib.util import cache_from_source, find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from watchfiles import Change, PythonFilter, watch

from frontmcp.cli.failures import Failure, failing_with_place, shown
from frontmcp.cli.output import say
from frontmcp.cli.target import Source, Target
from frontmcp.errors import ConfigurationError
from frontmcp.transports.http import HttpServer, bind, url_of
from frontmcp.transports.options import HttpOptions

PRELOADED: Final = [
    "frontmcp.cli.dev",
    "mcp.server.streamable_http_manager",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
]
STOP_SECONDS: Final = 5
CUT_SECONDS: Final = 0.1
"""What calls in flight get at a reload; uvicorn says it wants whole seconds, and takes less."""
POLL_MILLISECONDS: Final = 100


def develop(source: Source, target: Target) -> None:
    """Serve until SIGINT or SIGTERM, reloading on every change below the target's folder."""
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    folder = watched_folder(target)
    parent = Parent(source)
    try:
        for changes in watch(
            folder,
            watch_filter=PythonFilter(extra_extensions=(".toml",)),
            debounce=200,
            stop_event=stop,
            rust_timeout=POLL_MILLISECONDS,
            yield_on_timeout=True,
        ):
            parent.look(changes)
    finally:
        parent.stop()


def watched_folder(target: Target) -> Path:
    """The folder of a file; of a module, its outermost package or the folder it lies in."""
    if target.file is not None:
        return target.folder
    name = target.module.partition(".")[0]
    spec = find_spec(name)
    origin = spec.origin if spec is not None else None
    return Path(origin).parent if origin is not None else target.folder


def forget_compiled(files: Iterable[str]) -> None:
    """Drop what Python kept of these files: one saved twice in a second, at one length, is unchanged for it."""
    for file in files:
        if file.endswith(".py"):
            with suppress(OSError):
                Path(cache_from_source(file)).unlink()


class Parent:
    """Holds the socket, and the child that serves."""

    def __init__(self, source: Source) -> None:
        self._source = source
        method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            self._context.set_forkserver_preload(PRELOADED)
            _start_forkserver()
        self._tried = False
        self._child: Child | None = None
        self._socket: socket.socket | None = None
        self._address: tuple[str, int] | None = None

    def look(self, changes: Collection[tuple[Change, str]]) -> None:
        """Reload after a change, and at the first look: files are watched from then on, and no change is missed."""
        if changes or not self._tried:
            self._tried = True
            self._reload(changes)
        elif self._child is not None and not self._child.alive:
            self._child = None
            say("error: the server has stopped, see above; waiting for a change")

    def _reload(self, changes: Collection[tuple[Change, str]]) -> None:
        """Load the target in a new child, and let it take over if that went well."""
        began = time.monotonic()
        forget_compiled(file for _, file in changes)
        child = Child(self._context, self._source)
        answer = child.answer()
        if not isinstance(answer, HttpOptions):
            self._complain(answer)
            return
        if self._child is not None:
            self._child.stop()
        self._child = child
        child.serve(self._listener(answer))
        files = ", ".join(sorted({shown(file) for _, file in changes}))
        if files:
            say(f"reloaded {files} in {time.monotonic() - began:.2f} s")

    def _complain(self, message: str) -> None:
        state = "the version before it still serves" if self._child is not None else "nothing is served yet"
        say(f"error: {message}\n{state}; waiting for a change")

    def _listener(self, options: HttpOptions) -> socket.socket:
        if self._socket is None or self._address != (options.host, options.port):
            if self._socket is not None:
                self._socket.close()
            self._socket, self._address = bind(options), (options.host, options.port)
            self._socket.listen()
            say(f"serving at {url_of(self._socket, options)}, reloading on changes")
        return self._socket

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()
        if self._socket is not None:
            self._socket.close()


def _start_forkserver() -> None:
    """Start what children are forked from. Like them it hears no interrupt of the terminal: the parent ends them."""
    from multiprocessing import forkserver

    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, heard)


class Child:
    """A process that loads the target, says how that went, and serves once it is given the socket."""

    def __init__(self, context: Any, source: Source) -> None:
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, source), daemon=True)
        self._process.start()
        theirs.close()

    def answer(self) -> HttpOptions | str:
        """How HTTP is to be served; or what is wrong with the target."""
        try:
            answer: HttpOptions | str = self._connection.recv()
        except EOFError:
            return "the process that loads the target has died"
        return answer

    @property
    def alive(self) -> bool:
        alive: bool = self._process.is_alive()
        return alive

    def serve(self, listener: socket.socket) -> None:
        self._connection.send(listener)

    def stop(self) -> None:
        """Let it shut down, its lifespan too; its calls in flight are cut."""
        self._connection.close()
        self._process.join(STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()


def serve(connection: Connection, source: Source) -> None:
    """What a child does. It ends with its parent's end of the connection."""
    try:
        server = source.load(serving=True)
    except Failure as failure:
        connection.send(str(failure))
        return
    options = server.http_options()
    connection.send(options)
    try:
        listener = connection.recv()
    except EOFError:
        return
    http = HttpServer(server, options)
    http.config.timeout_graceful_shutdown = CUT_SECONDS  # type: ignore[assignment]
    Thread(target=_stop_with, args=(connection, lambda: http.handle_exit(signal.SIGTERM, None)), daemon=True).start()
    try:
        with failing_with_place(source.folder):
            http.run(sockets=[listener])
    except (Failure, ConfigurationError) as error:
        say(f"error: {error}")


def _stop_with(connection: Connection, stop: Callable[[], None]) -> None:
    try:
        connection.recv()
    except EOFError:
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        stop()


def _is_news(record: logging.LogRecord) -> bool:
    """Whether uvicorn says more than that it cuts what is still open."""
    return not str(record.msg).startswith(("Cancel %s running", "Exception in ASGI application"))
