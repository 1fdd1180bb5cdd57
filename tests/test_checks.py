"""Every mistake in a plugin's hooks stops the start, named with plugin, hook, file, line and the nearest right name."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import pytest

from frontmcp import Around, FrontMcp, Plugin, Tool, ToolContext, Will, hookimpl
from frontmcp.checks import source
from frontmcp.errors import ConfigurationError, nearest


def problems_of(*plugins: Any, **options: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("desk", plugins=plugins, **options).check()
    return refused.value.problems


def wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


class TypoInName(Plugin):
    @hookimpl
    async def will_exceute(self, call: Any) -> None: ...


class TypoInSpecname(Plugin):
    @hookimpl(specname="setled")
    def ready(self, server: Any) -> None: ...


class WrongArgument(Plugin):
    @hookimpl
    async def will_execute(self, cal: Any) -> None: ...


class UnknownArgument(Plugin):
    @Will("execute")
    async def before(self, call: Any, request: Any) -> None: ...


class CallNextWhereNoneIs(Plugin):
    @Will("execute")
    async def before(self, call: Any, call_next: Any) -> None: ...


class KeywordOnly(Plugin):
    @Will("execute")
    async def before(self, *, call: Any) -> None: ...


class AnyArguments(Plugin):
    @Will("execute")
    async def before(self, *args: Any) -> None: ...


class AnyKeywords(Plugin):
    @Will("execute")
    async def before(self, **kwargs: Any) -> None: ...


class NoSelf(Plugin):
    @hookimpl
    async def check_authorities(call: Any) -> None: ...


class NothingAtAll(Plugin):
    @hookimpl
    def settled() -> None: ...  # type: ignore[misc]


class AsyncWhereSync(Plugin):
    @hookimpl
    async def entry_visible(self, call: Any, entry: Any) -> bool:
        return False


class DecoratedAsyncWhereSync(Plugin):
    @hookimpl
    @wrapping
    async def entry_visible(self, call: Any, entry: Any) -> bool:
        return False


class Generator(Plugin):
    @hookimpl
    def around_execute(self, call: Any) -> Any:
        result = yield
        return result


class AsyncGenerator(Plugin):
    @Around("execute")
    async def timed(self, call: Any, call_next: Any) -> Any:
        yield


class GeneratorWithoutCallNext(Plugin):
    @hookimpl
    def around_execute(self, call: Any) -> Any:
        yield


class NoCallNext(Plugin):
    @hookimpl
    async def guard_call(self, call: Any) -> Any: ...


class ForgottenMark(Plugin):
    async def check_authorities(self, call: Any) -> None: ...


class ForgottenStaticMark(Plugin):
    @staticmethod
    async def check_authorities(call: Any) -> None: ...


class Marked(Plugin):
    @Will("execute")
    async def before(self, call: Any) -> None: ...


class OverridesMarked(Marked):
    async def before(self, call: Any) -> None: ...


class UnknownKind(Plugin):
    @Will("execute", kinds="tols")  # type: ignore[arg-type]
    async def before(self, call: Any) -> None: ...


class NarrowsWhatHasNoEntry(Plugin):
    @hookimpl(tools="billing_*")
    def resolve_tool(self, name: str, call: Any) -> None: ...


MISTAKES = [
    (TypoInName, "will_exceute", 'there is no hook "will_exceute"; did you mean "will_execute"?'),
    (TypoInSpecname, "ready", 'there is no hook "setled"; did you mean "settled"?'),
    (WrongArgument, "will_execute", 'the hook will_execute(call) has no argument "cal"; did you mean "call"?'),
    (UnknownArgument, "before", 'the hook will_execute(call) has no argument "request"'),
    (CallNextWhereNoneIs, "before", 'the hook will_execute(call) has no argument "call_next"'),
    (KeywordOnly, "before", 'hooks take their arguments by position, which "call" does not'),
    (AnyArguments, "before", 'hooks take their arguments by position, which "*args" does not'),
    (AnyKeywords, "before", 'hooks take their arguments by position, which "**kwargs" does not'),
    (NoSelf, "check_authorities", 'lacks its "self"; write "async def check_authorities(self, call)"'),
    (NothingAtAll, "settled", 'lacks its "self"; write "def settled(self, server)"'),
    (AsyncWhereSync, "entry_visible", 'entry_visible is called synchronously; write "def", not "async def"'),
    (DecoratedAsyncWhereSync, "entry_visible", 'entry_visible is called synchronously; write "def", not "async def"'),
    (
        Generator,
        "around_execute",
        'a hook can\'t yield; write "async def around_execute(self, call, call_next)" and await call_next()',
    ),
    (GeneratorWithoutCallNext, "around_execute", "a hook can't yield"),
    (AsyncGenerator, "timed", "a hook can't yield"),
    (
        NoCallNext,
        "guard_call",
        'guard_call is a wrapper; write "async def guard_call(self, call, call_next)" and await call_next()',
    ),
    (ForgottenMark, "check_authorities", '"check_authorities" is called like a hook but not marked; add @hookimpl'),
    (ForgottenStaticMark, "check_authorities", '"check_authorities" is called like a hook but not marked'),
    (OverridesMarked, "before", f'"before" overrides a hook ({__file__}:'),
    (UnknownKind, "before", 'there is no kind "tols"; did you mean "tool"?'),
    (NarrowsWhatHasNoEntry, "resolve_tool", "resolve_tool runs for no entry in particular; drop option=, kinds="),
]


def line_of(plugin: type, function: str) -> int:
    found = vars(plugin)[function]
    return inspect.unwrap(getattr(found, "__func__", found)).__code__.co_firstlineno


@pytest.mark.parametrize(("plugin", "function", "said"), MISTAKES, ids=[plugin.__name__ for plugin, *_ in MISTAKES])
def test_each_mistake_says_where_it_is_and_what_is_right(plugin: type, function: str, said: str) -> None:
    plugin = type(plugin.__name__, (plugin,), {"name": "acme.audit"})
    found = problems_of(plugin)
    written = plugin.__mro__[1]
    assert any(said in each for each in found), found
    assert len(found) == 1, found
    for each in found:
        assert each.startswith(f'plugin "acme.audit", {function} ({__file__}:{line_of(written, function)}): ')


def test_all_problems_are_listed_at_once() -> None:
    @Tool(audit=True)
    async def audited() -> None: ...

    @Tool(name="audited")
    async def again() -> None: ...

    plugins = [plugin for plugin, *_ in MISTAKES]
    found = problems_of(*plugins, "no:alaising", 42, tools=[audited, again], plugin_order=["nobody"], throtle={})
    named = {each.split('"')[1] for each in found if each.startswith('plugin "')}
    assert len(named) == len(MISTAKES)
    for said in ['"no:alaising"', "an object of int", '"nobody"', '"throtle"', '"audit"', 'two tools named "audited"']:
        assert any(said in each for each in found), said
    assert str(ConfigurationError(found)).startswith(f"{len(found)} problems:\n  - ")


def test_a_module_is_checked_like_a_class() -> None:
    def check_authorities(call: Any) -> None: ...

    module = types.ModuleType("acme_audit")
    module.check_authorities = check_authorities  # type: ignore[attr-defined]
    module.before = Will("execute")(lambda call, request: None)  # type: ignore[attr-defined]
    check_authorities.__module__ = "acme_audit"
    found = problems_of(module)
    assert any('has no argument "request"' in each for each in found)
    assert any('"check_authorities" is called like a hook but not marked' in each for each in found)


def test_what_a_module_imports_is_its_own_business() -> None:
    module = types.ModuleType("acme_audit")
    module.settled = nearest  # type: ignore[attr-defined]
    module.before = Will("execute")(lambda call: None)  # type: ignore[attr-defined]
    FrontMcp("desk", plugins=[module]).check()


@pytest.mark.parametrize("names", ["", "call", "call_next", "call, call_next", "call_next, call"])
async def test_a_hook_may_take_any_of_its_arguments_in_any_order(names: str) -> None:
    if "call_next" not in names:
        names = f"{names}, call_next".removeprefix(", ")
    namespace: dict[str, Any] = {}
    exec(f"async def timed(self, {names}): return await call_next()", namespace)
    plugin = type("Timed", (Plugin,), {"timed": Around("execute")(namespace["timed"])})
    FrontMcp("desk", plugins=[plugin]).check()


def test_a_hook_that_is_hidden_on_purpose_is_none() -> None:
    class Silent(Marked):
        before = None  # type: ignore[assignment]

    FrontMcp("desk", plugins=[Silent]).check()


class TestHooksOfAToolsClass:
    def check(self, **hooks: Any) -> list[str]:
        async def execute(self: Any) -> None: ...

        tool = Tool(name="audited")(type("Audited", (ToolContext,), {"execute": execute, **hooks}))
        try:
            FrontMcp("desk", tools=[tool]).check()
        except ConfigurationError as error:
            return error.problems
        return []

    def test_sound_ones(self) -> None:
        hooks = {"before": lambda self, call: None, "bare": lambda self: None}
        assert self.check(**{name: Will("execute")(hook) for name, hook in hooks.items()}) == []

    def test_each_mistake_names_tool_and_place(self) -> None:
        before = Will("execute")(lambda self, request: None)
        line = before.__code__.co_firstlineno
        assert self.check(before=before) == [
            f'tool "desk:audited", <lambda> ({__file__}:{line}): the hook will_execute(call) has no argument "request"'
        ]

    def test_other_hooks_belong_to_plugins(self) -> None:
        def settled(self: Any, server: Any) -> None: ...

        (problem,) = self.check(settled=hookimpl(settled))
        assert problem.endswith("a class can have Will, Did and Around hooks; put settled in a plugin")

    @pytest.mark.parametrize("narrowing", [{"tools": "a*"}, {"option": "visibility"}], ids=str)
    def test_there_is_nothing_to_narrow(self, narrowing: Any) -> None:
        (problem,) = self.check(before=Will("execute", **narrowing)(lambda self: None))
        assert problem.endswith("a hook of a class is for that class alone; drop tools= and option=")

    @pytest.mark.parametrize("kind", [staticmethod, classmethod])
    def test_they_are_plain_methods(self, kind: Any) -> None:
        problems = self.check(before=kind(Will("execute")(lambda call: None)))
        assert any(problem.endswith("a hook of a class is a plain method") for problem in problems)

    def test_all_of_them_are_told(self) -> None:
        wrong = {name: Will("execute")(eval(f"lambda self, {name}: None")) for name in ("request", "answer")}
        assert len(self.check(**wrong)) == 2


def test_a_function_is_named_with_its_place() -> None:
    assert source(wrapping(line_of)) == f"line_of ({__file__}:{line_of.__code__.co_firstlineno})"
    assert source(len) == f"len ({len!r})"
