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
from typing import Any

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


def until(condition: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, otherwise
        time.sleep(0.02)


def listening(redis_url: str) -> int:
    """How many processes hear of changes."""
    with redis.Redis.from_url(redis_url) as client:
        count: int = client.pubsub_numsub("frontmcp:changes:workers")[0][1]
        return count


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
        until(self._listens, "the worker does not listen")

    def _listens(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@pytest.fixture(scope="session")
def http_workers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[int, str], AbstractContextManager[list[Worker]]]:
    """``with http_workers(2, redis_url) as (here, there)``: processes of one server."""

    @contextmanager
    def workers(count: int, redis_url: str) -> Iterator[list[Worker]]:
        already = listening(redis_url)
        keys, folder = secrets.token_hex(32), tmp_path_factory.mktemp("workers")
        started = [Worker(redis_url, folder / f"worker-{number}.log", keys) for number in range(count)]
        try:
            for each in started:
                each.wait()
            until(lambda: listening(redis_url) == already + count, "the workers don't hear of changes")
            yield started
        finally:
            for each in started:
                each.process.kill()
                each.process.wait()

    return workers


@pytest.fixture(scope="session")
def two_workers(shared_redis: RedisServer, http_workers: Any) -> Iterator[list[Worker]]:
    """Processes of one server that stay up."""
    with http_workers(2, shared_redis.url) as started:
        yield started
