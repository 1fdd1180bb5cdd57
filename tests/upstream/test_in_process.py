"""`App.from_mcp` with a server object in this process: its tools are tools like any other."""

from __future__ import annotations

import logging
import warnings
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from mcp.server import MCPServer, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from frontmcp import (
    App,
    Call,
    ConfigurationError,
    FrontMcp,
    InvalidInputError,
    InvalidOutputError,
    Plugin,
    PublicMcpError,
    Tool,
    ToolContext,
    ToolExecutionError,
    ToolNotFoundError,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.testing import Road, connect
from frontmcp.upstream.errors import UpstreamError, UpstreamTimeoutError
from frontmcp.upstream.mirror import ForeignTool

OBJECT = {"type": "object"}
ADD = types.Tool(
    name="add",
    title="Addition",
    description="Add two numbers",
    input_schema={
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/number"}, "b": {"$ref": "#/$defs/number"}},
        "required": ["a", "b"],
        "$defs": {"number": {"type": "integer", "description": "A whole number"}},
    },
    output_schema={"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
    annotations=types.ToolAnnotations(read_only_hint=True),
    icons=[types.Icon(src="https://example.com/add.png")],
    _meta={"acme/kind": "math"},
)
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def text(said: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=str(said))])


class Legacy:
    """A server as somebody wrote it before, on the SDK's low-level one.

    :ivar seen: what its tools were called with.
    """

    def __init__(self, *more: types.Tool) -> None:
        names = ("fail", "break", "lie", "ask", "say", "wait", "meta", "refuse", "consult")
        self.tools = [ADD, *(types.Tool(name=name, input_schema=OBJECT) for name in names), *more]
        self.tools[3] = types.Tool(name="lie", input_schema=OBJECT, output_schema=ADD.output_schema)
        self.seen: list[Any] = []
        self.waiting = anyio.Event()
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self.server: Server[Any] = Server(
            "legacy",
            version="1.2.3",
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=self.listen,
        )

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        """A page for each tool."""
        number = int(params.cursor or 0) if params is not None else 0
        more = str(number + 1) if number + 1 < len(self.tools) else None
        return types.ListToolsResult(tools=self.tools[number : number + 1], next_cursor=more)

    async def call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> Any:
        self.seen.append(params.name)
        tool = getattr(self, f"on_{params.name}", None)
        return await tool(ctx, params) if tool is not None else text(params.arguments)

    async def on_add(self, ctx: Any, params: Any) -> types.CallToolResult:
        total = params.arguments["a"] + params.arguments["b"]
        return types.CallToolResult(content=[types.TextContent(text=str(total))], structured_content={"sum": total})

    async def on_fail(self, ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="no stock")], is_error=True)

    async def on_break(self, ctx: Any, params: Any) -> types.CallToolResult:
        raise RuntimeError("db-7.internal refused")

    async def on_refuse(self, ctx: Any, params: Any) -> types.CallToolResult:
        raise MCPError(types.INVALID_PARAMS, "db-7.internal wants more")

    async def on_lie(self, ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content={"sum": "many"})

    async def on_ask(self, ctx: Any, params: Any) -> Any:
        form = types.ElicitRequestFormParams(message="Name?", requested_schema=FORM)
        if params.input_responses:
            answer = params.input_responses["q"]
            return text(f"{answer.action} {(answer.content or {}).get('name')} {params.request_state}")
        return types.InputRequiredResult(
            input_requests={"q": types.ElicitRequest(params=form)}, request_state=f"state {self.seen.count('ask')}"
        )

    async def on_consult(self, ctx: Any, params: Any) -> Any:
        """Ask the client's model, its roots, and its user to open a page, at once."""
        if answers := params.input_responses:
            said, roots, page = answers["model"], answers["roots"], answers["page"]
            return text(f"{said.content.text} {roots.roots[0].uri} {page.action}")
        sample = types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=types.TextContent(text="Hm?"))], max_tokens=9
        )
        page = types.ElicitRequestURLParams(message="Pay", url="https://example.com/pay")
        asks: Any = {
            "model": types.CreateMessageRequest(params=sample),
            "roots": types.ListRootsRequest(),
            "page": types.ElicitRequest(params=page),
        }
        return types.InputRequiredResult(input_requests=asks)

    async def on_say(self, ctx: Any, params: Any) -> types.CallToolResult:
        await ctx.session.report_progress(1, 2, "half")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await ctx.session.send_log_message("warning", {"stock": 0}, "shop", related_request_id=ctx.request_id)
        return text("said")

    async def on_wait(self, ctx: Any, params: Any) -> types.CallToolResult:
        self.waiting.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.seen.append("cancelled")
            raise

    async def on_meta(self, ctx: Any, params: Any) -> types.CallToolResult:
        return text(sorted(key for key in ctx.params["_meta"] if "/" not in key))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    backend: str = request.param
    return backend


@pytest.fixture
def legacy() -> Legacy:
    return Legacy()


def serving(legacy: Legacy, *tools: Any, **keywords: Any) -> FrontMcp:
    server = {key: keywords.pop(key) for key in ("plugins", "environment") if key in keywords}
    if profiles := keywords.pop("profiles", None):
        server["authorities"] = {"profiles": profiles}
    return FrontMcp("new", tools=tools, apps=[App.from_mcp(legacy.server, **keywords)], **server)


async def test_a_tool_is_listed_as_its_server_lists_it(legacy: Legacy) -> None:
    async with create_direct(serving(legacy)) as direct:
        listed = {tool.name: tool for tool in await direct.list_tools()}
    assert set(listed) == {tool.name for tool in legacy.tools}
    assert listed["add"] == ADD
    assert listed["fail"].description is None


async def test_a_call_is_passed_on(legacy: Legacy) -> None:
    async with create_direct(serving(legacy)) as direct:
        result = await direct.call_tool("add", {"a": 1, "b": 2})
    assert result.structured_content == {"sum": 3}
    assert result.meta is None


async def test_arguments_are_checked_here(legacy: Legacy) -> None:
    async with create_direct(serving(legacy)) as direct:
        with pytest.raises(InvalidInputError):
            await direct.call_tool("add", {"a": "one", "b": 2})
    assert legacy.seen == []


async def test_a_result_is_checked_here(legacy: Legacy) -> None:
    async with create_direct(serving(legacy)) as direct:
        with pytest.raises(InvalidOutputError, match="sum"):
            await direct.call_tool("lie")


async def test_arguments_that_are_not_declared_arrive(legacy: Legacy) -> None:
    async with create_direct(serving(Legacy(types.Tool(name="echo", input_schema=OBJECT)))) as direct:
        result = await direct.call_tool("echo", {"self": 1, "call": 2})
    assert result.content[0].text == "{'self': 1, 'call': 2}"


async def test_another_tool_calls_it_by_any_spelling(legacy: Legacy) -> None:
    @Tool
    async def outer(ctx: ToolContext) -> list[dict[str, int]]:
        names = ("add", "legacy.add", "legacy:add")
        return [(await ctx.call_tool(name, {"a": 1, "b": 2})).structured_content for name in names]

    async with create_direct(serving(legacy, outer)) as direct:
        assert (await direct.call_tool("outer")).structured_content == [{"sum": 3}] * 3


async def test_an_error_result_is_one_to_the_client_and_raises_inside(legacy: Legacy) -> None:
    caught = []

    @Tool
    async def middle(ctx: ToolContext) -> None:
        await ctx.call_tool("fail")

    @Tool
    async def outer(ctx: ToolContext) -> None:
        try:
            await ctx.call_tool("middle")
        except ToolExecutionError as error:
            caught.append(error)
            raise

    async with create_direct(serving(legacy, middle, outer)) as direct:
        assert (await direct.call_tool("fail")).is_error
        with pytest.raises(ToolExecutionError, match=r"^no stock$") as raised:
            await direct.call_tool("outer")
    assert raised.value.public
    assert caught[0].public


@pytest.mark.parametrize(("name", "number"), [("break", types.INTERNAL_ERROR), ("refuse", types.INVALID_PARAMS)])
async def test_an_error_of_the_protocol_tells_the_app_and_nothing_else(legacy: Legacy, name: str, number: int) -> None:
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    async with connect(serving(legacy, environment="production")) as client:
        result = await client.tools.call(name)
    result.assert_error("UPSTREAM_ERROR")
    assert result.text() == f'The server behind app "legacy" answered with an error ({number})'


async def test_hooks_see_it_as_any_tool(legacy: Legacy) -> None:
    class More(Plugin):
        @Will("execute", tools="legacy:add")
        def add_one(self, call: Call) -> None:
            call.input = {**call.input, "a": call.input["a"] + 1}

    async with create_direct(serving(legacy, plugins=[More()])) as direct:
        assert (await direct.call_tool("add", {"a": 1, "b": 2})).structured_content == {"sum": 4}


async def test_options_are_put_on_all_or_some(legacy: Legacy) -> None:
    server = serving(
        legacy,
        options={"authorities": "admin"},
        profiles={"admin": {"roles": {"any": ["admin"]}}},
        tools={"a*": {"authorities": None, "rate_limit": {"max_requests": 1}}, "ask": {"visibility": "hidden"}},
    )
    admin = {"user": {"sub": "nour", "roles": ["admin"]}}
    async with create_direct(server) as direct:
        assert [tool.name for tool in await direct.list_tools()] == ["add"]
        assert "fail" in {tool.name for tool in await direct.list_tools(auth_context=admin)}
        with pytest.raises(PublicMcpError) as refused:
            await direct.call_tool("fail")
        await direct.call_tool("add", {"a": 1, "b": 2})
        with pytest.raises(PublicMcpError) as limited:
            await direct.call_tool("add", {"a": 1, "b": 2})
    assert (refused.value.code, limited.value.code) == ("AUTHORITY_DENIED", "RATE_LIMIT_EXCEEDED")
    assert legacy.seen == ["add"]


async def test_include_and_exclude_choose(legacy: Legacy) -> None:
    async with create_direct(serving(legacy, include=["a*", "fail"], exclude="ask")) as direct:
        assert [tool.name for tool in await direct.list_tools()] == ["add", "fail"]
        with pytest.raises(ToolNotFoundError):
            await direct.call_tool("ask")


async def test_what_another_server_lists_may_be_told_otherwise(legacy: Legacy) -> None:
    server = serving(legacy, include="add", tools={"add": {"name": "plus", "description": "Better"}})
    async with create_direct(server) as direct:
        [tool] = await direct.list_tools()
        assert (tool.name, tool.description, tool.title) == ("plus", "Better", "Addition")
        assert (await direct.call_tool("plus", {"a": 1, "b": 2})).structured_content == {"sum": 3}
    assert legacy.seen == ["add"]


async def test_two_servers_with_one_name_are_told_apart(legacy: Legacy) -> None:
    apps = [App.from_mcp(each.server, id=id, include="add") for each, id in ((legacy, "one"), (Legacy(), "two"))]
    async with create_direct(FrontMcp("new", apps=apps)) as direct:
        assert [tool.name for tool in await direct.list_tools()] == ["one.add", "two.add"]
        await direct.call_tool("two.add", {"a": 1, "b": 2})
        assert legacy.seen == []
        await direct.call_tool("add", {"a": 1, "b": 2})
    assert legacy.seen == ["add"]


REMOTE = {"type": "object", "properties": {"a": {"$ref": "https://example.com/number.json"}}}


@pytest.mark.parametrize(
    ("tool", "keywords", "wrong"),
    [
        (types.Tool(name="remote", input_schema=REMOTE), {}, "remote.*points outside the schema.*exclude="),
        (types.Tool(name="a b", input_schema=OBJECT), {}, "a b.*not allowed.*exclude="),
        (types.Tool(name="ok", input_schema=OBJECT), {"options": {"visibilty": "hidden"}}, "visibilty"),
        (
            types.Tool(name="ok", input_schema=OBJECT),
            {"tools": {"delet_*": {"authorities": "x"}}},
            "delet_.*matches no",
        ),
        (
            types.Tool(name="ok", input_schema=OBJECT),
            {"tools": {"a*": {"name": "x"}}},
            "'ask' can't .* 'x', as .* 'add'",
        ),
        (types.Tool(name="purge", input_schema=OBJECT), {"exclude": ["ask", "purgee"]}, 'exclude="purgee" matches no'),
        (types.Tool(name="ok", input_schema=OBJECT), {"include": ["ok", "stok_*"]}, r'include="stok_\*" matches no'),
    ],
)
async def test_what_can_not_be_served_stops_the_start(tool: Any, keywords: Any, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=wrong):
        async with create_direct(serving(Legacy(tool), **keywords)):
            pass


async def test_what_can_not_be_served_can_be_left_out() -> None:
    legacy = Legacy(types.Tool(name="remote", input_schema=REMOTE))
    async with create_direct(serving(legacy, exclude="remote")) as direct:
        assert len(await direct.list_tools()) == len(legacy.tools) - 1


@pytest.mark.parametrize("target", [42, object(), [], "", SimpleNamespace(name="x")])
def test_a_target_that_is_none_is_refused(target: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"App\.from_mcp takes"):
        App.from_mcp(target, id="x")


def test_headers_are_for_urls(legacy: Legacy) -> None:
    with pytest.raises(ConfigurationError, match="headers="):
        App.from_mcp(legacy.server, headers={"x": "y"})


def test_an_app_for_a_url_wants_a_name() -> None:
    with pytest.raises(ConfigurationError, match=r"App\.from_mcp: a URL or a command has no name: add an id="):
        App.from_mcp("https://example.com/mcp")


def test_a_mode_that_there_is_not_is_refused(legacy: Legacy) -> None:
    with pytest.raises(ConfigurationError, match=r"mode='legcy' must be one of 'auto', 'legacy', '2026-07-28'$"):
        App.from_mcp(legacy.server, mode="legcy")


async def test_progress_and_log_messages_reach_the_client(legacy: Legacy) -> None:
    seen: list[Any] = []

    class Watch(Plugin):
        @hookimpl
        def on_progress(self, call: Call, update: Any) -> None:
            seen.append((call.path, update.progress, update.total, update.message))

        @hookimpl
        def on_notify(self, call: Call, message: Any) -> None:
            seen.append((call.path, message.level, message.data, message.logger))

    @Tool
    async def outer(ctx: ToolContext) -> None:
        await ctx.call_tool("say")

    async with connect(serving(legacy, outer, plugins=[Watch()])) as client:
        (await client.tools.call("outer")).assert_ok()
        assert [(each.progress, each.total, each.message) for each in client.notifications.progress()] == [
            (1, 2, "half")
        ]
        assert [each.data for each in client.notifications.logs()] == [{"stock": 0}]
    assert seen == [("outer → say", 1, 2, "half"), ("outer → say", "warning", {"stock": 0}, "shop")]


async def test_trace_context_is_passed_on(legacy: Legacy) -> None:
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    server = serving(legacy)
    async with connect(server) as client:
        result = await (await client.connect()).call_tool("meta", {}, meta=trace)
    assert "traceparent" in result.content[0].text


async def test_a_cancelled_call_is_cancelled_there(legacy: Legacy) -> None:
    async with create_direct(serving(legacy)) as direct, anyio.create_task_group() as group:
        group.start_soon(direct.call_tool, "wait")
        await legacy.waiting.wait()
        group.cancel_scope.cancel()
    assert legacy.seen == ["wait", "cancelled"]


async def test_a_time_budget_ends_it_there(legacy: Legacy) -> None:
    server = serving(legacy, options={"timeout": {"execute_ms": 50}})
    async with create_direct(server) as direct:
        with pytest.raises(PublicMcpError) as raised:
            await direct.call_tool("wait")
    assert raised.value.code == "EXECUTION_TIMEOUT"
    assert legacy.seen == ["wait", "cancelled"]


async def test_a_server_that_does_not_answer_is_not_waited_for(legacy: Legacy) -> None:
    async with create_direct(serving(legacy, call_timeout=0.05)) as direct:
        with pytest.raises(UpstreamTimeoutError, match=r"did not answer in 0\.05 seconds"):
            await direct.call_tool("wait")


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("depth", ["ask", "outer"])
async def test_a_question_travels_to_the_client_and_nothing_is_done_twice(legacy: Legacy, era: str, depth: str) -> None:
    @Tool
    async def outer(ctx: ToolContext) -> str:
        await ctx.call_tool("add", {"a": 1, "b": 2})
        result = await ctx.call_tool("ask")
        return str(result.content[0].text)

    async with connect(serving(legacy, outer), Road(era, "memory")) as client:
        asked = []

        def reply(message: str, form: Any) -> Any:
            asked.append((message, form))
            return {"name": "Ann"}

        client.on_elicitation(reply)
        result = await client.tools.call(depth)
    assert result.text() == "accept Ann state 1"
    assert [message for message, _ in asked] == ["Name?"]
    assert legacy.seen == (["add"] if depth == "outer" else []) + ["ask", "ask"]


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_models_roots_and_pages_are_asked_of_the_client(legacy: Legacy, era: str) -> None:
    async with connect(serving(legacy), Road(era, "memory")) as client:
        client.on_sampling(lambda messages, params: "Aha")
        client.on_roots(lambda: ["file:///here"])
        client.on_elicit_url(lambda message, url: "accept")
        result = await client.tools.call("consult")
    assert result.text() == "Aha file:///here accept"
    assert legacy.seen == ["consult", "consult"]


async def test_a_question_that_nobody_can_be_asked_is_refused(legacy: Legacy) -> None:
    async with create_direct(serving(legacy)) as direct:
        with pytest.raises(PublicMcpError) as raised:
            await direct.call_tool("ask")
    assert raised.value.code == "ELICITATION_NOT_SUPPORTED"


async def until(met: Any) -> None:
    with anyio.fail_after(5):
        while not await met():
            await anyio.sleep(0.01)


async def test_what_changes_there_changes_here(legacy: Legacy, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []
    server = serving(legacy, exclude=["[!anr]*", "ask", "refuse"])
    async with create_direct(server) as direct:

        async def listener(what: str) -> None:
            heard.append(what)

        server.on_change(listener)
        add = server.find("add")
        legacy.tools += [types.Tool(name=name, input_schema=OBJECT) for name in ("new1", "new2")]
        legacy.tools.append(types.Tool(name="remote", input_schema=REMOTE))
        await legacy.bus.publish(ToolsListChanged())

        async def listed(*names: str) -> bool:
            return [tool.name for tool in await direct.list_tools()] == list(names)

        async def described(description: str) -> bool:
            return server.find("add").definition.description == description

        await until(lambda: listed("add", "new1", "new2"))
        assert server.find("add") is add
        assert heard == ["tools"]
        assert "points outside the schema" in caplog.text
        del legacy.tools[-2]
        legacy.tools[0] = ADD.model_copy(update={"description": "Add more"})
        await legacy.bus.publish(ToolsListChanged())
        await until(lambda: listed("add", "new1"))
        await until(lambda: described("Add more"))


async def test_what_stands_on_two_pages_is_served_once(legacy: Legacy) -> None:
    legacy.tools.append(ADD.model_copy(update={"description": "Add more"}))
    async with create_direct(serving(legacy)) as direct:
        tools = await direct.list_tools()
    assert len(tools) == len(legacy.tools) - 1
    assert [tool.description for tool in tools if tool.name == "add"] == ["Add two numbers"]


async def test_a_server_writes_no_lines_of_ours() -> None:
    async def refuse(ctx: Any, params: Any) -> Any:
        raise MCPError(types.INVALID_PARAMS, "not now\nERROR frontmcp: forged")

    server = Server("legacy", on_list_tools=refuse)
    with pytest.raises(ConfigurationError, match="can't be reached: not now; start it") as raised:
        async with create_direct(FrontMcp("new", apps=[App.from_mcp(server)])):
            pass
    assert "forged" not in str(raised.value)


async def test_a_list_that_never_ends_is_cut_and_told(
    legacy: Legacy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("frontmcp.upstream.listing.MOST_PAGES", 3)
    async with create_direct(serving(legacy)) as direct:
        assert len(await direct.list_tools()) == 3
    assert "tools has more than 3 pages" in caplog.text


async def test_calls_go_on_while_a_long_list_is_read_and_what_did_not_change_is_not_read_again(
    legacy: Legacy, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = 0
    read: list[tuple[str, int]] = []
    check = ForeignTool._check

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await anyio.lowlevel.checkpoint()

    def noting(tool: ForeignTool) -> None:
        read.append((tool.name, ticks))
        check(tool)

    async with create_direct(serving(legacy)) as direct, anyio.create_task_group() as group:
        monkeypatch.setattr(ForeignTool, "_check", noting)
        group.start_soon(tick)
        new = [f"new{number}" for number in range(9)]
        legacy.tools += [types.Tool(name=name, input_schema=OBJECT) for name in new]
        await legacy.bus.publish(ToolsListChanged())

        async def complete() -> bool:
            return len(await direct.list_tools()) == len(legacy.tools)

        await until(complete)
        group.cancel_scope.cancel()
    assert {name for name, _ in read} == set(new)
    assert len({ticks for _, ticks in read}) > len(new) // 2


async def test_of_a_long_new_list_what_can_not_be_served_is_soon_found(
    legacy: Legacy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @Tool
    async def plan() -> str:
        """Listed as new.plan, once the other server has a plan too."""
        return "ours"

    tried = 0
    server = serving(legacy, plan)
    replace = server.replace_entries

    async def counting(*arguments: Any) -> None:
        nonlocal tried
        tried += 1
        await replace(*arguments)

    async with create_direct(server) as direct:
        monkeypatch.setattr(server, "replace_entries", counting)
        names = [*(f"more{number}" for number in range(62)), "plan", "new.plan"]
        legacy.tools += [types.Tool(name=name, input_schema=OBJECT) for name in names]
        await legacy.bus.publish(ToolsListChanged())

        async def complete() -> bool:
            return len(await direct.list_tools()) == len(legacy.tools)

        await until(complete)
        assert "legacy.plan" in [tool.name for tool in await direct.list_tools()]
        assert (await direct.call_tool("plan")).content[0].text == "ours"
    assert caplog.text.count("not served") == 1
    assert '"new.plan"' in caplog.text
    assert tried < 20


async def test_a_server_may_start_again(legacy: Legacy) -> None:
    server = serving(legacy)
    for _ in range(2):
        async with create_direct(server) as direct:
            assert len(await direct.list_tools()) == len(legacy.tools)
            assert (await direct.call_tool("add", {"a": 1, "b": 2})).structured_content == {"sum": 3}


async def test_servers_of_other_makes(legacy: Legacy) -> None:
    sdk = MCPServer("sdk")

    @sdk.tool()
    def double(n: int) -> int:
        """Double a number."""
        return n * 2

    @Tool
    async def half(n: int) -> float:
        return n / 2

    @Tool
    async def sick(n: int) -> float:
        raise PublicMcpError("too big", "TOO_BIG")

    ours = FrontMcp("ours", tools=[half, sick])
    duck = SimpleNamespace(name="duck", _mcp_server=legacy.server)
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(each) for each in (sdk, ours, duck)])) as direct:
        assert (await direct.call_tool("sdk.double", {"n": 4})).structured_content == {"result": 8}
        assert (await direct.call_tool("ours.half", {"n": 4})).structured_content == 2.0
        assert (await direct.call_tool("duck.add", {"a": 1, "b": 2})).structured_content == {"sum": 3}
        result = await direct.call_tool("sick", {"n": 1})
    assert result.is_error
    assert result.content[0].text == "too big"


async def test_a_fastmcp_server_is_served() -> None:
    fastmcp = pytest.importorskip("fastmcp", exc_type=ImportError)
    old = fastmcp.FastMCP("old")

    @old.tool
    def double(n: int = 1) -> int:
        """Double a number."""
        return n * 2

    async with create_direct(FrontMcp("new", apps=[App.from_mcp(old)])) as direct:
        [tool] = await direct.list_tools()
        assert (tool.name, tool.description) == ("double", "Double a number.")
        assert (await direct.call_tool("double", {"n": 4})).structured_content == {"result": 8}


@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25"])
async def test_a_fastmcp_server_asks_and_tells(era: str) -> None:
    fastmcp = pytest.importorskip("fastmcp", exc_type=ImportError)
    old = fastmcp.FastMCP("old")
    seen: list[Any] = []

    @old.tool
    async def hire() -> str:
        ctx = fastmcp.server.dependencies.get_context()
        await ctx.report_progress(1, 2, "asking")
        return (await ctx.elicit("Who?", str)).data

    class Watch(Plugin):
        @hookimpl
        async def on_progress(self, call: Call, update: Any) -> None:
            seen.append((update.progress, update.total, update.message))

    server = FrontMcp("new", apps=[App.from_mcp(old)], plugins=[Watch()])
    async with connect(server, Road(era)) as client:
        client.on_elicitation(lambda message, schema: {"value": "Nour"})
        assert (await client.tools.call("hire")).raw.structured_content == {"result": "Nour"}
    assert set(seen) == {(1, 2, "asking")}


async def test_a_lost_server_stops_the_start_or_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    command = ["/nowhere/to/be/found"]
    with pytest.raises(ConfigurationError, match='app "far": the command "/nowhere/to/be/found" can\'t be reached'):
        async with create_direct(FrontMcp("new", apps=[App.from_mcp(command, id="far")])):
            pass
    server = FrontMcp("new", apps=[App.from_mcp(command, id="far", required=False)])
    async with create_direct(server) as direct:
        assert await direct.list_tools() == []
    assert "the app has no tools until it can" in caplog.text


def test_its_errors_are_one_family() -> None:
    assert issubclass(UpstreamTimeoutError, UpstreamError)


@pytest.mark.parametrize(
    ("outer", "inner", "masked"),
    [("production", None, True), ("development", None, False), ("production", "development", False)],
)
async def test_a_frontmcp_behind_an_app_masks_what_ours_masks(
    outer: str, inner: str | None, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FRONTMCP_ENV", raising=False)

    @Tool
    async def bad() -> None:
        raise RuntimeError("secret")

    other = FrontMcp("other", tools=[bad], environment=inner)
    between = FrontMcp("between", apps=[App.from_mcp(other)])
    async with connect(FrontMcp("s", apps=[App.from_mcp(between)], environment=outer), Road()) as mcp:
        result = await mcp.tools.call("bad")
    assert result.is_error
    assert ("secret" not in result.text()) is masked
    assert ("stack" not in result.raw.meta) is masked
    assert other.production is False
