"""What checks results is there before the first call, where a call needs it, and nowhere else."""

from __future__ import annotations

import subprocess
import sys

import pytest

SERVER = """
import sys
from typing import Annotated

from pydantic import AfterValidator, BaseModel

from frontmcp import FrontMcp, Plugin, Tool, hookimpl


@Tool
async def plain(n: int) -> int:
    return n


@Tool
async def strange(n: int) -> Annotated[int, AfterValidator(abs)]:
    return n


class Watch(Plugin):
    @hookimpl
    def format_result(self, call, value):
        return None


def loads(**given):
    FrontMcp("any", **given).check()
    return "frontmcp.schema.engine" in sys.modules
"""


@pytest.mark.parametrize(
    ("given", "loaded"),
    [("tools=[plain]", False), ("tools=[strange]", True), ("tools=[plain], plugins=[Watch()]", True)],
)
def test_what_the_first_call_needs_is_loaded_when_the_server_settles(given: str, loaded: bool) -> None:
    script = f"{SERVER}\nprint(loads({given}))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ran.stdout == f"{loaded}\n", ran.stderr
