"""`App`: a group of entries with an id of its own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar, overload

from frontmcp.definitions.base import Definition, caller_namespace, definitions_of, place_of, snake_case
from frontmcp.definitions.tool import Tool
from frontmcp.errors import ConfigurationError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

APP_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ATTRIBUTE = "__frontmcp_app__"


class ToolDecorator:
    """``@app.tool``, alone or with the keywords of `Tool`: define a tool and register it."""

    def __init__(self, register: Callable[[Definition], None]) -> None:
        self._register = register

    @overload
    def __call__(self, target: F, /) -> F: ...
    @overload
    def __call__(self, /, **keywords: Any) -> Callable[[F], F]: ...
    def __call__(self, target: F | None = None, /, **keywords: Any) -> F | Callable[[F], F]:
        def define(function: F) -> F:
            definition: Tool = Tool(**keywords)
            definition.bind(function, caller_namespace())
            if not inspect.ismethod(function):
                definition.attach(function)
            self._register(definition)
            return function

        return define if target is None else define(target)


class App:
    """A group of tools (and, later, other entries) whose canonical ids begin with the app's id.

    A plain object, or a decorator on an empty class: ``@App(id="desk", tools=[…]) class Desk: ...``.

    :param id: 1 to 64 of ``A-Z a-z 0-9 _ -``; by default the slug of ``name``, or of the decorated class.
    :param name: what people read; the id by default.
    :param tools: classes and functions, decorated with `Tool` or plain functions.
    """

    noun: ClassVar[str] = "App"

    def __init__(
        self,
        *,
        id: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tools: Iterable[Any] = (),
    ) -> None:
        self._id = id if id is not None or name is None else slug(name)
        self._name = name
        self.description = description
        self.definitions: list[Definition] = []
        self._listeners: list[Callable[[App, Definition], None]] = []
        if self._id is not None:
            check_app_id(self._id)
        for tool in tools:
            self.add(as_definition(tool))

    def __call__(self, target: C) -> C:
        if not inspect.isclass(target):
            raise ConfigurationError(f"App decorates a class, not {target!r}")
        if self._id is None:
            self._id = snake_case(target.__name__).replace("_", "-")
            check_app_id(self._id)
        setattr(target, _ATTRIBUTE, self)
        return target

    @classmethod
    def of(cls, target: Any) -> App:
        """The app itself, or that of a decorated class.

        :raises ConfigurationError: it is neither.
        """
        app = target if isinstance(target, App) else getattr(target, "__dict__", {}).get(_ATTRIBUTE)
        if not isinstance(app, App):
            raise ConfigurationError(f"apps=: {target!r} is neither an App nor a class decorated with @App")
        return app

    @property
    def id(self) -> str:
        if self._id is None:
            raise ConfigurationError("App(…) needs an id= or a name=")
        return self._id

    @property
    def name(self) -> str:
        return self._name or self.id

    @property
    def tool(self) -> ToolDecorator:
        """Define a tool and register it: ``@app.tool`` or ``@app.tool(name=…)``."""
        return ToolDecorator(self.add)

    def add(self, definition: Definition) -> None:
        """Register a definition; servers that have the app already serve it too."""
        self.definitions.append(definition)
        for listener in self._listeners:
            listener(self, definition)

    def subscribe(self, listener: Callable[[App, Definition], None]) -> None:
        """Tell ``listener`` of definitions that are added from now on."""
        self._listeners.append(listener)


def as_definition(target: Any) -> Definition:
    """The definition of something listed under ``tools=``.

    :raises ConfigurationError: it is no tool.
    """
    if isinstance(target, Tool):
        if target.target is None:
            raise ConfigurationError("tools=: a Tool(…) that decorates nothing; put it above a class or function")
        return target
    if definitions_of(target):
        return Tool.of(target)
    if not callable(target):
        raise ConfigurationError(f"tools=: {target!r} is not a tool")
    if inspect.isclass(target):
        raise ConfigurationError(f"tools=: class {place_of(target)} is not a tool: decorate it with @Tool")
    return Tool.from_callable(target)


def check_app_id(id: str) -> None:
    """:raises ConfigurationError: the id has other characters than allowed, or too many."""
    if not isinstance(id, str) or APP_ID.fullmatch(id) is None:
        raise ConfigurationError(f"app id {id!r} is not allowed: 1 to 64 of the characters A-Z a-z 0-9 _ -")


def slug(name: str) -> str:
    """``Help Desk`` → ``help-desk``: a name as an app id.

    :raises ConfigurationError: nothing of the name can be part of an id.
    """
    made = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-").lower()[:64]
    if not made:
        raise ConfigurationError(f"no app id can be made of the name {name!r}: give an id=")
    return made
