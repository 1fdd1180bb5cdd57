"""The commands of the pages work as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def commands_of(page: str) -> list[list[str]]:
    blocks = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("frontmcp ")]


def serves(words: list[str]) -> bool:
    return words[0] in ("run", "dev") and "--show-settings" not in words


PAGE = (ROOT / "docs" / "command-line.md").read_text()
QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text()
AT_ONCE = [words for words in commands_of(PAGE) if not serves(words)]
SERVING = [words for page in (ROOT / "docs").glob("*.md") for words in commands_of(page.read_text()) if serves(words)]


@pytest.mark.parametrize("words", AT_ONCE, ids=" ".join)
def test_a_command_of_the_page_works(frontmcp, words, monkeypatch):
    if words[0] != "new":
        monkeypatch.chdir(ROOT)
    ran = frontmcp(*words)
    assert ran.code == 0, ran.err
    assert ran.out or words[0] == "new"


@pytest.mark.parametrize("words", SERVING, ids=" ".join)
def test_a_command_of_the_page_that_serves_can_be_typed(frontmcp, words):
    options = {word for word in words if word.startswith("--")}
    assert options <= set(re.findall(r"--[\w-]+", frontmcp(words[0], "--help").out))


@pytest.mark.parametrize("words", [words for words in commands_of(QUICKSTART) if not serves(words)], ids=" ".join)
def test_a_command_of_the_quickstart_works(frontmcp, write, words):
    write("server.py", re.findall(r"```python\n(.*?)```", QUICKSTART, re.DOTALL)[0])
    ran = frontmcp(*words)
    assert (ran.code, bool(ran.out)) == ((1, False) if "id=T-9" in words else (0, True)), ran.err


def test_every_command_is_on_the_page(frontmcp):
    commands = re.findall(r"^  (\w+)  ", frontmcp("--help").out.partition("Commands:")[2], re.MULTILINE)
    assert commands == re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)[1:]
