"""Where an error is said to be: in the user's own code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from frontmcp import ConfigurationError
from frontmcp.cli.failures import explain, place_of
from frontmcp.errors.stacks import PACKAGE


def raised_through(*files: Path) -> BaseException:
    """An error that passed a function of each file, the last one innermost."""
    run: Callable[[], Any] = partial(int, "bang")
    for file in reversed(files):
        scope: dict[str, Any] = {"inner": run}
        exec(compile("def run():\n    inner()", str(file), "exec"), scope)
        run = scope["run"]
    with pytest.raises(ValueError, match="bang") as caught:
        run()
    return caught.value


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (["server.py", "helper.py"], "server/helper.py:2"),
        (["server.py", "/elsewhere/library.py"], "server/server.py:2"),
        (["server.py", ".venv/lib/site-packages/library.py"], "server/server.py:2"),
        (["/elsewhere/one.py", "/elsewhere/two.py"], "/elsewhere/two.py:2"),
    ],
)
def test_the_place_is_the_innermost_in_the_users_code(files, place, folder):
    own = folder / "server"
    error = raised_through(*(own / file for file in files))
    assert place_of(error, own) == place
    assert explain(error, own).startswith(f"{place}: ValueError: ")


def test_frontmcp_itself_is_not_the_users_code_in_a_checkout_of_it():
    checkout = PACKAGE.parent
    error = raised_through(checkout / "examples" / "desk.py", PACKAGE / "registry.py")
    assert (place_of(error, checkout) or "").endswith("examples/desk.py:2")


@pytest.mark.parametrize("package", ["frontmcp", "plugins_builtin"])
def test_our_own_code_is_never_the_place(package, folder):
    ours = PACKAGE.with_name(package) / "jobs.py"
    error = raised_through(Path("/elsewhere/one.py"), ours)
    assert place_of(error, folder / "server") == "/elsewhere/one.py:2"


def test_problems_that_frontmcp_finds_are_a_list(folder):
    with pytest.raises(ConfigurationError) as caught:
        raise ConfigurationError(["one", "two"])
    group = BaseExceptionGroup("tasks", [caught.value])
    assert explain(group, folder).endswith("2 problems:\n  - one\n  - two")
