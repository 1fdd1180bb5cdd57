"""`App`: a group of entries with an id of its own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from frontmcp.arguments import known_keywords, several
from frontmcp.definitions.agent import Agent
from frontmcp.definitions.base import Definition, definitions_of, place_of, snake_case
from frontmcp.definitions.channel import Channel
from frontmcp.definitions.job import Job
from frontmcp.definitions.listed import listed
from frontmcp.definitions.prompt import Prompt
from frontmcp.definitions.registering import Registers
from frontmcp.definitions.resource import Resource, ResourceTemplate
from frontmcp.definitions.tool import Tool
from frontmcp.definitions.workflow import Workflow
from frontmcp.errors import ConfigurationError

if TYPE_CHECKING:
    from frontmcp.definitions.upstream import Headers, HeadersOf, UpstreamOptions

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

APP_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ATTRIBUTE = "__frontmcp_app__"

NOUNS: Final[Mapping[str, tuple[type[Definition], ...]]] = {
    "tools": (Tool,),
    "resources": (Resource, ResourceTemplate),
    "prompts": (Prompt,),
    "agents": (Agent,),
    "jobs": (Job,),
    "workflows": (Workflow,),
    "channels": (Channel,),
}
"""What may be listed under a keyword of `App` and `FrontMcp`. A plain function becomes the first, where that can be."""


@known_keywords
class App(Registers):
    """A group of entries whose canonical ids begin with the app's id.

    A plain object, or a decorator on an empty class: ``@App(id="desk", tools=[…]) class Desk: ...``.

    :param id: 1 to 64 of ``A-Z a-z 0-9 _ -``; by default the slug of ``name``, or of the decorated class.
    :param name: what people read; the id by default.
    :param tools: classes and functions, decorated with `Tool` or plain functions.
    :param resources: classes and functions decorated with `Resource` or `ResourceTemplate`.
    :param prompts: classes and functions, decorated with `Prompt` or plain functions.
    :param agents: classes and functions decorated with `Agent`.
    :param jobs: classes and functions, decorated with `Job` or plain functions.
    :param workflows: `Workflow` objects, and classes decorated with one.
    :param channels: classes and functions decorated with `Channel`.
    :ivar upstream: the server whose entries it serves too, for an app made by `from_mcp`.
    """

    noun: ClassVar[str] = "App"
    upstream: UpstreamOptions | None = None

    def __init__(
        self,
        *,
        id: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tools: Iterable[Any] = (),
        resources: Iterable[Any] = (),
        prompts: Iterable[Any] = (),
        agents: Iterable[Any] = (),
        jobs: Iterable[Any] = (),
        workflows: Iterable[Any] = (),
        channels: Iterable[Any] = (),
    ) -> None:
        self._id = id if id is not None or name is None else slug(name)
        self._name = name
        self.description = description
        self.definitions: list[Definition] = []
        self._listeners: list[Callable[[App, Definition], None]] = []
        if self._id is not None:
            check_app_id(self._id)
        given = {
            "tools": tools,
            "resources": resources,
            "prompts": prompts,
            "agents": agents,
            "jobs": jobs,
            "workflows": workflows,
            "channels": channels,
        }
        for noun, targets in given.items():
            for target in several(noun, targets):
                self.add(as_definition(target, noun))

    def __call__(self, target: C) -> C:
        if not inspect.isclass(target):
            raise ConfigurationError(f"App decorates a class, not {target!r}")
        if self._id is None:
            self._id = snake_case(target.__name__).replace("_", "-")
            check_app_id(self._id)
        setattr(target, _ATTRIBUTE, self)
        return target

    @classmethod
    def from_mcp(
        cls,
        target: Any,
        *,
        id: str | None = None,
        name: str | None = None,
        description: str | None = None,
        include: str | Sequence[str] = "*",
        exclude: str | Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        tools: Mapping[str, Mapping[str, Any]] | None = None,
        resources: Mapping[str, Mapping[str, Any]] | None = None,
        prompts: Mapping[str, Mapping[str, Any]] | None = None,
        headers: Headers | HeadersOf | None = None,
        discovery_headers: Headers | None = None,
        auth: Any = None,
        mode: str | None = None,
        required: bool = True,
        connect_timeout: float = 10.0,
        call_timeout: float | None = 300.0,
        max_connections: int = 100,
        idle_timeout: float = 300.0,
    ) -> App:
        """An app that serves what another MCP server lists, found when the server starts.

        Each of its tools, resources, templates and prompts is one like any other, with the schemas, title,
        annotations, icons and ``_meta`` that the other server gives it: hooks, authorities, limits and `call_tool` know
        no difference.

        :param target: a server object of the SDK, of FastMCP or of frontmcp; a URL; a command (a list, a string, or
            the SDK's ``StdioServerParameters``).
        :param id: by default the slug of ``name``, or of the name of a server object.
        :param include: what of it, by patterns of names and URIs like ``"ticket_*"``; ``exclude`` what of that not.
        :param options: keywords of `Tool`, `Resource` and `Prompt` for all, such as ``{"authorities": "agent"}``.
        :param tools: keywords of `Tool` for some, by pattern, laid over ``options`` in the order written. Likewise
            ``resources``, by URI, and ``prompts``. At the start each pattern must match something.
        :param headers: HTTP headers for every request, or a function that gives those of a `Caller`. No token of a
            caller is passed on otherwise.
        :param discovery_headers: HTTP headers to list the tools with, where ``headers`` is a function.
        :param auth: an ``httpx2.Auth`` that speaks for this server, whoever calls.
        :param mode: the SDK client's: ``"auto"``, ``"legacy"``, or a protocol version from 2026-07-28 on; by default
            ``"legacy"`` for a server object of FastMCP, and ``"auto"`` for all else.
        :param required: whether a server that can't be reached stops the start; else it is tried again until it can.
        :param connect_timeout: seconds to open a connection, or to wait for one when all are in use.
        :param call_timeout: seconds for each request; None waits forever.
        :param max_connections: how many connections to keep, one for each caller.
        :param idle_timeout: seconds after which an unused one is closed.
        :raises ConfigurationError: the target is nothing of that kind, or nothing says what its app is called.
        """
        from frontmcp.definitions.upstream import UpstreamOptions, mode_of, patterns

        if id is None and name is None and not isinstance(target, str):
            name = getattr(target, "name", None)
        app = cls(id=id, name=name, description=description)
        app.upstream = UpstreamOptions(
            target=target,
            include=patterns(include),
            exclude=patterns(exclude),
            options=dict(options or {}),
            tools=dict(tools or {}),
            resources=dict(resources or {}),
            prompts=dict(prompts or {}),
            headers=headers,
            discovery_headers=discovery_headers,
            auth=auth,
            mode=mode if mode is not None else mode_of(target),
            required=required,
            connect_timeout=connect_timeout,
            call_timeout=call_timeout,
            max_connections=max_connections,
            idle_timeout=idle_timeout,
        )
        if app._id is None:
            raise ConfigurationError('App.from_mcp: a URL or a command has no name: add an id=, like id="tickets"')
        return app

    @classmethod
    def of(cls, target: Any) -> App:
        """The app itself, or that of a decorated class.

        :raises ConfigurationError: it is neither.
        """
        app = target if isinstance(target, App) else getattr(target, "__dict__", {}).get(_ATTRIBUTE)
        if not isinstance(app, App):
            hint = "" if inspect.isclass(target) else "; another server joins by App.from_mcp(server)"
            raise ConfigurationError(f"apps=: {target!r} is neither an App nor a class decorated with @App{hint}")
        return app

    @property
    def id(self) -> str:
        """What tells the app apart in a server: ``id=``, else made of its name."""
        if self._id is None:
            raise ConfigurationError("App(…) needs an id= or a name=")
        return self._id

    @property
    def name(self) -> str:
        """What people read; the id when there is none."""
        return self._name or self.id

    def add(self, definition: Definition) -> None:
        """Register a definition; servers that have the app already serve it too."""
        self.definitions.append(definition)
        for listener in self._listeners:
            listener(self, definition)

    def _register(self, definition: Definition) -> None:
        self.add(definition)

    def subscribe(self, listener: Callable[[App, Definition], None]) -> None:
        """Tell ``listener`` of definitions that are added from now on."""
        self._listeners.append(listener)


def as_definition(target: Any, noun: str = "tools") -> Definition:
    """The definition of something listed under a keyword of `NOUNS`.

    :raises ConfigurationError: it is nothing of that kind.
    """
    return listed(target, noun, NOUNS[noun])


def any_definition(target: Any) -> Definition:
    """The definition of something of whatever kind: what it is decorated as, else a tool.

    :raises ConfigurationError: it is none, or decorated as several kinds.
    """
    if isinstance(target, Definition):
        return as_definition(target, next(noun for noun, classes in NOUNS.items() if isinstance(target, classes)))
    found = definitions_of(target)
    if len(found) > 1:
        raise ConfigurationError(f"{place_of(target)} is decorated as {' and '.join(found)}: list the definitions")
    return next(iter(found.values()), None) or as_definition(target)


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
