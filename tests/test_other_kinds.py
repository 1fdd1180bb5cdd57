"""Resources, templates and prompts travel the road of tools: hooks by kind, policies, inner calls, completion."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

import pytest
from mcp_types import Completion, TextContent, TextResourceContents

from frontmcp import (
    Around,
    Call,
    Caller,
    CallNext,
    Did,
    FrontMcp,
    Inject,
    Option,
    Plugin,
    Prompt,
    PromptContext,
    Provider,
    PublicMcpError,
    Resource,
    ResourceContext,
    ResourceTemplate,
    Tool,
    ToolContext,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.direct import Direct
from frontmcp.errors import (
    AccessDeniedError,
    ConfigurationError,
    FrontMcpError,
    InternalMcpError,
    PromptExecutionError,
    PromptNotFoundError,
    ResourceNotFoundError,
    ResourceReadError,
    ToolExecutionError,
)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@Tool(description="Who calls?")
async def whoami(ctx: ToolContext) -> dict[str, Any]:
    call = ctx.call
    return {"sub": ctx.auth.user.sub, "origin": call.origin, "surface": call.surface, "path": call.path}


@Resource("desk://who")
class Who(ResourceContext):
    async def execute(self) -> Any:
        return (await self.call_tool("whoami")).structured_content


@ResourceTemplate("desk://who/{name}")
def who_sync(ctx: ResourceContext, name: str) -> Any:
    return ctx.call_tool_sync("whoami").structured_content


@Prompt(name="who")
class WhoPrompt(PromptContext):
    async def execute(self, name: str = "x") -> Any:
        return (await self.call_tool("whoami")).structured_content


@Tool(description="Read and get")
class Everything(ToolContext):
    async def execute(self, name: str) -> Any:
        read = await self.read_resource(f"desk://who/{name}")
        got = await self.get_prompt("who", {"name": name})
        assert isinstance(read.contents[0], TextResourceContents)
        return [read.contents[0].text, text_of(got)]


@Tool(description="The same, in a thread")
def everything_sync(ctx: ToolContext) -> Any:
    read = ctx.read_resource_sync("desk://who")
    assert isinstance(read.contents[0], TextResourceContents)
    return [read.contents[0].text, text_of(ctx.get_prompt_sync("who"))]


def text_of(result: Any) -> str:
    content = result.messages[0].content
    assert isinstance(content, TextContent)
    return content.text


def made(*plugins: Any, **more: Any) -> FrontMcp:
    return FrontMcp(
        "desk",
        tools=[whoami, Everything, everything_sync],
        resources=[Who, who_sync, *more.pop("resources", ())],
        prompts=[WhoPrompt, *more.pop("prompts", ())],
        plugins=plugins,
        environment="test",
        **more,
    )


@pytest.fixture
async def direct() -> AsyncIterator[Direct]:
    async with create_direct(made()) as direct:
        yield direct


USER = {"user": {"sub": "nour"}}


class TestInnerCalls:
    @pytest.mark.parametrize(("uri", "path"), [("desk://who", "who → whoami"), ("desk://who/x", "who_sync → whoami")])
    async def test_a_resource_calls_a_tool_as_the_same_caller(self, direct: Direct, uri: str, path: str) -> None:
        contents = (await direct.read_resource(uri, auth_context=USER)).contents[0]
        assert isinstance(contents, TextResourceContents)
        assert contents.text == f'{{"sub":"nour","origin":"resource","surface":null,"path":"{path}"}}'

    async def test_a_prompt_too(self, direct: Direct) -> None:
        text = text_of(await direct.get_prompt("who", auth_context=USER))
        assert text == '{"sub":"nour","origin":"prompt","surface":null,"path":"who → whoami"}'

    async def test_a_tool_reads_and_gets(self, direct: Direct) -> None:
        result = await direct.call_tool("everything", {"name": "x"}, auth_context=USER)
        assert [each["text"] if isinstance(each, dict) else each.text for each in result.content] == [
            '["{\\"sub\\":\\"nour\\",\\"origin\\":\\"resource\\",\\"surface\\":null,'
            '\\"path\\":\\"everything → who_sync → whoami\\"}",'
            '"{\\"sub\\":\\"nour\\",\\"origin\\":\\"prompt\\",\\"surface\\":null,'
            '\\"path\\":\\"everything → who → whoami\\"}"]'
        ]

    async def test_in_a_thread_too(self, direct: Direct) -> None:
        result = await direct.call_tool("everything_sync")
        assert "everything_sync → who → whoami" in result.content[0].text  # type: ignore[union-attr]

    async def test_a_cycle_is_bounded(self) -> None:
        @Resource("a://b")
        async def again(ctx: ResourceContext) -> Any:
            return await ctx.read_resource("a://b")

        async with create_direct(made(resources=[again], max_call_depth=3)) as direct:
            with pytest.raises(FrontMcpError, match="again → again → again → again → a://b"):
                await direct.read_resource("a://b")

    async def test_what_is_not_there_can_be_caught(self) -> None:
        caught: list[str] = []

        @Resource("a://b")
        async def careful(ctx: ResourceContext) -> str:
            for attempt in (ctx.read_resource("a://nope"), ctx.get_prompt("nope"), ctx.call_tool("nope")):
                try:
                    await attempt
                except FrontMcpError as error:
                    caught.append(error.code)
            return ""

        async with create_direct(made(resources=[careful])) as direct:
            await direct.read_resource("a://b")
        assert caught == ["RESOURCE_NOT_FOUND", "PROMPT_NOT_FOUND", "TOOL_NOT_FOUND"]

    async def test_an_inner_failure_is_wrapped_once_per_level(self) -> None:
        @Resource("a://b")
        async def broken() -> str:
            raise ValueError("disk")

        @Prompt
        async def relay(ctx: PromptContext) -> Any:
            return await ctx.read_resource("a://b")

        @Tool(description="x")
        async def outer(ctx: ToolContext) -> Any:
            return await ctx.get_prompt("relay")

        server = made(resources=[broken], prompts=[relay])
        server.tool(outer)
        async with create_direct(server) as direct:
            with pytest.raises(ToolExecutionError) as caught:
                await direct.call_tool("outer")
        middle = caught.value.original_error
        assert isinstance(middle, PromptExecutionError)
        assert isinstance(middle.original_error, ResourceReadError)

    async def test_fail_and_respond(self) -> None:
        @ResourceTemplate("a://{how}")
        async def ends(ctx: ResourceContext, how: str) -> str:
            if how == "respond":
                ctx.respond("early")
            ctx.fail(PublicMcpError("no", "NO") if how == "public" else "text")

        async with create_direct(made(resources=[ends])) as direct:
            read = await direct.read_resource("a://respond")
            assert read.contents == [TextResourceContents(uri="a://respond", mime_type="text/plain", text="early")]
            with pytest.raises(PublicMcpError, match=r"^no$"):
                await direct.read_resource("a://public")
            with pytest.raises(ResourceReadError, match="read failed: text"):
                await direct.read_resource("a://x")


Seen = list[tuple[str, str]]


class Watching(Plugin):
    name = "watching"

    def __init__(self) -> None:
        self.seen: Seen = []

    @Will("execute")
    async def tools_only(self, call: Call) -> None:
        self.seen.append(("tools", call.entry.name))

    @Will("execute", kinds="resource")
    async def resources(self, call: Call) -> None:
        self.seen.append(("resources", call.entry.name))

    @Will("execute", kinds="resource_template")
    async def templates(self, call: Call) -> None:
        self.seen.append(("templates", call.entry.name))

    @Did("execute", kinds=("prompt", "tool"))
    async def prompts(self, call: Call) -> None:
        self.seen.append(("prompts and tools", call.entry.name))

    @hookimpl
    async def did_execute(self, call: Call) -> None:
        self.seen.append(("all", call.entry.name))


class TestHooks:
    async def hooked(self, *uris: str, prompts: Sequence[str] = ()) -> Seen:
        plugin = Watching()
        async with create_direct(made(plugin)) as direct:
            for uri in uris:
                await direct.read_resource(uri)
            for name in prompts:
                await direct.get_prompt(name)
        return [seen for seen in plugin.seen if seen[1] != "whoami"]

    async def test_a_resource_has_the_hooks_for_resources(self) -> None:
        assert await self.hooked("desk://who") == [("resources", "who"), ("all", "who")]

    async def test_a_template_is_a_resource(self) -> None:
        seen = await self.hooked("desk://who/x")
        assert seen == [("resources", "who_sync"), ("templates", "who_sync"), ("all", "who_sync")]

    async def test_a_prompt_has_the_hooks_for_prompts(self) -> None:
        assert await self.hooked(prompts=["who"]) == [("prompts and tools", "who"), ("all", "who")]

    async def test_hooks_see_typed_input_and_may_change_it_and_the_output(self) -> None:
        class Changing(Plugin):
            name = "changing"

            @Will("execute", kinds="resource")
            async def before(self, call: Call) -> None:
                assert call.input == {"uri": "n://7", "number": 7}
                call.input["number"] += 1

            @Around("execute", kinds=("resource", "prompt"))
            async def around(self, call: Call, call_next: CallNext) -> Any:
                return [await call_next(), await call_next()]

            @Did("execute", kinds="resource")
            async def after(self, call: Call) -> None:
                call.output.append("did")

            @hookimpl
            async def guard_call(self, call: Call, call_next: CallNext) -> Any:
                result = await call_next()
                return result.model_copy(update={"meta": {"guarded": call.entry.kind}})

        @ResourceTemplate("n://{number}")
        async def n(number: int) -> int:
            return number

        async with create_direct(made(Changing(), resources=[n])) as direct:
            read = await direct.read_resource("n://7")
        assert read.contents[0].text == '[8,8,"did"]'  # type: ignore[union-attr]
        assert read.meta == {"guarded": "resource_template"}

    async def test_hooks_on_the_class_itself(self) -> None:
        @Prompt
        class Polite(PromptContext):
            async def execute(self, name: str) -> str:
                return f"Write to {name}"

            @Will("execute", kinds="prompt")
            async def before(self, call: Call) -> None:
                call.input["name"] = call.input["name"].title()

        async with create_direct(made(prompts=[Polite])) as direct:
            assert text_of(await direct.get_prompt("polite", {"name": "nour"})) == "Write to Nour"

    async def test_a_hook_may_answer(self) -> None:
        class Cache(Plugin):
            name = "cache"

            @Will("execute", kinds=("resource", "prompt"))
            async def before(self, call: Call) -> None:
                call.respond("kept")

        async with create_direct(made(Cache())) as direct:
            assert (await direct.read_resource("desk://who")).contents[0].text == "kept"  # type: ignore[union-attr]
            assert text_of(await direct.get_prompt("who")) == "kept"

    async def test_on_error_sees_what_was_not_found_and_what_failed(self) -> None:
        class Noting(Plugin):
            name = "noting"

            def __init__(self) -> None:
                self.seen: list[Any] = []

            @hookimpl
            async def on_error(self, call: Call, error: BaseException) -> None:
                self.seen.append((call.kind, call.name, call.entry and call.entry.name, type(error).__name__))

        @Resource("a://b")
        async def broken() -> str:
            raise ValueError("disk")

        noting = Noting()
        async with create_direct(made(noting, resources=[broken])) as direct:
            for attempt in (direct.read_resource("a://b"), direct.read_resource("a://c"), direct.get_prompt("p")):
                with pytest.raises(FrontMcpError):
                    await attempt
        assert noting.seen == [
            ("resource", "a://b", "broken", "ValueError"),
            ("resource", "a://c", None, "ResourceNotFoundError"),
            ("prompt", "p", None, "PromptNotFoundError"),
        ]

    async def test_a_broken_hook_is_blamed(self) -> None:
        class Broken(Plugin):
            name = "broken"

            @Will("execute", kinds="prompt")
            async def before(self, call: Call) -> None:
                raise KeyError("x")

        async with create_direct(made(Broken())) as direct:
            with pytest.raises(InternalMcpError, match='Plugin "broken" failed in will_execute'):
                await direct.get_prompt("who")

    async def test_resolve_tool_is_about_tools(self) -> None:
        class Guessing(Plugin):
            name = "guessing"

            @hookimpl
            def resolve_tool(self, name: str, call: Call) -> str:
                return "whoami"

        async with create_direct(made(Guessing())) as direct:
            await direct.call_tool("anything")
            with pytest.raises(PromptNotFoundError):
                await direct.get_prompt("anything")
            with pytest.raises(ResourceNotFoundError):
                await direct.read_resource("a://nything")


class Owners(Plugin):
    """Only the owner, whose name stands in the input."""

    name = "owners"
    options = (Option("owned", bool),)

    @hookimpl(option="owned")
    async def check_authorities(self, call: Call) -> None:
        if call.input["owner"] != call.caller.sub:
            raise PublicMcpError("not yours", "NOT_YOURS")


class Closed(Plugin):
    name = "closed"
    options = (Option("closed", bool),)

    @hookimpl(option="closed")
    async def check_authorities(self, call: Call) -> None:
        raise PublicMcpError("closed", "CLOSED")


@ResourceTemplate("owned://{owner}", owned=True)
async def owned(owner: str) -> str:
    return owner


@Prompt(owned=True)
async def owned_prompt(owner: str) -> str:
    return owner


@Resource("closed://x", closed=True)
async def closed() -> str:
    return ""


@Resource("internal://x", visibility="internal")
async def internal() -> str:
    return "inside"


@Prompt(visibility="hidden")
async def hidden(kind: Literal["a", "b"]) -> str:
    return kind


@Prompt(visibility="internal")
async def internal_prompt(kind: Literal["a", "b"]) -> str:
    return kind


@Tool(description="Reads what clients can't")
async def insider(ctx: ToolContext) -> str:
    return (await ctx.read_resource("internal://x")).contents[0].text  # type: ignore[union-attr]


class TestPolicies:
    @pytest.fixture
    async def direct(self) -> AsyncIterator[Direct]:
        server = made(
            Owners(), Closed(), resources=[owned, closed, internal], prompts=[owned_prompt, hidden, internal_prompt]
        )
        server.tool(insider)
        async with create_direct(server) as direct:
            yield direct

    async def test_policies_read_typed_input(self, direct: Direct) -> None:
        await direct.read_resource("owned://nour", auth_context=USER)
        await direct.get_prompt("owned_prompt", {"owner": "nour"}, auth_context=USER)
        for attempt in (direct.read_resource("owned://nour"), direct.get_prompt("owned_prompt", {"owner": "nour"})):
            with pytest.raises(PublicMcpError, match="not yours"):
                await attempt

    async def test_a_policy_that_can_not_judge_refuses(self, direct: Direct) -> None:
        with pytest.raises(AccessDeniedError):
            await direct.get_prompt("owned_prompt", {})

    async def test_what_clients_can_not_see_is_not_found(self, direct: Direct) -> None:
        with pytest.raises(ResourceNotFoundError, match=r"^Resource not found: internal://x$"):
            await direct.read_resource("internal://x")
        with pytest.raises(PromptNotFoundError, match=r"^Prompt not found: internal_prompt$"):
            await direct.get_prompt("internal_prompt", {"kind": "a"})
        assert (await direct.call_tool("insider")).content[0].text == "inside"  # type: ignore[union-attr]

    async def test_lists_ask_the_same(self, direct: Direct) -> None:
        assert [each.uri for each in await direct.list_resources()] == ["desk://who"]
        assert [each.name for each in await direct.list_resource_templates()] == ["who_sync", "owned"]
        assert [each.name for each in await direct.list_prompts()] == ["owned_prompt", "who"]

    async def test_completion_asks_too(self, direct: Direct) -> None:
        assert (await direct.complete("prompt", "hidden", "kind")).values == ["a", "b"]
        with pytest.raises(PromptNotFoundError):
            await direct.complete("prompt", "internal_prompt", "kind")
        with pytest.raises(PublicMcpError, match="not yours"):
            await direct.complete("prompt", "owned_prompt", "owner", "no", auth_context=USER)
        assert (await direct.complete("prompt", "owned_prompt", "owner", "nour", auth_context=USER)).values == []


@Prompt
async def pick(
    color: Literal["red", "green", "Grey"], on: bool = True, id: str = "", size: Literal[1, 2] | None = None
) -> str:
    return color


@Prompt.of(pick).complete("id")
async def ids(ctx: PromptContext, value: str, arguments: dict[str, str]) -> list[str]:
    return [f"{ctx.auth.user.sub} {arguments.get('color')} {value}{number}" for number in range(150)]


@ResourceTemplate("paint://{shade}/{number}")
async def paint(shade: str, number: int) -> str:
    return shade


@paint.complete("number")  # type: ignore[attr-defined]
def numbers() -> Any:
    return range(3)


@ResourceTemplate.of(paint).complete("shade")
def shades(value: str) -> Any:
    if value == "own":
        return Completion(values=["a"], total=700)
    if value == "none":
        return None
    raise ValueError(f"no shade {value}") if value == "fail" else PublicMcpError("no", "NO")


class Menu(list[str]):
    pass


@Prompt
async def order(dish: str) -> str:
    return dish


@order.complete("dish")  # type: ignore[attr-defined]
async def dishes(value: str, menu: Annotated[Menu, Inject()]) -> list[str]:
    return [each for each in menu if each.startswith(value)]


class TestCompletion:
    @pytest.fixture
    async def direct(self) -> AsyncIterator[Direct]:
        async with create_direct(made(prompts=[pick], resources=[paint])) as direct:
            yield direct

    @pytest.mark.parametrize(
        ("argument", "value", "values"),
        [
            ("color", "", ["red", "green", "Grey"]),
            ("color", "gr", ["green", "Grey"]),
            ("color", "x", []),
            ("on", "", ["true", "false"]),
            ("on", "t", ["true"]),
            ("size", "", ["1", "2"]),
            ("nope", "", []),
        ],
    )
    async def test_what_a_type_allows_is_for_free(
        self, direct: Direct, argument: str, value: str, values: list[str]
    ) -> None:
        completion = await direct.complete("prompt", "pick", argument, value)
        assert completion == Completion(values=values, total=len(values), has_more=False)

    async def test_a_completer_knows_the_caller_and_what_was_chosen(self, direct: Direct) -> None:
        completion = await direct.complete("prompt", "pick", "id", "T-", arguments={"color": "red"}, auth_context=USER)
        assert completion.values[:2] == ["nour red T-0", "nour red T-1"]
        assert (len(completion.values), completion.total, completion.has_more) == (100, 150, True)

    async def test_a_sync_one_for_a_variable(self, direct: Direct) -> None:
        completion = await direct.complete("resource", "paint://{shade}/{number}", "number")
        assert completion.values == ["0", "1", "2"]

    async def test_a_completer_is_given_what_it_asks_for(self) -> None:
        menu = Provider(Menu, lambda: Menu(["soup", "stew", "tart"]))
        async with create_direct(FrontMcp("inn", prompts=[order], providers=[menu])) as direct:
            assert (await direct.complete("prompt", "order", "dish", "s")).values == ["soup", "stew"]

    def test_what_nobody_provides_to_a_completer_stops_the_start(self) -> None:
        with pytest.raises(ConfigurationError, match=r"complete\('dish'\): parameter 'menu'"):
            FrontMcp("inn", prompts=[order]).check()

    async def test_a_completer_may_say_how_many_there_are(self, direct: Direct) -> None:
        completion = await direct.complete("resource", "paint://{shade}/{number}", "shade", "own")
        assert completion == Completion(values=["a"], total=700, has_more=True)
        assert (await direct.complete("resource", "paint://{shade}/{number}", "shade", "none")).values == []

    async def test_its_errors_are_the_entrys(self, direct: Direct) -> None:
        with pytest.raises(ResourceReadError, match="no shade fail"):
            await direct.complete("resource", "paint://{shade}/{number}", "shade", "fail")
        with pytest.raises(PublicMcpError, match=r"^no$"):
            await direct.complete("resource", "paint://{shade}/{number}", "shade", "public")

    async def test_what_has_nothing_to_complete(self, direct: Direct) -> None:
        assert (await direct.complete("resource", "desk://who", "x")).values == []

    @pytest.mark.parametrize(
        ("kind", "name"), [("prompt", "nope"), ("resource", "nope://{x}"), ("resource", "paint://a/1")]
    )
    async def test_unknown_references(self, direct: Direct, kind: Any, name: str) -> None:
        with pytest.raises(FrontMcpError) as caught:
            await direct.complete(kind, name, "x")
        assert caught.value.code in ("PROMPT_NOT_FOUND", "RESOURCE_NOT_FOUND")


async def test_a_scope_holds_for_every_kind() -> None:
    """What an agent may find is all that can be found on its behalf."""
    server = made()
    async with create_direct(server):
        tool, prompt = server.find("everything"), server.entries("prompt")[0]
        assert tool is not None
        for scope, missing in (
            ({"everything": tool}, "RESOURCE_NOT_FOUND"),
            ({"everything": tool, "who": prompt, "r": server.entries("resource_template")[0]}, "TOOL_NOT_FOUND"),
        ):
            with pytest.raises(FrontMcpError) as caught:
                await server.call(tool, {"name": "x"}, origin="agent", caller=Caller("agent"), scope=scope)
            error: Any = caught.value
            while getattr(error, "original_error", None) is not None:
                error = error.original_error
            assert error.code == missing


async def test_an_option_that_nobody_claims_stops_the_start() -> None:
    @Resource("a://b", colour="red")
    def coloured() -> str:
        return ""

    with pytest.raises(ConfigurationError, match='no plugin claims the option "colour"'):
        FrontMcp("desk", resources=[coloured]).check()


async def test_an_option_for_resources_is_one_for_templates() -> None:
    class Shelved(Plugin):
        name = "shelved"
        options = (Option("shelf", int, kinds=("resource",)),)

    @ResourceTemplate("a://{b}", shelf="7")
    def shelved() -> str:
        return ""

    server = FrontMcp("desk", resources=[shelved], plugins=[Shelved()])
    server.check()
    assert server.entries("resource_template")[0].options == {"shelf": 7}
    with pytest.raises(ConfigurationError, match='"shelf" for a prompt, only for resource'):
        FrontMcp("desk", prompts=[Prompt(name="it", shelf=1)(lambda: "")], plugins=[Shelved()]).check()
