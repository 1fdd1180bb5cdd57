"""Run commands, in this process or in one of their own, on targets in a folder of their own."""

from __future__ import annotations

import os
import queue
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from frontmcp.cli.app import run

SECONDS = 20


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).is_relative_to(tmp_path):
            del sys.modules[name]


@pytest.fixture
def write(folder: Path) -> Callable[[str, str], Path]:
    """Write a file below the working directory."""

    def write(name: str, text: str) -> Path:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file

    return write


@pytest.fixture
def frontmcp(folder: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command; its exit code and what it printed."""

    def frontmcp(*words: str) -> Ran:
        capfd.readouterr()
        code = run(words)
        return Ran(code, *capfd.readouterr())

    return frontmcp


class Served:
    """A running ``frontmcp``, and the lines it writes.

    :ivar seen: all of them, once it has ended.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self.seen.append(line.rstrip())
                self._lines.put(line.rstrip())

    def line(self, pattern: str) -> re.Match[str]:
        """The next line that matches."""
        while True:
            if match := re.search(pattern, self._lines.get(timeout=SECONDS)):
                return match

    def url(self) -> str:
        """The endpoint, once it takes connections."""
        found = self.line(r"(http://127\.0\.0\.1:(\d+)/mcp)")
        for _ in range(SECONDS * 20):
            try:
                socket.create_connection(("127.0.0.1", int(found[2]))).close()
            except OSError:
                threading.Event().wait(0.05)
            else:
                return found[1]
        raise AssertionError("it does not listen")

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Its exit code, once it and its lines have ended."""
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.stop()
        self._reader.join(SECONDS)
        assert not self._reader.is_alive(), "something of it still runs"


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[..., Served]]:
    """Start ``frontmcp`` in a process; whatever still runs at the end is stopped."""
    started: list[Served] = []

    def serve(*words: str, module: str | None = "frontmcp") -> Served:
        command = [sys.executable, *(["-m", module] if module else []), *words]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        started.append(Served(process))
        return started[-1]

    yield serve
    for served in started:
        served.close()
