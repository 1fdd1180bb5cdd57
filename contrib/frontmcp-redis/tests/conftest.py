"""A real Redis of the test run's own, from the binary, on a free port of the loopback device."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import redis

PATIENCE = 30
WORKER = Path(__file__).parent / "http_worker.py"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """A Redis that can be stopped and started again, with nothing on disk."""

    def __init__(self, binary: str, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        with redis.Redis.from_url(self.url) as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.RedisError:
                    assert time.monotonic() < end, "redis-server does not answer"
                    time.sleep(0.01)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def redis_binary() -> str:
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("there is no redis-server on this machine")
    return binary


@pytest.fixture(scope="session")
def shared_redis(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One that stays up."""
    server = RedisServer(redis_binary, tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def url(shared_redis: RedisServer) -> str:
    return shared_redis.url


@pytest.fixture
def own_redis(redis_binary: str, tmp_path: Path) -> Iterator[RedisServer]:
    """One that a test may stop."""
    server = RedisServer(redis_binary, tmp_path)
    server.start()
    yield server
    server.stop()


class Worker:
    """A process that serves, and what it logged."""

    def __init__(self, redis_url: str, log: Path, keys: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.log = log
        path = os.pathsep.join(sys.path)
        environ = {**os.environ, "PYTHONPATH": path, "FRONTMCP_STATE_KEYS": keys}
        with log.open("w") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, str(WORKER), redis_url, str(self.port)], env=environ, stderr=stderr
            )

    def wait(self) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, "the worker does not listen"
            time.sleep(0.02)


@pytest.fixture
def http_workers(tmp_path: Path) -> Callable[[int, str], AbstractContextManager[list[Worker]]]:
    """``with http_workers(2, redis_url) as (here, there)``: processes of one server."""

    @contextmanager
    def workers(count: int, redis_url: str) -> Iterator[list[Worker]]:
        keys = secrets.token_hex(32)
        started = [Worker(redis_url, tmp_path / f"worker-{number}.log", keys) for number in range(count)]
        try:
            for each in started:
                each.wait()
            yield started
        finally:
            for each in started:
                each.process.kill()
                each.process.wait()

    return workers
