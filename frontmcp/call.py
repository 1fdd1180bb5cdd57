"""What a call is: who calls (`Caller`), in which request (`RequestContext`), and the call itself (`Call`).

The Protocols at the end keep the layers apart: a call knows its `Entry`, its `Runner` and, through the
request, its `Peer`, without knowing the registry, the pipeline or a transport.
"""

from __future__ import annotations

import copy
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    NoReturn,
    Protocol,
    SupportsFloat,
    TypeAlias,
    TypeVar,
    final,
    get_args,
)

from mcp_types import CreateMessageResultWithTools, TextContent

from frontmcp.abort import AbortController, AbortSignal
from frontmcp.errors import FrontMcpError, InvalidInputError, Response, shorten

if TYPE_CHECKING:
    from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult

Kind: TypeAlias = Literal["tool", "resource", "resource_template", "prompt", "agent", "job", "workflow", "channel"]
Origin: TypeAlias = Literal["client", "tool", "resource", "prompt", "agent", "job", "channel"]
Sought: TypeAlias = Literal["tool", "resource", "prompt", "job", "workflow", "channel"]
Surface: TypeAlias = Literal["mcp", "agent", "job", "http-trigger", "cli"]
Asked: TypeAlias = Literal["elicitation/create", "sampling/createMessage", "roots/list"]
Level: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
CallNext: TypeAlias = Callable[[], Awaitable[Any]]
"""The rest of a stage, as a wrapper hook sees it: ``await call_next()``."""

LEVELS: Final[tuple[str, ...]] = get_args(Level)
"""The levels of messages, the least first."""

T = TypeVar("T")
PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types whose values nobody can change."""

NUMBERS: Final = frozenset({int, float})

_UNSET: Final[Any] = object()


@dataclass(frozen=True, slots=True)
class User:
    """The person or service behind a caller."""

    sub: str
    name: str | None = None
    email: str | None = None


@final
@dataclass(frozen=True)
class Caller:
    """Who is calling: an explicit, immutable value on every call, never shared through a session.

    :param sub: the identity, unique for its issuer.
    :param roles: what `has_role` looks at; likewise ``permissions`` and ``scopes``.
    :param claims: everything else that is known, as the token had it.
    :param token: the bearer token; never shown in a repr, never logged.
    :param is_anonymous: nobody proved who they are.
    """

    sub: str
    roles: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    name: str | None = None
    email: str | None = None
    token: str | None = field(default=None, repr=False, kw_only=True)
    is_anonymous: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("roles", "permissions", "scopes"):
            if not isinstance(value := getattr(self, name), tuple):
                object.__setattr__(self, name, tuple(value))

    @classmethod
    def anonymous(cls) -> Caller:
        """A caller of whom nothing is known, told apart from any other by its ``anon:`` id."""
        # A version 4 UUID, written without the detour over an object of its own: one is made for every request.
        digits = os.urandom(16).hex()
        sub = f"anon:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
        return cls(sub, is_anonymous=True)

    @cached_property
    def user(self) -> User:
        """Who that is: ``sub``, ``name`` and ``email`` by themselves."""
        return User(self.sub, self.name, self.email)

    @property
    def issuer(self) -> str | None:
        """Who says so: the claim ``iss``; None when there is none."""
        issuer = self.claims.get("iss")
        return issuer if isinstance(issuer, str) else None

    @property
    def key(self) -> str:
        """The identity that state is bound to: issuer and sub; anonymous callers count as one."""
        return "anonymous" if self.is_anonymous else f"{self.issuer or ''}|{self.sub}"

    def has_role(self, *names: str) -> bool:
        """Whether the caller has at least one of the roles."""
        return not set(names).isdisjoint(self.roles)

    def has_permission(self, *names: str) -> bool:
        """Whether the caller has at least one of the permissions."""
        return not set(names).isdisjoint(self.permissions)

    def has_scope(self, *names: str) -> bool:
        """Whether the caller has at least one of the scopes."""
        return not set(names).isdisjoint(self.scopes)


@dataclass(slots=True)
class ProgressUpdate:
    """One progress update on its way to the client; `on_progress` hooks may change it.

    :param progress: how far; grows with every update of a request.
    :param total: what ``progress`` ends at, when known.
    """

    progress: float
    total: float | None = None
    message: str | None = None

    def check(self) -> None:
        """Refuse what no client could be told.

        :raises TypeError: what is to be a number or a text is none.
        """
        _check_number("progress", self.progress)
        if self.total is not None:
            _check_number("total", self.total)
        if not isinstance(self.message, str | None):
            raise TypeError(f"progress: message must be text, not {type(self.message).__name__}")


def _check_number(name: str, value: Any) -> None:
    if type(value) not in NUMBERS and not isinstance(value, SupportsFloat):
        raise TypeError(f"progress: {name} must be a number, not {type(value).__name__}")


@dataclass(slots=True)
class Message:
    """One log message on its way to the client; `on_notify` hooks may change it.

    :param data: any JSON value.
    :param level: a syslog level, ``"info"`` by default.
    :param logger: who speaks: the entry's name.
    """

    data: Any
    level: Level = "info"
    logger: str | None = None

    def check(self) -> None:
        """Refuse what no client would understand.

        :raises ValueError: there is no such level.
        """
        if self.level not in LEVELS:
            raise ValueError(f"notify: there is no such level; use {', '.join(LEVELS)}")


@dataclass(frozen=True, slots=True)
class Question:
    """What the client, or its user, is asked.

    :param method: of the protocol: ``elicitation/create``, ``sampling/createMessage`` or ``roots/list``.
    :param params: of the method, as JSON data.
    :param requires: the client capabilities that it takes, such as ``{"sampling": {}}``.
    :param key: names it among the questions of a round (2026-07-28); made up by default.
    """

    method: Asked
    params: Mapping[str, Any]
    requires: Mapping[str, Any]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client answered to a `Question`.

    :param data: the method's result, as JSON data that nobody has checked.
    """

    data: Mapping[str, Any]


class SamplingResult(CreateMessageResultWithTools):
    """What the client's model said: ``role``, ``content``, ``model`` and ``stop_reason``."""

    @property
    def text(self) -> str:
        """The text in it; empty where there is none."""
        return "\n".join(block.text for block in self.content_as_list if isinstance(block, TextContent))


@dataclass(frozen=True, slots=True)
class Accepted(Generic[T]):
    """The user agreed; ``data`` is the validated form."""

    data: T


@dataclass(frozen=True, slots=True)
class Declined:
    """The user said no."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The user closed the question without an answer."""


@final
class RequestContext:
    """One client request: the same object in every call made on its behalf, and in no other request.

    Made by transports and `create_direct`, which fill in what they know of the client.

    :param caller: who sent it.
    :param transport: ``"stdio" | "http" | "memory" | "direct"``.
    :ivar peer: the client as a call sees it; None where there is none.
    :ivar trace_context: ``traceparent``, ``tracestate`` and ``baggage`` as the client sent them.
    """

    # What a request without it shares: a request is made on every call, so only what differs is set.
    session_id: str | None = None
    protocol_version: str | None = None
    client_info: Any = None
    client_capabilities: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    client_ip: str | None = None
    trace_context: Mapping[str, str] = MappingProxyType({})
    peer: Peer | None = None
    highest_progress: float | None = None
    asking: Asking | None = None
    provided: dict[type, Any] | None = None
    _request_id: str | None = None
    _started_at: datetime | None = None
    _values: dict[str, Any] | None = None
    _controller: AbortController | None = None

    def __init__(self, caller: Caller, transport: str = "direct") -> None:
        self.caller = caller
        self.transport = transport
        self._started = time.monotonic()

    @property
    def request_id(self) -> str:
        """The id of the request in logs; made at its first use when the transport brought none."""
        if self._request_id is None:
            self._request_id = uuid.uuid4().hex
        return self._request_id

    @property
    def started_at(self) -> datetime:
        """When the request began, in UTC."""
        if self._started_at is None:
            self._started_at = datetime.now(UTC) - timedelta(seconds=self.elapsed())
        return self._started_at

    def elapsed(self) -> float:
        """Seconds since the request began."""
        return time.monotonic() - self._started

    @property
    def signal(self) -> AbortSignal:
        """Aborted when the client cancels or goes away."""
        return self._abort_controller().signal

    def abort(self, reason: object = "The client cancelled the request") -> None:
        """Abort `signal`; transports call it when the client cancels or goes away."""
        self._abort_controller().abort(reason)

    def _abort_controller(self) -> AbortController:
        if self._controller is None:
            self._controller = AbortController()
        return self._controller

    def offers(self, required: Mapping[str, Any]) -> bool:
        """Whether the client declared the capabilities that are required, such as ``{"sampling": {}}``.

        A client that declared ``elicitation`` and no mode of it offers ``{"elicitation": {"form": {}}}``.
        """
        if self.client_capabilities is None:
            return False
        offered = self.client_capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
        if offered.get("elicitation") == {}:
            offered["elicitation"] = {"form": {}}
        return _covers(offered, required)

    def get(self, key: str, default: Any = None) -> Any:
        """A value that a hook or a call of this request `set`."""
        return default if self._values is None else self._values.get(key, default)

    def set(self, key: str, value: Any) -> None:
        """Keep a value for the other calls and hooks of this request."""
        if self._values is None:
            self._values = {}
        self._values[key] = value

    def has(self, key: str) -> bool:
        """Whether a value was `set`, None included."""
        return self._values is not None and key in self._values

    def delete(self, key: str) -> bool:
        """Forget a value; whether there was one."""
        return self._values is not None and self._values.pop(key, _UNSET) is not _UNSET


def _covers(offered: Any, required: Mapping[str, Any]) -> bool:
    return isinstance(offered, Mapping) and all(
        name in offered and _covers(offered[name], parts) for name, parts in required.items()
    )


class Undecided(FrontMcpError):
    """A policy asked a listing for the call's input, which only a call has: the entry is listed."""

    code = "UNDECIDED"


@final
class Call:
    """One call on its journey: what every hook is given. Made by the pipeline.

    :ivar runner: runs further calls on this one's behalf.
    :ivar request: the client request it belongs to; ``call.context`` of a tool.
    :ivar entry: what is called; None in `on_error` for a name that was not found.
    :ivar kind: what was asked for: a ``tool`` (agents are tools), a ``resource``, a ``prompt``, a ``job``, a
        ``workflow`` or a ``channel``.
    :ivar name: the spelling that was asked for; the URI of a resource.
    :ivar arguments: as they were sent, not validated.
    :ivar output: the raw value, in `did_execute`; hooks may change it.
    :ivar origin: who made the call: ``client | tool | resource | prompt | agent | job | channel``.
    :ivar surface: where it comes from: ``mcp | agent | job | http-trigger | cli``; None inside the server.
    :ivar parent: the call whose body made this one; None for a client's.
    :ivar depth: 0 for a client's call.
    :ivar attempt: how often the client was asked something before, on this request (architecture §7).
    :ivar listing: the call only asks whether the entry may be listed; it has no arguments.
    :ivar scope: the entries that can be found, by name; None for the whole server. Inner calls inherit it.
    :ivar attempt_of_run: for a job or workflow, the attempt of the run that this call is.
    :ivar context: of the body, once that has begun.
    :ivar orphans: threads of the body that ran on when the call was cancelled.
    """

    # What most calls have in common: a call is made on every call, so only what differs is set.
    kind: Sought = "tool"
    origin: Origin = "client"
    surface: Surface | None = None
    parent: Call | None = None
    depth = 0
    progress_token: str | int | None = None
    scope: Mapping[str, Entry] | None = None
    attempt = 0
    listing = False
    entry: Any = None
    output: Any = None
    context: Any = None
    orphans: tuple[Orphan, ...] = ()
    attempt_of_run: Attempt | None = None

    # What follows belongs to the pipeline.
    budget: AbortSignal | None = None
    plan: Any = None
    failure: BaseException | None = None
    baseline: Any = None
    kept = False
    record: Any = None
    done_once: Any = None
    runs = 0
    executions = 0
    _input: Any = _UNSET
    _invalid: InvalidInputError | None = None
    _signal: AbortSignal | None = None

    def __init__(
        self, runner: Runner, request: RequestContext, name: str, arguments: Mapping[str, Any], caller: Caller
    ) -> None:
        self.runner = runner
        self.request = request
        self.name = name
        self.arguments = arguments
        self.caller = caller

    def inner(self, name: str, arguments: Mapping[str, Any], origin: Origin, surface: Surface | None) -> Call:
        """A call that this one's body makes: the same caller, in the same request."""
        call = Call(self.runner, self.request, name, arguments, self.caller)
        call.origin = origin
        call.surface = surface
        call.parent = self
        call.depth = self.depth + 1
        if self.scope is not None:
            call.scope = self.scope
        if self.attempt:
            call.attempt = self.attempt
        return call

    @property
    def input(self) -> Any:
        """The validated input: a dict of typed values, or the model where the tool asked for one.

        Validation runs at the first reader. `will_execute` hooks may assign a new value.

        :raises InvalidInputError: the arguments do not fit; a policy that needs input thus refuses.
        :raises Undecided: while listing, where there is no input.
        """
        if self._input is _UNSET:
            self.validate()
            if self._invalid is not None:
                raise self._invalid
        return self._input

    @input.setter
    def input(self, value: Any) -> None:
        self._input = value

    def validate(self) -> InvalidInputError | None:
        """Validate the arguments unless that was done; the error, if they do not fit."""
        if self._input is _UNSET and self._invalid is None:
            if self.listing:
                raise Undecided("A listing has no input")
            try:
                self._input = self.entry.validate(self.pristine_arguments())
            except InvalidInputError as error:
                self._invalid = error
        return self._invalid

    def pristine_arguments(self) -> Mapping[str, Any]:
        """The arguments, out of reach of a body that changes them where the call may run again."""
        plan = self.plan
        if (
            plan is None
            or (plan.around is None and plan.guard is None)
            or PLAIN.issuperset(map(type, self.arguments.values()))
        ):
            return self.arguments
        try:
            return copy.deepcopy(self.arguments)
        except Exception:
            return self.arguments

    def restart(self) -> None:
        """Forget what an earlier run left, for a guard that runs the call again."""
        self._input = _UNSET
        self._invalid = None
        self.output = None
        self.context = None
        self.executions = 0

    @property
    def signal(self) -> AbortSignal:
        """The caller's signal, or the sooner of it and the call's own budget."""
        if self._signal is None:
            outer = self.parent.signal if self.parent is not None else self.request.signal
            self._signal = outer if self.budget is None else AbortSignal.any(self.budget, outer)
        return self._signal

    def follow(self, signal: AbortSignal) -> None:
        """Let `signal` be aborted by this one too: for a plugin that gives the call a budget."""
        self.budget = signal if self.budget is None else AbortSignal.any(signal, self.budget)
        self._signal = None

    def abandon(self, orphan: Orphan) -> None:
        """A thread of the body runs on though nobody waits for it."""
        self.orphans = (*self.orphans, orphan)

    def unlink_signal(self) -> None:
        """Let go of the caller's signal once the call has ended."""
        if self.budget is not None and self._signal is not None:
            self._signal.unlink()

    @property
    def server(self) -> Any:
        """The `FrontMcp` the call runs on."""
        return self.runner.server

    @property
    def path(self) -> str:
        """``a → b → c``, from the client's call to this one."""
        own = self.entry.name if self.entry is not None else shorten(self.name)
        return own if self.parent is None else f"{self.parent.path} → {own}"

    @property
    def log_fields(self) -> dict[str, str]:
        """What every log record of this call carries: never its arguments."""
        return {"request_id": self.request.request_id, "caller": self.caller.sub, "path": self.path}

    def respond(self, value: Any) -> NoReturn:
        """Answer with ``value`` instead of executing: for `will_execute` hooks.

        Skips the remaining will hooks, the around hooks, execute and did; the value is formatted.
        """
        raise Response(value)

    def format(self, value: Any) -> Any:
        """The core's own result for a value, checked against the entry's output schema.

        :raises InvalidOutputError: the value does not match, or is no JSON.
        """
        return self.entry.format(self, value)

    def __repr__(self) -> str:
        return f"<Call {self.path} of {self.caller.sub}>"


class Entry(Protocol):
    """Something that can be called, as a call and its hooks see it."""

    kind: Kind
    name: str
    app_id: str
    options: dict[str, Any]

    @property
    def id(self) -> str:
        """The canonical id, ``<app id>:<name>``."""
        ...

    def validate(self, arguments: Mapping[str, Any]) -> Any:
        """Typed input from arguments; raises `InvalidInputError`."""
        ...

    def format(self, call: Call, value: Any) -> Any:
        """The protocol's result for a raw value; raises `InvalidOutputError`."""
        ...


class Orphan(Protocol):
    """A thread that runs on though nobody waits for its result."""

    def when_ended(self, callback: Callable[[], object]) -> None:
        """Run ``callback`` when the thread has ended, in that thread; at once when it has."""
        ...


class Attempt(Protocol):
    """An attempt of a run, as the job that it runs sees it."""

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def number(self) -> int:
        """Which attempt it is, from 1."""
        ...

    def log(self, message: str) -> None:
        """Add a line to the run's log; from any thread, without waiting."""
        ...


class Peer(Protocol):
    """The client, as a call sees it."""

    async def progress(self, update: ProgressUpdate) -> None:
        """Send a progress update on the request's own stream."""
        ...

    async def notify(self, message: Message) -> None:
        """Send a log message, where the client asked for its level."""
        ...

    async def close_stream(self) -> None:
        """Close the stream of the request, where the client can fetch later what it then misses."""
        ...

    @property
    def can_ask(self) -> bool:
        """Whether there is a way to ask the client anything (protocol versions up to 2025-11-25)."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Ask the client and wait for the answer (protocol versions up to 2025-11-25).

        :raises ClientAnswerError: it answered with an error, or with something else than was asked for.
        """
        ...

    async def elicited(self, elicitation_id: str) -> None:
        """Tell the client that what a user was sent to a URL for is done (2025-11-25)."""
        ...


class Asking(Protocol):
    """Asks by suspending the request (protocol version 2026-07-28 on); see `frontmcp.asking`."""

    async def ask(self, call: Call, question: Question) -> Answer:
        """The answer, or no return: the request is suspended until the client brings it."""
        ...

    async def leave(self, answer: Callable[[str], Awaitable[Mapping[str, Any]]]) -> NoReturn:
        """Leave the request: its body is unwound, and the client gets what ``answer`` gives.

        :param answer: given the state with which `FrontMcp.resumed_call` goes on elsewhere.
        """
        ...

    def inner(self, call: Call, runner: Any) -> Coroutine[Any, Any, Any]:
        """The kept outcome of an inner call that finished in an earlier attempt, else that of running it."""
        ...

    async def once(self, call: Call, key: str, function: Callable[[], Any]) -> Any:
        """The kept result of ``function``, else its own."""
        ...


class Runner(Protocol):
    """Runs calls on behalf of a call: what a context's methods lead to."""

    @property
    def server(self) -> Any: ...

    def start(self, call: Call) -> Coroutine[Any, Any, Any]: ...

    def call_tool(
        self,
        parent: Call,
        name: str,
        arguments: Mapping[str, Any] | None,
        *,
        signal: AbortSignal | None,
        progress_token: str | int | None,
    ) -> Coroutine[Any, Any, CallToolResult]: ...

    def read_resource(self, parent: Call, uri: str) -> Coroutine[Any, Any, ReadResourceResult]: ...

    def get_prompt(
        self, parent: Call, name: str, arguments: Mapping[str, Any] | None
    ) -> Coroutine[Any, Any, GetPromptResult]: ...

    def progress(self, call: Call, update: ProgressUpdate) -> Coroutine[Any, Any, None]: ...

    def notify(self, call: Call, message: Message) -> Coroutine[Any, Any, None]: ...

    def ask(self, call: Call, question: Question) -> Coroutine[Any, Any, Answer]: ...

    def once(self, call: Call, key: str, function: Callable[[], Any]) -> Coroutine[Any, Any, Any]: ...

    def provide(self, call: Call, type_: type[Any]) -> Any: ...
