"""Every hook has its kind and its colour, and stands in the documentation with its exact signature."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frontmcp import FrontMcp, hookspec, hookspecs
from frontmcp.hookspecs import Spec, read_specs

PAGE = (Path(__file__).parent.parent / "docs" / "hooks.md").read_text()
SECTION = re.compile(r"^### `(?P<signature>.+)`\n\n\*(?P<kind>\w+)\.\* ", re.MULTILINE)
SPECS = {spec.name: spec for spec in read_specs(hookspecs)}
FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(hookspecs, name) for name in SPECS}


def signature(function: Callable[..., Any]) -> str:
    kind = "async def" if inspect.iscoroutinefunction(function) else "def"
    return f"{kind} {function.__name__}{inspect.signature(function)}".replace("'", "")


@pytest.mark.parametrize("name", SPECS)
def test_each_hook_has_a_heading_with_its_signature_and_its_kind(name: str) -> None:
    documented = {match["signature"]: match["kind"] for match in SECTION.finditer(PAGE)}
    assert documented.get(signature(FUNCTIONS[name])) == SPECS[name].kind


ROW = re.compile(r"^\| `(?P<signature>(?:async def )?\w+\([\w, ]*\))` \| (?P<kind>\w+) \|", re.MULTILINE)


def test_hooks_of_built_in_plugins_are_listed() -> None:
    specs = [spec for name, spec in FrontMcp("desk").plugins.specs.items() if name not in SPECS]
    listed = {match["signature"]: match["kind"] for match in ROW.finditer(PAGE)}
    assert listed == {f"{'async def ' * spec.is_async}{spec.signature}": spec.kind for spec in specs}


def test_nothing_else_is_documented_as_a_hook() -> None:
    assert len(re.findall("^### ", PAGE, re.MULTILINE)) == len(SPECS)


def test_hooks_are_documented_in_the_order_of_the_module() -> None:
    lines = {signature(each): each.__code__.co_firstlineno for each in FUNCTIONS.values()}
    documented = [lines[match["signature"]] for match in SECTION.finditer(PAGE)]
    assert documented == sorted(documented)


@pytest.mark.parametrize("name", SPECS)
def test_each_hook_says_what_its_arguments_are(name: str) -> None:
    doc = FUNCTIONS[name].__doc__ or ""
    assert re.findall(r":param (\w+):", doc) == list(SPECS[name].names)


@pytest.mark.parametrize("name", [name for name, spec in SPECS.items() if spec.kind == "wrapper"])
def test_a_wrapper_is_async_and_takes_call_next_last(name: str) -> None:
    assert SPECS[name].is_async
    assert SPECS[name].names[-1] == "call_next"


def test_specs_are_read_from_modules_classes_and_objects() -> None:
    class Hooks:
        @hookspec
        def plain(self, a: int) -> None: ...
        @hookspec(kind="first")
        async def later(self, a: int, b: int) -> None: ...

        def no_hook(self) -> None: ...

    expected = [Spec("later", "first", True, ("a", "b")), Spec("plain", "all", False, ("a",))]
    assert list(read_specs(Hooks)) == list(read_specs(Hooks())) == expected
    assert list(read_specs(types.SimpleNamespace(plain=hookspec(lambda a: None)))) == [expected[1]]


@pytest.mark.parametrize(
    ("names", "has_entry"),
    [(("call",), True), (("entry",), True), (("server",), False), (("call", "call_next"), True), ((), False)],
)
def test_a_hook_of_a_call_or_an_entry_can_be_narrowed(names: tuple[str, ...], has_entry: bool) -> None:
    assert Spec("hook", "all", True, names).has_entry is has_entry


def test_a_hook_before_there_is_an_entry_can_not() -> None:
    assert not SPECS["resolve_tool"].has_entry
