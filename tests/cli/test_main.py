"""The program itself: its help, its exit codes, its completion, and what it says without its extra."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from frontmcp.cli import EXTRA, main

BLOCKED = """\
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "typer":
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Blocker())
from frontmcp.cli import main
main(["list", "x.py"])
"""
ADVICE = 'frontmcp: the command line needs its extra; run: pip install "frontmcp[cli]"\n'


def python(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_without_the_extra_one_line_says_what_to_install():
    ran = python("-c", BLOCKED)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", ADVICE)


@pytest.mark.parametrize(
    ("missing", "module", "words"),
    [("rich", "frontmcp.cli.call", ["call", "x.py", "y"]), ("watchfiles", "frontmcp.cli.dev", ["dev", "x.py"])],
)
def test_without_a_part_of_the_extra_too(missing, module, words, monkeypatch, capsys):
    assert missing in EXTRA
    for name in [each for each in sys.modules if each.partition(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert (caught.value.code, *capsys.readouterr()) == (2, "", ADVICE)


def test_any_other_import_error_is_not_ours(monkeypatch):
    monkeypatch.setitem(sys.modules, "frontmcp.direct", None)
    monkeypatch.delitem(sys.modules, "frontmcp.cli.app")
    with pytest.raises(ImportError, match=r"frontmcp\.direct"):
        main(["list", "x.py"])


def test_the_module_is_the_program_and_completes_commands():
    ran = python("-m", "frontmcp", _FRONTMCP_COMPLETE="complete_bash", COMP_WORDS="frontmcp pl", COMP_CWORD="1")
    assert (ran.returncode, ran.stdout.split()) == (0, ["plugins"])


def test_the_version(frontmcp):
    from importlib.metadata import version

    assert frontmcp("--version") == (0, version("frontmcp") + "\n", "")


@pytest.mark.parametrize("command", ["run", "dev", "call", "list", "plugins", "new"])
def test_every_command_has_help(frontmcp, command):
    ran = frontmcp(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: frontmcp {command}")
    assert command in frontmcp("--help").out


def test_without_a_command_the_help_is_shown(frontmcp):
    ran = frontmcp()
    assert (ran.code, ran.out) == (2, "")
    assert "plugins" in ran.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["lst"], "error: No such command 'lst'"),
        (["list"], "error: Missing argument 'TARGET'; see frontmcp list --help"),
        (["list", "x.py", "--al"], "error: No such option"),
        (["run", "x.py", "--http", "--port", "http"], "error: Invalid value for '--port'"),
        (["run", "x.py", "--http", "--port", "65536"], "error: Invalid value for '--port'"),
        (["run", "x.py", "--http", "--workers", "0"], "error: Invalid value for '--workers'"),
        (["run", "x.py", "--port", "80"], "error: --port is for HTTP: add --http, or drop it"),
        (["run", "x.py", "--workers", "2"], "error: --workers is for HTTP: add --http, or drop it"),
        (["run", "x.py", "--stateless"], "error: --stateless is for HTTP: add --http, or drop it"),
        (["run", "x.py", "--transport", "http"], "error: there is no --transport: write --http to serve over HTTP"),
        (["run", "x.py", "--transport=stdio"], "error: there is no --transport: write --http to serve over HTTP"),
        (["run", "x.py", "-t", "streamable-http"], "error: there is no --transport: write --http to serve over HTTP"),
        (["dev", "x.py", "--stdio"], "error: dev can't reload over stdio, where the client owns the process"),
    ],
)
def test_wrong_usage_is_one_line(frontmcp, words, line):
    ran = frontmcp(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(line)
    assert ran.err.count("\n") == 1


def test_a_spelling_of_others_is_no_option_of_ours(frontmcp):
    assert "--transport" not in frontmcp("run", "--help").out
