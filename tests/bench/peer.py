"""frontmcp in the side-by-side benchmark: run it with the benchmark's ``--adapter tests/bench/peer.py``."""

from __future__ import annotations

import inspect
from contextlib import AbstractAsyncContextManager
from typing import Any

import tools
from adapters.base import BasePeer

from frontmcp import Around, FrontMcp, Plugin, Tool, ToolContext, create_direct, hookimpl


def no_op(index: int, patterns: str | None = None) -> Plugin:
    class NoOp(Plugin):
        name = f"bench.noop-{index}"

        @Around("execute", tools=patterns)
        async def around(self, call: Any, call_next: Any) -> Any:
            return await call_next()

    return NoOp()


class EvenFillers(Plugin):
    name = "bench.filter"

    @hookimpl
    def entry_visible(self, call: Any, entry: Any) -> bool:
        return not (call.listing and entry.name.startswith("tool_")) or int(entry.name[-1]) % 2 == 0


@Tool
async def fan(ctx: ToolContext, n: int) -> tools.Inner:
    """Call the leaf ``n`` times, one after the other."""
    for index in range(n):
        await ctx.call_tool("inner", {"n": index})
    return {"n": n}


@Tool
async def deep(ctx: ToolContext, depth: int) -> tools.Inner:
    """Call itself until the depth is used up."""
    if depth > 0:
        await ctx.call_tool("deep", {"depth": depth - 1})
    return {"n": depth}


@Tool
async def progress(ctx: ToolContext, n: int) -> tools.Inner:
    """Report progress ``n`` times."""
    for index in range(n):
        await ctx.progress(index, n)
    return {"n": n}


class Peer(BasePeer):
    name = "frontmcp"
    package = "frontmcp"
    imports = "import frontmcp"

    def build(
        self,
        *,
        extra: int = 0,
        middleware: int = 0,
        list_filter: bool = False,
        hooks_for_other_tools: int = 0,
        **_: Any,
    ) -> FrontMcp:
        plugins: list[Plugin] = [no_op(index) for index in range(middleware)]
        plugins += [no_op(index + middleware, "other_*") for index in range(hooks_for_other_tools)]
        if list_filter:
            plugins.append(EvenFillers())
        fillers = [tools.extra_tool(index) for index in range(extra)]
        return FrontMcp(
            "bench",
            tools=[*map(self.definition, [*tools.PLAIN, *fillers]), fan, deep, progress],
            plugins=plugins,
            pagination=None,
            max_call_depth=10_000,
            environment="production",
            autoload_plugins=False,
        )

    def definition(self, function: Any) -> Any:
        # The filler's annotation names the benchmark's own module, and its sync tool runs as the peers run theirs.
        return Tool(sync="inline")(function) if not inspect.iscoroutinefunction(function) else function

    def lifespan(self, server: FrontMcp) -> AbstractAsyncContextManager[Any]:
        self._direct = create_direct(server)
        return _Entered(server, self._direct)

    def direct(self, server: FrontMcp) -> Any:
        return _directs[id(server)].call_tool

    def direct_list(self, server: FrontMcp) -> Any:
        return _directs[id(server)].list_tools

    def lowlevel(self, server: FrontMcp) -> Any:
        return server.lowlevel

    def structured(self, result: Any) -> Any:
        return result.structured_content

    def asgi(self, server: FrontMcp) -> Any:
        return server.http_app(stateless=True, json_response=True)

    def run_stdio(self, server: FrontMcp) -> None:
        server.run("stdio")


_directs: dict[int, Any] = {}


class _Entered:
    def __init__(self, server: FrontMcp, opened: Any) -> None:
        self._server, self._opened = server, opened

    async def __aenter__(self) -> None:
        _directs[id(self._server)] = await self._opened.__aenter__()

    async def __aexit__(self, *exc: Any) -> None:
        await self._opened.__aexit__(*exc)
