"""Every hook of the core, in the order in which a server meets them.

``async def`` here fixes the colour: an async hook takes ``def`` and ``async def`` implementations, a sync hook
``def`` only. The kind says how answers combine: *all* implementations run; the *first* that does not answer None
decides; a *wrapper* awaits ``call_next()`` around the rest. Implementations may name any subset of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import pluggy

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

    def mark(target: F) -> F:
        setattr(target, SPEC_ATTRIBUTE, kind)
        return _pluggy_spec(target)

    return mark if function is None else mark(function)


@dataclass(frozen=True, slots=True)
class HookOptions:
    """How an implementation wants to be run; written by `hookimpl`, `Will`, `Did` and `Around`.

    :ivar hook: the hook's name; the function's own when None.
    :ivar option: only for entries that set this option.
    :ivar kinds: only for entries of these kinds; None for all.
    :ivar tools: only for entries whose name or canonical id matches one of these patterns.
    :ivar priority: order inside one plugin, lower first.
    """

    hook: str | None = None
    option: str | None = None
    kinds: tuple[Kind, ...] | None = None
    tools: tuple[str, ...] | None = None
    priority: int = 0
    tryfirst: bool = False
    trylast: bool = False

    @property
    def zone(self) -> int:
        return self.trylast - self.tryfirst


@overload
def hookimpl(function: F, /) -> F: ...
@overload
def hookimpl(
    *,
    specname: str | None = None,
    option: str | None = None,
    kinds: Sequence[Kind] | None = None,
    tools: str | Sequence[str] | None = None,
    priority: int = 0,
    tryfirst: bool = False,
    trylast: bool = False,
) -> Callable[[F], F]: ...
def hookimpl(
    function: F | None = None,
    /,
    *,
    specname: str | None = None,
    option: str | None = None,
    kinds: Sequence[Kind] | None = None,
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
    patterns = (tools,) if isinstance(tools, str) else tools
    options = HookOptions(
        hook=specname,
        option=option,
        kinds=None if kinds is None else tuple(kinds),
        tools=None if patterns is None else tuple(patterns),
        priority=priority,
        tryfirst=tryfirst,
        trylast=trylast,
    )

    def mark(target: F) -> F:
        setattr(target, HOOK_ATTRIBUTE, options)
        return target

    return mark if function is None else mark(function)


@hookspec
def declare_options() -> Iterable[Any] | None:
    """Claim options of entries and of the server, before anything is checked.

    :returns: `Option` objects. `Plugin` answers with its class attribute ``options``.
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
def prepare_entry(entry: Entry) -> None:
    """Write defaults into an entry's options before its plan is made.

    :param entry: its ``options`` may be changed here, and only here.
    """


@hookspec
def settled(server: Any) -> None:
    """The registry has settled: build tables of this plugin's own. Again whenever entries come or go.

    :param server: the `FrontMcp`; ``server.entries(kind)`` lists what is there.
    """


@hookspec
async def server_started(server: Any) -> None:
    """The server is about to serve, in its event loop.

    :param server: the `FrontMcp`.
    """


@hookspec
async def server_stopping(server: Any) -> None:
    """The server has stopped serving; runs even when the server is cancelled.

    :param server: the `FrontMcp`.
    """


@hookspec(kind="first")
async def authenticate(request: Any) -> Caller | None:
    """Tell who is calling, once a request. Needs the operator's word: name the plugin in ``plugins=``.

    :param request: has ``transport``, ``headers``, ``client_ip`` and ``token``.
    :returns: the caller; None lets the next plugin decide, and at last makes the caller anonymous.
    :raises PublicMcpError: the request is refused.
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
async def guard_call(call: Call, call_next: CallNext) -> CallToolResult:
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


@hookspec(kind="first")
def state_store(config: Any) -> Any:
    """The store for kept results and spent states of questions (`frontmcp.interfaces.StateStore`).

    :param config: the server option ``state_store``; None for the default in memory.
    """
