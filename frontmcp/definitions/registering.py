"""``@app.tool`` and ``@server.tool``, and likewise the other nouns: define an entry and register it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from frontmcp.arguments import called
from frontmcp.definitions.agent import Agent
from frontmcp.definitions.base import Definition, caller_namespace
from frontmcp.definitions.channel import Channel
from frontmcp.definitions.job import Job
from frontmcp.definitions.prompt import Prompt
from frontmcp.definitions.resource import resource_of
from frontmcp.definitions.tool import Tool
from frontmcp.errors import ConfigurationError

F = TypeVar("F", bound=Callable[..., Any])


class Registering:
    """``@app.tool``, alone or with the keywords of `Tool`: define an entry and register it.

    :param make: a definition of keywords.
    """

    def __init__(self, make: Callable[..., Definition], register: Callable[[Definition], None]) -> None:
        self._make = make
        self._register = register

    @overload
    def __call__(self, target: F, /) -> F: ...
    @overload
    def __call__(self, /, **keywords: Any) -> Callable[[F], F]: ...
    def __call__(self, target: F | None = None, /, **keywords: Any) -> F | Callable[[F], F]:
        def define(function: F) -> F:
            definition = self._make(**keywords)
            definition.bind(function, caller_namespace())
            if not inspect.ismethod(function):
                definition.attach(function)
            self._register(definition)
            return function

        return define if target is None else define(target)


class Registers(ABC):
    """An app, or a server with an app of its own: what entries are defined on."""

    @abstractmethod
    def _register(self, definition: Definition) -> None: ...

    @property
    def tool(self) -> Registering:
        """Define a tool and register it: ``@app.tool`` or ``@app.tool(name=…)``."""
        return Registering(Tool, self._register)

    def resource(self, uri: str, **keywords: Any) -> Callable[[F], F]:
        """Define a resource, or a template where the URI has variables, and register it.

        :param uri: ``"tickets://open"`` or ``"tickets://{id}"``.
        :param keywords: those of `Resource`.
        """
        if not isinstance(uri, str):
            raise ConfigurationError(f'resource: {called(uri)} has no URI; write resource("tickets://open")')
        return Registering(partial(resource_of, uri), self._register)(**keywords)

    @property
    def prompt(self) -> Registering:
        """Define a prompt and register it: ``@app.prompt`` or ``@app.prompt(name=…)``."""
        return Registering(Prompt, self._register)

    @property
    def agent(self) -> Registering:
        """Define an agent and register it: ``@app.agent(llm=…)``."""
        return Registering(Agent, self._register)

    @property
    def job(self) -> Registering:
        """Define a job and register it: ``@app.job`` or ``@app.job(name=…)``."""
        return Registering(Job, self._register)

    @property
    def channel(self) -> Registering:
        """Define a channel and register it: ``@app.channel(source=…)``."""
        return Registering(Channel, self._register)
