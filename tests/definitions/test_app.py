"""Apps in their forms, and the sugar that defines and registers at once."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from frontmcp import App, ConfigurationError, FrontMcp, Tool, ToolContext, create_direct
from frontmcp.definitions.app import slug


@Tool
async def ping() -> str:
    return "pong"


async def names_of(server: FrontMcp) -> list[str]:
    async with create_direct(server) as direct:
        return [tool.name for tool in await direct.list_tools()]


async def test_an_app_is_a_plain_object() -> None:
    desk = App(id="desk", name="Help Desk", description="Tickets", tools=[ping])
    assert (desk.id, desk.name, desk.description) == ("desk", "Help Desk", "Tickets")
    async with create_direct(FrontMcp("s", apps=[desk])) as direct:
        assert await names_of(direct.server) == ["ping"]
        assert (await direct.call_tool("desk:ping")).content[0].text == "pong"  # type: ignore[union-attr]


async def test_an_app_decorates_a_class() -> None:
    @App(id="desk", tools=[ping])
    class Desk:
        """Stays a class."""

    assert isinstance(Desk, type)
    assert App.of(Desk).id == "desk"
    assert await names_of(FrontMcp("s", apps=[Desk])) == ["ping"]


async def test_a_server_is_an_app_of_its_own() -> None:
    async with create_direct(FrontMcp("Help Desk", tools=[ping])) as direct:
        assert (await direct.call_tool("help-desk:ping")).content[0].text == "pong"  # type: ignore[union-attr]


def test_an_app_takes_its_id_from_its_name_or_class() -> None:
    @App(tools=[ping])
    class HelpDesk: ...

    assert App(name="Help Desk!").id == "help-desk"
    assert App.of(HelpDesk).id == "help-desk"
    assert App.of(HelpDesk).name == "help-desk"


def test_an_app_that_decorates_nothing_needs_an_id() -> None:
    with pytest.raises(ConfigurationError, match="needs an id= or a name="):
        _ = App(tools=[ping]).id


def test_a_subclass_of_a_decorated_class_is_no_app() -> None:
    @App(id="desk")
    class Desk: ...

    class Sub(Desk): ...

    with pytest.raises(ConfigurationError, match="neither an App nor a class decorated with @App"):
        App.of(Sub)


@pytest.mark.parametrize("id", ["", "a b", "a.b", "a:b", "x" * 65, "ä", 3])
def test_an_id_of_other_characters_is_refused(id: Any) -> None:
    with pytest.raises(ConfigurationError, match="1 to 64 of the characters"):
        App(id=id)


def test_an_app_decorates_nothing_but_a_class() -> None:
    with pytest.raises(ConfigurationError, match="App decorates a class"):
        App(id="a")(ping)  # type: ignore[type-var]


@pytest.mark.parametrize(("name", "expected"), [("Help Desk", "help-desk"), ("A__b", "a__b"), ("x" * 99, "x" * 64)])
def test_a_slug(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_a_name_without_letters_makes_no_slug() -> None:
    with pytest.raises(ConfigurationError, match="give an id="):
        slug("¡!")


# @app.tool and @server.tool


def sugar(owner: App | FrontMcp) -> None:
    @owner.tool
    async def bare(a: int) -> int:
        """Bare."""
        return a

    @owner.tool(name="named", description="Named")
    def configured(a: int) -> int:
        return a

    @owner.tool
    class CloseTicket(ToolContext):
        async def execute(self, a: int) -> int:
            return a

    assert Tool.of(bare).name == "bare"
    assert Tool.of(configured).name == "named"
    assert configured(3) == 3
    assert CloseTicket.__name__ == "CloseTicket"


async def test_sugar_defines_and_registers() -> None:
    desk = App(id="desk")
    sugar(desk)
    assert await names_of(FrontMcp("s", apps=[desk])) == ["bare", "close_ticket", "named"]
    server = FrontMcp("s")
    sugar(server)
    assert await names_of(server) == ["bare", "close_ticket", "named"]


def test_sugar_sees_local_classes() -> None:
    class Local(BaseModel):
        x: int

    desk = App(id="desk")

    @desk.tool
    def bare(arg: Local) -> None: ...

    @desk.tool(name="other")
    def configured(arg: Local) -> None: ...

    assert Tool.of(bare).input.validate({"arg": {"x": 1}}) == {"arg": Local(x=1)}
    assert Tool.of(configured).input.validate({"arg": {"x": 1}}) == {"arg": Local(x=1)}


async def test_sugar_takes_bound_methods() -> None:
    class Counter:
        def count(self, by: int) -> int:
            return 1 + by

    desk = App(id="desk")
    desk.tool(Counter().count)
    async with create_direct(FrontMcp("s", apps=[desk])) as direct:
        assert (await direct.call_tool("count", {"by": 2})).structured_content == 3


async def test_what_is_added_later_is_served_too() -> None:
    desk = App(id="desk")
    server = FrontMcp("s", apps=[desk])
    assert await names_of(server) == []
    desk.tool(ping)
    assert await names_of(server) == ["ping"]


def test_what_is_added_later_and_wrong_is_refused() -> None:
    desk = App(id="desk", tools=[ping])
    server = FrontMcp("s", apps=[desk])
    server.check()
    with pytest.raises(ConfigurationError, match=r'app "desk": Tool "ping" \(.*\) is listed twice; drop one'):
        desk.tool(ping)
