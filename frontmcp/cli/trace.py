"""The tree of nested calls, with the time each stage of the road took.

`Trace` is an ordinary plugin that measures by hooks alone; `tree` draws what it saw. Every hook marks the moment where
its stage begins, and so ends the one before it. The mark is first of its stage when the operator's order says so:
``FrontMcp(plugins=[trace], plugin_order=[Trace.name])``.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from frontmcp.call import Call, CallNext
from frontmcp.errors import FlowControl, FrontMcpError, shorten
from frontmcp.hooks import Plugin
from frontmcp.hookspecs import hookimpl
from frontmcp.pipeline.failures import is_cancellation
from frontmcp.registry import Entry

Stage: TypeAlias = Literal["resolve", "authorize", "guard", "validate", "will", "execute", "did", "format"]

KEY: Final = "frontmcp.trace"
WIDTH: Final = 160
"""Columns where there is no terminal."""


@dataclass(slots=True)
class TracedCall:
    """One call, as it was seen.

    :ivar outcome: ``"ok"``, the code of its error, ``"cancelled"``, ``"kept"`` for one that a retry did not run
        again, or ``"running"``.
    :ivar seconds: how long it took, the calls it made included.
    :ivar stages: seconds by stage, in the order of the journey; a stage that was not reached is absent.
    :ivar calls: the calls it made.
    """

    name: str
    depth: int
    outcome: str = "running"
    seconds: float = 0.0
    stages: dict[Stage, float] = field(default_factory=dict)
    calls: list[TracedCall] = field(default_factory=list)
    _began: float = field(default_factory=time.perf_counter, repr=False)
    _stage: Stage | None = field(default=None, repr=False)
    _since: float = field(default=0.0, repr=False)

    def enter(self, stage: Stage | None) -> None:
        """A stage begins, and the one before it ends; None after the last."""
        now = time.perf_counter()
        if self._stage is not None:
            self.stages[self._stage] = self.stages.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now

    def end(self, outcome: str) -> None:
        """The call is over; a second time only its outcome counts."""
        self.outcome = outcome
        if self._stage is not None or not self.seconds:
            self.enter(None)
            self.seconds = time.perf_counter() - self._began

    def walk(self) -> Iterator[TracedCall]:
        """This call and all below it, in the order they were made."""
        yield self
        for call in self.calls:
            yield from call.walk()


Report: TypeAlias = Callable[[TracedCall], None]


class Trace(Plugin):
    """Measures every call.

    :param report: told of each client call when it has ended.
    :param keep: how many of the last client calls `calls` holds.
    :ivar calls: the client calls that ended, oldest first, with the calls they made.
    """

    name = "frontmcp.trace"

    def __init__(self, report: Report | None = None, *, keep: int = 100) -> None:
        self.calls: deque[TracedCall] = deque(maxlen=keep)
        self._report = report

    @hookimpl(tryfirst=True)
    def resolve_tool(self, name: str, call: Call) -> None:
        _seen(call).enter("resolve")

    @hookimpl(tryfirst=True)
    def entry_visible(self, call: Call, entry: Entry) -> None:
        if not call.listing:
            seen = _seen(call)
            seen.name = entry.name
            seen.enter("resolve")

    @hookimpl(tryfirst=True)
    def check_authorities(self, call: Call) -> None:
        if not call.listing:
            _seen(call).enter("authorize")
            if call.kept:
                _seen(call).outcome = "kept"

    @hookimpl(specname="guard_call", tryfirst=True)
    async def outermost(self, call: Call, call_next: CallNext) -> Any:
        _seen(call).enter("guard")
        try:
            result = await call_next()
        except BaseException as error:
            if is_cancellation(error):
                self._ended(call, "cancelled")
            raise
        self._ended(call, "is_error" if getattr(result, "is_error", False) else "ok")
        return result

    @hookimpl(specname="guard_call", trylast=True)
    async def innermost(self, call: Call, call_next: CallNext) -> Any:
        _seen(call).enter("validate")
        try:
            return await call_next()
        finally:
            _seen(call).enter("guard")

    @hookimpl(tryfirst=True)
    def will_execute(self, call: Call) -> None:
        _seen(call).enter("will")

    @hookimpl(tryfirst=True)
    async def around_execute(self, call: Call, call_next: CallNext) -> Any:
        _seen(call).enter("execute")
        return await call_next()

    @hookimpl(tryfirst=True)
    def did_execute(self, call: Call) -> None:
        _seen(call).enter("did")

    @hookimpl(tryfirst=True)
    def format_result(self, call: Call, value: Any) -> None:
        _seen(call).enter("format")

    @hookimpl(tryfirst=True)
    def on_error(self, call: Call, error: BaseException) -> None:
        self._ended(call, _code(call, error))

    def _ended(self, call: Call, outcome: str) -> None:
        seen = _seen(call)
        seen.end(outcome)
        if call.parent is None:
            self.calls.append(seen)
            if self._report is not None:
                self._report(seen)


def _seen(call: Call) -> TracedCall:
    """What was seen of a call so far; kept with its request, and gone with it."""
    calls: dict[Call, TracedCall] | None = call.request.get(KEY)
    if calls is None:
        calls = {}
        call.request.set(KEY, calls)
    if call not in calls:
        calls[call] = seen = TracedCall(shorten(call.name), call.depth)
        if call.parent is not None:
            _seen(call.parent).calls.append(seen)
    return calls[call]


def _code(call: Call, error: BaseException) -> str:
    """The code that an error leaves its call with."""
    if isinstance(error, FrontMcpError) and (error.public or error is not call.failure):
        return error.code
    failed = isinstance(call.failure, FlowControl) and call.failure.original_error is error
    if call.entry is None or not (failed or error is call.failure):
        return "INTERNAL_ERROR"
    left: FrontMcpError = call.entry.failed(call, error)
    return left.code


def show(call: TracedCall, console: Console | None = None) -> None:
    """Draw the tree of a client call, on stderr unless a console is given."""
    if console is None:
        console = Console(stderr=True)
        console.width = console.width if console.is_terminal else WIDTH
    console.print(tree(call))


def tree(call: TracedCall) -> Tree:
    """A client call and the calls it made, each with its outcome and the milliseconds of its stages."""
    drawn = Tree(_label(call), guide_style="dim")
    for inner in call.calls:
        drawn.add(tree(inner))
    return drawn


def _label(call: TracedCall) -> Text:
    good = call.outcome in ("ok", "kept")
    label = Text.assemble((call.name, "bold"), f"  {_milliseconds(call.seconds)} ms  ")
    label.append(call.outcome, "green" if good else "red")
    stages = " · ".join(f"{stage} {_milliseconds(seconds)}" for stage, seconds in call.stages.items())
    return label.append(f"\n{stages}", "dim") if stages else label


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"
