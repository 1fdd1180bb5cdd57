"""The door: what `from frontmcp import …` gives is exactly what is public."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import frontmcp
from frontmcp import errors

SOURCE = Path(frontmcp.__file__).read_text()


def public(module: ModuleType) -> set[str]:
    return {
        name for name, value in vars(module).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }


def test_all_is_exactly_what_is_public() -> None:
    assert set(frontmcp.__all__) == public(frontmcp)


def test_all_names_each_thing_once_in_order() -> None:
    assert list(frontmcp.__all__) == sorted(set(frontmcp.__all__))


def test_the_door_only_imports() -> None:
    """A docstring, imports in the form type checkers take for exports, and `__all__`."""
    docstring, *statements = ast.parse(SOURCE).body
    assert isinstance(docstring, ast.Expr)
    assert [node for node in statements[:-1] if not isinstance(node, ast.ImportFrom)] == []
    aliases = [alias for node in statements if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [alias.name for alias in aliases if alias.asname != alias.name] == []


def test_importing_everything_binds_just_that() -> None:
    namespace: dict[str, object] = {}
    exec("from frontmcp import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(frontmcp.__all__)


def test_errors_tell_themselves_apart_by_code() -> None:
    """Users branch on `code`: no two errors of ours share one but by inheritance."""
    codes: dict[str, type] = {}
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, errors.FrontMcpError) and "code" in vars(value):
            assert codes.setdefault(value.code, value) is value
