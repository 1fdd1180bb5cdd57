"""`Will`, `Did`, `Around`: hooks around a stage; `Plugin` and `Option`: what a plugin is made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from frontmcp.arguments import known_keywords, several
from frontmcp.errors import ConfigurationError
from frontmcp.hookspecs import HOOK_ATTRIBUTE, HookOptions, hook_options, mark

if TYPE_CHECKING:
    from frontmcp.call import Kind

F = TypeVar("F", bound=Callable[..., Any])

STAGES = ("execute",)
FUNCTIONS = (FunctionType, staticmethod, classmethod)


@known_keywords
class _StageHook:
    """A decorator for a plugin's method, a plain function, or a method of a tool class (for that tool alone).

    :param stage: ``"execute"``.
    :param priority: order inside one plugin, lower first.
    :param kinds: kinds of entries; tools, and agents as they are tools, by default.
    :param tools: only entries whose name or canonical id matches, like ``"billing_*"``.
    :param option: only entries that set this option.
    :param tryfirst: run before the hooks of other plugins; ``trylast`` after them.
    """

    prefix: ClassVar[str]

    def __init__(
        self,
        stage: str,
        *,
        priority: int = 0,
        kinds: Kind | Sequence[Kind] = ("tool",),
        tools: str | Sequence[str] | None = None,
        option: str | None = None,
        tryfirst: bool = False,
        trylast: bool = False,
    ) -> None:
        name = type(self).__name__
        if stage not in STAGES:
            given = f'"{stage}" is no stage' if isinstance(stage, str) else "the stage is missing"
            raise ConfigurationError(f'@{name}: {given}; write @{name}("execute")')
        self.options = hook_options(
            f"{self.prefix}_{stage}",
            option=option,
            kinds=kinds,
            tools=tools,
            priority=priority,
            tryfirst=tryfirst,
            trylast=trylast,
        )

    def __call__(self, function: F) -> F:
        return mark(function, self.options)


class Will(_StageHook):
    """Runs before a stage: ``async def f(self, call)``; see `will_execute`."""

    prefix = "will"


class Did(_StageHook):
    """Runs after a stage succeeded: ``async def f(self, call)``; see `did_execute`."""

    prefix = "did"


class Around(_StageHook):
    """Runs around a stage: ``async def f(self, call, call_next)``; see `around_execute`."""

    prefix = "around"


@known_keywords
@dataclass(frozen=True, slots=True)
class Option:
    """Claims an option, so that entries (or the server) may set it.

    :param name: the keyword, as in ``@Tool(audit=True)``.
    :param type: what pydantic validates its value as, when the server starts; or where that is,
        ``"package.module:Name"``, to be loaded with the first value.
    :param kinds: the kinds of entries that may set it; all when empty.
    :param server: it is an option of the server, not of entries.
    """

    name: str
    type: Any = Any
    kinds: Sequence[Kind] = ()
    server: bool = False

    def __post_init__(self) -> None:
        several("kinds", self.kinds)


class Plugin:
    """Base class of plugins; hooks are methods marked with `hookimpl`, `Will`, `Did` or `Around`.

    :cvar name: the plugin's name; the class's in snake_case when None.
    :cvar requires: names of plugins it needs.
    :cvar options: the options it claims.
    :cvar kinds: the kinds of entries it runs; without it such an entry stops the start.
    """

    name: str | None = None
    requires: Sequence[str] = ()
    options: Sequence[Option] = ()
    kinds: Sequence[Kind] = ()


class Mark(NamedTuple):
    """A function of a plugin, or of a tool's class, that is marked as a hook.

    :ivar hook: the hook it implements.
    :ivar attribute: the name it has there.
    :ivar function: the function, unbound.
    :ivar position: its place in the source: base classes first, then as written.
    """

    hook: str
    attribute: str
    function: Callable[..., Any]
    options: HookOptions
    position: int


def marks(owner: Any) -> Iterator[Mark]:
    """The hooks that a module, an object or a class has, in the order of the source."""
    for position, (name, value) in enumerate(members(owner).items()):
        options = mark_of(value)
        if options is not None:
            yield Mark(options.hook or name, name, value, options, position)


def mark_of(function: Any) -> HookOptions | None:
    """How a function, static method or class method is marked; None when it is not. Bound methods never are."""
    if not isinstance(function, FUNCTIONS) and not (callable(function) and _is_compiled(function)):
        return None
    for layer in (function, getattr(function, "__func__", None)):
        if isinstance(found := getattr(layer, HOOK_ATTRIBUTE, None), HookOptions):
            return found
    return None


def _is_compiled(function: Any) -> bool:
    """Whether it is a function, though not one of Python's own kinds."""
    return inspect.isroutine(function) and not inspect.ismethod(function)


def members(owner: Any) -> dict[str, Any]:
    """The attributes of a module, an object or a class, unbound: base classes first, then as written."""
    found: dict[str, Any] = {}
    for namespace in _namespaces(owner):
        for name, value in namespace.items():
            found.pop(name, None)
            found[name] = value
    return found


def _namespaces(owner: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(owner, ModuleType):
        owner_class = owner if inspect.isclass(owner) else type(owner)
        yield from (vars(each) for each in reversed(owner_class.__mro__) if each is not object)
    if not inspect.isclass(owner):
        yield getattr(owner, "__dict__", {})
