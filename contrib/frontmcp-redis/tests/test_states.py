"""Kept results and spent states: there for their time, taken once, for every process."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

import anyio
import pytest
from frontmcp_redis import RedisStates, RedisStateStore

from frontmcp import ConfigurationError, FrontMcp
from frontmcp.interfaces import StateStore

PATIENCE = 20


@pytest.fixture
async def store(url: str) -> AsyncIterator[RedisStateStore]:
    made = RedisStateStore(url)
    yield made
    await made.aclose()


async def test_it_keeps_and_forgets(store: RedisStateStore) -> None:
    assert isinstance(store, StateStore)
    assert await store.get("a") is None
    await store.set("a", b"\x00\xff", ttl=60)
    assert await store.get("a") == b"\x00\xff"
    await store.set("a", b"", ttl=60)
    assert await store.get("a") == b""
    await store.delete("a")
    assert await store.get("a") is None


async def test_what_is_taken_is_taken_once(store: RedisStateStore, url: str) -> None:
    other, taken = RedisStateStore(url), []

    async def take(by: RedisStateStore) -> None:
        taken.append(await by.add("spent", b"1", ttl=60))

    async with anyio.create_task_group() as group:
        for each in (store, other) * 20:
            group.start_soon(take, each)
    assert taken.count(True) == 1
    await other.aclose()


async def test_its_time_ends(store: RedisStateStore) -> None:
    assert await store.add("brief", b"1", ttl=0.02)
    with anyio.fail_after(PATIENCE):
        while await store.get("brief") is not None:  # noqa: ASYNC110
            await anyio.sleep(0.005)
    assert await store.add("brief", b"2", ttl=60)
    await store.delete("brief")


async def test_a_server_keeps_its_states_there(url: str) -> None:
    server = FrontMcp("desk", plugins=[RedisStates], state_store=url)
    async with server.running():
        assert isinstance(server.state_store, RedisStateStore)


@pytest.mark.parametrize("url", ["postgres://:hunter2@host", "redis://:hunter2", "redis://nour:hunter2/x@host"])
def test_a_url_of_something_else_stops_the_start(url: str) -> None:
    with pytest.raises(ConfigurationError, match="state_store") as refused:
        FrontMcp("desk", plugins=[RedisStates], state_store=url).check()
    assert "hunter2" not in str(refused.value)


def test_the_entry_points_are_the_plugins() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    for name, path in project["entry-points"]["frontmcp.plugins"].items():
        module, _, attribute = path.partition(":")
        assert getattr(import_module(module), attribute).name == name
