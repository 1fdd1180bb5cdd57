"""One attempt of a job, and attempts until one is good."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import anyio

from frontmcp import AbortController, Call, FlowControl, FrontMcpError
from frontmcp.errors import AccessDeniedError, describe, log_error, new_error_id, sendable
from frontmcp.interfaces import Answer, Message, ProgressUpdate, Question
from frontmcp.interfaces.jobs import Change, Journal, Outcome, Run, RunError, RunProgress, RunState
from plugins_builtin.jobs.errors import JobTimeoutError

MAX_LINE: Final = 8192
"""How many characters of a message a line of a log has."""

HOPS: Final = "hops"
"""Where the context of a run has how many servers passed on the request that led to it."""

REFUSED: Final = ("AUTHORITY_DENIED", AccessDeniedError.code)

Report = Callable[[RunState, int], Awaitable[None]]


class RunPeer:
    """Stands where a call of a client has the client: what a run says is kept for who asks for it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def close_stream(self) -> None:
        """No stream is open."""

    @property
    def can_ask(self) -> bool:
        return False

    async def progress(self, update: ProgressUpdate) -> None:
        message = None if update.message is None else sendable(update.message)
        told = RunProgress(progress=update.progress, total=update.total, message=message)
        await self._journal.report(Change(progress=told))

    async def notify(self, message: Message) -> None:
        self._journal.log(stamped(f"{message.level}: {message.data}"))

    async def elicited(self, elicitation_id: str) -> None:
        """Nobody was sent anywhere."""

    async def ask(self, question: Question) -> Answer:
        raise NotImplementedError("nobody can be asked")


class SilentPeer(RunPeer):
    """Of a workflow, whose progress is how many of its steps have ended."""

    async def progress(self, update: ProgressUpdate) -> None:
        return None


class RunAttempt:
    """An attempt of a run, as its job sees it.

    :ivar begun: when the run began, of a workflow.
    """

    begun: float

    def __init__(self, server: Any, run: Run, journal: Journal, number: int) -> None:
        self.server, self.run, self.journal, self.number = server, run, journal, number

    @property
    def run_id(self) -> str:
        return self.run.id

    def log(self, message: str) -> None:
        self.journal.log(stamped(message))

    def call(self, entry: Any, peer: type[RunPeer] = RunPeer) -> Call:
        """The call that this attempt is."""
        run = self.run
        call: Call = self.server.plugin_calls.new_call(
            entry, run.input, origin="job", surface="job", caller=run.owner.caller()
        )
        call.request.peer = peer(self.journal)
        call.attempt_of_run = self
        call.depth = run.depth
        if isinstance(hops := run.context.get(HOPS), int):
            call.request.hops = hops
        return call


def check_permitted(call: Call) -> None:
    """Refuse a caller who may not start an entry, by its ``permissions=``.

    :raises AccessDeniedError: they may not.
    """
    entry: Any = call.entry
    if not all(rule.allows(call.caller) for rule in entry.definition.rules_for("execute")):
        raise AccessDeniedError(f'Access denied to {entry.definition.noun} "{entry.id}"')


def stamped(message: Any) -> str:
    """A line of a log, of a bounded length."""
    text = sendable(str(message))
    if len(text) > MAX_LINE:
        text = f"{text[:MAX_LINE]}…"
    return f"[{datetime.now(UTC).isoformat(timespec='milliseconds').replace('+00:00', 'Z')}] {text}"


async def attempt(call: Call, timeout_ms: int) -> dict[str, Any]:
    """Make a call, as an outcome in JSON, and whether another try makes sense."""
    late = AbortController()
    call.follow(late.signal)
    try:
        check_permitted(call)
        with anyio.move_on_after(timeout_ms / 1000):
            result = await call.runner.start(call)
            return {"outcome": {"state": "completed", "result": result}, "again": False}
    except Exception as error:
        refused = error is call.validate() or getattr(error, "code", "") in REFUSED
        return _ended(RunState.FAILED, failed(error, call), again=not refused)
    timed_out = JobTimeoutError(call.name, timeout_ms)
    late.abort(timed_out)
    return _ended(RunState.TIMED_OUT, failed(timed_out, call), again=True)


def reporting(journal: Journal) -> Report:
    """Tells the engine how the attempts of a job go."""

    async def report(state: RunState, number: int) -> None:
        await journal.report(Change(state=state, attempt=number))

    return report


def _ended(state: RunState, error: RunError, *, again: bool) -> dict[str, Any]:
    return {"outcome": Outcome(state=state, error=error).model_dump(mode="json"), "again": again}


def failed(error: BaseException, call: Call | None = None) -> RunError:
    """An error as it is kept, told to the log."""
    if isinstance(error, FlowControl):
        error = error.original_error or error
    if not isinstance(error, FrontMcpError):
        error = call.entry.failed(call, error) if call is not None and call.entry is not None else error
    error_id = new_error_id()
    if isinstance(error, FrontMcpError):
        log_error(error, error_id, None if call is None else call.log_fields)
    return as_kept(error, error_id)


def as_kept(error: BaseException, error_id: str) -> RunError:
    """An error as it is kept.

    :param error_id: under which the log has it.
    """
    name = type(getattr(error, "original_error", None) or error).__name__
    if isinstance(error, FrontMcpError):
        said = sendable(error.text)
        return RunError(message=said, name=name, code=error.code, public=error.public, error_id=error_id)
    return RunError(message=sendable(describe(error)), name=name, error_id=error_id)


class Tried(NamedTuple):
    """How trying ended, and between when, in seconds since the epoch: also of attempts before a restart."""

    outcome: Outcome
    started_at: float
    completed_at: float


async def tried(
    once: Callable[[int], Awaitable[dict[str, Any]]],
    retry: Any,
    journal: Journal,
    report: Report,
    prefix: str = "",
) -> Tried:
    """Try until an attempt is good, or there are none left.

    :param once: makes an attempt; its result is kept, so that it is not made again.
    :param prefix: of the keys of steps in the journal.
    """
    number, started_at = 1, 0.0

    async def timed(number: int) -> dict[str, Any]:
        return {"started_at": time.time(), **await once(number), "completed_at": time.time()}

    while True:
        await report(RunState.RUNNING, number)
        ended = await journal.step(f"{prefix}attempt {number}", _of(timed, number))
        started_at = started_at or ended["started_at"]
        outcome = Outcome.model_validate(ended["outcome"])
        if not ended["again"] or number >= retry.max_attempts:
            return Tried(outcome, started_at, ended["completed_at"])
        await report(RunState.RETRYING, number)
        delay = retry.delay(number)
        until = await journal.step(f"{prefix}wait {number}", _of(_after, delay))
        # The clock may have been set back while the process was not there.
        await anyio.sleep(max(0.0, min(until - time.time(), delay)))
        number += 1


def keys(prefix: str, max_attempts: int) -> list[str]:
    """The keys that `tried` may use."""
    return [f"{prefix}{what} {number}" for number in range(1, max_attempts + 1) for what in ("attempt", "wait")]


def _of(function: Callable[[Any], Awaitable[Any]], argument: Any) -> Callable[[], Awaitable[Any]]:
    return lambda: function(argument)


async def _after(seconds: float) -> float:
    return time.time() + seconds
