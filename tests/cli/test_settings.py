"""Settings as an operator meets them: a file beside the target or named, and where each value came from."""

from __future__ import annotations

import json

import pytest

TARGET = """
from typing import Any
from frontmcp import FrontMcp, Option, Plugin

class Audit(Plugin):
    name = "acme.audit"
    options = (Option("audit_log", dict[str, Any], server=True),)

server = FrontMcp("desk", plugins=[Audit], pagination=3, audit_log={"level": 1})
"""


@pytest.fixture
def target(write):
    write("target.py", TARGET)
    return "target.py"


def settings(ran):
    """Value and source by name."""
    rows = [line.split("  ") for line in ran.out.splitlines()[1:]]
    words = [[word.strip() for word in row if word.strip()] for row in rows]
    return {name: (value, source) for name, value, source in words}


def test_code_is_a_source(frontmcp, target):
    assert settings(frontmcp("run", target, "--show-settings"))["pagination"] == ("3", "code")


@pytest.mark.parametrize(
    ("name", "text"),
    [("frontmcp.toml", "pagination = 5"), ("pyproject.toml", "[tool.frontmcp]\npagination = 5")],
)
def test_the_file_beside_the_target_is_taken(frontmcp, target, write, name, text):
    write(name, text)
    value, source = settings(frontmcp("run", target, "--show-settings"))["pagination"]
    assert value == "5"
    assert source.endswith(name)


@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_named_file_is_taken_instead(frontmcp, target, write, monkeypatch, by):
    write("frontmcp.toml", "pagination = 5\nmax_call_depth = 2")
    write("other.toml", "pagination = 6")
    if by == "variable":
        monkeypatch.setenv("FRONTMCP_CONFIG", "other.toml")
    words = ("--config", "other.toml") if by == "option" else ()
    found = settings(frontmcp("run", target, *words, "--show-settings"))
    assert found["pagination"] == ("6", "other.toml")
    assert found["max_call_depth"] == ("16", "default")


def test_a_file_that_is_not_there_is_one_line(frontmcp, target):
    ran = frontmcp("run", target, "--config", "none.toml", "--show-settings")
    assert (ran.code, ran.err) == (1, "error: settings file none.toml: No such file or directory\n")


def test_all_sources_in_their_order(frontmcp, target, write, monkeypatch):
    write("frontmcp.toml", '[http]\nport = 1\nhost = "127.0.0.2"\npath = "/file"')
    monkeypatch.setenv("FRONTMCP_HTTP__PORT", "2")
    monkeypatch.setenv("FRONTMCP_HTTP__HOST", "127.0.0.3")
    found = settings(frontmcp("run", target, "--http", "--port", "3", "--show-settings"))
    assert found["http.port"] == ("3", "command line")
    assert found["http.host"] == ('"127.0.0.3"', "FRONTMCP_HTTP__HOST")
    assert found["http.path"][0] == '"/file"'
    assert found["http.path"][1].endswith("frontmcp.toml")
    assert found["http.grace"] == ("10", "default")


def test_plugins_are_shown_by_their_names(frontmcp, write):
    write(
        "plugs.py",
        """
        from frontmcp import Call, FrontMcp, Plugin, Will

        class Named(Plugin):
            name = "acme.named"

        class NoName(Plugin):
            def __repr__(self):
                return "hunter2"

        @Will("execute")
        async def counted(call: Call) -> None: ...

        server = FrontMcp("desk", plugins=[Named, NoName(), counted])
        """,
    )
    value, source = settings(frontmcp("run", "plugs.py", "--show-settings"))["plugins"]
    assert (json.loads(value), source) == (["acme.named", "no_name", "counted"], "code")


def test_secrets_are_hidden(frontmcp, target, write):
    write("frontmcp.toml", '[audit_log]\nstore = "redis://user:hunter2@host/0"\napi_token = "hunter2"')
    for command in (("run", target, "--show-settings"), ("plugins", target), ("plugins", target, "--json")):
        ran = frontmcp(*command)
        assert "audit_log" in ran.out
        assert "hunter2" not in ran.out


def test_plugins_are_shown_with_their_settings(frontmcp, target, write):
    write("frontmcp.toml", "[audit_log]\nlevel = 2")
    lines = frontmcp("plugins", target).out.splitlines()
    assert [line.split()[:3] for line in lines[-2:]] == [
        ["SETTING", "OF", "VALUE"],
        ["audit_log.level", "acme.audit", "2"],
    ]
    [audit] = [
        each
        for each in json.loads(frontmcp("plugins", target, "--json").out)["plugins"]
        if each["name"] == "acme.audit"
    ]
    [setting] = audit["settings"]
    assert (setting["name"], json.loads(setting["value"])) == ("audit_log.level", 2)
    assert "frontmcp.toml" in setting["from"]


def test_a_wrong_value_names_its_source(frontmcp, target, write, monkeypatch):
    write("frontmcp.toml", "pagination = 0")
    monkeypatch.setenv("FRONTMCP_MAX_CALL_DEPTH", "deep")
    ran = frontmcp("run", target, "--show-settings")
    assert ran.code == 1
    assert "frontmcp.toml" in ran.err
    assert "FRONTMCP_MAX_CALL_DEPTH" in ran.err
