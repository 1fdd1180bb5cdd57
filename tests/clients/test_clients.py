"""One script, run by the clients that people use, over stdio and HTTP, in each protocol version that they speak.

The TypeScript clients need Node.js and the packages that ``make clients`` installs.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import fastmcp
import mcp_types as types
import pytest
from fastmcp.client.elicitation import ElicitResult as FastMCPAnswer
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters

HERE = Path(__file__).parent
SERVER = [sys.executable, str(HERE / "server.py")]
OLDER, MODERN = "2025-11-25", "2026-07-28"
SEEN = {
    "tools": ["change_tools", "close_ticket", "delete_ticket", "find_ticket", "import_rows", "refuse", "take_long"],
    "resources": ["desk://hours"],
    "templates": ["tickets://{id}"],
    "prompts": ["note"],
    "structured": {"id": "T-1", "title": "Cannot log in"},
    "error": [True, "The desk is closed"],
    "nested": {"id": "T-1", "title": "Cannot log in", "status": "closed"},
    "asked": ["Delete T-1?"],
    "elicited": "deleted T-1",
    "awaited": "done",
    "resource": "9 to 5",
    "templated": {"id": "T-7"},
    "prompt": "Write a short note on T-1.",
    "completion": ["long"],
    "changed": True,
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The server over HTTP."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    process = subprocess.Popen([*SERVER, str(port)])
    try:
        for _ in range(1200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


def check(seen: dict[str, Any], version: str, *, hears: bool = True) -> None:
    """Compare what a client saw with what there is.

    :param hears: it can be told of changes.
    """
    progress, protocol = seen.pop("progress"), seen.pop("protocol")
    # A client may be told of the answer before it gets to the last update.
    assert progress == sorted({*progress}) and progress[0] == 1
    assert protocol in (version, None)
    assert seen == {**SEEN, "changed": hears}


# Clients in Python


class Watch:
    """What a client was told and asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.progress: list[float] = []
        self.changed = anyio.Event()

    async def updated(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append(progress)

    async def told(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changed.set()

    def seen(self, **more: Any) -> dict[str, Any]:
        return {"progress": self.progress, "asked": self.asked, "changed": self.changed.is_set(), **more}


async def all_pages(method: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = await method(cursor=cursor)
        found += getattr(page, field)
        if (cursor := page.next_cursor) is None:
            return found


async def sdk_script(target: Any, version: str) -> dict[str, Any]:
    watch = Watch()

    async def ask(context: Any, params: Any) -> types.ElicitResult:
        watch.asked.append(params.message)
        return types.ElicitResult(action="accept", content={"sure": True})

    mode: Any = "legacy" if version == OLDER else "auto"
    async with Client(target, mode=mode, elicitation_callback=ask, message_handler=watch.told) as client:
        listed = [
            [getattr(each, name) for each in await all_pages(method, field)]
            for method, field, name in (
                (client.list_tools, "tools", "name"),
                (client.list_resources, "resources", "uri"),
                (client.list_resource_templates, "resource_templates", "uri_template"),
                (client.list_prompts, "prompts", "name"),
            )
        ]
        await client.call_tool("import_rows", {"count": 3}, progress_callback=watch.updated)
        refused = await client.call_tool("refuse")
        hours = await client.read_resource("desk://hours")
        one = await client.read_resource("tickets://T-7")
        prompt = await client.get_prompt("note", {"id": "T-1", "tone": "short"})
        completed = await client.complete(types.PromptReference(name="note"), {"name": "tone", "value": "l"})
        structured = await client.call_tool("find_ticket", {"id": "T-1"})
        nested = await client.call_tool("close_ticket", {"id": "T-1"})
        deleted = await client.call_tool("delete_ticket", {"id": "T-1"})
        awaited = await client.call_tool("take_long")
        await hear_of_a_change(client, watch, version)
        return watch.seen(
            **dict(zip(("tools", "resources", "templates", "prompts"), listed, strict=True)),
            structured=structured.structured_content,
            error=[refused.is_error, text(refused.content)],
            nested=nested.structured_content,
            elicited=text(deleted.content),
            awaited=text(awaited.content),
            resource=hours.contents[0].text,  # type: ignore[union-attr]
            templated=json.loads(one.contents[0].text),  # type: ignore[union-attr]
            prompt=prompt.messages[0].content.text,  # type: ignore[union-attr]
            completion=completed.completion.values,
            protocol=client.protocol_version,
        )


async def hear_of_a_change(client: Any, watch: Watch, version: str) -> None:
    with anyio.fail_after(10):
        if version == OLDER:
            await client.call_tool("change_tools")
            await watch.changed.wait()
            return
        async with client.listen(tools_list_changed=True) as changes:
            await client.call_tool("change_tools")
            assert type(await anext(aiter(changes))).__name__ == "ToolsListChanged"
            watch.changed.set()


async def fastmcp_script(target: Any, version: str) -> dict[str, Any]:
    """FastMCP's client opens no stream of changes under 2026-07-28."""
    watch = Watch()

    async def ask(message: str, response_type: Any, params: Any, context: Any) -> FastMCPAnswer[Any]:
        watch.asked.append(message)
        return FastMCPAnswer(action="accept", content={"sure": True})

    mode: Any = "legacy" if version == OLDER else "auto"
    async with fastmcp.Client(target, mode=mode, elicitation_handler=ask, message_handler=watch.told) as client:
        await client.call_tool("import_rows", {"count": 3}, progress_handler=watch.updated)
        refused = await client.call_tool("refuse", raise_on_error=False)
        if version == OLDER:
            await hear_of_a_change(client, watch, version)
        return watch.seen(
            tools=[each.name for each in await client.list_tools()],
            resources=[str(each.uri) for each in await client.list_resources()],
            templates=[each.uri_template for each in await client.list_resource_templates()],
            prompts=[each.name for each in await client.list_prompts()],
            structured=(await client.call_tool("find_ticket", {"id": "T-1"})).structured_content,
            error=[refused.is_error, text(refused.content)],
            nested=(await client.call_tool("close_ticket", {"id": "T-1"})).structured_content,
            elicited=text((await client.call_tool("delete_ticket", {"id": "T-1"})).content),
            awaited=text((await client.call_tool("take_long")).content),
            resource=(await client.read_resource("desk://hours"))[0].text,
            templated=json.loads((await client.read_resource("tickets://T-7"))[0].text),
            prompt=(await client.get_prompt("note", {"id": "T-1", "tone": "short"})).messages[0].content.text,
            completion=(
                await client.complete(types.PromptReference(name="note"), {"name": "tone", "value": "l"})
            ).values,
            protocol=client.protocol_version,
        )


def text(content: Any) -> str:
    [block] = content
    found: str = block.text
    return found


@pytest.mark.parametrize("version", [OLDER, MODERN])
async def test_the_sdk_over_http(url: str, version: str) -> None:
    check(await sdk_script(url, version), version)


@pytest.mark.parametrize("version", [OLDER, MODERN])
async def test_the_sdk_over_stdio(version: str) -> None:
    command = StdioServerParameters(command=SERVER[0], args=SERVER[1:], env=dict(os.environ))
    check(await sdk_script(command, version), version)


@pytest.mark.parametrize("version", [OLDER, MODERN])
async def test_fastmcp_over_http(url: str, version: str) -> None:
    check(await fastmcp_script(url, version), version, hears=version == OLDER)


@pytest.mark.parametrize("version", [OLDER, MODERN])
async def test_fastmcp_over_stdio(version: str) -> None:
    transport = StdioTransport(SERVER[0], SERVER[1:], env=dict(os.environ), keep_alive=False)
    check(await fastmcp_script(transport, version), version, hears=version == OLDER)


# Clients in TypeScript


def node() -> str:
    """Node.js: the one that `make clients` installed, else the system's.

    :raises pytest.skip.Exception: there is none, or its packages are not there.
    """
    own = Path(sys.executable).with_name("node")
    found = str(own) if own.exists() else shutil.which("node")
    if found is None or not (HERE / "node_modules" / "@modelcontextprotocol" / "client").exists():
        pytest.skip("the TypeScript clients are not installed: `make clients` does that, from npm's registry")
    return found


@pytest.mark.parametrize(
    ("client", "transport"),
    [("v1", "stdio"), ("v1", "http"), ("v2", "http"), ("v2-auto", "stdio"), ("v2-auto", "http")],
)
async def test_typescript(url: str, client: str, transport: str) -> None:
    target = [url] if transport == "http" else SERVER
    command = [node(), str(HERE / "script.mjs"), client, *target]
    with anyio.fail_after(120):
        ran = await anyio.run_process(command, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    check(json.loads(ran.stdout.splitlines()[-1]), MODERN if client == "v2-auto" else OLDER)
