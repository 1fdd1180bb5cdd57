"""``frontmcp run`` for real: a process, and an MCP client of both eras."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

DESK = """\
import os
from contextlib import asynccontextmanager

from frontmcp import FrontMcp, Tool

print("loading")


@Tool
def who() -> int:
    print("a print")
    return os.getpid()


@Tool
async def bug() -> str:
    raise ValueError("bang")


@asynccontextmanager
async def lifespan(server):
    yield
    print("shut down", flush=True)


server = FrontMcp("desk", tools=[who, bug], lifespan=lifespan)
"""

SECONDS = 20


@pytest.fixture(autouse=True)
def _desk(write):
    write("desk.py", DESK)


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_stdio_is_clean_and_shows_errors_whole(folder, mode):
    with open(folder / "log", "w") as log:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "frontmcp", "run", "desk.py"], env=dict(os.environ)
        )
        with anyio.fail_after(SECONDS):
            async with Client(stdio_client(server, errlog=log), mode=mode) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["bug", "who"]
                assert (await client.call_tool("who", {})).is_error is False
                result = await client.call_tool("bug", {})
    assert result.content[0].text == 'Tool "bug" execution failed: bang'
    said = (folder / "log").read_text()
    assert all(line in said for line in ("loading", "a print", "shut down"))


async def test_http_masks_errors_and_stops_on_sigterm(serve):
    served = serve("run", "desk.py", "--http", "--port", "0")
    url = served.url()
    for mode in ("2026-07-28", "legacy"):
        with anyio.fail_after(SECONDS):
            async with Client(url, mode=mode) as client:
                assert (await client.call_tool("who", {})).is_error is False
                assert "bang" not in (await client.call_tool("bug", {})).content[0].text
    assert served.stop() == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(url.split(":")[2].partition("/")[0])))


STUCK = """
import threading

from frontmcp import FrontMcp, Tool


@Tool(timeout={"execute_ms": 50})
def stuck() -> None:
    threading.Event().wait(600)


server = FrontMcp("stuck", tools=[stuck])
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
async def test_a_signal_does_not_wait_for_a_thread_that_nobody_waits_for(serve, write, sent, code):
    write("stuck.py", STUCK)
    served = serve("run", "stuck.py", "--http", "--port", "0")
    with anyio.fail_after(SECONDS):
        async with Client(served.url()) as client:
            assert (await client.call_tool("stuck", {})).is_error
    assert served.stop(sent) == code


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_script_says_where_it_serves_and_ends_without_a_traceback(serve, write, sent, code):
    write("script.py", DESK + '\n\nserver.run("http", port=0)\n')
    for served in (serve("script.py", module=None), serve("run", "desk.py", "--http", "--port", "0")):
        url = served.url()
        assert served.stop(sent) == code
        said = [line for line in served.seen if line not in ("loading", "shut down") and "without a desc" not in line]
        assert said == [f"desk 0.0.0 at {url}"]


LOGGED = """
import logging

from frontmcp import FrontMcp, Tool, ToolContext


@Tool
async def outer(ctx: ToolContext, secret: str) -> None:
    ctx.logger.info("called")
    await ctx.call_tool("inner", {"secret": secret})


@Tool
async def inner(secret: str) -> None:
    logging.getLogger("acme").warning("a library speaks")
    raise ValueError("bang")


server = FrontMcp("logged", tools=[outer, inner], logging={"format": "json"})
"""


@pytest.mark.parametrize("more", [(), ("--stateless", "--workers", "2")], ids=["one", "workers"])
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_all_that_is_logged_is_json_and_has_no_arguments_or_tokens(serve, write, mode, more):
    """What plugins, libraries, the SDK and uvicorn log, too: whatever reads the logs reads lines."""
    write("acme_audit.py", "from frontmcp import Plugin\nclass P(Plugin):\n    name = 'acme.audit'")
    write("acme_audit-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: acme-audit\nVersion: 1\n")
    write("acme_audit-1.dist-info/entry_points.txt", "[frontmcp.plugins]\nacme.audit = acme_audit:P\n")
    write("logged.py", LOGGED)
    served = serve("run", "logged.py", "--http", "--port", "0", *more)
    url = served.url()
    async with httpx2.AsyncClient(headers={"authorization": "Bearer t0ken"}) as http:
        with anyio.fail_after(SECONDS):
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                assert (await client.call_tool("outer", {"secret": "4rgument"})).is_error
            assert (await http.post(url, headers={"host": "evil.example"}, json={})).status_code in (400, 421)
    assert served.stop() == 0
    lines = [json.loads(line) for line in served.seen]
    assert not any(word in line for line in served.seen for word in ("4rgument", "t0ken"))
    of_calls = [line for line in lines if line["logger"] in ("frontmcp.tool.outer", "frontmcp.errors")]
    assert [line["path"] for line in of_calls] == ["outer", "outer"]
    assert all(line["caller"].startswith("anon:") and line["request_id"] for line in of_calls)
    messages = {(line["logger"], line["message"]) for line in lines}
    assert ("acme", "a library speaks") in messages
    assert ("frontmcp.plugins", 'plugin "acme.audit" comes from acme-audit 1') in messages


async def test_workers_answer_without_sessions(serve):
    served = serve("run", "desk.py", "--http", "--port", "0", "--stateless", "--workers", "2")
    url = served.url()
    with anyio.fail_after(SECONDS):
        for mode in ("2026-07-28", "legacy"):
            async with Client(url, mode=mode) as client:
                result = await client.call_tool("who", {})
                assert int(result.content[0].text) != served.process.pid
    assert served.stop() == 0


@pytest.mark.parametrize("setting", ["", "[http]\nstateless = false"])
def test_workers_need_stateless(frontmcp, write, setting):
    write("frontmcp.toml", setting)
    ran = frontmcp("run", "desk.py", "--http", "--workers", "2")
    assert ran.code == 2
    assert "error: --workers above 1 needs --stateless: a session of a client" in ran.err


def test_a_port_that_is_taken(frontmcp):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = frontmcp("run", "desk.py", "--http", "--port", port)
    assert ran.code == 1
    assert f"error: can't serve on 127.0.0.1 port {port}: " in ran.err
    assert ran.err.endswith("; try another port\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "^error: desk.py:22: OSError: no database$"),
        (["--http", "--port", "0"], "^error: desk.py:22: OSError: no database$"),
        (["--http", "--port", "0", "--stateless", "--workers", "2"], "^error: desk could not start, see above$"),
    ],
)
def test_a_server_that_can_not_start(serve, write, words, line):
    write("desk.py", DESK.replace("    yield\n", '    raise OSError("no database")\n    yield\n'))
    served = serve("run", "desk.py", *words)
    served.line(line)
    assert served.process.wait(SECONDS) == 1


NAP = """\
import sys

import anyio
from frontmcp import FrontMcp, Tool


@Tool
async def nap(seconds: float) -> float:
    "Sleeps"
    print("nap began", file=sys.stderr, flush=True)
    await anyio.sleep(seconds)
    return seconds


server = FrontMcp("nap", tools=[nap], http={"grace": 19})
"""


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
async def test_a_signal_lets_calls_of_workers_finish(serve, write, version):
    write("nap.py", NAP)
    served = serve("run", "nap.py", "--http", "--port", "0", "--stateless", "--workers", "2")
    url = served.url()
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": "nap", "arguments": {"seconds": 2}} | ({"_meta": meta} if version == "2026-07-28" else {})
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": version,
        "mcp-method": "tools/call",
        "mcp-name": "nap",
    }
    answers = []
    async with httpx2.AsyncClient(timeout=SECONDS) as http:

        async def call():
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answers.append(await http.post(url, json=message, headers=headers))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.to_thread.run_sync(served.line, "nap began")
            served.process.send_signal(signal.SIGTERM)
    assert '"text":"2.0"' in answers[0].text
    assert served.process.wait(15) == 0  # less than the grace: nothing held it
