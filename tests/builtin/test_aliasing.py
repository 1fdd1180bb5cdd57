"""Every spelling finds the tool it should: an exact name first, then the first registered that fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmcp import App, Caller, FrontMcp, Tool, ToolContext, create_direct
from frontmcp.errors import ToolNotFoundError

# Few and alike, so that spellings collide: dashes and dots stand in app ids and tool names.
APP_IDS = st.sampled_from(["a", "a-", "a_", "b"])
TOOL_NAMES = st.sampled_from(["b", "b-", "b_", "a.b", "a.b-", "a.b_", "a_.b_", "a-.b-", "-", "."])
SPELLINGS = st.text("ab-_.:", max_size=8)


@Tool
async def get_ticket(ctx: ToolContext) -> str:
    return ctx.call.entry.id


def tool(name: str) -> Tool:
    definition: Tool = Tool(name=name)

    @definition
    async def execute(ctx: ToolContext) -> str:
        return ctx.call.entry.id

    return definition


def server_of(tools: list[tuple[str, str]]) -> FrontMcp:
    """A server with these tools, pairs of app id and name, in this order."""
    apps = {app_id: App(id=app_id) for app_id, _ in tools}
    server = FrontMcp("aliases", apps=apps.values(), autoload_plugins=False)
    for app_id, name in tools:
        apps[app_id].add(tool(name))
    return server


async def called(server: FrontMcp, name: str) -> str | None:
    """The id of the tool that a client's call of ``name`` reaches."""
    async with create_direct(server) as direct:
        try:
            return (await direct.call_tool(name)).content[0].text  # type: ignore[union-attr]
        except ToolNotFoundError as error:
            assert str(error).startswith('Tool "')  # noqa: PT017
            return None


def expected(tools: list[tuple[str, str]], name: str) -> str | None:
    """The rule, read off the page: an exact name, else the first registered that some spelling fits."""

    def fits(app_id: str, tool_name: str) -> bool:
        prefixes = ("", f"{app_id}:", f"{app_id}.")
        rests = [name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)]
        return any(rest.replace("-", "_") == tool_name.replace("-", "_") for rest in rests)

    exact = [{tool_name: f"{app_id}:{tool_name}" for app_id, tool_name in reversed(tools)}]
    exact += [{f"{app_id}{separator}{tool}": f"{app_id}:{tool}" for app_id, tool in tools} for separator in ":."]
    for names in exact:
        if name in names:
            return names[name]
    return next((f"{app_id}:{tool}" for app_id, tool in tools if fits(app_id, tool)), None)


@st.composite
def tools_and_spelling(draw: st.DrawFn) -> tuple[list[tuple[str, str]], str]:
    tools = draw(st.lists(st.tuples(APP_IDS, TOOL_NAMES), min_size=1, max_size=5, unique=True))
    app_id, name = draw(st.sampled_from(tools))
    separator = draw(st.sampled_from([":", ".", ""]))
    near = f"{app_id}{separator}{name}" if separator else name
    flipped = "".join(
        draw(st.sampled_from("-_")) if letter in "-_" and draw(st.booleans()) else letter for letter in near
    )
    return tools, draw(st.one_of(st.just(flipped), SPELLINGS))


@settings(max_examples=150, deadline=None)
@given(tools_and_spelling(), st.integers(min_value=1))
async def test_a_spelling_finds_the_exact_name_or_the_first_registered_that_it_fits(
    drawn: tuple[list[tuple[str, str]], str], inside: int
) -> None:
    tools, name = drawn
    server = server_of(tools)
    try:
        server.check()
    except Exception as error:
        assert "would be listed as" in str(error)  # noqa: PT017
        return
    assert await called(server, name) == expected(tools, name)
    scope = tools[: inside % len(tools) + 1]
    assert await reached(server, name, [f"{app_id}:{tool}" for app_id, tool in scope]) == expected(scope, name)


async def reached(server: FrontMcp, name: str, ids: list[str]) -> str | None:
    """The id of the tool that a call reaches for which only these tools exist."""
    scope = {id: entry for id in ids if (entry := server.find(id)) is not None}
    try:
        result: Any = await server.call(name, origin="agent", caller=Caller("nour"), scope=scope)
    except ToolNotFoundError:
        return None
    return str(result.content[0].text)


@pytest.fixture(scope="module")
def desk() -> FrontMcp:
    return FrontMcp("aliases", apps=[App(id="help-desk", tools=[get_ticket])])


@pytest.mark.parametrize(
    "name",
    [
        "get_ticket", "get-ticket", "help-desk:get_ticket", "help-desk:get-ticket", "help-desk.get_ticket",
        "help-desk.get-ticket",
    ],
)  # fmt: skip
async def test_found(desk: FrontMcp, name: str) -> None:
    assert await called(desk, name) == "help-desk:get_ticket"


@pytest.mark.parametrize(
    "name",
    [
        "", " ", ":", ".", "-", ":get_ticket", ".get_ticket", "get_ticket:", "help-desk:", "help-desk.", "help-desk",
        "help_desk:get_ticket", "help_desk.get_ticket", "help-desk::get_ticket", "help-desk:help-desk:get_ticket",
        "billing:get_ticket", "GET_TICKET", "get ticket", " get_ticket", "get_ticket\n", "get_ticket\0",
        "get\u2010ticket", "\uff47et_ticket", "../get_ticket", "get_ticket%", "{get_ticket}", "💥", "-" * 10_000,
        "get_ticket" * 1_000,        "help-desk:" + "x" * 10_000,
    ],
    ids=lambda name: repr(name[:20]),
)  # fmt: skip
async def test_not_found(desk: FrontMcp, name: str) -> None:
    assert await called(desk, name) is None


async def test_an_app_id_is_never_normalised_even_where_that_would_find_another_app() -> None:
    server = server_of([("help_desk", "get_ticket")])
    assert await called(server, "help-desk:get-ticket") is None
    assert await called(server, "help-desk.get-ticket") is None


async def test_an_exact_name_wins_over_an_earlier_spelling() -> None:
    server = server_of([("a", "get-ticket"), ("b", "get_ticket")])
    assert await called(server, "get_ticket") == "b:get_ticket"
    assert await called(server, "get-ticket") == "a:get-ticket"


async def test_an_ambiguous_spelling_is_the_first_registered() -> None:
    server = server_of([("b", "get-all_tickets"), ("a", "get_all-tickets")])
    assert await called(server, "get_all_tickets") == "b:get-all_tickets"


@pytest.mark.parametrize("tools", [[("c", "a.b_"), ("a", "b_")], [("a", "b_"), ("c", "a.b_")]], ids=str)
async def test_a_dot_may_be_part_of_a_name_or_follow_an_app_id(tools: list[tuple[str, str]]) -> None:
    assert await called(server_of(tools), "a.b-") == ":".join(tools[0])


async def test_tools_that_come_and_go_take_their_spellings_along(desk: FrontMcp) -> None:
    server = FrontMcp("aliases", tools=[get_ticket])
    async with create_direct(server) as direct:
        await server.add_tool(tool("close_ticket"))
        assert (await direct.call_tool("close-ticket")).content
        await server.remove_tool("close_ticket")
        with pytest.raises(ToolNotFoundError):
            await direct.call_tool("close-ticket")


class TestScope:
    """The tools that an agent's tool may find."""

    @pytest.fixture
    def server(self) -> FrontMcp:
        server = server_of([("a", "get-ticket"), ("b", "get_ticket"), ("a", "close_ticket")])
        server.check()
        return server

    @pytest.mark.parametrize("name", ["close-ticket", "a:close_ticket", "a.close_ticket", "a:close-ticket"])
    async def test_what_is_outside_is_not_found_by_any_spelling(self, server: FrontMcp, name: str) -> None:
        assert await reached(server, name, ["b:get_ticket"]) is None
        assert await reached(server, name, ["a:close_ticket"]) == "a:close_ticket"

    async def test_the_first_of_the_whole_server_hides_nothing_inside(self, server: FrontMcp) -> None:
        assert await reached(server, "get-ticket", ["b:get_ticket"]) == "b:get_ticket"
        assert await reached(server, "a:get_ticket", ["b:get_ticket"]) is None

    async def test_an_exact_name_wins_inside_too(self, server: FrontMcp) -> None:
        assert await reached(server, "b:get_ticket", ["a:get-ticket", "b:get_ticket"]) == "b:get_ticket"


async def test_a_name_of_its_own_wins_over_one_with_an_app_id() -> None:
    tools = [("a", "b"), ("c", "a.b")]
    server = server_of(tools)
    assert await called(server, "a.b") == "c:a.b"
    assert await reached(server, "a.b", [":".join(each) for each in tools]) == "c:a.b"


async def test_without_it_only_exact_names_are_found() -> None:
    server = FrontMcp("aliases", apps=[App(id="desk", tools=[get_ticket])], plugins=["no:aliasing"])
    assert await called(server, "desk:get_ticket") == "desk:get_ticket"
    assert await called(server, "get-ticket") is None
    assert await called(server, "desk.get_ticket") is None
