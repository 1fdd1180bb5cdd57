"""``frontmcp list`` and ``frontmcp plugins``."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

MORE = "(frontmcp list --all shows what there is)"

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


@server.resource("desk://open")
async def opened() -> str:
    "Open tickets."


@server.resource("desk://closed", visibility="hidden")
async def closed() -> str: ...


@server.resource("desk://{id}")
async def ticket(id: str) -> str: ...


@server.prompt
async def triage(id: str) -> str:
    "Sort a ticket."
'''


@pytest.fixture
def desk(write):
    return str(write("desk.py", DESK))


def listed(ran):
    head, *lines = (line.split(maxsplit=2) for line in ran.out.splitlines())
    assert (ran.code, ran.err, head) == (0, "", ["KIND", "NAME", "DESCRIPTION"])
    return lines


def test_a_list_is_what_the_client_sees(frontmcp, desk):
    others = [
        ["resource", "desk://open", "Open tickets."],
        ["template", "desk://{id}", "(no description)"],
        ["prompt", "triage", "Sort a ticket."],
    ]
    assert listed(frontmcp("list", desk)) == [["tool", "close", "Close a ticket."], *others]
    assert listed(frontmcp("list", desk, "--role", "admin")) == [
        ["tool", "close", "Close a ticket."],
        ["tool", "erase", "(no description)"],
        *others,
    ]


def test_all_is_marked(frontmcp, desk):
    assert listed(frontmcp("list", desk, "--all")) == [
        ["tool", "close", "Close a ticket."],
        ["tool", "erase", "[not for this caller] (no description)"],
        ["tool", "find", "[internal] (no description)"],
        ["tool", "quiet", "[hidden] (no description)"],
        ["resource", "desk://closed", "[hidden] (no description)"],
        ["resource", "desk://open", "Open tickets."],
        ["template", "desk://{id}", "(no description)"],
        ["prompt", "triage", "Sort a ticket."],
    ]


def test_a_list_as_json(frontmcp, desk):
    lists = json.loads(frontmcp("list", desk, "--json").out)
    assert {key: [each["name"] for each in found] for key, found in lists.items()} == {
        "tools": ["close"],
        "resources": ["opened"],
        "resourceTemplates": ["ticket"],
        "prompts": ["triage"],
    }
    assert lists["tools"][0]["inputSchema"]["required"] == ["id"]
    assert lists["resourceTemplates"][0]["uriTemplate"] == "desk://{id}"
    lists = json.loads(frontmcp("list", desk, "--json", "--all").out)
    marks = {each["name"]: each.get("mark") for found in lists.values() for each in found}
    assert marks == {
        "close": None,
        "erase": "not for this caller",
        "find": "internal",
        "quiet": "hidden",
        "opened": None,
        "closed": "hidden",
        "ticket": None,
        "triage": None,
    }


BEHIND = '''\
from frontmcp import Agent, AgentContext, Channel, FrontMcp, Job, Step, Workflow
from frontmcp.testing import ScriptedModel


@Agent(llm={"adapter": ScriptedModel("Done.")})
class Triage(AgentContext):
    """Sorts tickets."""


@Job
async def report(day: str) -> str:
    "Write a report."


@Job(visibility="hidden")
async def clean() -> None: ...


@Workflow(steps=[Step("only", "report", input={"day": "today"})])
class Nightly:
    """What is done at night."""


@Channel(source={"type": "webhook", "path": "/hooks/mail", "secret": "a-secret-of-32-bytes-or-even-more!!"})
async def mail(payload: dict) -> None:
    "Mail comes in."


server = FrontMcp("desk", agents=[Triage], jobs=[report, clean], workflows=[Nightly], channels=[mail])


@server.tool(available_when={"surface": ["cli"]})
async def here() -> str: ...
'''


def test_all_has_what_stands_behind_tools_and_resources(frontmcp, write):
    write("behind.py", BEHIND)
    assert ["agent", "invoke_triage", "Sorts tickets."] in listed(frontmcp("list", "behind.py"))
    lines = listed(frontmcp("list", "behind.py", "--all"))
    assert [line for line in lines if line[0] not in ("tool", "agent", "resource")] == [
        ["job", "clean", "[hidden] (no description)"],
        ["job", "report", "Write a report."],
        ["workflow", "nightly", "What is done at night."],
        ["channel", "mail", "Mail comes in."],
    ]
    assert ["tool", "here", "[not available here] (no description)"] in lines


def test_what_stands_behind_is_in_the_json_too_without_secrets(frontmcp, write):
    write("behind.py", BEHIND)
    assert not {"jobs", "workflows", "channels"} & json.loads(frontmcp("list", "behind.py", "--json").out).keys()
    ran = frontmcp("list", "behind.py", "--json", "--all")
    lists = json.loads(ran.out)
    assert [(job["name"], job.get("mark")) for job in lists["jobs"]] == [("clean", "hidden"), ("report", None)]
    assert lists["jobs"][1]["inputSchema"]["required"] == ["day"]
    assert [(each["name"], each["stepCount"]) for each in lists["workflows"]] == [("nightly", 1)]
    assert lists["channels"] == [{"name": "mail", "description": "Mail comes in."}]
    assert "a-secret" not in ran.out


def test_a_tool_of_several_apps_has_the_name_it_is_listed_under(frontmcp, write):
    write(
        "two.py",
        """\
        from frontmcp import App, FrontMcp, Tool

        def app(id: str) -> App:
            @Tool
            async def close() -> str: ...

            return App(id=id, tools=[close])

        server = FrontMcp("two", apps=[app("a"), app("b")])
        """,
    )
    assert [name for _, name, _ in listed(frontmcp("list", "two.py"))] == ["a.close", "b.close"]


def test_nothing_to_list(frontmcp, write):
    write("empty.py", 'from frontmcp import FrontMcp\nserver = FrontMcp("empty")')
    assert frontmcp("list", "empty.py").out == "there is nothing that a client sees\n"


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
        (["desk.py", "--tool", "clse"], f'error: there is no tool "clse"; did you mean "close"? {MORE}\n'),
        (["desk.py", "--tool", "x"], f'error: there is no tool "x" {MORE}\n'),
        (["--tool", "close"], "error: --tool needs a TARGET that has the tool\n"),
    ],
)
def test_a_plan_that_can_not_be_shown(frontmcp, desk, words, message):
    ran = frontmcp("plugins", *words)
    assert (ran.code, ran.out, ran.err) == (2, "", message)


OTHER = """
from mcp.server import MCPServer

from frontmcp import App, FrontMcp

legacy = MCPServer("legacy")


@legacy.tool()
def add(a: int) -> int:
    return a


server = FrontMcp("desk", apps=[App.from_mcp(legacy)])
"""


def test_the_plan_of_a_tool_of_another_server(frontmcp, write):
    write("other.py", OTHER)
    assert frontmcp("plugins", "other.py", "--tool", "add").out.startswith("legacy:add\n")
    ran = frontmcp("plugins", "other.py", "--tool", "ad")
    assert (ran.code, ran.err) == (2, f'error: there is no tool "ad"; did you mean "add"? {MORE}\n')


def test_settings_and_where_they_came_from(frontmcp, desk, write, monkeypatch):
    write("frontmcp.toml", "pagination = 7")
    monkeypatch.setenv("FRONTMCP_MAX_CALL_DEPTH", "9")
    lines = frontmcp("run", desk, "--port", "9001", "--show-settings").out.splitlines()
    rows = {line.split()[0]: line for line in lines}
    assert "frontmcp.toml" in rows["pagination"]
    assert "FRONTMCP_MAX_CALL_DEPTH" in rows["max_call_depth"]
    assert "9001" in rows["http.port"]
    assert "command line" in rows["http.port"]


AGENT = '''\
from frontmcp import Agent, AgentContext, Completion, FrontMcp, Tool


class Model:
    async def completion(self, *asked: object) -> Completion: ...


@Tool(rate_limit={"max_requests": 1})
async def refund() -> str:
    """Refund a customer."""


@Agent(llm={"adapter": Model()}, tools=[refund])
class Support(AgentContext):
    """Help with refunds."""


server = FrontMcp("desk", agents=[Support])
'''


def test_what_only_an_agent_finds_is_listed_with_all_and_has_a_plan(frontmcp, write):
    target = str(write("agent.py", AGENT))
    assert listed(frontmcp("list", target)) == [["agent", "invoke_support", "Help with refunds."]]
    assert listed(frontmcp("list", target, "--all")) == [
        ["tool", "desk:invoke_support/refund", "[of invoke_support] Refund a customer."],
        ["agent", "invoke_support", "Help with refunds."],
    ]
    assert "guard_call" in frontmcp("plugins", target, "--tool", "desk:invoke_support/refund").out
