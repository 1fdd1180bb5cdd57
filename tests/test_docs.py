"""The documentation tells the truth: its Python runs, its data parses, its links lead somewhere.

Each block runs in a module of its own. ``<!-- continues -->`` above a block lets it go on where the one before ended. A
block that defines tests is given to pytest, together with what it continues.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])

FENCE = re.compile(
    r"(?P<before>[^\n]*)\n(?P<indent> *)```(?P<language>\w*)\n(?P<source>.*?)\n(?P=indent)```", re.DOTALL
)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
TEST = re.compile(r"^(async )?def test_", re.MULTILINE)
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    :ivar source: its text after that of what it continues, each line at its number in the page.
    :ivar has_tests: it is for pytest.
    """

    page: Path
    line: int
    language: str
    source: str
    has_tests: bool

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def module(self) -> str:
        return re.sub(r"\W", "_", str(self))


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    python = ""
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("source")) + 1
        before = python if "<!-- continues -->" in match["before"] else ""
        source = before + "\n" * (line - 1 - before.count("\n")) + textwrap.dedent(match["source"]) + "\n"
        if match["language"] == "python":
            python = source
        has_tests = match["language"] == "python" and TEST.search(match["source"]) is not None
        yield Block(page, line, match["language"], source, has_tests)


BLOCKS = [block for page in PAGES for block in blocks(page)]


def written_in(language: str) -> pytest.MarkDecorator:
    chosen = [block for block in BLOCKS if block.language == language and not block.has_tests]
    return pytest.mark.parametrize("block", chosen, ids=str)


@written_in("python")
def test_python_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType(block.module)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block.source, str(block.page), "exec"), vars(module))


def test_tests_on_the_pages_pass(tmp_path: Path) -> None:
    for block in BLOCKS:
        if block.has_tests:
            (tmp_path / f"test_{block.module}.py").write_text(block.source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", tmp_path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@written_in("json")
def test_json_parses(block: Block) -> None:
    json.loads(block.source)


@written_in("toml")
def test_toml_parses(block: Block) -> None:
    tomllib.loads(block.source)


def anchors(page: Path) -> set[str]:
    """What headings of a page are linked by, as GitHub makes it."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.finditer(FENCE.sub("", page.read_text())):
        target, _, anchor = link["target"].partition("#")
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link["target"])
    assert broken == []
