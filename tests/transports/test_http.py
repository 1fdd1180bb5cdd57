"""HTTP as an operator meets it: mounted, beside others, guarded, and ended in order."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any

import anyio
import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from mcp import Client
from mcp.server.connection import Connection
from pydantic import Field
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from frontmcp import Caller, ConfigurationError, FrontMcp, Plugin, Tool, ToolContext, hookimpl
from frontmcp.transports.admission import Admission
from frontmcp.transports.http import bind, serving
from frontmcp.transports.options import HttpOptions

OLD, NEW = "2025-11-25", "2026-07-28"
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # uvicorn is an asyncio server


@Tool
async def whoami(ctx: ToolContext) -> dict[str, Any]:
    return {"sub": ctx.auth.user.sub, "ip": ctx.context.client_ip, "session": ctx.context.session_id}


@Tool
async def nap(seconds: float) -> dict[str, float]:
    await anyio.sleep(seconds)
    return {"slept": seconds}


def make(**options: Any) -> FrontMcp:
    return FrontMcp("http-test", tools=[whoami, nap], autoload_plugins=False, **options)


class Session:
    """A raw client of an older session, which may do what no decent client does."""

    def __init__(self, http: httpx2.AsyncClient, url: str, headers: dict[str, str] | None = None) -> None:
        self.http, self.url = http, url
        self.headers = JSON | (headers or {})

    async def open(self) -> Session:
        params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        answer = await self.post({"id": 0, "method": "initialize", "params": params})
        self.headers |= {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": OLD}
        await self.post({"method": "notifications/initialized"})
        return self

    async def post(self, message: dict[str, Any], **headers: str) -> httpx2.Response:
        return await self.http.post(
            self.url, json={"jsonrpc": "2.0", **message}, headers=self.headers | headers, timeout=20
        )

    async def call(self, id: int | str, name: str, **arguments: Any) -> Any:
        answer = await self.post({"id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
        body = answer.text
        return json.loads(body if body.startswith("{") else body.split("data: ", 1)[1])


@asynccontextmanager
async def raw(server: FrontMcp, **options: Any) -> AsyncIterator[tuple[httpx2.AsyncClient, str]]:
    async with serving(server, server.http_options(port=0, **options)) as url, httpx2.AsyncClient() as http:
        yield http, url


class Recorded(Plugin):
    """Writes down the environment that hooks see."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    @hookimpl
    def settled(self, server: FrontMcp) -> None:
        self.seen["settled"] = server.environment

    @hookimpl
    def provide_routes(self, server: FrontMcp) -> list[Any]:
        self.seen["provide_routes"] = server.environment
        return []

    @hookimpl
    def server_started(self, server: FrontMcp) -> None:
        self.seen["server_started"] = server.environment


async def keep_started(app: Any, *, task_status: Any) -> None:
    stop, ended = anyio.Event(), anyio.Event()
    async with app.started():
        task_status.started((stop, ended))
        await stop.wait()
    ended.set()


async def test_a_server_is_in_production_while_an_app_of_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRONTMCP_ENV", raising=False)
    recorded = Recorded()
    server = make(plugins=[recorded])
    first = server.http_app()
    assert server.environment == "development"
    async with anyio.create_task_group() as group:
        running = [await group.start(keep_started, app) for app in (first, server.http_app())]
        for stop, ended in running:
            assert server.environment == "production"
            stop.set()
            await ended.wait()
    assert server.environment == "development"
    assert recorded.seen == dict.fromkeys(("settled", "provide_routes", "server_started"), "production")


async def test_health_stands_beside_the_endpoint() -> None:
    async with raw(make()) as (http, url):
        base = url.removesuffix("/mcp")
        assert (await http.get(f"{base}/healthz")).text == "ok\n"
        assert (await http.get(f"{base}/readyz")).status_code == 200


async def test_readiness_ends_when_every_thread_is_lost() -> None:
    server = make(thread_limit=1)
    async with raw(server) as (http, url):
        with anyio.move_on_after(0.1):
            await server.threads.run(0, lambda: time.sleep(1))
        answer = await http.get(url.removesuffix("/mcp") + "/readyz")
        assert answer.status_code == 503
        assert "thread" in answer.text
        await anyio.sleep(1.2)
        assert (await http.get(url.removesuffix("/mcp") + "/readyz")).status_code == 200


def in_starlette(apps: dict[str, Any]) -> Any:
    return Starlette(routes=[Mount(path, app=app) for path, app in apps.items()])


def in_fastapi(apps: dict[str, Any]) -> Any:
    host = FastAPI()

    @host.get("/hello")
    async def hello() -> str:
        return "hello"

    for path, app in apps.items():
        host.mount(path, app)
    return host


@pytest.mark.parametrize("hosted_in", [in_starlette, in_fastapi])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_two_servers_mounted_side_by_side_start_themselves(mode: str, hosted_in: Any) -> None:
    started: list[str] = []

    class Watch(Plugin):
        name = "test.watch"

        @hookimpl
        async def server_started(self, server: FrontMcp) -> None:
            started.append(server.name)

        @hookimpl
        async def server_stopping(self, server: FrontMcp) -> None:
            started.remove(server.name)

    @Tool
    async def which(ctx: ToolContext) -> dict[str, str]:
        return {"server": ctx.call.server.name}

    servers = [FrontMcp(name, tools=[which], plugins=[Watch()]) for name in ("one", "two")]
    app = hosted_in({f"/api/{each.name}": each.http_app() for each in servers})
    async with _hosted(app) as base, httpx2.AsyncClient() as http:
        for name in ("one", "two"):
            async with Client(f"{base}/api/{name}/mcp", mode=mode) as client:  # type: ignore[arg-type]
                assert (await client.call_tool("which")).structured_content == {"server": name}
            assert (await http.get(f"{base}/api/{name}/readyz")).text == "ready\n"
        assert started == ["one", "two"]
        if hosted_in is in_fastapi:
            assert (await http.get(f"{base}/hello")).json() == "hello"


@pytest.mark.parametrize("mounted", [False, True])
@pytest.mark.parametrize("anew", [False, True], ids=["its host does not start it", "its host starts it"])
def test_an_app_is_served_in_one_event_loop_after_another(mounted: bool, anew: bool) -> None:
    app: Any = make().http_app()
    served = in_starlette({"/api": app}) if mounted else app
    for _ in range(2):
        client = TestClient(served, base_url="http://localhost")
        with client if anew else nullcontext():
            answer = client.post("/api/mcp" if mounted else "/mcp", **_modern("tools/list"))
            assert answer.status_code == 200, answer.text


async def test_too_many_requests_at_a_time_are_refused_and_later_ones_answered() -> None:
    begun, release, answers = anyio.Semaphore(0), anyio.Event(), []

    @Tool
    async def hold() -> None:
        begun.release()
        await release.wait()

    async with raw(FrontMcp("http-test", tools=[hold]), limit_concurrency=4) as (_, url):

        async def post() -> int:
            # Idle connections count: each request has one of its own, which ends with it.
            async with httpx2.AsyncClient(timeout=20) as http:
                return (await http.post(url, **_modern("tools/call", name="hold", arguments={}))).status_code

        async def note() -> None:
            answers.append(await post())

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(note)
                await begun.acquire()
            assert [await post() for _ in range(3)] == [503] * 3
            release.set()
        assert answers == [200] * 3
        with anyio.fail_after(20):
            while await post() != 200:
                await anyio.sleep(0.1)


@asynccontextmanager
async def _hosted(app: Any) -> AsyncIterator[str]:
    bound = bind(HttpOptions(port=0))
    host = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    async with anyio.create_task_group() as group:
        group.start_soon(host._serve, [bound])
        while not host.started:
            await anyio.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        host.should_exit = True


async def test_an_id_in_flight_on_a_session_is_refused_and_free_once_answered() -> None:
    server = make()
    async with raw(server) as (http, url):
        session = await Session(http, url).open()
        answers: dict[str, Any] = {}

        async def call(key: str, id: int, seconds: float) -> None:
            answers[key] = await session.call(id, "nap", seconds=seconds)

        async with anyio.create_task_group() as group:
            group.start_soon(call, "first", 1, 0.5)
            await anyio.sleep(0.2)
            group.start_soon(call, "same id", 1, 0.0)
            group.start_soon(call, "other id", 2, 0.0)
        assert answers["first"]["result"]["structuredContent"] == {"slept": 0.5}
        assert answers["other id"]["result"]["structuredContent"] == {"slept": 0.0}
        assert "still in flight" in answers["same id"]["error"]["message"]
        for _ in range(20):
            assert (await session.call(1, "nap", seconds=0))["result"]["structuredContent"] == {"slept": 0.0}
        await anyio.sleep(0.1)
        assert len(server.wire.in_flight) == 0


async def test_ids_that_are_written_alike_are_one() -> None:
    async with raw(make()) as (http, url):
        session = await Session(http, url).open()
        answers: dict[str, Any] = {}

        async def call(key: str, id: int | str, seconds: float) -> None:
            answers[key] = await session.call(id, "nap", seconds=seconds)

        async with anyio.create_task_group() as group:
            group.start_soon(call, "number", 1, 0.5)
            await anyio.sleep(0.2)
            group.start_soon(call, "text", "1", 0.0)
        assert answers["number"]["result"]["structuredContent"] == {"slept": 0.5}
        assert "still in flight" in answers["text"]["error"]["message"]


@pytest.mark.parametrize("opened", [True, False], ids=["in a session", "before one"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 5000, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "hunter2"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {"hunter2": 1}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "hunter2"}', -32600),
    ],
)
async def test_what_is_no_message_is_refused_without_an_echo(opened: bool, body: bytes, code: int) -> None:
    async with raw(make()) as (http, url):
        session = Session(http, url)
        if opened:
            await session.open()
        answer = await http.post(url, content=body, headers=session.headers, timeout=20)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == code
        assert "hunter2" not in answer.text
        assert "pydantic" not in answer.text


async def test_the_same_id_on_two_sessions_is_two_requests() -> None:
    async with raw(make()) as (http, url):
        sessions = [await Session(http, url).open() for _ in range(2)]
        found: dict[int, Any] = {}

        async def call(index: int) -> None:
            found[index] = (await sessions[index].call(1, "whoami"))["result"]["structuredContent"]

        async with anyio.create_task_group() as group:
            group.start_soon(call, 0)
            group.start_soon(call, 1)
        assert found[0]["sub"] != found[1]["sub"]
        assert all(each["sub"].startswith("anon:") for each in found.values())
        again = (await sessions[0].call(2, "whoami"))["result"]["structuredContent"]
        assert again == found[0]


class Tokens(Plugin):
    name = "test.tokens"

    @hookimpl
    async def authenticate(self, request: Any) -> Caller | None:
        return Caller(request.token) if request.token else None


async def test_a_session_belongs_to_the_user_who_opened_it() -> None:
    async with raw(make(plugins=[Tokens])) as (http, url):
        session = await Session(http, url, {"authorization": "Bearer nour"}).open()
        assert (await session.call(1, "whoami"))["result"]["structuredContent"]["sub"] == "nour"
        session.headers["authorization"] = "Bearer mallory"
        for method in ("POST", "GET", "DELETE"):
            body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"} if method == "POST" else None
            stolen = await http.request(method, url, headers=session.headers, json=body)
            assert stolen.status_code == 404
        session.headers["authorization"] = "Bearer nour"
        assert (await session.call(3, "whoami"))["result"]["structuredContent"]["sub"] == "nour"


@pytest.mark.parametrize(
    ("depth", "header", "ip"),
    [
        (0, "1.1.1.1", "127.0.0.1"),
        (1, "1.1.1.1, 2.2.2.2", "2.2.2.2"),
        (2, "1.1.1.1, 2.2.2.2", "1.1.1.1"),
        (3, "1.1.1.1", "127.0.0.1"),
        (1, ",", "127.0.0.1"),
        (1, "1.1.1.1:5000", "1.1.1.1"),
        (1, "2001:db8::1", "2001:db8::1"),
        (1, "[2001:db8::1]:5000", "2001:db8::1"),
        (1, "[2001:db8::1]", "2001:db8::1"),
    ],
)
async def test_forwarded_addresses_count_as_far_as_proxies_are_trusted(depth: int, header: str, ip: str) -> None:
    async with raw(make(), trusted_proxy_depth=depth) as (http, url):
        session = await Session(http, url, {"x-forwarded-for": header}).open()
        assert (await session.call(1, "whoami"))["result"]["structuredContent"]["ip"] == ip


@pytest.mark.parametrize(("depth", "ip"), [(0, "127.0.0.1"), (1, "2.2.2.2"), (2, "1.1.1.1"), (3, "127.0.0.1")])
async def test_a_proxy_that_adds_a_line_of_its_own_counts_like_one_that_adds_to_the_clients(
    depth: int, ip: str
) -> None:
    """Else clients that send the header behind such a proxy would choose their address."""
    lines = [("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "2.2.2.2")]
    async with raw(make(), trusted_proxy_depth=depth) as (http, url):
        request = _modern("tools/call", name="whoami", arguments={})
        answer = await http.post(url, json=request["json"], headers=[*request["headers"].items(), *lines])
        assert answer.json()["result"]["structuredContent"]["ip"] == ip


async def test_each_app_of_a_server_has_its_own_proxies() -> None:
    """Else clients of an app without any would choose their address."""
    server = make()
    request = _modern("tools/call", name="whoami", arguments={})
    headers = {**request["headers"], "x-forwarded-for": "1.1.1.1"}
    async with raw(server) as (http, bare), raw(server, trusted_proxy_depth=1) as (_, behind):
        answers = [await http.post(url, json=request["json"], headers=headers) for url in (bare, behind)]
    ips = [answer.json()["result"]["structuredContent"]["ip"] for answer in answers]
    assert ips == ["127.0.0.1", "1.1.1.1"]


async def test_stateless_answers_older_clients_without_a_session() -> None:
    async with raw(make(), stateless=True) as (http, url):
        session = Session(http, url, {"mcp-protocol-version": OLD})
        first = await session.call(1, "whoami")
        second = await session.call(1, "whoami")
        assert first["result"]["structuredContent"]["sub"] != second["result"]["structuredContent"]["sub"]


async def test_foreign_hosts_and_origins_are_refused_on_loopback() -> None:
    async with raw(make()) as (http, url):
        session = Session(http, url)
        message = {"id": 1, "method": "ping"}
        assert (await session.post(message, host="evil.example")).status_code == 421
        # Clients of port 80 name no port.
        assert (await session.post(message, host="localhost")).status_code == 400  # no session
        assert (await session.post(message, origin="http://evil.example")).status_code == 403


async def test_hosts_that_are_named_are_accepted() -> None:
    async with raw(make(), allowed_hosts=["mcp.example"]) as (http, url):
        params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        answer = await Session(http, url).post({"id": 1, "method": "initialize", "params": params}, host="mcp.example")
        assert answer.status_code == 200


async def test_a_body_that_is_too_large_is_refused() -> None:
    async with raw(make(), max_body=1000) as (http, url):
        session = await Session(http, url).open()
        answer = await session.post({"id": 1, "method": "tools/call", "params": {"name": "x" * 5000}})
        assert answer.status_code == 413
        assert (await session.call(1, "nap", seconds=0))["result"]["structuredContent"] == {"slept": 0.0}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_a_body_that_does_not_arrive_is_given_up(version: str) -> None:
    async with raw(make(), body_timeout=0.2) as (_, url):
        host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
        head = f"POST /mcp HTTP/1.1\r\nhost: {host}:{port}\r\nmcp-protocol-version: {version}\r\n"
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(f"{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{".encode())
            answer = b""
            with anyio.fail_after(10), suppress(anyio.EndOfStream):
                while True:
                    answer += await stream.receive()
        assert answer.startswith(b"HTTP/1.1 408")


async def test_sessions_are_bounded_and_end_when_idle() -> None:
    async with raw(make(), max_sessions=2, session_idle_timeout=0.5) as (http, url):
        sessions = [await Session(http, url).open() for _ in range(2)]
        with pytest.raises(KeyError):
            await Session(http, url).open()
        await anyio.sleep(0.8)
        assert (await sessions[0].post({"id": 1, "method": "ping"})).status_code == 404
        await Session(http, url).open()


async def test_a_client_that_does_not_read_its_stream_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontmcp.transports.changes.TELL_SECONDS", 0.2)
    heard: list[str] = []
    tried = 0
    server = make()
    async with raw(server) as (http, url):
        deaf, other = [await Session(http, url).open() for _ in range(2)]
        for session in (deaf, other):
            await session.call(1, "whoami")

        async def notify(self: Connection, method: str, *_: Any, **__: Any) -> None:
            nonlocal tried
            if self.session_id == deaf.headers["mcp-session-id"]:
                tried += 1
                await anyio.sleep_forever()
            heard.append(self.session_id or "")

        monkeypatch.setattr(Connection, "notify", notify)

        @Tool
        async def added() -> None: ...

        with anyio.fail_after(5):
            await server.add_tool(added)
            assert heard == [other.headers["mcp-session-id"]]
            for _ in range(50):
                await server.list_changed("tools")
            assert (tried, len(heard)) == (1, 51), "nor again and again"
            monkeypatch.setattr(anyio, "current_time", lambda: math.inf)
            await server.list_changed("tools")
        assert tried == 2, "but it is tried again"


async def test_browsers_may_read_answers_where_their_origin_is_named() -> None:
    options = {"cors_origins": ["https://app.example"], "allowed_origins": ["https://app.example"]}
    async with raw(make(), **options) as (http, url):
        preflight = {"origin": "https://app.example", "access-control-request-method": "POST"}
        answer = await http.options(url, headers=preflight)
        assert answer.headers["access-control-allow-origin"] == "https://app.example"


def test_tools_without_a_description_are_named_when_they_are_served(caplog: pytest.LogCaptureFixture) -> None:
    @Tool(visibility="hidden")
    async def hidden() -> None: ...

    @Tool
    async def described() -> None:
        """Does nothing."""

    server = FrontMcp("http-test", tools=[whoami, nap, hidden, described])
    server.check()
    assert "description" not in caplog.text
    server.http_app()
    (record,) = (record for record in caplog.records if "description" in record.getMessage())
    assert record.getMessage().endswith(": whoami, nap")


def test_wrong_http_options_are_named() -> None:
    with pytest.raises(ConfigurationError) as refused:
        make(http={"prot": 1, "port": 70000, "path": "mcp"}).check()
    assert len(refused.value.problems) == 3
    assert any("prot" in problem for problem in refused.value.problems)


SCRIPT = """
import sys
from frontmcp import FrontMcp, Plugin, Tool, hookimpl
import anyio

@Tool
async def nap(seconds: float) -> dict[str, float]:
    print("nap began", file=sys.stderr, flush=True)
    await anyio.sleep(seconds)
    return {"slept": seconds}

class Watch(Plugin):
    name = "test.watch"

    @hookimpl
    async def server_stopping(self):
        print("stopped", file=sys.stderr, flush=True)

FrontMcp("http-test", tools=[nap], plugins=[Watch]).run("http", port=int(sys.argv[1]), grace=19)
"""


@asynccontextmanager
async def _process(tmp_path: Path) -> AsyncIterator[tuple[subprocess.Popen[bytes], str]]:
    """The server in a process of its own, and its endpoint."""
    with bind(HttpOptions(port=0)) as bound:
        port = bound.getsockname()[1]
    script = tmp_path / "server.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), str(port)], stderr=subprocess.PIPE, env=os.environ | {"FRONTMCP_ENV": "test"}
    )
    try:
        url = f"http://127.0.0.1:{port}/mcp"
        await _until_served(url)
        yield process, url
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


async def _ended_by(process: subprocess.Popen[bytes], sent: signal.Signals) -> str:
    """Send a signal once the tool has begun; what the server said until it ended, in time."""
    assert process.stderr is not None
    while b"nap began" not in await anyio.to_thread.run_sync(process.stderr.readline):
        assert process.poll() is None
    began = time.monotonic()
    process.send_signal(sent)
    code = await anyio.to_thread.run_sync(lambda: process.wait(30))
    assert time.monotonic() - began < 15  # less than the grace: nothing held it
    assert code == (130 if sent is signal.SIGINT else 0)
    return process.stderr.read().decode()


async def _stream(http: httpx2.AsyncClient, opened: anyio.Event, method: str, url: str, **request: Any) -> None:
    # The goodbye may be cut off; what counts is that the stream does not hold the server.
    with suppress(httpx2.RemoteProtocolError):
        async with http.stream(method, url, **request) as stream:
            opened.set()
            async for _ in stream.aiter_bytes():
                pass


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_calls_finish_and_open_streams_do_not_hold_it(tmp_path: Path, sent: signal.Signals) -> None:
    answers: list[httpx2.Response] = []
    opened = anyio.Event()
    async with _process(tmp_path) as (process, url), httpx2.AsyncClient(timeout=20) as http:
        listen = _modern("subscriptions/listen", notifications={"toolsListChanged": True})

        async def call() -> None:
            answers.append(await http.post(url, **_modern("tools/call", name="nap", arguments={"seconds": 1})))

        async with anyio.create_task_group() as group:
            group.start_soon(lambda: _stream(http, opened, "POST", url, **listen))
            await opened.wait()
            group.start_soon(call)
            said = await _ended_by(process, sent)
    assert answers[0].json()["result"]["structuredContent"] == {"slept": 1}
    assert "stopped" in said


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_calls_of_older_clients_finish_as_well(tmp_path: Path, sent: signal.Signals) -> None:
    answers: list[Any] = []
    opened = anyio.Event()
    async with _process(tmp_path) as (process, url), httpx2.AsyncClient(timeout=20) as http:
        session = await Session(http, url).open()

        async def call() -> None:
            answers.append(await session.call(1, "nap", seconds=1))

        async with anyio.create_task_group() as group:
            group.start_soon(lambda: _stream(http, opened, "GET", url, headers=session.headers))
            await opened.wait()
            group.start_soon(call)
            said = await _ended_by(process, sent)
    assert answers[0]["result"]["structuredContent"] == {"slept": 1}
    assert "stopped" in said


async def test_a_session_ends_once_it_has_what_arrived_before(caplog: pytest.LogCaptureFixture) -> None:
    server = make()

    async def end_amid(http: httpx2.AsyncClient, url: str, messages: int) -> None:
        session = await Session(http, url).open()
        answers: list[httpx2.Response] = []

        async def post(**message: Any) -> None:
            answers.append(await session.post(message))

        async with anyio.create_task_group() as group:
            for number in range(messages):
                group.start_soon(lambda n=number: post(id=n + 1, method="ping"))
                group.start_soon(lambda: post(method="notifications/roots/list_changed"))
            group.start_soon(lambda: http.delete(url, headers=session.headers))
        assert {answer.status_code for answer in answers} <= {200, 202, 404}

    async with (
        serving(server, server.http_options(port=0)) as url,
        httpx2.AsyncClient(timeout=20) as http,
        anyio.create_task_group() as group,
    ):
        for messages in range(1, 30):
            group.start_soon(end_amid, http, url, messages)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def _modern(method: str, **params: Any) -> Any:
    """A request of 2026-07-28, as keywords for an HTTP client."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    headers = JSON | {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = params["name"]
    return {
        "json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}},
        "headers": headers,
    }


async def _until_served(url: str) -> None:
    async with httpx2.AsyncClient() as http:
        for _ in range(1000):
            try:
                await http.get(url.removesuffix("/mcp") + "/healthz")
            except httpx2.ConnectError:
                await anyio.sleep(0.05)
            else:
                return
    raise AssertionError("the server did not start")


def test_an_event_store_without_sessions_is_refused() -> None:
    make(http={"event_store": True}).check()
    with pytest.raises(ConfigurationError, match=r"http\.event_store .*stateless=True has none"):
        make(http={"event_store": True, "stateless": True}).check()


# Headers


@Tool(name="route_by")
async def route(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "") -> str:
    return region


async def modern(http: httpx2.AsyncClient, url: str, name: str, arguments: Any, **headers: str) -> httpx2.Response:
    meta = {
        f"io.modelcontextprotocol/{key}": value
        for key, value in {"protocolVersion": NEW, "clientCapabilities": {}}.items()
    }
    message = {"id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": meta}}
    standard = {"mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": name}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await http.post(url, json={"jsonrpc": "2.0", **message}, headers=JSON | standard | given)


@pytest.mark.parametrize("name", ["route_by", "route-by", "http-test:route-by"])
async def test_no_spelling_gets_around_the_headers_of_parameters(name: str) -> None:
    server = FrontMcp("http-test", tools=[route])
    async with raw(server) as (http, url):
        missing = await modern(http, url, name, {"region": "eu"})
        assert (missing.status_code, missing.json()["error"]["code"]) == (400, -32020)
        there = await modern(http, url, name, {"region": "eu"}, mcp_param_region="eu")
        assert there.json()["result"]["content"][0]["text"] == "eu"


async def test_whitespace_around_the_value_of_a_header_means_nothing() -> None:
    seen: list[Any] = []

    class Wire:
        async def identify(self, http: Any) -> None:
            seen.append(http.headers["mcp-name"])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(scope["headers"])[b"mcp-name"])

    scope: Any = {"type": "http", "method": "POST", "headers": [(b"mcp-name", b"a b \t")]}
    await Admission(app, Wire())(scope, None, None)  # type: ignore[arg-type]
    assert seen == ["a b", b"a b"]


# How it starts, and does not


def _run(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "server.py"
    script.write_text(text)
    command = [sys.executable, str(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


FAILING = """
from contextlib import asynccontextmanager
from frontmcp import FrontMcp

@asynccontextmanager
async def lifespan(server):
    raise OSError("no database")
    yield

FrontMcp("failing", lifespan=lifespan).run({transport})
"""


@pytest.mark.parametrize("transport", ['"stdio"', '"http", port=0'])
def test_what_a_lifespan_raises_leaves_run(tmp_path: Path, transport: str) -> None:
    ran = _run(tmp_path, FAILING.replace("{transport}", transport))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.splitlines()[-1] == "OSError: no database"
    assert "lifespan' protocol" not in ran.stderr
    assert "Group" not in ran.stderr


def test_what_a_task_of_the_lifespan_raises_ends_the_server(tmp_path: Path) -> None:
    ran = _run(
        tmp_path,
        """
from contextlib import asynccontextmanager
import anyio
from frontmcp import FrontMcp

@asynccontextmanager
async def lifespan(server):
    async def soon():
        await anyio.sleep(0.3)
        raise OSError("the database is gone")

    async with anyio.create_task_group() as group:
        group.start_soon(soon)
        yield

FrontMcp("failing", lifespan=lifespan).run("http", port=0)
""",
    )
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (1, "OSError: the database is gone")


def test_a_port_that_is_taken_is_named() -> None:
    with bind(HttpOptions(port=0)) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"can't serve on 127.0.0.1 port {port}: .*; try another port"):
            make().run("http", port=port)


def test_a_host_that_is_none_of_this_machine_is_named() -> None:
    with pytest.raises(
        ConfigurationError, match=r"192\.0\.2\.1 port 0: .*; the host must be an address of this machine"
    ):
        make().run("http", host="192.0.2.1", port=0)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (("stdio",), {"port": 3, "host": "x"}, 'run: host, port is for HTTP: write run("http", …); stdio takes no '),
        ((), {"nonsense": 1}, 'run: nonsense is for HTTP: write run("http", …)'),
        (("http",), {"prot": 3}, 'http option prot: .*; did you mean "port"'),
        (("sse",), {}, 'run: there is no transport "sse"; use "stdio" or "http"'),
    ],
)
def test_options_that_a_transport_does_not_take(arguments: Any, options: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said.replace("(", r"\(").replace(")", r"\)")):
        make().run(*arguments, **options)
