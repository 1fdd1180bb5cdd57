"""Changes that one process makes, and the clients of the others hear of."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import redis.asyncio
from frontmcp_redis import RedisChangeBus, RedisChanges, RedisGuards, RedisStates
from frontmcp_redis.changes import CHANNEL, MOST_WAITING, Waiting
from mcp import Client

from frontmcp import ConfigurationError, FrontMcp
from frontmcp.interfaces import EVERYTHING, ChangeBus

PATIENCE = 30
ERAS = ["2026-07-28", "legacy"]


class Hearing:
    """A client that hears of changes, in the way of its era."""

    def __init__(self) -> None:
        self.events: list[str] = []

    async def message(self, message: Any) -> None:
        self.note(getattr(message, "method", ""), getattr(getattr(message, "params", None), "uri", ""))

    def note(self, method: str, uri: Any) -> None:
        for name in ("tools", "prompts", "resources"):
            if method == f"notifications/{name}/list_changed":
                self.events.append(name)
        if method == "notifications/resources/updated":
            self.events.append(str(uri))

    async def heard(self, *wanted: str) -> None:
        await _until(lambda: set(wanted) <= set(self.events))


@asynccontextmanager
async def hearing(url: str, era: str) -> AsyncIterator[tuple[Client, Hearing]]:
    hearing = Hearing()
    async with Client(url, mode=era, message_handler=hearing.message, cache=None) as client:
        await client.list_tools()
        if era == "legacy":
            await client.subscribe_resource("ticket://7")
            # The stream of notifications is opened beside the first requests.
            await anyio.sleep(0.3)
            yield client, hearing
        else:
            async with client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=["ticket://7"],
            ):
                yield client, hearing


pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


@pytest.mark.parametrize("era", ERAS)
async def test_what_one_process_changes_the_clients_of_another_hear(era: str, two_workers: Any) -> None:
    here, there = two_workers
    later = f"later_{era}"
    async with hearing(here.url, era) as (client, heard), Client(there.url, cache=None) as other:
        await other.call_tool("add", {"name": later})
        await heard.heard("tools")
        await other.call_tool("relist", {"name": "prompts"})
        await other.call_tool("relist", {"name": "resources"})
        await heard.heard("prompts", "resources")
        heard.events.clear()
        await other.call_tool("update", {"uri": "ticket://8"})
        await other.call_tool("update", {"uri": "ticket://7"})
        await heard.heard("ticket://7")
        assert heard.events == ["ticket://7"], "once, and nothing else"
        assert later not in [tool.name for tool in (await client.list_tools()).tools]
        assert later in [tool.name for tool in (await other.list_tools()).tools]


async def test_a_process_that_is_killed_takes_nothing_along(url: str, two_workers: Any, http_workers: Any) -> None:
    here, there = two_workers
    async with hearing(here.url, ERAS[0]) as (_, heard), Client(there.url, cache=None) as other:
        with http_workers(1, url) as (killed,):
            async with anyio.create_task_group() as group:
                group.start_soon(_relist_until_it_dies, killed.url)
                await heard.heard("prompts")
                killed.process.kill()
        heard.events.clear()
        await other.call_tool("update", {"uri": "ticket://7"})
        await heard.heard("ticket://7")


async def _relist_until_it_dies(url: str) -> None:
    try:
        async with Client(url, cache=None, read_timeout_seconds=5) as client:
            while True:
                await client.call_tool("relist", {"name": "prompts"})
    except Exception:
        return


async def test_redis_goes_and_comes_back_under_load(own_redis: Any, http_workers: Any) -> None:
    with http_workers(2, own_redis.url) as (here, there):
        async with hearing(here.url, ERAS[0]) as (_, heard), Client(there.url, cache=None) as other:
            await other.call_tool("relist", {"name": "tools"})
            await heard.heard("tools")

            async def load() -> None:
                number = 0
                while True:
                    number += 1
                    await other.call_tool("update", {"uri": f"ticket://{number + 100}"})

            async with anyio.create_task_group() as group:
                group.start_soon(load)
                own_redis.stop()
                await _until(lambda: "not passed on" in here.log.read_text())
                await other.call_tool("update", {"uri": "ticket://7"})
                heard.events.clear()
                own_redis.start()
                await heard.heard("tools", "prompts", "resources", "ticket://7")
                group.cancel_scope.cancel()
            heard.events.clear()
            await other.call_tool("relist", {"name": "prompts"})
            await heard.heard("prompts")
        for each in (here, there):
            assert each.log.read_text().count("changes are not passed on") == 1
            assert each.log.read_text().count("passed on between processes again") == 1


async def test_a_server_starts_without_redis(own_redis: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    own_redis.stop()
    told: list[str] = []

    async def listen(what: str) -> None:
        told.append(what)

    server = FrontMcp("desk", plugins=[RedisChanges], change_bus=own_redis.url)
    server.on_change(listen)
    async with server.running():
        await _until(lambda: "changes are not passed on" in caplog.text)
        await server.list_changed("tools")
        assert told == ["tools"]
        own_redis.start()
        await _until(lambda: told == ["tools", EVERYTHING])
    assert caplog.text.count("not passed on") == 1


async def test_buses_of_one_name_hear_one_another_and_not_themselves(url: str) -> None:
    made = {name: RedisChangeBus(url, name.rstrip("12")) for name in ("desk1", "desk2", "shop")}
    heard: dict[str, list[str]] = {name: [] for name in made}
    assert isinstance(made["shop"], ChangeBus)

    async with anyio.create_task_group() as group:
        for name, bus in made.items():

            async def note(change: str, name: str = name) -> None:
                heard[name].append(change)
                if change == "tools":
                    raise OSError("a listener that fails")

            group.start_soon(bus.run, note)
        await _until(lambda: all(said == [EVERYTHING] for said in heard.values()))
        await made["desk1"].publish("tools")
        await made["desk1"].publish("resource ticket://ü")
        await _until(lambda: len(heard["desk2"]) == 3)
        group.cancel_scope.cancel()
    assert heard == {"desk1": [EVERYTHING], "desk2": [EVERYTHING, "tools", "resource ticket://ü"], "shop": [EVERYTHING]}


async def test_a_connection_that_is_cut_is_made_anew(url: str) -> None:
    bus, heard = RedisChangeBus(url, "cut"), []

    async def note(change: str) -> None:
        heard.append(change)

    async with anyio.create_task_group() as group:
        group.start_soon(bus.run, note)
        await _until(lambda: heard == [EVERYTHING])
        await _cut_subscriptions(url)
        await _until(lambda: heard == [EVERYTHING, EVERYTHING])
        group.cancel_scope.cancel()


async def _cut_subscriptions(url: str) -> None:
    async with redis.asyncio.Redis.from_url(url) as client:
        await client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")


async def test_what_waits_is_bounded_and_told_once() -> None:
    waiting = Waiting()
    for _ in range(3):
        waiting.add("tools")
    waiting.add("resource a")
    assert [await waiting.next(), await waiting.next(), len(waiting)] == ["tools", "resource a", 0]
    for number in range(MOST_WAITING * 3):
        waiting.add(f"resource {number}")
    assert [await waiting.next(), len(waiting)] == [EVERYTHING, 0]
    bus = RedisChangeBus("redis://127.0.0.1:1/0", "away")
    for number in range(MOST_WAITING * 3):
        await bus.publish(f"resource {number}")
    assert len(bus._outgoing) == 1


async def test_after_much_nothing_is_left(own_redis: Any) -> None:
    """Neither in Redis, nor in the process."""
    bus, heard = RedisChangeBus(own_redis.url, "desk"), []

    async def note(change: str) -> None:
        heard.append(change)

    other = RedisChangeBus(own_redis.url, "desk")
    async with anyio.create_task_group() as group:
        group.start_soon(bus.run, note)
        group.start_soon(other.run, note)
        await _until(lambda: len(heard) == 2)
        for number in range(2000):
            await other.publish(f"resource {number}")
            if not number % 100:
                await _until(lambda: len(other._outgoing) == 0)
        await other.publish("prompts")
        await _until(lambda: "prompts" in heard)
        group.cancel_scope.cancel()
    async with redis.asyncio.Redis.from_url(own_redis.url) as client:
        assert await client.dbsize() == 0
        with anyio.fail_after(PATIENCE):
            while (await client.pubsub_numsub(f"{CHANNEL}desk"))[0][1]:  # noqa: ASYNC110
                await anyio.sleep(0.01)


async def _until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.01)


def test_a_url_of_something_else_stops_the_start() -> None:
    with pytest.raises(ConfigurationError, match="change_bus") as refused:
        FrontMcp("desk", plugins=[RedisChanges], change_bus="amqp://:hunter2@host").check()
    assert "hunter2" not in str(refused.value)


def test_without_the_option_there_is_none() -> None:
    assert RedisChanges().change_bus(None, FrontMcp("desk")) is None


@pytest.mark.parametrize("anyio_backend", ["trio"])
@pytest.mark.parametrize("option", ["change_bus", "state_store", "throttle"])
async def test_on_trio_it_says_that_it_can_not(anyio_backend: str, option: str, url: str) -> None:
    given: Any = {option: {"store": url} if option == "throttle" else url}
    with pytest.raises(ConfigurationError, match=rf"{option}.*asyncio"):
        async with FrontMcp("desk", plugins=[RedisChanges, RedisStates, RedisGuards], **given).running():
            pass
