"""Names: which spelling finds which tool, and what a list shows of them."""

from __future__ import annotations

from typing import Any

import pytest

from frontmcp import App, ConfigurationError, FrontMcp, Tool, create_direct


def tool(name: str, result: str = "", **options: Any) -> Tool:
    def body() -> str:
        return result or name

    made: Tool = Tool(name=name, sync="inline", **options)
    made(body)
    return made


def server_of(**apps: list[Tool]) -> FrontMcp:
    server = FrontMcp("s", apps=[App(id=id, tools=tools) for id, tools in apps.items()], plugins=["no:aliasing"])
    server.check()
    return server


async def names_of(server: FrontMcp) -> list[str]:
    async with create_direct(server) as direct:
        return [each.name for each in await direct.list_tools()]


def id_of(server: FrontMcp, name: str) -> str | None:
    entry = server.find(name)
    return None if entry is None else entry.id


async def test_a_name_of_one_app_is_listed_bare_and_found_canonically() -> None:
    server = server_of(desk=[tool("close")], billing=[tool("pay")])
    assert await names_of(server) == ["close", "pay"]
    for name in ("close", "desk:close"):
        assert id_of(server, name) == "desk:close"
    for name in ("", "desk:pay", "billing:close", "Close", "close ", "nothing"):
        assert id_of(server, name) is None


async def test_a_name_of_two_apps_is_listed_qualified_and_the_first_is_called() -> None:
    server = server_of(desk=[tool("get", "desk's")], billing=[tool("get", "billing's")])
    assert await names_of(server) == ["billing.get", "desk.get"]
    async with create_direct(server) as direct:
        for name, text in [
            ("get", "desk's"),
            ("desk.get", "desk's"),
            ("billing.get", "billing's"),
            ("billing:get", "billing's"),
        ]:
            assert (await direct.call_tool(name)).content[0].text == text  # type: ignore[union-attr]


async def test_what_is_listed_can_be_called_though_the_first_of_its_name_is_internal() -> None:
    server = server_of(desk=[tool("get", visibility="internal")], billing=[tool("get", "billing's")])
    (name,) = await names_of(server)
    async with create_direct(server) as direct:
        assert (await direct.call_tool(name)).content[0].text == "billing's"  # type: ignore[union-attr]


def test_an_exact_name_beats_a_qualified_one() -> None:
    server = server_of(a=[tool("x", "a's"), tool("b.x")], c=[tool("x")])
    assert id_of(server, "b.x") == "a:b.x"
    assert id_of(server, "a.x") == "a:x"


def test_two_tools_listed_under_one_name_stop_the_start() -> None:
    apps = [App(id="a", tools=[tool("x"), tool("b.x")]), App(id="b", tools=[tool("x")])]
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("s", apps=apps).check()
    (problem,) = refused.value.problems
    assert problem.startswith('two tools would be listed as "b.x": a:b.x (')
    assert problem.endswith("; rename one")


def test_two_tools_of_one_name_in_one_app_stop_the_start() -> None:
    with pytest.raises(
        ConfigurationError, match=r'app "a" has two tools named "x" \(.*test_registry.py:\d+\) and .*rename one'
    ):
        FrontMcp("s", apps=[App(id="a", tools=[tool("x"), tool("x")])]).check()


def test_all_problems_of_all_tools_are_listed_at_once() -> None:
    class Own: ...

    def wrong(own: Own) -> None: ...

    def also_wrong(own: Own) -> None: ...

    server = FrontMcp("s", tools=[wrong, also_wrong, 3], apps=[App(id="a", tools=[tool("x"), tool("x")])])
    with pytest.raises(ConfigurationError) as refused:
        server.check()
    assert len(refused.value.problems) == 4


async def test_tools_come_and_go() -> None:
    server = server_of(desk=[tool("get")])
    await server.add_tool(tool("put"))
    assert await names_of(server) == ["get", "put"]
    await server.add_tool(tool("get"))
    assert await names_of(server) == ["desk.get", "put", "s.get"]
    await server.remove_tool("desk:get")
    assert await names_of(server) == ["get", "put"]
    assert id_of(server, "get") == "s:get"
    with pytest.raises(ConfigurationError, match='there is no tool "desk:get"'):
        await server.remove_tool("desk:get")


async def test_a_tool_that_can_not_be_added_leaves_no_trace() -> None:
    server = server_of(desk=[tool("get")])
    with pytest.raises(ConfigurationError, match='app "s" has two tools named "put"'):
        for _ in range(2):
            await server.add_tool(tool("put"))
    with pytest.raises(ConfigurationError):
        await server.add_tool(lambda: 1)
    assert await names_of(server) == ["get", "put"]


async def test_lists_are_sorted_by_name() -> None:
    server = server_of(desk=[tool(name) for name in ("b", "a", "c", "B")])
    assert await names_of(server) == ["B", "a", "b", "c"]
