"""What docs/auth.md lets people type works: its tokens, its server, and its curl."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

from frontmcp.transports.http import serving

PAGE = Path(__file__).parents[3] / "docs" / "auth.md"
TRY_IT = PAGE.read_text().partition("## Try it by hand\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TRY_IT, re.DOTALL)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # uvicorn is an asyncio server


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("by_hand")
    for language, source in BLOCKS:
        if language == "python":
            exec(compile(source, str(PAGE), "exec", dont_inherit=True), vars(module))
    return module.server


@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="needs bash and curl")
async def test_each_line_is_answered_as_the_page_says(server: Any) -> None:
    [script] = [source for language, source in BLOCKS if language == "bash"]
    said = re.findall(r"# (\d{3}): (.*)", script)
    async with serving(server, server.http_options(port=0)) as url:
        ran = await anyio.run_process(["bash", "-c", script.replace("http://127.0.0.1:8000/mcp", url)])
    answers = ran.stdout.decode().split("HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [status for status, _ in said]
    assert [part in answer for (_, part), answer in zip(said[1:], answers[1:], strict=True)] == [True] * 4
    assert '"name":"whoami"' in answers[0]
