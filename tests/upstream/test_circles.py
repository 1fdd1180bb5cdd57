"""Servers that serve each other: a request that goes round in a circle has an end, and says so."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.server import Server

from frontmcp import (
    App,
    ConfigurationError,
    FrontMcp,
    JobContext,
    PromptContext,
    ResourceContext,
    Tool,
    ToolContext,
    create_direct,
)
from frontmcp.call import HOPS, SERVED_BY
from frontmcp.testing import Road, connect
from frontmcp.transports.http import serving
from frontmcp.transports.options import HttpOptions
from frontmcp.upstream import upstream
from frontmcp.upstream.errors import MOST_HOPS, UpstreamLoopError
from frontmcp.upstream.listing import VIA

ERAS = ["2025-11-25", "2026-07-28"]
MODES = ["auto", "legacy"]
ROUND = list(range(MOST_HOPS + 1))


class Circle:
    """Two servers behind URLs, each with a tool, a resource and a prompt whose bodies use the other's.

    :ivar hops: of the requests that bodies ran for.
    """

    def __init__(self, mode: str) -> None:
        self.hops: list[int] = []
        self.ports = {"a": free_port(), "b": free_port()}
        self.a, self.b = self.server("a", "b", mode), self.server("b", "a", mode)

    def server(self, name: str, other: str, mode: str) -> FrontMcp:
        url = f"http://127.0.0.1:{self.ports[other]}/mcp"
        made = FrontMcp(name, apps=[App.from_mcp(url, id="other", mode=mode, required=False, call_timeout=20)])

        @made.tool(name=f"call_{name}")
        async def call(ctx: ToolContext) -> str:
            """Call the other's."""
            self.hops.append(ctx.context.hops)
            result = await ctx.call_tool(f"call_{other}")
            return str(result.content[0].text)

        @made.resource(f"read://{name}")
        async def read(ctx: ResourceContext) -> Any:
            self.hops.append(ctx.context.hops)
            return await ctx.read_resource(f"read://{other}")

        @made.prompt(name=f"get_{name}")
        async def get(ctx: PromptContext) -> Any:
            self.hops.append(ctx.context.hops)
            return await ctx.get_prompt(f"get_{other}")

        return made

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Any]:
        """Both run, and the first lists what the second has; gives that one in this process."""
        async with (
            serving(self.b, HttpOptions(port=self.ports["b"], grace=0)),
            serving(self.a, HttpOptions(port=self.ports["a"], grace=0)),
            create_direct(self.a) as a,
            create_direct(self.b) as b,
        ):
            with anyio.fail_after(10):
                while "call_a" not in {tool.name for tool in await b.list_tools()}:
                    await anyio.sleep(0.02)
            yield a


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
async def circle(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Circle, Any]]:
    monkeypatch.setattr(upstream, "FIRST_DELAY", 0.05)
    made = Circle(request.param)
    async with made.running() as direct:
        yield made, direct


@pytest.mark.parametrize("circle", MODES, indirect=True)
async def test_a_request_that_goes_round_is_refused(circle: tuple[Circle, Any]) -> None:
    made, direct = circle
    for request in (
        lambda: direct.call_tool("call_a"),
        lambda: direct.read_resource("read://a"),
        lambda: direct.get_prompt("get_a"),
    ):
        made.hops.clear()
        with pytest.raises(UpstreamLoopError, match="8 servers passed this request on already"):
            await request()
        assert made.hops == ROUND


@pytest.mark.parametrize("circle", MODES, indirect=True)
async def test_what_a_server_has_does_not_come_back_to_it(circle: tuple[Circle, Any]) -> None:
    made, direct = circle
    assert [tool.name for tool in await direct.list_tools()] == ["call_a", "call_b"]
    assert [resource.uri for resource in await direct.list_resources()] == ["read://a", "read://b"]
    assert [prompt.name for prompt in await direct.list_prompts()] == ["get_a", "get_b"]

    @Tool
    async def more() -> str:
        """One more."""
        return "more"

    await made.a.add_tool(more)
    async with create_direct(made.b) as b:
        with anyio.fail_after(10):
            while "more" not in {tool.name for tool in await b.list_tools()}:
                await anyio.sleep(0.02)
    # Time for the second server to tell the first of its change.
    await anyio.sleep(0.3)
    assert [tool.name for tool in await direct.list_tools()] == ["call_a", "call_b", "more"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_request_that_goes_round_in_this_process_is_refused(mode: str) -> None:
    seen: list[int] = []
    stack = AsyncExitStack()

    async def tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="relay", input_schema={"type": "object"})])

    async def relay(ctx: Any, params: Any) -> Any:
        meta = {key: value for key, value in ctx.meta.items() if key == HOPS}
        return await client.call_tool("outer", {}, meta=meta)

    server = FrontMcp("a", apps=[App.from_mcp(Server("relay", on_list_tools=tools, on_call_tool=relay), mode=mode)])

    @server.tool
    async def outer(ctx: ToolContext) -> str:
        """Go round."""
        seen.append(ctx.context.hops)
        result = await ctx.call_tool("relay")
        return str(result.content[0].text)

    async with stack:
        client = await stack.enter_async_context(Client(server.lowlevel, mode=mode))
        result = await client.call_tool("outer", {})
    assert result.is_error
    assert "8 servers passed this request on already" in result.content[0].text
    assert seen == ROUND


SELF = """
import os, sys
from mcp import StdioServerParameters
from frontmcp import App, FrontMcp

again = StdioServerParameters(
    command=sys.executable, args=[__file__], env={"PYTHONPATH": os.environ["PYTHONPATH"]}
)

FrontMcp("self", apps=[App.from_mcp(again, id="again", connect_timeout=60)]).run()
"""


async def test_servers_that_start_one_another_have_an_end(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_FRONTMCP_HOPS", str(MOST_HOPS - 1))
    script = tmp_path / "self.py"
    script.write_text(SELF)
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(script)], env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    )
    app = App.from_mcp(parameters, id="circle", connect_timeout=60)
    with pytest.raises(ConfigurationError, match="can't be reached"):
        async with create_direct(FrontMcp("new", apps=[app])):
            pass
    assert f"{MOST_HOPS} servers started one another already" in capfd.readouterr().err


@pytest.mark.parametrize("said", [-3, True, 1.5, "9", None, [8], {"a": 8}, 0])
@pytest.mark.parametrize("era", ERAS)
async def test_what_is_no_number_of_servers_counts_as_none(era: str, said: Any) -> None:
    assert await hops_of({HOPS: said}, era) == "0"


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_can_only_shorten_its_own_way(era: str) -> None:
    assert await hops_of({}, era) == "0"
    assert await hops_of({HOPS: 10**30}, era) == str(10**30)
    server = FrontMcp("new", apps=[App.from_mcp(target())])
    async with connect(server, Road(era, "memory")) as client:
        result = await (await client.connect()).call_tool("hops", {}, meta={HOPS: MOST_HOPS})
        assert result.is_error
        assert result.meta["code"] == UpstreamLoopError.code


def target() -> FrontMcp:
    server = FrontMcp("old")

    @server.tool(name="hops")
    async def hops(ctx: ToolContext) -> str:
        """How many passed this on."""
        return str(ctx.context.hops)

    return server


async def hops_of(meta: Any, era: str) -> str:
    async with connect(target(), Road(era, "memory")) as client:
        result = await (await client.connect()).call_tool("hops", {}, meta=meta)
    text: str = result.content[0].text
    return text


@pytest.mark.parametrize("era", ERAS)
async def test_completion_is_counted_too(era: str) -> None:
    old = FrontMcp("old")

    @old.prompt
    def note(name: str) -> str:
        return name

    @note.complete("name")
    def names(ctx: PromptContext, value: str) -> list[str]:
        return [str(ctx.context.hops)]

    async with connect(FrontMcp("new", apps=[App.from_mcp(old)]), Road(era, "memory")) as client:
        raw = await client.connect()
        ref = types.PromptReference(name="note")
        assert (await raw.complete(ref, {"name": "name", "value": ""})).completion.values == ["1"]


@pytest.mark.parametrize("background", [False, True])
async def test_a_run_counts_on_from_the_request_that_started_it(background: bool) -> None:
    server = FrontMcp("old")
    ran = anyio.Event()
    seen: list[int] = []

    @server.job
    async def inner(ctx: JobContext) -> None:
        seen.append(ctx.context.hops)
        ran.set()

    @server.job
    async def outer(ctx: JobContext) -> None:
        seen.append(ctx.context.hops)
        await ctx.call_tool("execute_job", {"name": "inner", "background": background})

    async with connect(server) as client:
        raw = await client.connect()
        started = {"name": "outer", "background": background}
        assert not (await raw.call_tool("execute_job", started, meta={HOPS: 3})).is_error
        with anyio.fail_after(10):
            await ran.wait()
    assert seen == [3, 3]


def listing(*vias: Any, server: Any = None) -> Server[Any]:
    """A server whose tools say where they came through, and whose list says who serves it."""

    async def tools(ctx: Any, params: Any) -> types.ListToolsResult:
        made = [
            types.Tool(name=f"t{number}", input_schema={"type": "object"}, _meta={VIA: via, "acme/own": 1})
            for number, via in enumerate(vias)
        ]
        return types.ListToolsResult(tools=made, _meta={SERVED_BY: server})

    return Server("old", on_list_tools=tools)


@pytest.mark.parametrize("said", [None, 7, "x", {}, [7], [["x"]], [None]])
async def test_what_is_no_way_is_none(said: Any) -> None:
    for target in (listing(said), listing([], server=said)):
        async with create_direct(FrontMcp("new", apps=[App.from_mcp(target)])) as direct:
            [tool] = await direct.list_tools()
            assert tool.meta["acme/own"] == 1


async def test_a_way_grows_and_is_bounded() -> None:
    target = listing([], ["a"], ["a"] * (MOST_HOPS - 1), ["a"] * MOST_HOPS, server="b")
    async with create_direct(FrontMcp("new", apps=[App.from_mcp(target)])) as direct:
        ways = {tool.name: tool.meta[VIA] for tool in await direct.list_tools()}
    assert ways == {"t0": ["b"], "t1": ["a", "b"], "t2": ["a"] * (MOST_HOPS - 1) + ["b"]}


async def test_who_serves_a_list_is_told_to_other_servers_only() -> None:
    async with connect(target()) as client:
        raw = await client.connect()
        assert SERVED_BY not in ((await raw.list_tools()).meta or {})
        said = (await raw.list_tools(meta={HOPS: 1})).meta[SERVED_BY]
    assert len(said) == 32
