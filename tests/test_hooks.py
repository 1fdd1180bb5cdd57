"""`Will`, `Did`, `Around` and `hookimpl` on everything that can have a hook, and how the marks are read."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import pytest

from frontmcp import Around, Did, Plugin, Will, hookimpl
from frontmcp.errors import ConfigurationError
from frontmcp.hooks import marks
from frontmcp.hookspecs import hook_options


def attributes(owner: Any) -> list[str]:
    return [mark.attribute for mark in marks(owner)]


@pytest.mark.parametrize(
    ("decorator", "hook"),
    [(Will("execute"), "will_execute"), (Did("execute"), "did_execute"), (Around("execute"), "around_execute")],
)
def test_stages_map_one_to_one_on_hooks(decorator: Callable[..., Any], hook: str) -> None:
    class Audit(Plugin):
        @decorator
        async def anything(self, call: Any) -> None: ...

    (mark,) = marks(Audit())
    assert (mark.hook, mark.attribute) == (hook, "anything")
    assert mark.options.kinds == ("tool",)


def test_a_hook_is_called_after_its_function_unless_it_says_otherwise() -> None:
    class Audit(Plugin):
        @hookimpl
        def settled(self, server: Any) -> None: ...
        @hookimpl(specname="settled")
        def later(self, server: Any) -> None: ...

    assert [(mark.hook, mark.attribute) for mark in marks(Audit())] == [("settled", "settled"), ("settled", "later")]


def test_what_a_decorator_is_given_is_kept() -> None:
    class Audit(Plugin):
        @Around("execute", priority=-10, kinds=("tool", "resource"), tools="billing_*", option="audit", trylast=True)
        async def timed(self, call: Any, call_next: Any) -> Any: ...
        @hookimpl(kinds="job", tools=["a", "b"], tryfirst=True)
        async def will_execute(self, call: Any) -> None: ...

    timed, will = (mark.options for mark in marks(Audit()))
    assert timed == hook_options(
        "around_execute", option="audit", kinds=("tool", "resource"), tools=("billing_*",), priority=-10,
        tryfirst=False, trylast=True,
    )  # fmt: skip
    assert (will.kinds, will.tools, will.zone) == (("job",), ("a", "b"), -1)


def test_decorated_functions_stay_themselves() -> None:
    async def before(call: Any) -> None: ...

    assert Will("execute")(before) is before
    assert hookimpl(tryfirst=True)(types.FunctionType(before.__code__, {})).__code__ is before.__code__


@pytest.mark.parametrize("decorator", [Will, Did, Around])
def test_another_stage_is_refused_where_it_is_written(decorator: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf'@{decorator.__name__}: "excute" is no stage; write @'):
        decorator("excute")


def test_a_decorator_without_its_stage_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r'@Will: the stage is missing; write @Will\("execute"\)'):

        @Will  # type: ignore[arg-type]
        async def before(call: Any) -> None: ...


def test_first_and_last_at_once_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="both tryfirst and trylast"):
        hookimpl(tryfirst=True, trylast=True)


def test_a_function_is_one_hook() -> None:
    with pytest.raises(ConfigurationError, match="both is marked as a hook twice"):

        @Will("execute")
        @Did("execute")
        async def both(call: Any) -> None: ...


@pytest.mark.parametrize("target", [42, type("Audit", (), {}), functools.partial(print)], ids=repr)
def test_only_functions_are_marked(target: Any) -> None:
    with pytest.raises(ConfigurationError, match="a hook is a function"):
        hookimpl(target)


class Base(Plugin):
    @hookimpl
    def zeta(self) -> None: ...
    @hookimpl
    def alpha(self) -> None: ...


class Derived(Base):
    @hookimpl
    def beta(self) -> None: ...
    @hookimpl
    def aaa(self) -> None: ...


def test_base_classes_come_first_then_the_order_of_the_source() -> None:
    assert attributes(Derived()) == ["zeta", "alpha", "beta", "aaa"]


def test_an_overridden_hook_stands_where_it_was_overridden() -> None:
    class Overriding(Derived):
        @hookimpl
        def other(self) -> None: ...
        @hookimpl
        def zeta(self) -> None: ...

    assert attributes(Overriding()) == ["alpha", "beta", "aaa", "other", "zeta"]


def test_several_bases_come_in_their_order_of_resolution_reversed() -> None:
    class Left(Plugin):
        @hookimpl
        def left(self) -> None: ...

    class Right(Plugin):
        @hookimpl
        def right(self) -> None: ...

    class Both(Left, Right):
        @hookimpl
        def both(self) -> None: ...

    assert attributes(Both()) == ["right", "left", "both"]


def test_the_order_does_not_depend_on_line_numbers() -> None:
    first, second = (lambda call: None), (lambda call: None)
    plugin = type("Made", (Plugin,), {"second": hookimpl(second), "first": hookimpl(first)})
    assert attributes(plugin()) == ["second", "first"]


def test_static_and_class_methods_can_be_hooks() -> None:
    class Audit(Plugin):
        @staticmethod
        @hookimpl
        def inner_static(call: Any) -> None: ...
        @hookimpl
        @staticmethod
        def outer_static(call: Any) -> None: ...
        @hookimpl
        @classmethod
        def outer_class(cls, call: Any) -> None: ...

    assert attributes(Audit()) == ["inner_static", "outer_static", "outer_class"]


def test_reading_marks_runs_no_code_of_the_plugin() -> None:
    class Lazy(Plugin):
        @property
        def trap(self) -> None:
            raise AssertionError("read")

        @functools.cached_property
        def another(self) -> None:
            raise AssertionError("read")

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

        @hookimpl
        def settled(self, server: Any) -> None: ...

    assert attributes(Lazy()) == ["settled"]


def test_a_method_kept_as_an_attribute_is_no_second_hook() -> None:
    class Audit(Plugin):
        def __init__(self) -> None:
            self.also = self.before

        @Will("execute")
        async def before(self, call: Any) -> None: ...

    assert attributes(Audit()) == ["before"]


def test_the_marks_of_a_module() -> None:
    module = types.ModuleType("acme")
    vars(module).update(second=hookimpl(lambda server: None), text="none", first=hookimpl(lambda server: None))
    assert attributes(module) == ["second", "first"]
