"""What users give to our classes and decorators is checked, and what is wrong named with the fix."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest

from frontmcp import (
    App,
    Around,
    Did,
    FrontMcp,
    FrontMcpError,
    Inject,
    Option,
    Plugin,
    Prompt,
    Provider,
    Resource,
    Tool,
    ToolContext,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.errors import ConfigurationError, nearest


@Tool
async def ping() -> str:
    return "pong"


class Db:
    """What a provider gives."""


class NeedsUrl:
    def __init__(self, url: str) -> None: ...


def refusal(make: Callable[[], Any]) -> str:
    with pytest.raises(ConfigurationError) as refused:
        made = make()
        if isinstance(made, FrontMcp):
            made.check()
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("alaising", '; did you mean "aliasing"?'), ("zzz", ""), ("", "")],
)
def test_the_nearest_name_is_offered_when_it_is_near(name: str, hint: str) -> None:
    assert nearest(name, ["aliasing", "visibility"]) == hint


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Will("execute", tool="a_*"), 'Will(…) has no keyword "tool"; did you mean "tools"?'),
        (lambda: Did("execute", priorty=1), 'Did(…) has no keyword "priorty"; did you mean "priority"?'),
        (lambda: Around("execute", opton="audit"), 'Around(…) has no keyword "opton"; did you mean "option"?'),
        (lambda: hookimpl(tool="a_*"), 'hookimpl(…) has no keyword "tool"; did you mean "tools"?'),
        (lambda: Option("audit", kind="tool"), 'Option(…) has no keyword "kind"; did you mean "kinds"?'),
        (lambda: Option("audit", zzz=1), 'Option(…) has no keyword "zzz"; it has name, type, kinds, server'),
        (lambda: App(id="desk", tool=[ping]), 'App(…) has no keyword "tool"; did you mean "tools"?'),
        (lambda: Provider(Db, scop="request"), 'Provider(…) has no keyword "scop"; did you mean "scope"?'),
        (lambda: FrontMcp("s", tool=[ping]), 'there is no setting "tool"; did you mean "tools"?'),
        (lambda: FrontMcp("s", plugin=[]), 'there is no setting "plugin"; did you mean "plugins"?'),
    ],
)
def test_a_keyword_that_is_not_there_is_refused_with_the_nearest_one(make: Any, said: str) -> None:
    assert said in refusal(make)


@pytest.mark.parametrize(
    ("definition", "keywords", "nearest_one"),
    [
        (Tool, {"nme": "x"}, "name"),
        (Tool, {"output_shema": int}, "output_schema"),
        (Tool, {"rate_limits": {}}, "rate_limit"),
        (Prompt, {"argument": ()}, "arguments"),
        (lambda **given: Resource("a://b", **given), {"mimetype": "text/plain"}, "mime_type"),
    ],
)
def test_so_is_one_of_an_entry(definition: Any, keywords: dict[str, Any], nearest_one: str) -> None:
    async def body() -> str:
        return ""

    noun = definition(**keywords)
    noun(body)
    plural = {Tool: "tools", Prompt: "prompts"}.get(definition, "resources")
    said = refusal(lambda: FrontMcp("s", **{plural: [noun]}))
    assert f'the option "{next(iter(keywords))}"; did you mean "{nearest_one}"?' in said
    assert __file__ in said


def test_an_option_may_be_called_like_a_keyword() -> None:
    class Nice(Plugin):
        options = (Option("app", str, server=True),)

    FrontMcp("s", plugins=[Nice], app="x").check()


@pytest.mark.parametrize(
    ("keyword", "one", "called"),
    [
        ("tools", ping, "ping"),
        ("tools", "ping", "an object of str"),
        ("tools", {"ping": ping}, "an object of dict"),
        ("resources", ping, "ping"),
        ("prompts", ping, "ping"),
        ("channels", ping, "ping"),
        ("apps", App(id="desk"), "an object of App"),
        ("plugins", Plugin(), "an object of Plugin"),
        ("plugins", "no:guards", "an object of str"),
        ("plugin_order", "guards", "an object of str"),
        ("providers", Provider(Db), "an object of Provider"),
        ("locked", "auth", "an object of str"),
    ],
)
def test_one_thing_where_a_list_belongs_is_refused(keyword: str, one: Any, called: str) -> None:
    given: dict[str, Any] = {keyword: one}
    said = f"{keyword}= takes a list, not {called}: write {keyword}=[…]"
    assert said in refusal(lambda: FrontMcp("s", **given))
    if keyword in ("tools", "resources", "prompts", "channels"):
        assert said in refusal(lambda: App(id="desk", **given))


def test_all_of_them_are_told_at_once() -> None:
    said = refusal(lambda: FrontMcp("s", tools=ping, plugins=Plugin(), providers=[3], lifespan=3))  # type: ignore[arg-type, list-item]
    assert said.startswith("4 problems")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": [ping]}, "the name is text, not an object of list; what is served goes to tools=[…]"),
        ({"info": {"name": 3}}, "the name is text, not an object of int"),
        ({"info": "desk"}, 'info= is like {"name": "desk", "version": "1.0.0"}, not an object of str'),
    ],
)
def test_what_a_server_is_called_is_text(given: dict[str, Any], said: str) -> None:
    assert said in refusal(lambda: FrontMcp(**given))


async def generator(server: Any) -> Any:
    yield {}


@pytest.mark.parametrize("wrong", [generator, 3])
def test_a_lifespan_is_a_context_manager(wrong: Any) -> None:
    called = "generator" if wrong is generator else "an object of int"
    expected = f"lifespan=: decorate {called} with @contextlib.asynccontextmanager"
    assert refusal(lambda: FrontMcp("s", lifespan=wrong)) == expected
    FrontMcp("s", lifespan=asynccontextmanager(generator)).check()


async def test_a_provider_makes_the_type_itself_by_default() -> None:
    @Tool
    async def which(ctx: ToolContext, db: Annotated[Db, Inject()]) -> bool:
        return type(db) is Db and ctx.get(Db) is db

    async with create_direct(FrontMcp("s", tools=[which], providers=[Provider(Db)])) as direct:
        assert (await direct.call_tool("which")).structured_content is True


def test_a_type_that_needs_something_is_told_to_have_a_factory() -> None:
    said = refusal(lambda: FrontMcp("s", providers=[Provider(NeedsUrl)]))
    assert said.endswith('only scope="request" passes; give a factory: Provider(NeedsUrl, make)')


async def test_a_direct_server_says_that_it_is_not_open() -> None:
    direct = create_direct(FrontMcp("s", tools=[ping]))
    with pytest.raises(RuntimeError, match="not open: use it inside `async with create_direct"):
        await direct.call_tool("ping")
    async with direct as opened:
        assert (await opened.call_tool("ping")).content
    with pytest.raises(RuntimeError, match="not open"):
        await direct.list_tools()


def injected_by_default() -> Any:
    async def count(db: Db = Inject()) -> int:  # type: ignore[assignment]  # noqa: B008
        return 1

    return count


def injected_by_mark_alone() -> Any:
    async def count(db: Inject) -> int:
        return 1

    return count


@pytest.mark.parametrize("make", [injected_by_default, injected_by_mark_alone])
def test_inject_belongs_into_the_annotation(make: Callable[[], Any]) -> None:
    said = refusal(lambda: FrontMcp("s", tools=[make()]))
    assert said.endswith("parameter 'db': Inject belongs into the annotation: Annotated[X, Inject()]")
    assert __file__ in said


@pytest.mark.parametrize("thing", [App(id="desk"), Plugin(), Resource("a://b")])
def test_our_own_objects_are_no_tools(thing: Any) -> None:
    assert "is not a tool" in refusal(lambda: FrontMcp("s", tools=[thing]))


def test_a_resource_needs_its_uri() -> None:
    server = FrontMcp("s")
    with pytest.raises(ConfigurationError, match="open_tickets has no URI; write resource"):

        @server.resource  # type: ignore[arg-type]
        async def open_tickets() -> str:
            return ""


async def test_a_tool_is_called_by_its_name() -> None:
    @Tool
    async def outer(ctx: ToolContext) -> None:
        await ctx.call_tool(ping)  # type: ignore[arg-type]

    async with create_direct(FrontMcp("s", tools=[ping, outer])) as direct:
        with pytest.raises(FrontMcpError, match="a tool is called by its name, not by ping"):
            await direct.call_tool("outer")
