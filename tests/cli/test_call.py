"""``frontmcp call``: arguments, results, failures, and who calls."""

from __future__ import annotations

import json

import pytest

from frontmcp.cli.call import read_value

DESK = """\
import os
import subprocess
from typing import Annotated, Any, Literal

from pydantic import BaseModel

from frontmcp import FrontMcp, Image, JsonSchema, PublicMcpError, Tool, ToolContext

print("loading")


class Closed(BaseModel):
    id: str
    note: str | None = None


@Tool
async def close(id: str, count: int = 1, flags: list[str] = [], note: str | None = None) -> Closed:
    return Closed(id=id, note=f"{count} {flags} {note!r}")


@Tool(available_when={"surface": ["cli"]})
def for_people(ctx: ToolContext) -> str:
    return f"{ctx.auth.user.sub} {sorted(ctx.auth.roles)} {ctx.call.surface} {ctx.call.origin}"


@Tool
async def count(ctx: ToolContext, to: int) -> int:
    for n in range(to):
        await ctx.progress(n + 1, to, f"Step {n + 1}")
    await ctx.notify("that was [all]")
    return to


@Tool
def noisy() -> str:
    print("a print")
    os.write(1, b"a write\\n")
    subprocess.run(["echo", "a child"], check=True)
    return "the result"


@Tool
async def bug() -> str:
    raise ValueError("bang")


@Tool
async def refuse() -> str:
    raise PublicMcpError("There is no T-9.", "NO_TICKET")


@Tool
async def around(ctx: ToolContext) -> str:
    return str(await ctx.call_tool("close"))


@Tool(output_schema={"n": int})
async def lie() -> Any:
    return {"n": "many"}


class Sure(BaseModel):
    sure: bool


@Tool
async def erase(ctx: ToolContext) -> str:
    return str(await ctx.elicit("Really?", Sure))


@Tool
async def picture() -> list[Any]:
    return ["seen:", Image(data=b"12345678", format="png")]


@Tool(visibility="internal")
async def secret() -> str: ...


@Tool(visibility="hidden")
async def quiet() -> str:
    return "hush"


tools = [close, for_people, count, noisy, bug, refuse, around, lie, erase, picture, secret, quiet]
server = FrontMcp("desk", tools=tools)
"""


@pytest.fixture
def call(frontmcp, write):
    write("desk.py", DESK)
    return lambda *words: frontmcp("call", "desk.py", *words)


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", {"type": "string"}, "5"),
        ('"5"', {"type": "string"}, '"5"'),
        ("5", {"type": "integer"}, 5),
        ("5", {"type": "number"}, 5),
        ("5.5", {"type": "integer"}, 5.5),
        ("five", {"type": "integer"}, "five"),
        ("true", {"type": "boolean"}, True),
        ("1", {"type": "boolean"}, "1"),
        ("true", {"type": "string"}, "true"),
        ('["a"]', {"type": "array"}, ["a"]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("[1", {"type": "array"}, "[1"),
        ("null", {"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        ("5", {"anyOf": [{"type": "string"}, {"type": "null"}]}, "5"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, 5),
        ("5", {"oneOf": [{"anyOf": [{"type": "integer"}]}, {"type": "array"}]}, 5),
        ("null", {"type": ["string", "null"]}, None),
        ("2", {"enum": ["1", "2"]}, "2"),
        ("2", {"enum": [1, 2]}, 2),
        ("2", {"const": 2}, 2),
        ("5", {}, 5),
        ("5", True, 5),
        ("five", {}, "five"),
        ("5", {"anyOf": [{"type": "string"}, {}]}, 5),
    ],
)
def test_a_value_is_json_where_the_schema_wants_what_it_is(text, schema, value):
    assert read_value(text, schema) == value


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["id=5"], "1 [] None"),
        (["id=5", "count=2", 'flags=["x"]', "note=null"], "2 ['x'] None"),
        (["id=5", "note=a=b"], "1 [] 'a=b'"),
        (["--json", '{"id": "5", "count": 3}'], "3 [] None"),
    ],
)
def test_arguments(words, note, call):
    ran = call("close", *words)
    assert (ran.code, json.loads(ran.out)) == (0, {"id": "5", "note": note})


def test_a_recursive_argument_is_read_by_its_definition(frontmcp, write):
    write(
        "tree.py",
        """\
        from __future__ import annotations
        from pydantic import BaseModel
        from frontmcp import FrontMcp, Tool

        class Node(BaseModel):
            children: list[Node] = []

        @Tool
        async def depth(node: Node) -> int:
            return 1 + max((len(child.children) + 1 for child in node.children), default=0)

        server = FrontMcp("tree", tools=[depth])
        """,
    )
    assert frontmcp("call", "tree.py", "depth", 'node={"children": [{"children": [{}]}]}').out == "3\n"


def test_the_whole_result_as_json(call):
    ran = call("close", "id=T-1", "--output", "json")
    result = json.loads(ran.out)
    assert result["structuredContent"]["id"] == "T-1"
    assert result["isError"] is False
    assert ran.err == "loading\n"


def test_what_is_no_text_is_a_line(call):
    assert call("picture").out == "seen:\n[image image/png, 9 bytes]\n"


def test_stdout_has_the_result_alone(call):
    ran = call("noisy")
    assert ran.out == "the result\n"
    assert all(noise in ran.err for noise in ("loading", "a print", "a write", "a child"))


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ([], "direct [] cli client"),
        (["--as", "nour", "--role", "admin", "--role", "dev"], "nour ['admin', 'dev'] cli client"),
        (["--role", "admin"], "direct ['admin'] cli client"),
    ],
)
def test_who_calls_and_from_where(words, seen, call):
    assert call("for_people", *words).out == f"{seen}\n"


def test_progress_and_messages_are_on_stderr(call):
    ran = call("count", "to=3")
    assert ran.out == "3\n"
    assert "Step 3" in ran.err
    assert "100%" in ran.err
    assert "info: that was [all]" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["clse"], 1, 'error: Tool "clse" not found; did you mean "close"? (frontmcp list shows what there is)'),
        (["secrt"], 1, 'error: Tool "secrt" not found (frontmcp list shows what there is)'),
        (["secret"], 1, 'error: Tool "secret" not found: no client sees it (frontmcp list --all shows what there is)'),
        (["bug"], 1, 'error: Tool "bug" execution failed: bang (TOOL_EXECUTION_ERROR, desk.py:45)'),
        (["refuse"], 1, "error: There is no T-9. (NO_TICKET)"),
        (["close"], 1, "error: Invalid tool input: id: Field required (INVALID_INPUT)"),
        (
            ["close", "id=1", "count=x"],
            1,
            "error: Invalid tool input: count: Input should be a valid integer, unable to parse string as an integer "
            "(INVALID_INPUT)",
        ),
        (
            ["erase"],
            1,
            'error: tool "erase" asks its user a question, and from the command line nobody can be asked: call it from '
            "an MCP client, or in a test with mcp.on_elicitation (ELICITATION_NOT_SUPPORTED)",
        ),
        (["close", "id"], 2, 'error: "id" is no argument: write key=value, or --json with an object'),
        (["around"], 1, "error: Invalid tool input: id: Field required, in the call around → close (INVALID_INPUT)"),
        (
            ["lie"],
            1,
            'error: tool "lie": Tool output validation failed (output does not match outputSchema at n): '
            "Input should be a valid integer, unable to parse string as an integer (INVALID_OUTPUT, desk.py:58)",
        ),
        (["close", "id=1", "id=2"], 2, 'error: "id" is given twice; a list is written id=\'["…", "…"]\''),
        (["close", "id=1", "--json", "{}"], 2, "error: give the arguments as key=value or as --json, not both"),
        (["close", "--json", "[]"], 2, 'error: --json must be an object, like {"id": "T-1"}'),
        (["close", "--output", "yaml"], 2, None),
    ],
)
def test_a_failure_is_one_line(words, code, line, call):
    ran = call(*words)
    assert (ran.code, ran.out) == (code, "")
    said = [each for each in ran.err.splitlines() if each != "loading"]
    assert len(said) == 1
    assert line is None or said == [line]


def test_a_failure_as_json(call):
    ran = call("bug", "--output", "json")
    result = json.loads(ran.out)
    assert ran.code == 1
    assert result["isError"] is True
    assert result["_meta"]["code"] == "TOOL_EXECUTION_ERROR"
    assert "desk.py" in result["_meta"]["stack"]
    assert ran.err == "loading\n"


def test_an_argument_that_would_be_dropped_is_told(call):
    ran = call("close", "id=1", "cout=2")
    assert ran.code == 0
    assert 'warning: close has no argument "cout"; did you mean "count"?' in ran.err


def test_a_hidden_tool_can_be_called(call):
    assert call("quiet").out == "hush\n"


def test_plugins_of_the_command_line(call):
    assert call("desk.close", "id=1").code == 0
    ran = call("desk-close", "id=1", "-p", "no:aliasing")
    assert ran.code == 1
    ran = call("close", "id=1", "-p", "no:alising")
    assert (ran.code, "no:alising" in ran.err) == (1, True)


def test_a_lifespan_that_fails_is_one_line(frontmcp, write):
    write(
        "life.py",
        """\
        from contextlib import asynccontextmanager
        from frontmcp import FrontMcp

        @asynccontextmanager
        async def lifespan(server):
            raise OSError("no database")
            yield

        server = FrontMcp("life", lifespan=lifespan)
        """,
    )
    for words in (["call", "life.py", "x"], ["list", "life.py"]):
        assert frontmcp(*words)[::2] == (1, "error: life.py:6: OSError: no database\n")


def test_the_trace_is_drawn_on_stderr_also_of_a_failure(call):
    ran = call("close", "id=1", "--trace")
    assert ran.out.startswith("{")
    assert "execute" in ran.err
    ran = call("bug", "--trace")
    assert "TOOL_EXECUTION_ERROR" in ran.err.splitlines()[1]


RUNS = """\
from frontmcp import FrontMcp, Job, Step, Workflow


@Job
def report() -> None:
    raise KeyError("a")


server = FrontMcp("desk", jobs=[report], workflows=[Workflow(name="nightly", steps=[Step("a", "report")])])
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("execute_job", "name=reprot"), 'Job "reprot" not found; did you mean "report"? (INVALID_INPUT)'),
        (("execute_workflow", "name=nitly"), 'Workflow "nitly" not found; did you mean "nightly"? (INVALID_INPUT)'),
    ],
)
def test_a_job_that_is_not_there_is_told_with_the_nearest(frontmcp, write, words, said):
    write("runs.py", RUNS)
    assert said in frontmcp("call", "runs.py", *words).err


def test_a_job_that_fails_is_told_with_the_users_frames_alone(frontmcp, write):
    write("runs.py", RUNS)
    ran = frontmcp("call", "runs.py", "execute_job", "name=report")
    assert ran.code == 1
    assert ran.err.endswith("KeyError: 'a' (TOOL_EXECUTION_ERROR)\n")


def test_a_workflow_that_fails_is_a_call_that_went_well(frontmcp, write):
    write("runs.py", RUNS)
    ran = frontmcp("call", "runs.py", "execute_workflow", "name=nightly")
    assert (ran.code, json.loads(ran.out)["state"]) == (0, "failed")
