"""Limits that processes share: exact, back after a kill, and closed while Redis is away."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from frontmcp_redis import RedisGuards, RedisGuardStore
from frontmcp_redis.guards import ACQUIRE, HIT

from frontmcp import ConfigurationError, FrontMcp, PublicMcpError, Tool, create_direct
from frontmcp.testing import GuardStoreKit

WORKER = Path(__file__).parent / "worker.py"
PATIENCE = 20


class TestKit(GuardStoreKit):
    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[RedisGuardStore]:
        made = RedisGuardStore(url)
        yield made
        await made.aclose()


@contextmanager
def workers(count: int, url: str, lease: float = 15) -> Iterator[list[subprocess.Popen[str]]]:
    started = [
        subprocess.Popen(
            [sys.executable, str(WORKER), url, str(lease)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for _ in range(count)
    ]
    try:
        yield started
    finally:
        for each in started:
            each.kill()
            each.communicate()


def tell(worker: subprocess.Popen[str], words: str) -> None:
    assert worker.stdin is not None
    worker.stdin.write(f"{words}\n")
    worker.stdin.flush()


def heard(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def test_three_processes_share_a_limit_exactly(own_redis: Any) -> None:
    with workers(3, own_redis.url) as started:
        for each in started:
            tell(each, "ping 70")
        passed = [int(heard(each)) for each in started]
    assert sum(passed) == 100


def test_the_slot_of_a_killed_process_comes_back_and_that_of_a_live_one_does_not(own_redis: Any) -> None:
    async def take(timeout: float) -> Any:
        store = RedisGuardStore(own_redis.url, lease=1)
        try:
            return await store.acquire("workers:tool workers:hold:slots:global", limit=1, timeout=timeout)
        finally:
            await store.aclose()

    with workers(1, own_redis.url, lease=1) as (holder,):
        tell(holder, "hold 1")
        assert heard(holder) == "inside"
        # Held beyond its lease, as its process renews it.
        assert anyio.run(take, 2.5) is None
        holder.kill()
        assert anyio.run(take, PATIENCE) is not None


@Tool(rate_limit={"max_requests": 1_000_000}, concurrency={"max_concurrent": 50, "queue_timeout_ms": 10_000})
async def closed() -> str:
    return "pong"


@Tool(
    rate_limit={"max_requests": 1_000_000, "on_store_failure": "allow"},
    concurrency={"max_concurrent": 50, "on_store_failure": "allow"},
)
async def opened() -> str:
    return "pong"


async def test_while_redis_is_away_limits_are_closed_unless_they_say_otherwise(own_redis: Any) -> None:
    server = FrontMcp("desk", tools=[closed, opened], plugins=[RedisGuards], throttle={"store": own_redis.url})
    said: dict[str, set[str]] = {"closed": set(), "opened": set()}

    async with create_direct(server) as direct:

        async def call(name: str) -> str:
            try:
                return str((await direct.call_tool(name)).content[0].text)  # type: ignore[union-attr]
            except PublicMcpError as error:
                return error.code

        async def load(name: str) -> None:
            while True:
                said[name].add(await call(name))
                await anyio.sleep(0.001)

        async with anyio.create_task_group() as group:
            for name in ("closed", "opened") * 5:
                group.start_soon(load, name)
            await _until(lambda: all("pong" in each for each in said.values()))
            own_redis.stop()
            await _until(lambda: "GUARD_UNAVAILABLE" in said["closed"])
            assert {await call("closed") for _ in range(20)} == {"GUARD_UNAVAILABLE"}
            assert {await call("opened") for _ in range(20)} == {"pong"}
            own_redis.start()
            said["closed"].clear()
            await _until(lambda: "pong" in said["closed"])
            group.cancel_scope.cancel()
        assert said["opened"] == {"pong"}
        assert await call("closed") == "pong"


async def _until(condition: Any) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.01)


@pytest.mark.parametrize("ahead", [3600, -3600])
async def test_clocks_of_processes_may_differ(url: str, ahead: float, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = RedisGuardStore(url, lease=30), RedisGuardStore(url, lease=30)
    rate, slots = (f"clocks:{kind}:{ahead}" for kind in ("rate", "slots"))
    assert await here.hit(rate, limit=1, window=60) is None
    held = await here.acquire(slots, limit=1, timeout=0)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + ahead)
    wait = await there.hit(rate, limit=1, window=60)
    assert wait is not None
    assert 0 < wait <= 60
    assert await there.acquire(slots, limit=1, timeout=0) is None
    monkeypatch.undo()
    assert held is not None
    await held.release()
    for store in (here, there):
        await store.aclose()


async def test_what_is_sent_twice_as_a_connection_broke_counts_once(url: str) -> None:
    store = RedisGuardStore(url)
    for _ in range(3):
        assert await store._run(HIT, "frontmcp:twice", 60_000_000, 1, "one call") == 0
        assert await store._run(ACQUIRE, "frontmcp:slots", 15_000, 1, "one call") == 1
    assert await store.hit("twice", limit=1, window=60) is not None
    assert await store.hit("twice", limit=2, window=60) is None
    assert await store.acquire("slots", limit=1, timeout=0) is None
    assert await store.acquire("slots", limit=2, timeout=0) is not None
    await store.aclose()


async def test_keys_end_with_their_window(url: str) -> None:
    store = RedisGuardStore(url)
    assert await store.hit("short", limit=3, window=0.05) is None
    client = store._connections.client()
    assert 0 < await client.pttl("frontmcp:short") <= 50
    await store.aclose()


@pytest.mark.parametrize("config", [None, "memory", "valkey://host", {"url": "file:///x"}, 7])
def test_what_is_no_redis_is_for_somebody_else(config: Any) -> None:
    assert RedisGuards().guard_store(config) is None


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("redis://:hunter2", "url: not a URL such as redis://user:password@host:6379/0"),
        ("redis://nour:hunter2/x@127.0.0.1:6379", "url: not a URL such as redis://"),
        ("redis://127.0.0.1/0?socket_timeout=hunter2", "url: not a URL such as redis://"),
        ({"url": "redis://:hunter2"}, "url: not a URL such as redis://"),
        ({"url": "redis://:hunter2@127.0.0.1", "leese": 3}, "leese: Extra inputs are not permitted"),
        ({"url": "redis://:hunter2@127.0.0.1", "lease": 0}, "lease: Input should be greater than 0"),
        ({"url": "redis://:hunter2@127.0.0.1", "lease": "hunter2"}, "lease: Input should be a valid number"),
    ],
)
def test_a_store_that_can_not_be_stops_the_start_and_tells_no_password(config: Any, said: str) -> None:
    server = FrontMcp("desk", tools=[closed], plugins=[RedisGuards], throttle={"store": config})
    with pytest.raises(ConfigurationError) as refused:
        server.check()
    (problem,) = refused.value.problems
    assert problem.startswith(f"throttle: store: {said}")
    assert "hunter2" not in str(refused.value)


def test_without_guards_the_server_starts() -> None:
    FrontMcp("desk", plugins=[RedisGuards, "no:guards"]).check()
