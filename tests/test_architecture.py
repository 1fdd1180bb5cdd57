"""The house keeps its shape: layers, the cost of an import, docstrings, and sizes that a reader can hold in mind."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import frontmcp

ROOT = Path(__file__).parent.parent
PACKAGES = ("frontmcp", "plugins_builtin")
OUTER = ("frontmcp/cli/", "frontmcp/testing/")
TREES = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom

MAX_FILE = 400
MAX_FUNCTION = 60
MAX_FUNCTION_P95 = 35
LONG_FILES = {
    "frontmcp/server.py",
}
"""Longer than `MAX_FILE` today; the list may only get shorter."""

OPTIONAL = {
    "jsonschema",
    "typer",
    "rich",
    "limits",
    "pytest",
    "watchfiles",
    "jwt",
    "uvicorn",
    "starlette",
    "plugins_builtin",
    "difflib",
    "tomllib",
}
"""What importing the door must not bring, unless the SDK has brought it already."""

LATE = {
    "frontmcp.definitions.options",
    "frontmcp.definitions.upstream",
    "frontmcp.interfaces",
    "frontmcp.interfaces.jobs",
    "frontmcp.llm",
    "frontmcp.schema.engine",
    "frontmcp.transports.http",
    "frontmcp.transports.posts",
    "frontmcp.transports.replay",
    "frontmcp.upstream",
    "tomllib",
}
"""What a server loads with the first agent, job, limit, JSON Schema, settings file, other server or HTTP client."""


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def imports(tree: ast.AST) -> Iterator[Import]:
    return (node for node in ast.walk(tree) if isinstance(node, Import))


def is_ours(node: Import) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return any(name.partition(".")[0] in PACKAGES for name in names)


def goes_through_the_door(node: Import) -> bool:
    """``from frontmcp import Call``; ``from frontmcp import hookspecs`` imports a module."""
    if isinstance(node, ast.Import):
        return any(alias.name == "frontmcp" for alias in node.names)
    return node.module == "frontmcp" and any(alias.name in frontmcp.__all__ for alias in node.names)


def length(function: Function) -> int:
    """Lines of the body: many keywords in a signature, one a line, make nothing harder to read."""
    return (function.end_lineno or 0) - function.body[0].lineno + 1


def modules_after(statement: str) -> set[str]:
    """What a new interpreter has imported after one statement."""
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_the_contracts_of_pyproject_hold() -> None:
    # In a process of its own: it sets up logging anew, which silences the loggers of this one.
    script = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def layers() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [name for floor in floors for name in floor.split(" | ") if name != "(__main__)"]


def test_the_door_tells_of_every_floor() -> None:
    lines = (ROOT / "frontmcp" / "__init__.py").read_text().splitlines()
    comment = [line.strip("# ") for line in lines if line.startswith("#")]
    names_of_columns = [column for line in comment for column in re.split(r" {2,}", line)[::2]]
    told = re.findall(r"\w+", " ".join(names_of_columns))
    assert [name for name in layers() if name not in told] == []


ENGINES = {
    "frontmcp.definitions.upstream",
    "frontmcp.schema.engine",
    "frontmcp.transports.http",
    "frontmcp.upstream",
}
"""Modules too heavy to load before something needs them."""


def test_our_own_modules_are_imported_at_the_top() -> None:
    late = [
        f"{path}:{node.lineno}"
        for path, tree in TREES.items()
        if not path.startswith("frontmcp/cli/")
        for function in functions(tree)
        for node in imports(function)
        if is_ours(node) and getattr(node, "module", None) not in ENGINES
    ]
    assert late == []


def test_the_core_does_not_go_through_its_own_door() -> None:
    roundabout = [
        f"{path}:{node.lineno}"
        for path, tree in TREES.items()
        if path.startswith("frontmcp/") and not path.startswith(OUTER)
        for node in imports(tree)
        if goes_through_the_door(node)
    ]
    assert roundabout == [], "import a name from the module that defines it"


def test_every_module_says_what_it_is_for() -> None:
    assert [path for path, tree in TREES.items() if not ast.get_docstring(tree)] == []


@pytest.mark.parametrize("name", frontmcp.__all__)
def test_every_name_of_the_door_has_a_docstring(name: str) -> None:
    value = getattr(frontmcp, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__


def test_importing_the_door_loads_nothing_that_a_server_may_not_need() -> None:
    loaded, by_the_sdk = modules_after("import frontmcp"), modules_after("import mcp.server")
    assert (OPTIONAL | LATE) & loaded - by_the_sdk == set()
    assert not any(name.startswith(("frontmcp.cli", "frontmcp.testing")) for name in loaded)


def test_serving_over_stdio_loads_nothing_that_the_server_does_not_use() -> None:
    statements = (
        "from frontmcp import FrontMcp, Tool",
        "from frontmcp.cli import app, stdio",
        "@Tool\nasync def ping() -> str: return 'pong'",
        "FrontMcp('desk', tools=[ping]).check()",
    )
    assert LATE & modules_after("\n".join(statements)) == set()


def is_frozen(node: ast.ClassDef) -> bool:
    """Whether it is a frozen dataclass."""
    return any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)


def test_what_users_never_see_is_made_in_no_time() -> None:
    """Every start makes every class anew: a frozen dataclass takes five times as long as a named tuple."""
    loaded = modules_after("import frontmcp")
    frozen = {
        node.name: path
        for path, tree in TREES.items()
        if path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") in loaded
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and is_frozen(node)
    }
    assert {"Caller", "Completion"} <= frozen.keys()
    assert frozen.keys() - {*frontmcp.__all__, "Usage", "User"} == set(), frozen


def test_importing_makes_no_server_and_no_plugin_manager() -> None:
    """There is one manager per server, and none in a module."""
    made = [
        f"{path}: {name}"
        for path in TREES
        if not path.startswith(OUTER)
        for name, value in vars(importlib.import_module(path.removesuffix(".py").replace("/", "."))).items()
        if type(value).__name__ in {"PluginManager", "FrontMcp"}
    ]
    assert made == []


def test_functions_are_short() -> None:
    lengths = {
        f"{path}:{function.lineno} {function.name}": length(function)
        for path, tree in TREES.items()
        for function in functions(tree)
    }
    longest = max(lengths, key=lengths.__getitem__)
    assert lengths[longest] <= MAX_FUNCTION, longest
    assert statistics.quantiles(lengths.values(), n=20)[-1] <= MAX_FUNCTION_P95


def test_files_are_short() -> None:
    long = {path for path in TREES if len((ROOT / path).read_text().splitlines()) > MAX_FILE}
    assert long - LONG_FILES == set(), f"keep them under {MAX_FILE} lines"
    assert LONG_FILES - long == set(), "these became short: take them off the list"
