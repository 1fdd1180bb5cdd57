"""`Call`: one call on its journey."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, NoReturn, final

from frontmcp.abort import AbortSignal
from frontmcp.call.caller import Caller
from frontmcp.call.kinds import Origin, Sought, Surface
from frontmcp.call.protocols import Attempt, Entry, Orphan, Runner
from frontmcp.call.request import RequestContext
from frontmcp.errors import FrontMcpError, InvalidInputError, Response, shorten

PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types whose values nobody can change."""

_UNSET: Final[Any] = object()


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
    returned: Any = None
    replaced_in: str | None = None
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
        self.replaced_in = None
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
        """Let go of the caller's signal once the call has ended; a thread that runs on has nothing else to see."""
        if self.budget is not None and self._signal is not None and not self.orphans:
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
