"""``frontmcp new``: what it makes passes its own tests, and works."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib

import pytest


def pytest_passes(folder) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


def test_a_server_passes_its_tests_and_answers(frontmcp, folder):
    ran = frontmcp("new", "hello")
    assert ran.code == 0
    assert "next: cd hello && pytest && frontmcp dev server.py" in ran.err
    pytest_passes(folder / "hello")
    ran = frontmcp("call", "hello/server.py", "greet_all", 'names=["Ada", "Lin"]')
    assert json.loads(ran.out) == [{"text": "Hello, Ada!"}, {"text": "Hello, Lin!"}]


def test_a_plugin_passes_its_tests(frontmcp, folder):
    assert frontmcp("new", "--plugin", "frontmcp-audit").code == 0
    pytest_passes(folder / "frontmcp-audit")


@pytest.mark.parametrize(
    ("name", "distribution", "plugin", "module", "class_name"),
    [
        ("frontmcp-audit", "frontmcp-audit", "audit", "frontmcp_audit", "Audit"),
        ("acme.audit", "acme-audit", "acme.audit", "acme_audit", "AcmeAudit"),
        ("My_Plugin", "my-plugin", "My_Plugin", "my_plugin", "MyPlugin"),
    ],
)
def test_a_plugin_is_declared_under_its_name(frontmcp, folder, name, distribution, plugin, module, class_name):
    frontmcp("new", "--plugin", f"sub/{name}")
    project = tomllib.loads((folder / "sub" / name / "pyproject.toml").read_text())["project"]
    assert project["name"] == distribution
    assert project["entry-points"]["frontmcp.plugins"] == {plugin: f"{module}:{class_name}"}
    made = folder / "sub" / name / "src" / module
    assert (made / "py.typed").exists()
    classes = [
        node.name for node in ast.parse((made / "__init__.py").read_text()).body if isinstance(node, ast.ClassDef)
    ]
    assert classes == [class_name]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a b"], '"a b" is no name'),
        (["9lives"], '"9lives" is no name'),
        (["--plugin", "json"], '"json" is taken'),
        (["--plugin", "frontmcp"], '"frontmcp" is taken'),
        (["--plugin", "frontmcp-visibility"], '"frontmcp-visibility" is taken'),
        (["--plugin", "class"], '"class" is a word of Python itself'),
        (["there"], "there is there already; choose another name"),
    ],
)
def test_a_name_that_can_not_be(frontmcp, folder, write, words, message):
    write("there/kept.txt", "mine")
    ran = frontmcp("new", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {message}")
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["kept.txt"]


def test_an_empty_folder_is_filled(frontmcp, folder):
    (folder / "hello").mkdir()
    assert frontmcp("new", "hello").code == 0
    assert (folder / "hello" / "server.py").is_file()
