"""The commands of docs/command-line.md work as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "command-line.md").read_text()
COMMANDS = [
    shlex.split(line)[1:]
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("frontmcp ")
]
SERVING = [words for words in COMMANDS if words[0] in ("run", "dev") and "--show-settings" not in words]
AT_ONCE = [words for words in COMMANDS if words not in SERVING]


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


def test_every_command_is_on_the_page(frontmcp):
    commands = re.findall(r"^  (\w+)  ", frontmcp("--help").out.partition("Commands:")[2], re.MULTILINE)
    assert commands == re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)[1:]
