"""`FrontMcp`: the composition root. It gathers what users wrote and what plugins bring, checks it, and serves it.

What it is made of has modules of its own: `apps` (what it serves), `configuration` (the settings of every source),
`assembly` (plugins, entries and pipeline, put together anew when those change), `lifetime` (what starts and stops with
it), `changes` (who hears of changes), `plugin_calls` (calls that plugins make), `transports.wire` (what clients ask).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from frontmcp.apps import Apps
from frontmcp.arguments import info_of, keywords_of, missing_attribute, several_or_problem
from frontmcp.asking import MemoryStateStore
from frontmcp.assembly import Assembly
from frontmcp.call import Call, Caller, Entry, Kind, Origin, RequestContext, Surface
from frontmcp.changes import LISTS, ChangeFeed, Listener
from frontmcp.configuration import Configuration, CoreSettings
from frontmcp.definitions.app import as_definition
from frontmcp.definitions.base import Definition
from frontmcp.definitions.registering import Registers
from frontmcp.environment import Environment
from frontmcp.errors import ConfigurationError, unwrap_group
from frontmcp.events import at_event_depth, event_depth
from frontmcp.lifetime import Lifetime
from frontmcp.loading import PluginLike, plugin_name
from frontmcp.logs import LogOptions, configure_logging
from frontmcp.pipeline import Pipeline
from frontmcp.plugin_calls import PluginCalls
from frontmcp.plugins import PluginManager
from frontmcp.providers import Lifespan, Provider, Providers, check_lifespan, check_providers
from frontmcp.registry import Entry as RegisteredEntry
from frontmcp.registry import ToolEntry
from frontmcp.settings import Setting
from frontmcp.threads import Threads
from frontmcp.transports.keys import identity, missing_keys, problems_of_keys
from frontmcp.transports.listing import ListOptions
from frontmcp.transports.options import HttpOptions, options_from
from frontmcp.transports.stdio import run_stdio
from frontmcp.transports.wire import Wire

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.applications import Starlette

    from frontmcp.interfaces import StateStore

Transport: TypeAlias = Literal["stdio", "http"]
TRANSPORTS: Final = get_args(Transport)

INSTEAD: Final = {
    **dict.fromkeys(("mount", "import_server", "as_proxy"), "apps=[App.from_mcp(other)]"),
    "custom_route": "provide_routes of a plugin",
    "add_middleware": "plugins=[…]",
    **dict.fromkeys(("streamable_http_app", "sse_app"), "http_app()"),
    **dict.fromkeys(("run_async", "run_http_async", "run_stdio_async"), "run(), or http_app() in a server of your own"),
    **dict.fromkeys(("call_tool", "list_tools", "get_tools", "read_resource", "get_prompt"), "create_direct(server)"),
}
"""What to write for what a server of FastMCP has."""


class FrontMcp(Registers):
    """An MCP server.

    ``FrontMcp("help-desk", tools=[ping])`` serves tools as one app whose id is the slug of the name;
    ``FrontMcp(info={"name": …, "version": …}, apps=[desk])`` names its apps.

    :param name: the server's name, unless ``info`` has it.
    :param version: the server's version, unless ``info`` has it.
    :param info: ``name``, ``version``, ``title`` and ``website_url``, as clients see them.
    :param apps: `App` objects and classes decorated with `App`.
    :param tools: tools of the server's own, unnamed app; likewise ``resources``, ``prompts``, ``agents``, ``jobs``,
        ``workflows`` and ``channels``.
    :param plugins: plugins, and words: ``"no:NAME"`` switches one off, ``"NAME"`` allows an installed one.
    :param plugin_order: names of plugins that run before all others.
    :param autoload_plugins: load installed plugins that nobody named.
    :param providers: what ``Annotated[Db, Inject()]`` and ``self.get(Db)`` give.
    :param lifespan: an async context manager function, given the server; may yield ``{type: instance}``.
    :param instructions: what the model should know of the server.
    :param environment: ``"development"`` or ``"test"`` show errors whole; any other masks what is not public. By
        default ``FRONTMCP_ENV``, else production for HTTP and development elsewhere.
    :param http: options of the HTTP transport; see `http_app`.
    :param pagination: the page size of lists; None never pages.
    :param list_cache: how long clients may keep lists, like ``{"ttl": 60, "scope": "public"}``; ``"public"``, for
        anybody, holds only for lists that are the same for every caller.
    :param max_call_depth: how deep calls may be nested; the client's call has depth 0.
    :param thread_limit: worker threads for sync tools, for each depth of nested calls.
    :param logging: ``{"format": "text" | "json", "level": "INFO"}``, for `run`; an app that is mounted leaves logging
        to its host.
    :param locked: settings that only code may give, no file, environment or command line.
    :param options: options that plugins claim for the server.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        version: str | None = None,
        info: Mapping[str, Any] | None = None,
        apps: Iterable[Any] = (),
        tools: Iterable[Any] = (),
        resources: Iterable[Any] = (),
        prompts: Iterable[Any] = (),
        agents: Iterable[Any] = (),
        jobs: Iterable[Any] = (),
        workflows: Iterable[Any] = (),
        channels: Iterable[Any] = (),
        plugins: Sequence[PluginLike] = (),
        plugin_order: Sequence[str] = (),
        autoload_plugins: bool = True,
        providers: Iterable[Provider[Any]] = (),
        lifespan: Lifespan | None = None,
        instructions: str | None = None,
        environment: str | None = None,
        http: Mapping[str, Any] | None = None,
        pagination: int | None = 40,
        list_cache: Mapping[str, Any] | None = None,
        max_call_depth: int = 16,
        thread_limit: int = 40,
        logging: Mapping[str, Any] | None = None,
        locked: Sequence[str] = (),
        **options: Any,
    ) -> None:
        self.info = info_of(name, version, info)
        self._problems: list[str] = []
        several = partial(several_or_problem, problems=self._problems)
        self._configuration = Configuration(
            {
                "instructions": instructions,
                "http": http or {},
                "pagination": pagination,
                "list_cache": list_cache or {},
                "max_call_depth": max_call_depth,
                "thread_limit": thread_limit,
                "logging": logging or {},
                "plugins": several("plugins", plugins),
                "plugin_order": several("plugin_order", plugin_order),
                "autoload_plugins": autoload_plugins,
                **{key: value for key, value in options.items() if value is not None},
            },
            several("locked", locked),
        )
        self._environment = Environment(environment)
        self._given_providers = several("providers", providers)
        self._given_lifespan = lifespan
        self.threads = Threads(thread_limit)
        self._providers = Providers((each for each in self._given_providers if isinstance(each, Provider)), lifespan)
        entries = {
            "tools": tools,
            "resources": resources,
            "prompts": prompts,
            "agents": agents,
            "jobs": jobs,
            "workflows": workflows,
            "channels": channels,
        }
        self._apps = Apps(self.name, entries, apps, self._problems, self._define)
        self._assembly: Assembly | None = None
        self._state_store: StateStore | None = None
        self._changes = ChangeFeed()
        self.plugin_calls = PluginCalls(self)
        self.lifetime = Lifetime(self, self._providers, self._changes, self._apps.all)
        self.background = self.lifetime.background
        self._wire: Wire | None = None

    @property
    def name(self) -> str:
        """The server's name, as clients see it."""
        name: str = self.info.get("name", "frontmcp")
        return name

    @cached_property
    def identity(self) -> str:
        """Tells this server from others, to servers that serve what it lists (`App.from_mcp`)."""
        return identity(self.name)

    @property
    def version(self) -> str:
        """The server's version, as clients see it."""
        version: str = self.info["version"]
        return version

    @property
    def settings(self) -> dict[str, Setting]:
        """Every setting that holds, with its sources."""
        return self._configuration.settings

    @property
    def core(self) -> CoreSettings:
        """The settings of the core."""
        return self._configuration.core

    @property
    def options(self) -> dict[str, Any]:
        """The settings that plugins claim."""
        return self._configuration.options

    @property
    def instructions(self) -> str | None:
        """What the model should know of the server."""
        return self.core.instructions

    @property
    def pagination(self) -> int | None:
        """The page size of lists."""
        return self.core.pagination

    @property
    def list_options(self) -> ListOptions:
        """How lists are served."""
        cache = self.core.list_cache
        return ListOptions(self.core.pagination, int(cache.ttl * 1000), cache.scope == "public")

    @property
    def log_options(self) -> LogOptions:
        """How a server that runs by itself logs."""
        return self.core.logging

    @property
    def environment(self) -> str:
        """``FrontMcp(environment=…)``, else ``FRONTMCP_ENV``, else production while it serves HTTP by `run` or
        `http_app`, or a server that is in production through `App.from_mcp`, and development elsewhere.
        """
        return self._environment.name

    @property
    def production(self) -> bool:
        """Whether errors that are not public are masked."""
        return self._environment.is_production

    # What users add

    def add_plugin(self, plugin: PluginLike, *, first: bool = False) -> None:
        """Add a plugin as if it stood last in ``plugins=``; not while the server runs.

        :param first: it also stands first in ``plugin_order=``: it runs before, and around, all others.
        :raises RuntimeError: the server runs.
        """
        if self.lifetime.is_used:
            raise RuntimeError(f'the server "{self.name}" runs already: add plugins before it starts')
        self._configuration.add_plugin(plugin, first=plugin_name(plugin) if first else None)
        self._take_apart()

    def configure(self, *, file: Path | None = None, command_line: Mapping[str, Any] | None = None) -> None:
        """Give settings that override those of code: from a file, then the environment, then the command line.

        :param file: ``frontmcp.toml``, or a ``pyproject.toml`` with ``[tool.frontmcp]``.
        :param command_line: settings by name.
        :raises ConfigurationError: the file can't be read, with the place.
        """
        self._configuration.configure(file, command_line)
        self._take_apart()

    def _take_apart(self) -> None:
        """What was put together before is no more: it did not know of what came since."""
        if self._wire is not None:
            self._wire.close()
        self._assembly = self._wire = None

    def _register(self, definition: Definition) -> None:
        """Register what ``@server.tool`` and its like define."""
        self._apps.own.add(definition)

    def _define(self, definition: Definition, app_id: str) -> None:
        """A definition that was added to an app after the server was made."""
        if self._assembly is not None:
            self._assembly.add(definition, app_id)

    async def add_tool(self, tool: Any, *, app: str | None = None) -> ToolEntry:
        """Add a tool while the server runs; clients are told that the list changed.

        :param tool: what ``tools=`` takes.
        :param app: the app's id; the server's own by default.
        :raises ConfigurationError: it can't be served; nothing was added.
        """
        entry = await self._add(as_definition(tool), app)
        assert isinstance(entry, ToolEntry)
        return entry

    async def add_resource(self, resource: Any, *, app: str | None = None) -> RegisteredEntry:
        """Add a resource or a template while the server runs; clients are told that the list changed.

        :param resource: what ``resources=`` takes.
        :param app: the app's id; the server's own by default.
        :raises ConfigurationError: it can't be served; nothing was added.
        """
        return await self._add(as_definition(resource, "resources"), app)

    async def add_prompt(self, prompt: Any, *, app: str | None = None) -> RegisteredEntry:
        """Add a prompt while the server runs; clients are told that the list changed.

        :param prompt: what ``prompts=`` takes.
        :param app: the app's id; the server's own by default.
        :raises ConfigurationError: it can't be served; nothing was added.
        """
        return await self._add(as_definition(prompt, "prompts"), app)

    async def _add(self, definition: Definition, app: str | None) -> RegisteredEntry:
        entry = self._checked().add(definition, app or self._apps.own.id)
        self._apps.keep(definition, entry.app_id)
        await self._changes.publish(LISTS[entry.list_name])
        return entry

    async def remove_tool(self, name: str) -> None:
        """Remove a tool while the server runs; running calls of it go on, clients are told that the list changed.

        :param name: an exact name, such as its canonical id.
        :raises ConfigurationError: there is no tool of that name.
        """
        await self._remove("tool", name, self.find(name))

    async def remove_resource(self, uri: str) -> None:
        """Remove a resource or a template while the server runs; clients are told that the list changed.

        :param uri: its URI, or the template as it was written.
        :raises ConfigurationError: there is none.
        """
        await self._remove("resource", uri, self._checked().registry.resources_by_uri.get(uri))

    async def remove_prompt(self, name: str) -> None:
        """Remove a prompt while the server runs; clients are told that the list changed.

        :param name: an exact name, such as its canonical id.
        :raises ConfigurationError: there is no prompt of that name.
        """
        await self._remove("prompt", name, self._checked().registry.prompts_by_name.get(name))

    async def _remove(self, noun: str, name: str, entry: RegisteredEntry | None) -> None:
        if entry is None:
            raise ConfigurationError(f'there is no {noun} "{name}" to remove')
        self._checked().remove(entry)
        self._apps.forget(entry.definition)
        await self._changes.publish(LISTS[entry.list_name])

    async def replace_entries(self, app_id: str, gone: Sequence[RegisteredEntry], new: Sequence[Definition]) -> None:
        """Remove and add entries of an app that finds its own, all or none of it; clients are told once of each list.

        :raises ConfigurationError: one can't be served; nothing was changed.
        """
        added = self._checked().replace(gone, new, app_id)
        for what in sorted({LISTS[entry.list_name] for entry in (*gone, *added)}):
            await self._changes.publish(what)

    async def resource_updated(self, uri: str) -> None:
        """Tell the clients that subscribed to a resource that it changed.

        :param uri: exactly as they read it.
        """
        await self._changes.publish(f"resource {uri}")

    async def list_changed(self, name: Literal["tools", "resources", "prompts"]) -> None:
        """Tell clients to list again, where something that frontmcp can't see changed, such as somebody's rights.

        :param name: the list; resources and templates are one.
        :raises ValueError: there is no such list.
        """
        if name not in LISTS.values():
            raise ValueError(f'there is no list "{name}"; there are {", ".join(dict.fromkeys(LISTS.values()))}')
        await self._changes.publish(name)

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Tell ``listener`` what changed, here or in another process; gives a function that stops that.

        :param listener: is given ``"tools"``, ``"resources"``, ``"prompts"``, ``"resource <uri>"``, or
            `frontmcp.interfaces.EVERYTHING`.
        """
        return self._changes.listen(listener)

    # Settling

    def check(self) -> None:
        """Run every check of the start, without serving.

        :raises ConfigurationError: lists every problem at once.
        """
        self._checked()

    def _checked(self) -> Assembly:
        assembly = self._assembly or self._assemble()
        if assembly.problems:
            raise ConfigurationError(assembly.problems)
        return assembly

    def _assemble(self) -> Assembly:
        problems = [
            *self._problems,
            *check_providers(self._given_providers),
            *check_lifespan(self._given_lifespan),
            *self._configuration.read(),
            *problems_of_keys(),
        ]
        self.threads.limit = self.core.thread_limit
        assembly = Assembly(self, self.core, threads=self.threads, providers=self._providers)
        assembly.problems[:0] = problems
        assembly.problems += self._configuration.check_options(assembly.plugins.claims, keywords_of(FrontMcp.__init__))
        self._assembly = assembly
        assembly.fill(self._apps.definitions, self._apps.own.id)
        return assembly

    @property
    def pipeline(self) -> Pipeline:
        """What runs calls; the server is checked first."""
        return self._checked().pipeline

    @property
    def hooks(self) -> PluginManager:
        """The plugins of this server; ``server.hooks.call(name, …)`` calls a hook of a plugin's own."""
        return self._checked().plugins

    @property
    def plugins(self) -> PluginManager:
        """The plugins, also of a server with problems: for reports."""
        return (self._assembly or self._assemble()).plugins

    def entries(self, kind: Kind | None = None) -> list[Any]:
        """The entries, those that belong to others included, in the order they were registered; all kinds when None."""
        return (self._assembly or self._assemble()).registry.entries(kind)

    def tools(self) -> list[ToolEntry]:
        """Whatever is called as a tool."""
        return (self._assembly or self._assemble()).registry.tools

    def find(self, name: str) -> ToolEntry | None:
        """The tool of an exact name, canonical id or listed name."""
        return self._checked().registry.find(name)

    @property
    def state_store(self) -> StateStore:
        """Where kept results and spent states of questions are."""
        if self._state_store is None:
            answered = self.hooks.call("state_store", self.options.get("state_store"))
            self._state_store = answered if answered is not None else MemoryStateStore()
        return self._state_store

    # From inside

    async def emit(self, event: str, payload: Any = None) -> None:
        """Tell plugins, and by them channels, that something happened in the application; returns when they are done.

        :param event: such as ``"ticket.closed"``, or the name of a channel whose source is ``manual``.
        :param payload: what the channels' ``on_event`` takes.
        """
        if (emitted := self.hooks.chain("on_emit")) is not None:
            await emitted(self, event, payload)

    def emit_beside(self, event: str, payload: Any = None) -> None:
        """`emit`, in a task that nobody waits for; among nested events it is as deep as whoever emits it.

        :raises RuntimeError: the server is not running.
        """
        self.background.spawn(self._emit_at, event_depth(), event, payload)

    async def _emit_at(self, depth: int, event: str, payload: Any) -> None:
        with at_event_depth(depth):
            await self.emit(event, payload)

    def call(
        self,
        target: Entry | str,
        arguments: Mapping[str, Any] | None = None,
        *,
        origin: Origin,
        surface: Surface | None = None,
        caller: Caller | None = None,
        request: RequestContext | None = None,
        parent: Call | None = None,
        scope: Mapping[str, Entry] | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Call an entry from a plugin, through the whole road; parameters as those of `PluginCalls.new_call`."""
        call = self.plugin_calls.new_call(
            target,
            arguments,
            origin=origin,
            surface=surface,
            caller=caller,
            request=request,
            parent=parent,
            scope=scope,
        )
        started: Coroutine[Any, Any, Any] = self.pipeline.start(call)
        return started

    # Serving

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The server is started inside: its lifespan and providers, then `server_started`. May be nested."""
        self.check()
        with self._masking():
            async with self.lifetime.used():
                yield

    @contextmanager
    def _masking(self) -> Iterator[None]:
        """In production, so is each `FrontMcp` of this process behind an app, whose errors reach our clients."""
        with ExitStack() as stack:
            for app in self._apps.all if self.production else ():
                if app.upstream is not None and isinstance(app.upstream.target, FrontMcp):
                    stack.enter_context(app.upstream.target._environment.serving_publicly())
            yield

    @property
    def lowlevel(self) -> Server[Any]:
        """The SDK's low-level `Server` beneath, for what frontmcp does not cover."""
        return self.wire.server

    @property
    def wire(self) -> Wire:
        """The SDK's handlers for this server; made once."""
        if self._wire is None:
            self._wire = Wire(self)
        return self._wire

    @property
    def has_other_servers(self) -> bool:
        """Whether some of its entries are found only once it starts: those of other servers."""
        return any(app.upstream is not None for app in self._apps.all)

    @property
    def started(self) -> bool:
        """Whether the server runs."""
        return self.lifetime.has_begun

    def http_options(self, **overrides: Any) -> HttpOptions:
        """The options of the HTTP transport as they hold.

        :raises ConfigurationError: one is unknown or has a wrong value, each named.
        """
        return options_from(self.core.http, overrides)

    def http_app(self, **options: Any) -> Starlette:
        """An ASGI app that serves MCP over streamable HTTP, also mounted in another.

        While it runs, the server is in production unless told otherwise.

        :param options: override those of ``http=``; see `frontmcp.transports.options.HttpOptions`.
        :raises ConfigurationError: the server can't start; lists every problem.
        """
        from frontmcp.transports.http import http_app

        with self._environment.serving_publicly():
            self.check()
            if (missing := missing_keys()) is not None:
                raise ConfigurationError(missing)
            return http_app(self, self.http_options(**options), self._environment.serving_publicly)

    def run(self, transport: Transport = "stdio", **options: Any) -> None:
        """Serve until the client goes away, or until SIGINT or SIGTERM.

        :param transport: ``"stdio"``, or ``"http"`` with the options of `http_app`, ``host`` and ``port`` among them.
        :raises ConfigurationError: the server can't start; lists every problem.
        """
        if transport not in TRANSPORTS:
            raise ConfigurationError(f'run: there is no transport "{transport}"; use "stdio" or "http"')
        if transport == "stdio" and options:
            raise ConfigurationError(
                f'run: {", ".join(sorted(options))} is for HTTP: write run("http", …); stdio takes no options'
            )
        with self._environment.serving_publicly() if transport == "http" else nullcontext():
            configure_logging(self.log_options)
            self.check()
            try:
                run_stdio(self) if transport == "stdio" else self._run_http(options)
            except BaseExceptionGroup as group:
                # What a lifespan raises comes through task groups of ours.
                raise unwrap_group(group) from None

    def _run_http(self, options: Mapping[str, Any]) -> None:
        from frontmcp.transports.http import run_http

        run_http(self, self.http_options(**options))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return missing_attribute(self, name, INSTEAD)
