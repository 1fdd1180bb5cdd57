"""`App.from_mcp` with servers in other processes and behind URLs: who speaks to them, and what when they go."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import anyio
import mcp_types as types
import psutil
import pytest
import uvicorn
from mcp import StdioServerParameters
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frontmcp import App, Caller, ConfigurationError, FrontMcp, Plugin, PublicMcpError, create_direct, hookimpl
from frontmcp.testing import Road, connect
from frontmcp.upstream.errors import UpstreamError, UpstreamUnavailableError

OBJECT = {"type": "object"}
MODES = ["auto", "legacy"]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

CHILD = """
import json, os, sys

NAMES = ["pid", "die", "die_once", "ask", "wait", "grow", "say", "say_more", "bytes"]
waiting = {}

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def answer(id, text):
    send(id=id, result={"content": [{"type": "text", "text": text}]})

def call(id, name, flag):
    if name == "die" or (name == "die_once" and not os.path.exists(flag)):
        open(flag, "w").close()
        os._exit(1)
    if name == "ask":
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        waiting[f"q{id}"] = id
        send(id=f"q{id}", method="elicitation/create", params={"message": "Name?", "requestedSchema": form})
    elif name == "bytes":
        text = b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "gr\\xfc\\xdf"}]}}\\n'
        sys.stdout.buffer.write(text % id)
        sys.stdout.flush()
    elif name.startswith("say"):
        print("stray output", flush=True)
        print(flag.replace("ID", str(id)), flush=True)
        if name == "say_more":
            answer(id, "done")
    elif name == "grow":
        NAMES.append("grown")
        send(method="notifications/tools/list_changed")
        answer(id, "done")
    elif name == "wait":
        open(flag, "w").close()
        waiting["flag"] = flag
    else:
        answer(id, str(os.getpid()))

for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        send(id=id, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "child", "version": "1"}})
    elif method == "tools/list":
        send(id=id, result={"tools": [{"name": name, "inputSchema": {"type": "object"},
                                       "annotations": {"readOnlyHint": name == "die_once"}} for name in NAMES]})
    elif method == "tools/call":
        call(id, params["name"], params["arguments"].get("flag"))
    elif method == "notifications/cancelled" and "flag" in waiting:
        open(waiting["flag"] + ".cancelled", "w").close()
    elif method == "ping":
        send(id=id, result={})
    elif method is None and id in waiting:
        answer(waiting.pop(id), json.dumps(message.get("result") or "refused"))
    elif id is not None:
        send(id=id, error={"code": -32601, "message": "Method not found"})
"""

SDK_CHILD = """
from mcp.server import MCPServer

server = MCPServer("sdk")

@server.tool()
def double(n: int) -> int:
    return n * 2

server.run("stdio")
"""


@pytest.fixture
def child(tmp_path: Path) -> list[str]:
    """The command of a server in a process of its own."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return [sys.executable, str(script)]


def as_user(sub: str, token: str | None = None) -> dict[str, Any]:
    return {"user": {"sub": sub}, "token": token}


async def said(direct: Any, name: str, sub: str = "nour", **arguments: Any) -> str:
    result = await direct.call_tool(name, arguments, auth_context=as_user(sub))
    text: str = result.content[0].text
    return text


async def until(met: Callable[[], Any]) -> None:
    with anyio.fail_after(20):
        while not met():
            await anyio.sleep(0.01)


# A child process


async def test_a_child_that_dies_once_it_is_there_is_told_as_lost(child: list[str]) -> None:
    script = Path(child[1])
    script.write_text(script.read_text().replace('"tools/list":', '"tools/list":\n        os._exit(1)'))
    with pytest.raises(ConfigurationError, match="can't be reached: Connection closed"):
        async with create_direct(FrontMcp("new", apps=[App.from_mcp(child, id="old")])):
            pass


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_child_process_for_each_caller_that_goes_with_the_server(child: list[str]) -> None:
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(child, id="old")])) as direct:
        pids = [int(await said(direct, "pid", sub)) for sub in ("nour", "nour", "omar")]
        assert pids[0] == pids[1] != pids[2]
        assert all(map(psutil.pid_exists, pids))
    await until(lambda: not any(map(psutil.pid_exists, pids)))


async def test_a_child_that_dies_is_started_again(child: list[str], tmp_path: Path) -> None:
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(child, id="old")])) as direct:
        before = int(await said(direct, "pid"))
        with pytest.raises(UpstreamUnavailableError, match="which may have run"):
            await said(direct, "die", flag=str(tmp_path / "died"))
        after = int(await said(direct, "pid"))
        assert before != after
        os.kill(after, signal.SIGKILL)
        await until(lambda: not psutil.pid_exists(after) or psutil.Process(after).status() == "zombie")
        await anyio.sleep(0.1)
        assert int(await said(direct, "pid")) != after


async def test_a_call_that_does_no_harm_is_made_again(child: list[str], tmp_path: Path) -> None:
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(child, id="old")])) as direct:
        assert int(await said(direct, "die_once", flag=str(tmp_path / "died")))


async def test_a_command_may_be_a_text_or_the_parameters_of_the_sdk(child: list[str]) -> None:
    parameters = StdioServerParameters(command=child[0], args=child[1:], env={"WHO": "me"})
    apps = [App.from_mcp(" ".join(child), id="text"), App.from_mcp(parameters, id="sdk")]
    async with create_direct(FrontMcp("new", apps=apps)) as direct:
        assert await said(direct, "text.pid") != await said(direct, "sdk.pid")


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_a_question_of_an_older_child_reaches_the_client(child: list[str], era: str) -> None:
    server = FrontMcp("new", apps=[App.from_mcp(child, id="old")])
    async with connect(server, Road(era, "memory")) as client:
        client.on_elicitation(lambda message, form: {"name": message})
        for _ in range(2):
            assert json.loads((await client.tools.call("ask")).text())["content"] == {"name": "Name?"}


async def test_a_question_that_may_be_of_another_call_is_refused(child: list[str], tmp_path: Path) -> None:
    server = FrontMcp("new", apps=[App.from_mcp(child, id="old")])
    flag = tmp_path / "waits"
    async with connect(server) as client, anyio.create_task_group() as group:
        client.on_elicitation(lambda message, form: pytest.fail("nobody knows whose question it is"))
        group.start_soon(client.tools.call, "wait", {"flag": str(flag)})
        await until(flag.exists)
        assert (await client.tools.call("ask")).text() == '"refused"'
        group.cancel_scope.cancel()


async def test_what_an_older_child_says_of_its_list_changes_ours(child: list[str]) -> None:
    # Nobody knows the client: it shares the connection on which the server follows the list.
    async with connect(FrontMcp("new", apps=[App.from_mcp(child, id="old")])) as client:
        (await client.tools.call("grow")).assert_ok()
        with anyio.fail_after(5):
            while "grown" not in {tool.name for tool in await client.tools.list()}:
                await anyio.sleep(0.02)
        (await client.tools.call("grown")).assert_ok()


async def test_a_child_of_the_sdk(tmp_path: Path) -> None:
    script = tmp_path / "sdk.py"
    script.write_text(SDK_CHILD)
    async with connect(FrontMcp("new", apps=[App.from_mcp([sys.executable, str(script)], id="old")])) as client:
        assert (await client.tools.call("double", {"n": 4})).json() == 8


async def test_a_cancelled_call_is_cancelled_in_the_child(child: list[str], tmp_path: Path) -> None:
    flag = tmp_path / "waits"
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(child, id="old")])) as direct:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: said(direct, "wait", flag=str(flag)))
            await until(flag.exists)
            group.cancel_scope.cancel()
        await until((tmp_path / "waits.cancelled").exists)
        assert await said(direct, "pid")


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": ID, "result": 5}',
        '{"jsonrpc": "2.0", "id": ID}',
        '{"id": ID, "result": {"content": []}}',
        '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "\\ud800"}]}}',
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"te',
        '{"jsonrpc": "2.0", "id": ID, "error": "no"}',
    ],
)
async def test_an_answer_of_a_child_that_can_not_be_read_is_told_at_once(child: list[str], line: str) -> None:
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(child, id="old")])) as direct:
        with anyio.fail_after(20), pytest.raises(UpstreamError, match="answered with what can't be read"):
            await said(direct, "say", flag=line)
        assert await said(direct, "pid")


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        '{"id": 99, "result": {}}',
        '{"jsonrpc": "2.0"',
        "[[[",
        '{"id": true, "result": 5}',
        '{"id": [ID], "result": 5}',
    ],
)
async def test_what_else_a_child_writes_is_not_heard(child: list[str], line: str) -> None:
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(child, id="old")])) as direct:
        assert await said(direct, "say_more", flag=line) == "done"


@pytest.mark.parametrize("given", ["command", "parameters"])
async def test_bytes_of_a_child_that_are_no_text_are_replaced(child: list[str], given: str) -> None:
    target = child if given == "command" else StdioServerParameters(command=child[0], args=child[1:])
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(target, id="old")])) as direct:
        with anyio.fail_after(20):
            assert await said(direct, "bytes") == "gr\ufffd\ufffd"
            assert await said(direct, "pid")


# HTTP


class Remote:
    """A server behind a URL that notes who asks.

    :ivar seen: the authorization, the session and the arguments of each call.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[str | None, str | None, Any]] = []
        self.names = ["who", "ask", "wait", "offers"]
        self.waiting, self.cancelled = anyio.Event(), anyio.Event()
        self.bus = InMemorySubscriptionBus()
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def server(self) -> Server[Any]:
        return Server(
            "remote",
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=ListenHandler(self.bus),
            get_tool_input_schema=lambda name: OBJECT,
        )

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=OBJECT) for name in self.names])

    async def call_tool(self, ctx: Any, params: Any) -> Any:
        headers = ctx.request.headers
        self.seen.append((headers.get("authorization"), headers.get("mcp-session-id"), params.arguments))
        text = str(headers.get("authorization"))
        if params.name == "ask":
            answer = await ctx.session.elicit_form(f"{params.arguments['n']}?", FORM, related_request_id=ctx.request_id)
            text = str(answer.content)
        elif params.name == "offers":
            offers = ctx.session.client_capabilities.model_dump(exclude_none=True)
            text = " ".join(name for name in ("elicitation", "sampling", "roots") if name in offers) or "nothing"
        elif params.name == "wait":
            await self.wait()
        return types.CallToolResult(content=[types.TextContent(text=text)])

    async def wait(self) -> None:
        self.waiting.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """It answers inside, on the same port each time."""
        app = self.server().streamable_http_app()
        app.add_middleware(NoThieves)
        config = uvicorn.Config(app, port=self.port, log_level="critical", timeout_graceful_shutdown=1)
        served = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(served._serve)
            await until(lambda: served.started)
            yield
            served.should_exit = True


class NoThieves:
    """Refuses a token that is known to be stolen."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if dict(scope.get("headers", ())).get(b"authorization") == b"Bearer stolen":
            await Response("no", 401)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    made = Remote()
    async with made.running():
        yield made


def bearer(caller: Caller) -> dict[str, str]:
    return {"authorization": f"Bearer {caller.token}"} if caller.token else {}


@pytest.mark.parametrize("mode", MODES)
async def test_callers_share_neither_identity_nor_connection(remote: Remote, mode: str) -> None:
    app = App.from_mcp(remote.url, id="old", mode=mode, headers=bearer)
    async with create_direct(FrontMcp("new", apps=[app])) as direct:

        async def ask(sub: str, n: int) -> None:
            result = await direct.call_tool("who", {"sub": sub, "n": n}, auth_context=as_user(sub, f"token-{sub}"))
            assert result.content[0].text == f"Bearer token-{sub}"

        async with anyio.create_task_group() as group:
            for n in range(10):
                for sub in ("nour", "omar"):
                    group.start_soon(ask, sub, n)
    sessions: dict[str, set[str | None]] = {}
    for authorization, session, arguments in remote.seen:
        assert authorization == f"Bearer token-{arguments['sub']}"
        sessions.setdefault(arguments["sub"], set()).add(session)
    assert all(len(each) == 1 for each in sessions.values())
    if mode == "legacy":
        assert sessions["nour"] != sessions["omar"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_new_token_is_a_new_connection(remote: Remote, mode: str) -> None:
    app = App.from_mcp(remote.url, id="old", mode=mode, headers=bearer)
    async with create_direct(FrontMcp("new", apps=[app])) as direct:
        for token in ("narrow", "wide", "narrow"):
            await direct.call_tool("who", auth_context=as_user("nour", token))
    assert [each[0] for each in remote.seen] == ["Bearer narrow", "Bearer wide", "Bearer narrow"]
    if mode == "legacy":
        first, second, third = (each[1] for each in remote.seen)
        assert first == third != second


@pytest.mark.parametrize("headers", [None, {"x-service": "frontmcp"}])
async def test_no_token_is_passed_on_unless_it_is_said_so(remote: Remote, headers: Any) -> None:
    app = App.from_mcp(remote.url, id="old", headers=headers, mode="legacy")
    async with create_direct(FrontMcp("new", apps=[app])) as direct:
        for sub in ("nour", "omar"):
            await direct.call_tool("who", auth_context=as_user(sub, "secret"))
    assert {each[0] for each in remote.seen} == {None}
    assert len({each[1] for each in remote.seen}) == 2


async def test_anonymous_callers_share_a_connection_only_where_nobody_is_named(remote: Remote) -> None:
    class Nobody(Plugin):
        @hookimpl
        def authenticate(self, request: Any) -> Caller:
            return Caller.anonymous()

    async def seen(**keywords: Any) -> set[str | None]:
        remote.seen.clear()
        app = App.from_mcp(remote.url, id="old", mode="legacy", **keywords)
        async with connect(FrontMcp("new", apps=[app], plugins=[Nobody()])) as client:
            for _ in range(2):
                (await client.tools.call("who")).assert_ok()
        return {each[1] for each in remote.seen}

    assert len(await seen()) == 1
    assert len(await seen(headers=lambda caller: {"x-user": "somebody"})) == 2


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_goes_and_comes_back(mode: str) -> None:
    remote = Remote()
    app = App.from_mcp(remote.url, id="old", mode=mode)
    server = FrontMcp("new", apps=[app])
    async with anyio.create_task_group() as group:
        up = anyio.Event()
        down = anyio.Event()
        gone = anyio.Event()

        async def serve() -> None:
            async with remote.running():
                up.set()
                await down.wait()
            gone.set()

        group.start_soon(serve)
        await up.wait()
        async with create_direct(server) as direct:
            assert await said(direct, "who") == "None"
            down.set()
            await gone.wait()
            with pytest.raises(UpstreamUnavailableError, match='The server behind app "old" can\'t be reached'):
                await said(direct, "who")
            async with remote.running():
                assert await said(direct, "who") == "None"
                assert await said(direct, "who") == "None"
    assert len(remote.seen) == 3


async def test_a_server_that_is_not_required_is_found_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontmcp.upstream.upstream.FIRST_DELAY", 0.05)
    remote = Remote()
    app = App.from_mcp(remote.url, id="old", required=False)
    async with create_direct(FrontMcp("new", apps=[app])) as direct:
        assert await direct.list_tools() == []
        async with remote.running():
            with anyio.fail_after(5):
                while not await direct.list_tools():
                    await anyio.sleep(0.05)
            assert await said(direct, "who") == "None"


async def test_a_server_that_is_required_stops_the_start() -> None:
    url = f"http://user:secret@127.0.0.1:{free_port()}/mcp?key=secret"
    with pytest.raises(Exception, match=r'app "old": 127.*can\'t be reached') as raised:
        async with create_direct(FrontMcp("new", apps=[App.from_mcp(url, id="old")])):
            pass
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("mode", MODES)
async def test_a_caller_who_is_not_let_in(remote: Remote, mode: str) -> None:
    app = App.from_mcp(remote.url, id="old", mode=mode, headers=bearer)
    async with create_direct(FrontMcp("new", apps=[app])) as direct:
        with pytest.raises(PublicMcpError, match='The server behind app "old" does not let the caller in'):
            await direct.call_tool("who", auth_context=as_user("eve", "stolen"))
        await direct.call_tool("who", auth_context=as_user("nour", "good"))


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_knows_what_the_client_can_be_asked(remote: Remote, mode: str) -> None:
    async def told(client: Any) -> str:
        return str((await client.tools.call("offers")).text())

    async with connect(FrontMcp("new", apps=[App.from_mcp(remote.url, id="old", mode=mode)])) as client:
        assert await told(client) == "nothing"
        client.on_elicitation(lambda message, form: {})
        assert await told(client) == "elicitation"
        client.on_roots(list)
        assert await told(client) == "elicitation roots"
        assert await told(client.as_user(sub="nour")) == "nothing"


async def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        with pytest.raises(ConfigurationError, match="not opened in time"):
            async with create_direct(FrontMcp("new", apps=[App.from_mcp(url, id="old", connect_timeout=0.2)])):
                pass


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_each_question_of_an_older_server_reaches_the_client_that_called(remote: Remote, era: str) -> None:
    server = FrontMcp("new", apps=[App.from_mcp(remote.url, id="old", mode="legacy")])

    async def ask(client: Any, name: str) -> None:
        client.on_elicitation(lambda message, form: {"name": name + message})
        for n in range(3):
            assert (await client.tools.call("ask", {"n": n})).text() == str({"name": f"{name}{n}?"})

    async with connect(server, Road(era, "memory")) as one, anyio.create_task_group() as group:
        for name in ("ann", "bob"):
            group.start_soon(ask, one.as_user(sub="both"), name)


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_call_is_cancelled_behind_the_url(remote: Remote, mode: str) -> None:
    app = App.from_mcp(remote.url, id="old", mode=mode)
    async with create_direct(FrontMcp("new", apps=[app])) as direct, anyio.create_task_group() as group:
        group.start_soon(said, direct, "wait")
        await remote.waiting.wait()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True), anyio.fail_after(5):
            await remote.cancelled.wait()


@pytest.mark.parametrize("mode", MODES)
async def test_one_caller_may_have_many_calls_that_wait(remote: Remote, mode: str) -> None:
    app = App.from_mcp(remote.url, id="old", mode=mode, connect_timeout=10)
    async with create_direct(FrontMcp("new", apps=[app])) as direct, anyio.create_task_group() as group:
        for _ in range(120):
            group.start_soon(said, direct, "wait")
        await until(lambda: len(remote.seen) == 120)
        group.cancel_scope.cancel()


async def test_what_changes_behind_the_url_changes_here(remote: Remote) -> None:
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(remote.url, id="old")])) as direct:
        remote.names.append("more")
        await remote.bus.publish(ToolsListChanged())
        with anyio.fail_after(5):
            while "more" not in {tool.name for tool in await direct.list_tools()}:
                await anyio.sleep(0.02)


async def test_a_call_waits_for_a_connection_of_others(remote: Remote) -> None:
    app = App.from_mcp(remote.url, id="old", max_connections=2, mode="legacy")
    async with create_direct(FrontMcp("new", apps=[app])) as direct, anyio.create_task_group() as group:
        waiting = anyio.CancelScope()

        async def wait() -> None:
            with waiting:
                await said(direct, "wait", "nour")

        group.start_soon(wait)
        await remote.waiting.wait()
        with anyio.move_on_after(0.2) as left:
            await said(direct, "who", "hana")
        assert left.cancelled_caught
        for sub in ("omar", "lena", "omar"):
            group.start_soon(said, direct, "who", sub)
        await anyio.sleep(0.1)
        assert len(remote.seen) == 1
        waiting.cancel()
        await until(lambda: len(remote.seen) == 4)


class Unreadable:
    """A server up to 2025-11-25 whose tools answer with what can't be read."""

    ANSWERS: ClassVar = {
        "broken": ("application/json", '{"jsonrpc": "2.0", "id'),
        "wrong": ("application/json", '{"jsonrpc": "2.0", "id": 3, "result": 5}'),
        "stream": ("text/event-stream", 'event: message\ndata: {"jsonrpc": "2.0", "id": \n\n'),
    }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        message = json.loads(await request.body() or b"{}")
        await self.answer(request.method, message)(scope, receive, send)

    def answer(self, http: str, message: Any) -> Response:
        method = message.get("method")
        if method == "tools/call":
            kind, text = self.ANSWERS[message["params"]["name"]]
            return Response(text, media_type=kind)
        results: dict[Any, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"},
            },
            "tools/list": {"tools": [{"name": name, "inputSchema": OBJECT} for name in self.ANSWERS]},
        }
        if method in results:
            return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": results[method]})
        if "id" in message:
            wrong = {"code": types.METHOD_NOT_FOUND, "message": "no"}
            return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": wrong})
        return Response(status_code=202 if http == "POST" else 405)


@pytest.mark.parametrize("name", list(Unreadable.ANSWERS))
async def test_an_answer_over_http_that_can_not_be_read_is_told_at_once(name: str) -> None:
    port = free_port()
    served = uvicorn.Server(uvicorn.Config(Unreadable(), port=port, log_level="critical", timeout_graceful_shutdown=1))
    async with anyio.create_task_group() as group:
        group.start_soon(served._serve)
        await until(lambda: served.started)
        app = App.from_mcp(f"http://127.0.0.1:{port}/mcp", id="old", mode="legacy")
        async with create_direct(FrontMcp("new", apps=[app])) as direct:
            with anyio.fail_after(20), pytest.raises(UpstreamError, match="answered with what can't be read"):
                await said(direct, name)
        served.should_exit = True


async def test_connections_are_bounded_and_end_when_nobody_uses_them(remote: Remote) -> None:
    app = App.from_mcp(remote.url, id="old", max_connections=3, idle_timeout=0.3, connect_timeout=1, mode="legacy")
    async with create_direct(FrontMcp("new", apps=[app])) as direct:
        for n in range(6):
            await said(direct, "who", f"user {n}")
        async with anyio.create_task_group() as group:
            for n in range(2):
                group.start_soon(said, direct, "wait", f"user {n}")
            await until(lambda: len(remote.seen) == 8)
            with pytest.raises(UpstreamUnavailableError, match="has all of its 3 connections in use, for 1 seconds"):
                await said(direct, "who", "one more")
            group.cancel_scope.cancel()
        await anyio.sleep(0.5)
        assert await said(direct, "who", "user 5") == "None"
    sessions = [each[1] for each in remote.seen]
    assert len(set(sessions)) == len(sessions)
