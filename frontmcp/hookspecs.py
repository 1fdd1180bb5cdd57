"""Every hook of the core, in the order in which a server meets them.

``async def`` here fixes the colour: an async hook takes ``def`` and ``async def`` implementations, a sync hook
``def`` only. The kind says how answers combine: *all* implementations run; the *first* that does not answer None
decides; a *wrapper* awaits ``call_next()`` around the rest. Implementations may name any subset of the arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import pluggy

from frontmcp.arguments import known_keywords
from frontmcp.errors import ConfigurationError

if TYPE_CHECKING:
    from mcp_types import CallToolResult
    from starlette.routing import BaseRoute

    from frontmcp.call import Call, Caller, CallNext, Kind, Message, ProgressUpdate
    from frontmcp.registry import Entry

PROJECT = "frontmcp"
SPEC_ATTRIBUTE = "__frontmcp_spec__"
HOOK_ATTRIBUTE = "__frontmcp_hook__"

HookKind: TypeAlias = Literal["all", "first", "wrapper"]
F = TypeVar("F", bound=Callable[..., Any])

_pluggy_spec = pluggy.HookspecMarker(PROJECT)


@overload
def hookspec(function: F, /) -> F: ...
@overload
def hookspec(*, kind: HookKind = "all") -> Callable[[F], F]: ...
def hookspec(function: F | None = None, /, *, kind: HookKind = "all") -> F | Callable[[F], F]:
    """Mark a function as the specification of a hook; plugins bring their own by `register_hookspecs`.

    :param kind: how the answers of its implementations combine.
    """

    def specify(target: F) -> F:
        setattr(target, SPEC_ATTRIBUTE, kind)
        return _pluggy_spec(target)

    return specify if function is None else specify(function)


class HookOptions(NamedTuple):
    """How an implementation wants to be run; written by `hookimpl`, `Will`, `Did` and `Around`.

    :ivar hook: the hook's name; the function's own when None.
    :ivar option: only for entries that set this option.
    :ivar kinds: only for entries of these kinds; None for all.
    :ivar tools: only for entries whose name or canonical id matches one of these patterns.
    :ivar priority: order inside one plugin, lower first.
    :ivar zone: -1 before other plugins, 1 after them.
    """

    hook: str | None
    option: str | None
    kinds: tuple[str, ...] | None
    tools: tuple[str, ...] | None
    priority: int
    zone: int

    @property
    def narrows(self) -> bool:
        """Whether it leaves some entries out."""
        return self.option is not None or self.kinds is not None or self.tools is not None


def hook_options(
    hook: str | None,
    *,
    option: str | None,
    kinds: str | Sequence[str] | None,
    tools: str | Sequence[str] | None,
    priority: int,
    tryfirst: bool,
    trylast: bool,
) -> HookOptions:
    """`HookOptions` of what a decorator was given.

    :raises ConfigurationError: it is to run both first and last.
    """
    if tryfirst and trylast:
        raise ConfigurationError("a hook can't be both tryfirst and trylast; drop one")
    return HookOptions(hook, option, _names(kinds), _names(tools), priority, trylast - tryfirst)


def _names(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return (given,) if isinstance(given, str) else None if given is None else tuple(given)


def mark(function: F, options: HookOptions) -> F:
    """Mark a function as a hook.

    :raises ConfigurationError: it is no function, or is marked already.
    """
    if not inspect.isroutine(function):
        raise ConfigurationError(f"a hook is a function, not {function!r}")
    if hasattr(function, HOOK_ATTRIBUTE):
        raise ConfigurationError(f"{function.__qualname__} is marked as a hook twice; write one function for each hook")
    setattr(function, HOOK_ATTRIBUTE, options)
    return function


@overload
def hookimpl(function: F, /) -> F: ...
@overload
def hookimpl(
    *,
    specname: str | None = None,
    option: str | None = None,
    kinds: Kind | Sequence[Kind] | None = None,
    tools: str | Sequence[str] | None = None,
    priority: int = 0,
    tryfirst: bool = False,
    trylast: bool = False,
) -> Callable[[F], F]: ...
@known_keywords
def hookimpl(
    function: F | None = None,
    /,
    *,
    specname: str | None = None,
    option: str | None = None,
    kinds: Kind | Sequence[Kind] | None = None,
    tools: str | Sequence[str] | None = None,
    priority: int = 0,
    tryfirst: bool = False,
    trylast: bool = False,
) -> F | Callable[[F], F]:
    """Mark a plugin's function as the implementation of the hook it is named after.

    :param specname: the hook's name, where the function is called otherwise.
    :param option: run for entries that set this option, and be absent from the plan of all others.
    :param kinds: run for entries of these kinds; all by default.
    :param tools: run for entries whose name or canonical id matches, like ``"billing_*"``.
    :param priority: order inside this plugin, lower first.
    :param tryfirst: run before those of other plugins; ``trylast`` after them.
    """
    options = hook_options(
        specname, option=option, kinds=kinds, tools=tools, priority=priority, tryfirst=tryfirst, trylast=trylast
    )
    return (lambda target: mark(target, options)) if function is None else mark(function, options)


class Spec(NamedTuple):
    """A hook that exists.

    :ivar names: its arguments, ``call_next`` last for a wrapper.
    """

    name: str
    kind: HookKind
    is_async: bool
    names: tuple[str, ...]

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(self.names)})"

    @property
    def has_entry(self) -> bool:
        """Whether it runs for an entry that is known by then, so that it can be narrowed to some."""
        return ("call" in self.names or "entry" in self.names) and self.name != "resolve_tool"


def read_specs(namespace: Any) -> Iterator[Spec]:
    """The hooks that a module, class or object specifies."""
    for name in dir(namespace):
        function = getattr(namespace, name)
        kind = getattr(function, SPEC_ATTRIBUTE, None)
        if isinstance(kind, str):
            names = tuple(each for each in inspect.signature(function).parameters if each != "self")
            yield Spec(name, kind, inspect.iscoroutinefunction(function), names)  # type: ignore[arg-type]


@hookspec
def declare_options() -> Iterable[Any] | None:
    """Claim options of entries and of the server that are known only now, before anything is checked.

    :returns: `Option` objects, beside those in the plugin's attribute ``options``.
    """


@hookspec
def register_hookspecs(manager: Any) -> None:
    """Add hooks of this plugin's own, which other plugins may then implement.

    :param manager: call ``manager.add_hookspecs(module_or_class)``.
    """


@hookspec
def provide_entries(server: Any) -> Iterable[Any] | None:
    """Add tools, resources, prompts, once, when the server is set up.

    :param server: the `FrontMcp`.
    :returns: definitions, or what they decorate.
    """


@hookspec
def provide_routes(server: Any) -> Sequence[BaseRoute] | None:
    """Add Starlette routes beside the MCP endpoint, once, when the HTTP app is built.

    :param server: the `FrontMcp`.
    """


@hookspec
def provide_extensions(server: Any) -> Iterable[Any] | None:
    """Add extensions of the protocol, for clients of 2026-07-28 on that declare them.

    :param server: the `FrontMcp`.
    :returns: `frontmcp.interfaces.extensions.Extension` objects.
    """


@hookspec
def prepare_entry(entry: Entry, server: Any) -> None:
    """Write defaults into an entry's options before its plan is made.

    :param entry: its ``options`` may be changed here, and only here.
    :param server: the `FrontMcp`; its ``options`` hold.
    """


@hookspec
def settled(server: Any) -> None:
    """The registry has settled: build tables of this plugin's own. Again whenever entries come or go.

    :param server: the `FrontMcp`; ``server.entries(kind)`` lists what is there.
    """


@hookspec
async def server_started(server: Any) -> None:
    """The server is about to serve, in its event loop; ``server.background.spawn(…)`` starts what runs beside it.

    :param server: the `FrontMcp`.
    """


@hookspec
async def server_stopping(server: Any) -> None:
    """The server has stopped serving; runs even when the server is cancelled. Background tasks still run.

    :param server: the `FrontMcp`.
    """


@hookspec(kind="first")
async def authenticate(request: Any) -> Caller | None:
    """Tell who is calling, once a request. Needs the operator's word: name the plugin in ``plugins=``.

    :param request: has ``transport``, ``headers``, ``client_ip`` and ``token``.
    :returns: the caller; None lets the next plugin decide, and at last makes the caller anonymous.
    :raises PublicMcpError: the request is refused; with `AuthenticationError`, by a 401 or 403 over HTTP.
    """


@hookspec(kind="first")
def resolve_tool(name: str, call: Call) -> Entry | str | None:
    """Find the tool for a spelling that is no exact name. It finds and never hides.

    :param name: as it was asked for.
    :param call: without an entry yet.
    :returns: an entry, or the exact name of one; None lets the next plugin decide.
    """


@hookspec
def entry_visible(call: Call, entry: Entry) -> bool | None:
    """Whether a call may see an entry; any False answers as if the entry did not exist.

    Lists and calls ask the same question; ``call.listing`` tells them apart.

    :param call: who asks, from which surface.
    :param entry: what may be seen.
    """


@hookspec
async def check_authorities(call: Call) -> None:
    """Refuse a call by raising, before anything of it runs.

    Lists ask too, entry by entry, with ``call.listing`` set; reading ``call.input`` then leaves the entry listed.

    :param call: ``call.caller`` is who wants to call ``call.entry``.
    :raises PublicMcpError: the caller may not.
    """


@hookspec(kind="wrapper")
async def guard_call(call: Call, call_next: CallNext) -> Any:
    """Hold or refuse a call that is authorized: rate limits, slots. Surrounds validation and everything after.

    :param call: the call.
    :param call_next: runs it, and gives its result.
    """


@hookspec
async def will_execute(call: Call) -> None:
    """Just before execution: change ``call.input``, or answer with ``call.respond(value)``.

    :param call: with validated input.
    """


@hookspec(kind="wrapper")
async def around_execute(call: Call, call_next: CallNext) -> Any:
    """Surround execution: time it, answer without it, run it again, replace its value.

    :param call: the call.
    :param call_next: executes, and gives the raw value; a second time starts from the validated input again.
    :returns: the raw value.
    """


@hookspec
async def did_execute(call: Call) -> None:
    """Just after execution succeeded: change ``call.output``.

    :param call: with output.
    """


@hookspec(kind="first")
def format_result(call: Call, value: Any) -> CallToolResult | None:
    """Turn the raw value into the result; the core checks it against the output schema.

    :param call: the call.
    :param value: what executing it gave.
    """


@hookspec
async def on_progress(call: Call, update: ProgressUpdate) -> None:
    """A progress update of any call is on its way to the client; change it, or raise to stop it.

    :param call: who reports.
    :param update: what.
    """


@hookspec
async def on_notify(call: Call, message: Message) -> None:
    """A log message of any call is on its way to the client; change it, or raise to stop it.

    :param call: who speaks.
    :param message: what.
    """


@hookspec
async def on_error(call: Call, error: BaseException) -> None:
    """Observe an error, once per level, as it was raised there. What this raises is logged and changes nothing.

    :param call: its ``entry`` is None when no entry was found.
    :param error: as raised: for ``self.fail(x)`` it is x.
    """


@hookspec
async def on_emit(server: Any, event: str, payload: Any) -> None:
    """Something happened in the application: somebody called ``server.emit(event, payload)``.

    :param server: the `FrontMcp`.
    :param event: its name.
    :param payload: what is known of it.
    """


@hookspec(kind="first")
def state_store(config: Any) -> Any:
    """The store for kept results and spent states of questions (`frontmcp.interfaces.StateStore`).

    :param config: the server option ``state_store``; None for the default in memory.
    """


@hookspec(kind="first")
def change_bus(config: Any, server: Any) -> Any:
    """What tells the other processes of a server of changes (`frontmcp.interfaces.ChangeBus`); none by default.

    :param config: the server option ``change_bus``; None when it is not set.
    :param server: the `FrontMcp`; servers of other names hear nothing of its changes.
    """
