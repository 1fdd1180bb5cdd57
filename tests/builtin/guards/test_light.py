"""A server that limits nothing loads nothing for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SERVE = """
import sys
from frontmcp import FrontMcp, Tool
@Tool(**{options})
async def ping() -> str: return "pong"
FrontMcp("s", tools=[ping]).check()
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("plugins_builtin.guards.")))
"""


@pytest.mark.parametrize(
    ("options", "engine"),
    [({}, False), ({"rate_limit": {"max_requests": 1}}, True), ({"concurrency": {"max_concurrent": 1}}, True)],
)
def test_the_engine_loads_with_the_first_limit(options: dict[str, object], engine: bool) -> None:
    source = SERVE.replace("{options}", repr(options))
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    assert ("counting" in ran.stdout.split(), "memory" in ran.stdout.split()) == (engine, engine)
