"""Users' code passes `mypy --strict` without ignores, and mistakes are found."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = Path(__file__).parent / "typing"
RIGHT = sorted(path for path in FILES.glob("*.py") if path.name != "wrong.py")


def mypy(*paths: Path) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", *map(str, paths)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert not ran.stderr, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def complaints() -> str:
    return mypy(*RIGHT, FILES / "wrong.py")


def test_what_users_write_is_accepted(complaints: str) -> None:
    assert [line for line in complaints.splitlines() if "wrong.py" not in line] == []
    assert not any("type: ignore" in path.read_text() for path in RIGHT)


def test_mistakes_are_found_where_they_are(complaints: str) -> None:
    expected = {
        (number, match[1])
        for number, line in enumerate((FILES / "wrong.py").read_text().splitlines(), 1)
        if (match := re.search(r"# \[([a-z-]+)\]$", line))
    }
    found = re.findall(r"wrong\.py:(\d+): error: .*\[([a-z-]+)\]", complaints)
    assert {(int(number), code) for number, code in found} == expected
