"""``frontmcp list`` and ``frontmcp plugins``."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

DESK = '''\
from frontmcp import Around, Call, CallNext, FrontMcp, Option, Plugin, PublicMcpError, Tool, ToolContext, hookimpl


class Audit(Plugin):
    name = "acme.audit"
    options = (Option("audit", bool, kinds=("tool",)), Option("role", str, kinds=("tool",)))

    @hookimpl(option="role")
    def check_authorities(self, call: Call) -> None:
        if not call.caller.has_role(call.entry.options["role"]):
            raise PublicMcpError("no", "NO")

    @Around("execute", option="audit")
    async def audited(self, call: Call, call_next: CallNext) -> object:
        return await call_next()


@Tool(audit=True)
async def close(id: str) -> str:
    """Close a ticket.

    For good.
    """
    return id


@Tool(visibility="internal")
class Find(ToolContext):
    async def execute(self) -> str: ...


@Tool(visibility="hidden")
async def quiet() -> str: ...


@Tool(role="admin")
async def erase() -> str: ...


server = FrontMcp("desk", tools=[close, Find, quiet, erase], plugins=[Audit])
'''


@pytest.fixture
def desk(write):
    return str(write("desk.py", DESK))


def test_a_list_is_what_the_client_sees(frontmcp, desk):
    ran = frontmcp("list", desk)
    assert (ran.code, ran.out, ran.err) == (0, "close  Close a ticket.\n", "")
    assert frontmcp("list", desk, "--role", "admin").out.splitlines() == ["close  Close a ticket.", "erase"]


def test_all_is_marked(frontmcp, desk):
    lines = frontmcp("list", desk, "--all").out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [
        ["close", "Close a ticket."],
        ["erase", "[not for this caller]"],
        ["find", "[internal]"],
        ["quiet", "[hidden]"],
    ]


def test_a_list_as_json(frontmcp, desk):
    tools = json.loads(frontmcp("list", desk, "--json").out)["tools"]
    assert [tool["name"] for tool in tools] == ["close"]
    assert tools[0]["inputSchema"]["required"] == ["id"]
    tools = json.loads(frontmcp("list", desk, "--json", "--all").out)["tools"]
    marks = {tool["name"]: tool.get("mark") for tool in tools}
    assert marks == {"close": None, "erase": "not for this caller", "find": "internal", "quiet": "hidden"}


def test_no_tools(frontmcp, write):
    write("empty.py", 'from frontmcp import FrontMcp\nserver = FrontMcp("empty")')
    assert frontmcp("list", "empty.py").out == "no tools\n"


def test_plugins_as_json(frontmcp, desk):
    ran = frontmcp("plugins", desk, "-p", "no:aliasing", "--json")
    plugins = {plugin["name"]: plugin for plugin in json.loads(ran.out)["plugins"]}
    assert ran.code == 0
    assert plugins["acme.audit"]["origin"] == "plugins="
    assert plugins["acme.audit"]["status"] == "active"
    assert {"around_execute", "check_authorities"} <= set(plugins["acme.audit"]["hooks"])
    assert plugins["visibility"]["origin"] == "built-in"
    assert plugins["visibility"]["version"] == version("frontmcp")
    assert plugins["aliasing"]["status"] == "disabled"
    assert plugins["aliasing"]["reason"] == "no:aliasing"
    assert plugins["acme.audit"]["place"] < plugins["visibility"]["place"]


def test_plugins_as_a_table(frontmcp, desk):
    head, first, *rest = frontmcp("plugins", desk, "-p", "no:aliasing").out.splitlines()
    assert head.split() == ["PLACE", "NAME", "VERSION", "ORIGIN", "STATUS", "HOOKS"]
    assert first.split()[1:5] == ["acme.audit", "-", "plugins=", "active"]
    assert any("aliasing" in line and "disabled (no:aliasing)" in line for line in rest)


def test_the_plugins_of_the_environment(frontmcp):
    names = [plugin["name"] for plugin in json.loads(frontmcp("plugins", "--json").out)["plugins"]]
    assert {"visibility", "formatting", "progress", "aliasing"} <= set(names)


def test_plugins_of_a_server_with_problems_are_shown_with_them(frontmcp, desk):
    ran = frontmcp("plugins", desk, "-p", "no:alising")
    assert ran.code == 1
    assert "acme.audit" in ran.out
    assert "alising" in ran.err


def hooks_by_stage(plan):
    return {stage["stage"]: [hook["plugin"] for hook in stage["hooks"]] for stage in plan["stages"]}


def test_the_plan_of_a_tool(frontmcp, desk):
    plan = json.loads(frontmcp("plugins", desk, "--tool", "close", "--json").out)
    assert plan["tool"] == "desk:close"
    assert list(hooks_by_stage(plan)) == [
        "resolve", "authorize", "guard", "validate", "will", "execute", "did", "format", "any time",
    ]  # fmt: skip
    assert hooks_by_stage(plan)["execute"] == ["acme.audit"]
    assert hooks_by_stage(plan)["authorize"] == []
    assert hooks_by_stage(plan)["format"] == ["formatting"]
    execute = next(stage for stage in plan["stages"] if stage["stage"] == "execute")
    assert execute["hooks"][0]["place"] == "desk.py:13"
    assert plan["body"] == "desk.py:18"


def test_a_plan_has_only_what_concerns_its_tool(frontmcp, desk):
    plan = hooks_by_stage(json.loads(frontmcp("plugins", desk, "--tool", "erase", "--json").out))
    assert (plan["authorize"], plan["execute"]) == (["acme.audit"], [])


def test_a_plan_as_a_table(frontmcp, desk):
    lines = frontmcp("plugins", desk, "--tool", "close").out.splitlines()
    assert lines[0] == "desk:close"
    rows = [line.split() for line in lines[2:]]
    assert ["execute", "around_execute", "acme.audit", "desk.py:13"] in rows
    assert ["execute", "the", "tool", "itself", "-", "desk.py:18"] in rows
    assert ["guard", "-", "-", "-"] in rows


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["desk.py", "--tool", "clse"], 'error: there is no tool "clse"; did you mean "close"?\n'),
        (["--tool", "close"], "error: --tool needs a TARGET that has the tool\n"),
    ],
)
def test_a_plan_that_can_not_be_shown(frontmcp, desk, words, message):
    ran = frontmcp("plugins", *words)
    assert (ran.code, ran.out, ran.err) == (2, "", message)


def test_settings_and_where_they_came_from(frontmcp, desk, write, monkeypatch):
    write("frontmcp.toml", "pagination = 7")
    monkeypatch.setenv("FRONTMCP_MAX_CALL_DEPTH", "9")
    lines = frontmcp("run", desk, "--port", "9001", "--show-settings").out.splitlines()
    rows = {line.split()[0]: line for line in lines}
    assert "frontmcp.toml" in rows["pagination"]
    assert "FRONTMCP_MAX_CALL_DEPTH" in rows["max_call_depth"]
    assert "9001" in rows["http.port"]
    assert "command line" in rows["http.port"]
