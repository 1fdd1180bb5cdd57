"""stdio as a client meets it: clean ends, honest errors, and nothing but messages on stdout."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SERVER = """
import os
import sys
import anyio
from frontmcp import FrontMcp, Plugin, Tool, hookimpl

early = sys.stdout.write

@Tool
async def add(a: int, b: int) -> dict[str, int]:
    print("stray print")
    early("stray write\\n")
    os.system("echo stray child")
    return {"sum": a + b}

@Tool
async def slow() -> None:
    print("slow began", file=sys.stderr, flush=True)
    try:
        await anyio.sleep(30)
    finally:
        print("slow ended", file=sys.stderr, flush=True)

class Watch(Plugin):
    name = "test.watch"

    @hookimpl
    async def server_started(self):
        print("started", file=sys.stderr, flush=True)

    @hookimpl
    async def server_stopping(self):
        print("stopped", file=sys.stderr, flush=True)

FrontMcp("stdio-test", tools=[add, slow], plugins=[Watch]).run()
"""

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(id: int, name: str, **arguments: Any) -> bytes:
    params = {"name": name, "arguments": arguments, "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode() + b"\n"


class Process:
    def __init__(self, script: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def wait_for(self, text: str) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if text in line.decode():
                return
        raise AssertionError(f"{text!r} was not said")

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out.decode(), err.decode()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Process]:
    monkeypatch.setenv("PYTHONUNBUFFERED", getattr(request, "param", ""))
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    process = Process(script)
    yield process
    if process.process.poll() is None:
        process.process.kill()
    process.process.communicate()


@pytest.mark.parametrize("server", ["", "1"], ids=["buffered", "unbuffered"], indirect=True)
def test_a_call_is_answered_and_stray_prints_do_not_reach_stdout(server: Process) -> None:
    server.send(call(1, "add", a=1, b=2))
    assert server.answer()["result"]["structuredContent"] == {"sum": 3}
    code, out, err = server.end()
    assert (code, out) == (0, "")
    assert all(f"stray {kind}" in err for kind in ("print", "write", "child"))


def test_the_end_of_stdin_ends_the_server_cleanly(server: Process) -> None:
    server.wait_for("can't tell when to call these tools: add, slow")
    server.wait_for("started")
    code, _, err = server.end()
    assert code == 0
    assert "stopped" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_ends_the_server_cleanly(server: Process, sent: signal.Signals) -> None:
    server.send(call(1, "slow"))
    server.wait_for("slow began")
    server.process.send_signal(sent)
    assert server.process.wait(timeout=20) == 0
    assert server.process.stderr is not None
    err = server.process.stderr.read().decode()
    assert "slow ended" in err
    assert "stopped" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("line", [b"not json\n", b'{"jsonrpc": "2.0"}\n', b"[1, 2]\n", b"\xff\xfe\n"])
def test_a_malformed_line_gets_an_error_and_loses_nothing(server: Process, line: bytes) -> None:
    server.send(call(1, "add", a=1, b=1))
    assert server.answer()["id"] == 1
    server.send(line + call(2, "add", a=1, b=2))
    answers = [server.answer(), server.answer()]
    refused = next(each for each in answers if "error" in each)
    assert refused["error"]["code"] == -32700
    assert refused["id"] is None
    assert any(each.get("result", {}).get("structuredContent") == {"sum": 3} for each in answers)


@pytest.mark.parametrize("id", [b"1.5", b"null", b"[1]"])
def test_a_request_whose_id_can_be_none_is_not_met_with_silence(server: Process, id: bytes) -> None:
    server.send(b'{"jsonrpc": "2.0", "id": %b, "method": "tools/list"}\n' % id + call(2, "add", a=1, b=2))
    answers = [server.answer(), server.answer()]
    assert [each["error"]["code"] for each in answers if each["id"] is None] == [-32600]
    assert [each["id"] for each in answers if "result" in each] == [2]


def test_a_server_that_is_configured_badly_says_so_and_ends(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text('from frontmcp import FrontMcp\nFrontMcp("x", unknown_option=1).run()\n')
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert 'no plugin claims the option "unknown_option"' in done.stderr


ABANDONING = """
import sys, time
from contextlib import asynccontextmanager
from frontmcp import FrontMcp, Tool

@Tool(timeout={"execute_ms": 200})
def stuck() -> None:
    "Takes long"
    time.sleep(60)

@Tool
def busy() -> None:
    "Takes as long, and has no timeout"
    print("busy began", file=sys.stderr, flush=True)
    time.sleep(60)

@asynccontextmanager
async def lifespan(server):
    yield
    print("shut down", file=sys.stderr, flush=True)

FrontMcp("stdio-test", tools=[stuck, busy], lifespan=lifespan).run()
"""


@pytest.mark.parametrize("name", ["stuck", "busy"])
def test_a_thread_that_nobody_waits_for_does_not_hold_the_end(tmp_path: Path, name: str) -> None:
    script = tmp_path / "server.py"
    script.write_text(ABANDONING)
    server = Process(script)
    server.send(call(1, name))
    if name == "stuck":
        assert "EXECUTION_TIMEOUT" in json.dumps(server.answer())
    else:
        server.wait_for("busy began")
    code, _, err = server.end()
    assert code == 0
    assert "shut down" in err


LASTING = """
import sys
from contextlib import asynccontextmanager
import anyio
from frontmcp import FrontMcp

@asynccontextmanager
async def lifespan(server):
    async def beat():
        await anyio.sleep({seconds})
        raise OSError("the database is gone")

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        print("started", file=sys.stderr, flush=True)
        yield
        group.cancel_scope.cancel()
    print("shut down", file=sys.stderr, flush=True)

FrontMcp("stdio-test", lifespan=lifespan).run()
"""


def test_a_lifespan_may_have_tasks(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(LASTING.replace("{seconds}", "60"))
    server = Process(script)
    server.wait_for("started")
    code, _, err = server.end()
    assert (code, err) == (0, "shut down\n")


def test_a_lifespan_that_fails_later_ends_the_server_though_the_client_stays(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(LASTING.replace("{seconds}", "0.2"))
    server = Process(script)
    server.wait_for("the server stops, because its lifespan failed: the database is gone")
    assert server.process.wait(timeout=20) == 1
    server.end()


def test_what_is_served_over_http_alone_is_told(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "from frontmcp import Channel, FrontMcp\n"
        "@Channel(source={'type': 'webhook', 'path': '/hooks/hub', 'secret': 'x'})\n"
        "async def hub(payload: str) -> None: ...\n"
        "FrontMcp('desk', channels=[hub]).run()\n"
    )
    done = subprocess.run([sys.executable, str(script)], input="", capture_output=True, text=True, timeout=30)
    assert "over stdio nobody reaches /hooks/hub: serve over HTTP for that" in done.stderr


STAYING = """
import sys
from contextlib import asynccontextmanager
import anyio
from frontmcp import FrontMcp

@asynccontextmanager
async def lifespan(server):
    yield
    print("stopping", file=sys.stderr, flush=True)
    await anyio.sleep(60)

FrontMcp("stdio-test", lifespan=lifespan).run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_second_interrupt_ends_a_server_that_is_slow_to_stop(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(STAYING)
    server = Process(script)
    server.send(call(1, "none"))
    server.answer()
    server.process.send_signal(signal.SIGINT)
    server.wait_for("stopping")
    server.process.send_signal(signal.SIGINT)
    server.process.wait(timeout=20)
    assert "Traceback" not in server.end()[2]


@pytest.mark.parametrize("stays", [True, False], ids=["stdin stays open", "stdin ends too"])
def test_a_client_that_reads_no_more_ends_the_server_cleanly(server: Process, stays: bool) -> None:
    server.wait_for("started")
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.send(call(1, "add", a=1, b=2))
    if stays:
        server.process.wait(timeout=20)
    code, _, err = server.end()
    assert code == 0
    assert "stopped" in err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX closes it")
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_server_without_stdin_or_stdout_says_so(tmp_path: Path, closed: str) -> None:
    script = tmp_path / "server.py"
    script.write_text("from frontmcp import FrontMcp\nFrontMcp('x').run()\n")
    command = f'exec "$0" "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, str(script)], stderr=subprocess.PIPE, text=True, timeout=30
    )
    assert "stdin or stdout is closed, and stdio needs both" in done.stderr


def test_a_server_may_run_in_a_thread(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "import threading\n"
        "from frontmcp import FrontMcp\n"
        "thread = threading.Thread(target=FrontMcp('stdio-test').run)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    server = Process(script)
    server.send(call(1, "none"))
    assert "TOOL_NOT_FOUND" in json.dumps(server.answer())
    code, _, err = server.end()
    assert code == 0
    assert "Traceback" not in err


FAILING = """
import os
import anyio
from frontmcp import FrontMcp, Plugin, hookimpl

class Failing(Plugin):
    name = "test.failing"

    @hookimpl
    async def server_started(self):
        print("stray print")
        os.system("echo stray child; cat")
        raise OSError("no database")

FrontMcp("stdio-test", plugins=[Failing()]).run()
"""


def test_a_start_that_fails_ends_the_server_though_the_client_stays(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(FAILING)
    server = Process(script)
    server.send(call(1, "none"))
    assert server.process.wait(timeout=20) == 1
    _, out, err = server.end()
    assert out == ""
    assert "OSError: no database" in err
    assert "stray print" in err
    assert "stray child" in err
    assert "tools/call" not in err


def test_what_ends_the_connection_ends_the_server_though_the_client_stays(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "from frontmcp import FrontMcp, Tool\n"
        "@Tool\n"
        "async def interrupts() -> None:\n"
        "    raise KeyboardInterrupt\n"
        "FrontMcp('stdio-test', tools=[interrupts]).run()\n"
    )
    server = Process(script)
    server.send(call(1, "interrupts"))
    server.process.wait(timeout=20)
    server.end()
