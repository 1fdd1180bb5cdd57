"""What users install: the wheel, and an editable checkout, each in a new environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

REPORT = """
import importlib.metadata, json, pathlib, frontmcp, plugins_builtin
packages = [pathlib.Path(module.__file__).parent for module in (frontmcp, plugins_builtin)]
print(json.dumps({
    "folders": [str(package.parent) for package in packages],
    "typed": [(package / "py.typed").is_file() for package in packages],
    "version": importlib.metadata.version("frontmcp"),
}))
"""

IMPORT_ALL = """
import importlib, pkgutil, frontmcp, plugins_builtin
for package in (frontmcp, plugins_builtin):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.startswith(("frontmcp.cli", "frontmcp.testing", "frontmcp.__main__")):
            importlib.import_module(module.name)
"""

CONTRIB = sorted(path.parent for path in ROOT.glob("contrib/*/pyproject.toml"))

CONTRIB_REPORT = """
import importlib.metadata, json, pathlib, sys
from frontmcp import FrontMcp

def typed(point):
    package = sys.modules[point.module.partition(".")[0]]
    return (pathlib.Path(package.__file__).parent / "py.typed").is_file()

server = FrontMcp("desk")
server.check()
points = importlib.metadata.entry_points(group="frontmcp.plugins")
print(json.dumps({
    "statuses": {info.name: info.status for info in server.plugins.infos if info.origin != "built-in"},
    "typed": {point.name: typed(point) for point in points},
}))
"""

SERVER = """
from frontmcp import FrontMcp, Tool

@Tool
async def ping() -> str:
    "Answer."
    return "pong"

server = FrontMcp("installed", tools=[ping])
"""

USER_TEST = """
import pytest
from server import server as installed

@pytest.fixture
def server():
    return installed

@pytest.mark.anyio
async def test_ping(mcp):
    assert (await mcp.tools.call("ping")).text() == "pong"
"""


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints, run outside the repository."""
    environ = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Environment:
    """A new virtual environment, and an empty folder to work in."""

    def __init__(self, folder: Path, *requirements: str) -> None:
        self.bin = folder / "env" / "bin"
        self.work = folder / "work"
        self.work.mkdir()
        run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
        pip = (sys.executable, "-m", "pip", "--quiet", "--python", self.bin / "python")
        run(*pip, "install", "--no-compile", "--constraint", ROOT / "constraints.txt", *requirements, cwd=folder)

    def run(self, program: str, *arguments: str | Path) -> str:
        return run(self.bin / program, *arguments, cwd=self.work)

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.run("python", "-c", REPORT))
        return report


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("installed"), f"{wheel}[cli,test]")


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The checkout without extras."""
    return Environment(tmp_path_factory.mktemp("editable"), "--editable", str(ROOT))


@pytest.fixture(scope="module")
def contributed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Every distribution of contrib beside frontmcp, all from wheels."""
    folder = tmp_path_factory.mktemp("contrib-dist")
    for each in CONTRIB:
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, each, cwd=folder)
    return Environment(tmp_path_factory.mktemp("contributed"), str(wheel), *map(str, folder.glob("*.whl")))


def test_the_wheel_holds_two_typed_packages_and_the_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    information = f"frontmcp-{PROJECT['version']}.dist-info"
    assert {name.partition("/")[0] for name in names} == {
        "frontmcp",
        "plugins_builtin",
        "pytest_frontmcp.py",
        information,
    }
    assert {"frontmcp/py.typed", "plugins_builtin/py.typed", f"{information}/licenses/LICENSE"} <= set(names)
    sources = {
        path.relative_to(ROOT).as_posix()
        for each in ("frontmcp", "plugins_builtin")
        for path in (ROOT / each).rglob("*.py")
    }
    assert sources <= set(names)


def test_both_packages_lie_side_by_side(installed: Environment) -> None:
    """`plugins_builtin` is a common word: nobody else's package may have taken its place."""
    report = installed.report()
    assert report["folders"][0] == report["folders"][1]
    assert Path(report["folders"][0]).is_relative_to(installed.bin.parent)
    assert report["typed"] == [True, True]
    assert report["version"] == PROJECT["version"]


def test_the_command_line_is_there(installed: Environment) -> None:
    usage = installed.run("frontmcp", "--help")
    assert "run" in usage
    assert "plugins" in usage


def test_a_users_test_gets_the_fixture(installed: Environment) -> None:
    (installed.work / "server.py").write_text(SERVER)
    (installed.work / "test_server.py").write_text(USER_TEST)
    assert "passed" in installed.run("python", "-m", "pytest", "-q")


def test_an_editable_checkout_imports_from_anywhere(editable: Environment) -> None:
    report = editable.report()
    assert report["folders"] == [str(ROOT), str(ROOT)]
    assert report["typed"] == [True, True]


def test_without_extras_everything_else_imports(editable: Environment) -> None:
    """What is imported is declared: here is nothing but the dependencies of pyproject.toml."""
    editable.run("python", "-c", IMPORT_ALL)


def test_without_extras_the_command_line_says_what_is_missing(editable: Environment) -> None:
    done = subprocess.run([editable.bin / "frontmcp", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "frontmcp[cli]" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_contrib_offers_is_found_once_installed(contributed: Environment) -> None:
    report = json.loads(contributed.run("python", "-c", CONTRIB_REPORT))
    offered = {
        name
        for each in CONTRIB
        for name in tomllib.loads((each / "pyproject.toml").read_text())["project"]["entry-points"]["frontmcp.plugins"]
    }
    assert report["statuses"] == dict.fromkeys(offered, "active")
    assert report["typed"] == dict.fromkeys(offered, True)
