"""``frontmcp dev``: a change is served, a broken file is survived, and nothing is left behind."""

from __future__ import annotations

import os
import signal

import anyio
import psutil
import pytest
from mcp import Client

from frontmcp.cli.dev import watched_folder
from frontmcp.cli.target import read_target

SECONDS = 20


def desk(version: int, more: str = "") -> str:
    return f"""\
from frontmcp import FrontMcp, Tool

@Tool
async def version() -> int:
    return {version}

@Tool
async def bug() -> str:
    raise ValueError("bang")

server = FrontMcp("desk", tools=[version, bug])
{more}
"""


async def text_of(url: str, tool: str) -> str:
    with anyio.fail_after(SECONDS):
        async with Client(url) as client:
            return (await client.call_tool(tool, {})).content[0].text


async def test_changes_are_served_and_broken_ones_survived(serve, write):
    write("desk.py", desk(1, "app = server.http_app()"))
    served = serve("dev", "desk.py", "--port", "0")
    url = served.url()
    assert await text_of(url, "version") == "1"
    assert await text_of(url, "bug") == 'Tool "bug" execution failed: bang'

    write("desk.py", desk(2))
    served.line(r"^reloaded desk\.py in \d\.\d\d s$")
    assert await text_of(url, "version") == "2"

    write("desk.py", desk(3, "def broken(:"))
    served.line(r"^error: desk\.py:12: SyntaxError: invalid syntax$")
    served.line("^the version before it still serves; waiting for a change$")
    assert await text_of(url, "version") == "2"

    write("desk.py", desk(4))
    served.line("^reloaded desk")
    assert await text_of(url, "version") == "4"

    processes = psutil.Process(served.process.pid).children(recursive=True)
    assert served.stop() == 0
    assert psutil.wait_procs(processes, SECONDS)[1] == []


async def test_a_change_of_the_same_second_and_length_is_served(serve, write, folder):
    write("desk.py", desk(1))
    saved = (folder / "desk.py").stat()
    served = serve("dev", "desk.py", "--port", "0")
    url = served.url()
    assert await text_of(url, "version") == "1"

    (folder / "new").write_text(desk(2))
    os.utime(folder / "new", ns=(saved.st_atime_ns, saved.st_mtime_ns))
    (folder / "new").replace(folder / "desk.py")
    served.line("^reloaded desk.py")
    assert await text_of(url, "version") == "2"


async def test_it_starts_with_a_broken_file_and_ends_with_an_interrupt(serve, write):
    write("desk.py", "import nowhere_to_be_found")
    served = serve("dev", "desk.py", "--port", "0")
    served.line("^error: desk.py:1: ModuleNotFoundError")
    served.line("^nothing is served yet; waiting for a change$")
    write("desk.py", desk(1, "import os\n\n@server.tool(sync='inline')\ndef die() -> None:\n    os._exit(7)"))
    url = served.url()
    with pytest.raises(Exception):
        await text_of(url, "die")
    served.line("^error: the server has stopped, see above; waiting for a change$")
    write("desk.py", desk(2))
    served.line("^reloaded desk.py")
    assert await text_of(url, "version") == "2"
    assert served.stop(signal.SIGINT) == 130


async def test_an_interrupt_of_the_terminal_reaches_all_and_is_quiet_while_the_target_loads(serve, write, folder):
    write("desk.py", "import pathlib, time\npathlib.Path('loading').touch()\ntime.sleep(60)")
    served = serve("dev", "desk.py", "--port", "0")
    with anyio.fail_after(SECONDS):
        while not (folder / "loading").exists():
            await anyio.sleep(0.01)
    parent = psutil.Process(served.process.pid)
    for process in (*parent.children(recursive=True), parent):
        process.send_signal(signal.SIGINT)
    assert served.ended() == 130
    assert served.seen == []


@pytest.mark.parametrize(
    ("target", "watched"),
    [("sub/desk.py", "sub"), ("desk", "."), ("pack", "pack"), ("pack.sub.desk:server", "pack"), ("nobody", ".")],
)
def test_what_is_watched(target, watched, write, folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    for file in ("sub/desk.py", "desk.py", "pack/__init__.py", "pack/sub/__init__.py", "pack/sub/desk.py"):
        write(file, "")
    assert watched_folder(read_target(target)) == (folder / watched).resolve()
