"""`make demo`: the help desk behind a real HTTP server, driven by a real MCP client, with a look inside.

Needs the extra ``cli`` for its looks: ``pip install "frontmcp[cli]"``.
"""

from __future__ import annotations

import json
import logging
import socket
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import help_desk
import uvicorn
from mcp import Client
from mcp_types import CallToolResult, TextContent
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from frontmcp import FrontMcp
from frontmcp.cli.trace import Trace, TracedCall, tree

HERE = Path(__file__).resolve().parent

console = Console(highlight=False)
if not console.is_terminal:
    console.width = 120


class Log(logging.Handler):
    """What the server's log would show; the demo quotes from it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@asynccontextmanager
async def serving(server: FrontMcp) -> AsyncIterator[str]:
    """The URL of a server that uvicorn runs on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        web = uvicorn.Server(uvicorn.Config(server.http_app(), log_level="warning"))
        async with anyio.create_task_group() as group:
            group.start_soon(web.serve, [listener])
            while not web.started:  # noqa: ASYNC110 (uvicorn has no event for it)
                await anyio.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            web.should_exit = True


def heading(text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def say(what: RenderableType, style: str = "") -> None:
    console.print(Padding(what, (0, 0, 0, 2), style=style, expand=False))


def text_of(result: CallToolResult) -> str:
    """What the model reads, on one line."""
    text = " ".join(block.text for block in result.content if isinstance(block, TextContent))
    return escape(" ".join(text.split()))


async def call(client: Client, name: str, **arguments: Any) -> CallToolResult:
    """Call a tool, and show the call, its progress and its outcome as the client gets them."""

    async def show(progress: float, total: float | None, message: str | None) -> None:
        say(f"[dim]{progress:.0f}/{total or 0:.0f}[/] {message}", style="yellow")

    say(f"[bold]{name}[/] [dim]{json.dumps(arguments)}[/]")
    result = await client.call_tool(name, arguments, progress_callback=show)
    if result.is_error:
        code = (result.meta or {}).get("code")
        say(f"[red]{code}[/] {text_of(result)}")
    else:
        say(f"[green]→[/] {text_of(result)}")
    return result


async def list_tools(client: Client) -> None:
    listed = (await client.list_tools()).tools
    table = Table.grid(padding=(0, 2))
    for tool in listed:
        table.add_row(f"[bold]{tool.name}[/]", tool.description)
    say(table)
    inner = sorted({entry.name for entry in SERVER.entries("tool")} - {tool.name for tool in listed})
    say(f"Not listed, for other tools only: {', '.join(inner)}", style="dim")


def shortened(call: TracedCall) -> TracedCall:
    """Without the stages that took next to nothing."""
    for each in call.walk():
        each.stages = {stage: seconds for stage, seconds in each.stages.items() if seconds >= 0.00002}
    return call


async def older_client(url: str) -> None:
    async with Client(url, mode="legacy") as client:
        heading(f"6  The same server, a client of {client.protocol_version}")
        say(f"{len((await client.list_tools()).tools)} tools, the same calls:")
        await call(client, "close_ticket", id="T-4")


async def modern_client(url: str, log: Log) -> None:
    async with Client(url) as client:
        heading(f"2  What a client of {client.protocol_version} sees")
        await list_tools(client)

        heading("3  A tool that calls tools, and reports progress")
        await call(client, "close_stale", days=10)

        heading("4  What happened inside: every call takes the same road")
        say("In milliseconds, stages under 0.02 left out:", style="dim")
        say(tree(shortened(TRACE.calls[-1])))

        heading("5  Failures")
        say("What a model can act on, it reads as it is:", style="dim")
        await call(client, "close_ticket", id="T-9")
        await call(client, "close_ticket", id="nine")
        say("What it can't, a bug, is masked in production …", style="dim")
        await call(client, "count_in_crm")
        say("… and whole in the server's log, under the same id:", style="dim")
        say(escape(log.records[-1].getMessage()))


def how_to_connect() -> None:
    heading("7  Connect a client of yours")
    say("Over stdio, in its mcp.json:")
    entry = {"command": sys.executable, "args": [str(HERE / "help_desk.py")]}
    console.print(textwrap.indent(json.dumps({"mcpServers": {"help-desk": entry}}, indent=2), "    "), soft_wrap=True)
    say("Over HTTP, at http://127.0.0.1:8000/mcp, after:")
    console.print(f"    {Path(sys.executable).parent / 'frontmcp'} run {HERE / 'help_desk.py'} --http", soft_wrap=True)


TRACE = Trace()
SERVER = FrontMcp(
    info={"name": "help-desk", "version": "1.0.0"},
    apps=[help_desk.desk],
    plugins=[TRACE],
    plugin_order=[Trace.name],
)


async def main() -> None:
    log = Log()
    logging.getLogger("frontmcp").addHandler(log)
    async with serving(SERVER) as url:
        heading("1  The server")
        say(f"examples/help_desk.py at {url} (uvicorn, {SERVER.environment}), with one plugin that traces calls.")
        await modern_client(url, log)
        await older_client(url)
    how_to_connect()


if __name__ == "__main__":
    anyio.run(main)
