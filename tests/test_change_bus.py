"""Changes that travel between servers: to each client once, and never back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from frontmcp import FrontMcp, Plugin, Tool, hookimpl
from frontmcp.interfaces import EVERYTHING, ChangeBus
from frontmcp.testing import Road, connect

ERAS = ["2026-07-28", "2025-11-25"]
MODERN = "2026-07-28"
pytestmark = pytest.mark.mcp(era=ERAS, transport="memory")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: Any) -> Any:
    return request.param


class Street:
    """What connects the buses of a test's servers."""

    def __init__(self) -> None:
        self.buses: list[Bus] = []
        self.sent: list[str] = []


class Bus:
    def __init__(self, street: Street) -> None:
        self.street = street
        self.heard: Callable[[str], Awaitable[None]] | None = None

    async def publish(self, change: str) -> None:
        self.street.sent.append(change)
        for other in self.street.buses:
            if other is not self and other.heard is not None:
                await other.heard(change)

    async def run(self, heard: Callable[[str], Awaitable[None]]) -> None:
        self.heard = heard
        self.street.buses.append(self)
        try:
            await anyio.sleep_forever()
        finally:
            self.street.buses.remove(self)


@pytest.fixture
def street() -> Street:
    return Street()


def make(street: Street) -> FrontMcp:
    class Streets(Plugin):
        @hookimpl
        def change_bus(self, config: Any, server: Any) -> ChangeBus:
            assert server.name == "desk"
            return Bus(street)

    server = FrontMcp("desk", plugins=[Streets])
    server.resource("ticket://{id}", name="ticket")(lambda id: id)
    server.prompt(name="note")(lambda: "note")
    server.tool(name="ping", description="Answer")(lambda: "pong")
    return server


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not condition():
            await anyio.sleep(0.01)


async def test_clients_of_one_server_hear_what_changed_in_another(mcp_road: Road, street: Street) -> None:
    @Tool(name="later")
    async def later() -> str:
        return "later"

    here, there = make(street), make(street)
    async with connect(here, mcp_road) as client, there.running():
        sdk = await client.connect()
        await client.tools.list()
        await until(lambda: len(street.buses) == 2)
        listen = {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}
        if mcp_road.era == MODERN:
            async with sdk.listen(**listen):
                await there.add_tool(later)
                await there.list_changed("prompts")
                await there.list_changed("resources")
                await until(lambda: len(client.notifications.changed()) == 3)
        else:
            await there.add_tool(later)
            await there.list_changed("prompts")
            await there.list_changed("resources")
            await until(lambda: len(client.notifications.changed()) == 3)
        assert sorted(client.notifications.changed()) == ["prompts", "resources", "tools"]
        assert [tool.name for tool in await client.tools.list()] == ["ping"], "its own registry is as it was"
    assert street.sent == ["tools", "prompts", "resources"], "what was heard is not sent again"
    assert street.buses == []


async def test_a_resource_that_is_updated_elsewhere(mcp_road: Road, street: Street) -> None:
    here, there = make(street), make(street)
    async with connect(here, mcp_road) as client, there.running():
        await client.tools.list()
        await until(lambda: len(street.buses) == 2)
        async with client.resources.subscribe("ticket://7") as updates:
            if mcp_road.era != MODERN:
                await anyio.sleep(0.2)
            await there.resource_updated("ticket://8")
            await there.resource_updated("ticket://7")
            assert await updates.wait() == "ticket://7"
    assert client.notifications.updated() == ["ticket://7"]


async def test_everything_is_every_list_and_every_subscribed_resource(mcp_road: Road, street: Street) -> None:
    here = make(street)
    async with connect(here, mcp_road) as client:
        sdk = await client.connect()
        await client.tools.list()
        await until(lambda: len(street.buses) == 1)
        (bus,) = street.buses
        assert bus.heard is not None
        if mcp_road.era == MODERN:
            async with sdk.listen(tools_list_changed=True, resource_subscriptions=["ticket://7"]):
                await bus.heard(EVERYTHING)
                await until(lambda: client.notifications.updated() == ["ticket://7"])
                assert client.notifications.changed() == ["tools"]
            await until(lambda: not here.wire.changes._listened)
        else:
            async with client.resources.subscribe("ticket://7") as updates:
                await anyio.sleep(0.2)
                await bus.heard(EVERYTHING)
                assert await updates.wait() == "ticket://7"
                await until(lambda: len(client.notifications.changed()) == 3)
    assert street.sent == []


async def test_what_is_no_change_is_passed_over(street: Street) -> None:
    server, told = make(street), []

    async def listen(what: str) -> None:
        told.append(what)

    server.on_change(listen)
    async with server.running():
        await until(lambda: len(street.buses) == 1)
        heard = street.buses[0].heard
        assert heard is not None
        for what in ("", "nonsense", "templates", "tools"):
            await heard(what)
    assert told == ["tools"]
    with pytest.raises(ValueError, match='no list "tool"'):
        await server.list_changed("tool")  # type: ignore[arg-type]
