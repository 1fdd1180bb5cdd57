"""`Will`, `Did`, `Around`: hooks around a stage; `Plugin` and `Option`: what a plugin is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from frontmcp.errors import ConfigurationError
from frontmcp.hookspecs import HOOK_ATTRIBUTE, HookOptions, hookimpl

if TYPE_CHECKING:
    from frontmcp.call import Kind

F = TypeVar("F", bound=Callable[..., Any])

STAGES = ("execute",)


class _StageHook:
    """A decorator for a plugin's method, a plain function, or a method of a tool class (for that tool alone).

    :param stage: ``"execute"``.
    :param priority: order inside one plugin, lower first.
    :param kinds: kinds of entries; tools, and agents as they are tools, by default.
    :param tools: only tools whose name or canonical id matches, like ``"billing_*"``.
    :param option: only entries that set this option.
    """

    prefix: ClassVar[str]

    def __init__(
        self,
        stage: str,
        *,
        priority: int = 0,
        kinds: Sequence[Kind] = ("tool",),
        tools: str | Sequence[str] | None = None,
        option: str | None = None,
        tryfirst: bool = False,
        trylast: bool = False,
    ) -> None:
        if stage not in STAGES:
            raise ConfigurationError(f'{type(self).__name__}("{stage}"): there is no such stage; did you mean "execute"?')
        patterns = (tools,) if isinstance(tools, str) else tools
        self.options = HookOptions(
            hook=f"{self.prefix}_{stage}",
            option=option,
            kinds=(kinds,) if isinstance(kinds, str) else tuple(kinds),
            tools=None if patterns is None else tuple(patterns),
            priority=priority,
            tryfirst=tryfirst,
            trylast=trylast,
        )

    def __call__(self, function: F) -> F:
        setattr(function, HOOK_ATTRIBUTE, self.options)
        return function


class Will(_StageHook):
    """Runs before a stage: ``async def f(self, call)``; see `will_execute`."""

    prefix = "will"


class Did(_StageHook):
    """Runs after a stage succeeded: ``async def f(self, call)``; see `did_execute`."""

    prefix = "did"


class Around(_StageHook):
    """Runs around a stage: ``async def f(self, call, call_next)``; see `around_execute`."""

    prefix = "around"


@dataclass(frozen=True, slots=True)
class Option:
    """Claims an option, so that entries (or the server) may set it.

    :param name: the keyword, as in ``@Tool(audit=True)``.
    :param type: what pydantic validates its value as, when the server starts.
    :param kinds: the kinds of entries that may set it; all when empty.
    :param server: it is an option of the server, not of entries.
    """

    name: str
    type: Any = Any
    kinds: tuple[Kind, ...] = ()
    server: bool = False


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

    @hookimpl
    def declare_options(self) -> Sequence[Option]:
        """The class attribute ``options``; override it for options that are known only later."""
        return self.options
