"""What is wrong with a plugin's hooks, in words: each problem names the plugin, the hook, the place and the fix."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, get_args

from frontmcp.call import Kind
from frontmcp.chain import layers, place
from frontmcp.errors import nearest
from frontmcp.hooks import Mark, mark_of, marks, members
from frontmcp.hookspecs import Spec

KINDS: tuple[str, ...] = get_args(Kind)


def check_plugin(owner: Any, title: str, specs: Mapping[str, Spec]) -> Iterator[str]:
    """Everything wrong with the hooks of a plugin.

    :param title: names the plugin, for messages.
    """
    for mark in marks(owner):
        yield from check_hook(owner, mark, title, specs)
    yield from _forgotten_marks(owner, title, specs)


def check_hook(owner: Any, mark: Mark, title: str, specs: Mapping[str, Spec]) -> Iterator[str]:
    """Everything wrong with one hook.

    :param owner: what has it: a plugin, or a tool's class.
    :param title: names the owner, for messages.
    """
    where = f"{title}, {source(mark.function)}"
    spec = specs.get(mark.hook)
    if spec is None:
        yield f'{where}: there is no hook "{mark.hook}"{nearest(mark.hook, specs)}'
        return
    yield from _check_colour(spec, mark.function, where)
    yield from _check_arguments(spec, owner, mark, where)
    for kind in mark.options.kinds or ():
        if kind not in KINDS:
            yield f'{where}: there is no kind "{kind}"{nearest(kind, KINDS)}'
    if mark.options.narrows and not spec.has_entry:
        yield f"{where}: {spec.name} runs for no entry in particular; drop option=, kinds= and tools="


def is_sound(owner: Any, mark: Mark, specs: Mapping[str, Spec]) -> bool:
    """Whether `check_hook` finds nothing wrong."""
    return next(check_hook(owner, mark, "", specs), None) is None


def _check_colour(spec: Spec, function: Callable[..., Any], where: str) -> Iterator[str]:
    if _yields(function):
        yield f"{where}: a hook can't yield; write {_form(spec)}"
    elif not spec.is_async and any(inspect.iscoroutinefunction(each) for each in layers(function)):
        yield f'{where}: the hook {spec.name} is called synchronously; write "def", not "async def"'


def _yields(function: Callable[..., Any]) -> bool:
    return any(inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each) for each in layers(function))


def _check_arguments(spec: Spec, owner: Any, mark: Mark, where: str) -> Iterator[str]:
    if (misplaced := _instead_of_self(owner, mark)) is not None and misplaced in ("", *spec.names):
        yield f'{where}: the method lacks its "self"; write {_form(spec)}'
        return
    given = arguments(owner, mark)
    for parameter in given:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            bare = parameter.replace(annotation=parameter.empty)
            yield f'{where}: hooks take their arguments by position, which "{bare}" does not; write {_form(spec)}'
        elif parameter.name not in spec.names:
            hint = nearest(parameter.name, spec.names)
            yield f'{where}: the hook {spec.signature} has no argument "{parameter.name}"{hint}'
    if spec.kind == "wrapper" and "call_next" not in [each.name for each in given] and not _yields(mark.function):
        yield f"{where}: the hook {spec.name} is a wrapper; write {_form(spec)}"


def _instead_of_self(owner: Any, mark: Mark) -> str | None:
    """The name of a method's first parameter, empty when it has none; None for what is no method."""
    if not inspect.isclass(owner) and not inspect.ismethod(getattr(owner, mark.attribute)):
        return None
    if isinstance(mark.function, staticmethod | classmethod):
        return None
    return next(iter(inspect.signature(mark.function).parameters), "")


def arguments(owner: Any, mark: Mark) -> list[inspect.Parameter]:
    """What a hook takes: its parameters, but for ``self``."""
    given = list(inspect.signature(getattr(owner, mark.attribute)).parameters.values())
    is_unbound = inspect.isclass(owner) and not isinstance(mark.function, staticmethod | classmethod)
    return given[1:] if is_unbound else given


def _form(spec: Spec) -> str:
    """How an implementation is written."""
    form = f'"{"async def" if spec.is_async else "def"} {spec.name}({", ".join(("self", *spec.names))})"'
    return f"{form} and await call_next()" if spec.kind == "wrapper" else form


def _forgotten_marks(owner: Any, title: str, specs: Mapping[str, Spec]) -> Iterator[str]:
    """A function that looks like a hook and is none would fail open."""
    for name, function in members(owner).items():
        if not inspect.isroutine(function) or mark_of(function) is not None or _is_imported(owner, function):
            continue
        where = f"{title}, {source(function)}"
        if name in specs:
            yield f'{where}: "{name}" is called like a hook but not marked; add @hookimpl, or rename it'
        elif (overridden := _overridden(owner, name)) is not None:
            yield f'{where}: "{name}" overrides a hook ({place(overridden)}) but is not marked; mark it too'


def _is_imported(owner: Any, function: Any) -> bool:
    return isinstance(owner, ModuleType) and getattr(function, "__module__", None) != owner.__name__


def _overridden(owner: Any, name: str) -> Any:
    """The hook of a base class that an attribute hides, if it does."""
    bases = () if isinstance(owner, ModuleType) else type(owner).__mro__
    return next((vars(base)[name] for base in bases if mark_of(vars(base).get(name)) is not None), None)


def source(function: Callable[..., Any]) -> str:
    """A function's name and where it stands, for messages."""
    *_, plain = layers(function)
    return f"{getattr(plain, '__name__', repr(plain))} ({place(function)})"
