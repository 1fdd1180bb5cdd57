"""Runs: work that outlives the call that started it, and the `JobEngine` that keeps it going.

An engine keeps what it is given, runs it when there is room, and knows nothing of jobs, calls or hooks: all that is in
the `Execute` function that it is started with, which drives a run through a `Journal`. So every engine retries, times
out, cancels and walks a workflow in the same way, and a durable one only has to keep what the journal is told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from frontmcp.call import Caller
from frontmcp.errors import PublicMcpError

Json: TypeAlias = Any
"""What `json.dumps` takes: every value here can be kept as JSON."""

RunKind: TypeAlias = Literal["job", "workflow", "tool"]

MAX_LOG_LINES = 1000
"""How many lines of a run's log an engine keeps at least, the newest ones."""


class RunState(StrEnum):
    """Where a run, or a step of a workflow, stands; all but the first three are final. A run is never skipped."""

    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"

    @property
    def is_final(self) -> bool:
        """Whether nothing more becomes of it."""
        return self not in _GOING


_GOING = frozenset({RunState.PENDING, RunState.RUNNING, RunState.RETRYING})


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")


class Owner(_Data):
    """Who started a run: a `Caller` as JSON data, without its token."""

    sub: str
    roles: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    claims: dict[str, Json] = Field(default_factory=dict)
    name: str | None = None
    email: str | None = None
    is_anonymous: bool = False

    @property
    def key(self) -> str:
        """The identity, as `Caller.key`: issuer and sub; anonymous callers count as one."""
        return self.caller().key

    def caller(self) -> Caller:
        """The caller that the run's calls are made as."""
        return Caller(
            self.sub,
            self.roles,
            self.permissions,
            self.scopes,
            self.claims,
            self.name,
            self.email,
            is_anonymous=self.is_anonymous,
        )


class RunError(_Data):
    """What a run, an attempt or a step failed with.

    :param name: the error's class.
    :param code: as `FrontMcpError.code`.
    :param public: whether a client may read ``message`` in production too; else it gets ``error_id``.
    """

    message: str
    name: str = "Error"
    code: str = "INTERNAL_ERROR"
    public: bool = False
    error_id: str | None = None


class Outcome(_Data):
    """How a run, an attempt or a step ended.

    :param state: a final one.
    :param result: what a completed one gave.
    """

    state: RunState
    result: Json = None
    error: RunError | None = None


class RunProgress(_Data):
    """The last progress that a run reported."""

    progress: float
    total: float | None = None
    message: str | None = None


class StepRecord(_Data):
    """Where a step of a workflow stands; times are seconds since the epoch."""

    id: str
    job_name: str
    state: RunState = RunState.PENDING
    attempt: int = 0
    result: Json = None
    error: RunError | None = None
    started_at: float | None = None
    completed_at: float | None = None


class Run(_Data):
    """A run: what is to be done, which never changes, and how far it is, which its engine keeps up to date.

    Times are seconds since the epoch.

    :param id: unguessable, unless the run is scheduled: then it names the job and the time.
    :param kind: what is run.
    :param name: the name of the entry, for people.
    :param entry: its canonical id.
    :param input: the arguments, as they were sent.
    :param owner: as whom it runs, and who may ask for it.
    :param foreground: somebody waits for it: it starts at once, whatever waits in the queue, so that runs that wait for
        runs they started can't fill every place.
    :param not_before: when it may start.
    :param key: no second run of this key may be unfinished; unique for its owner and entry.
    :param depth: how deep the call was nested that waits for it.
    :param context: what `Execute` needs besides, such as the capabilities of the client.
    :ivar attempt: counts from 1; 0 before the first.
    :ivar logs: its lines, ``[<ISO time>] <message>``, of every attempt.
    :ivar steps: the steps of a workflow, by id.
    :ivar questions: what its user is being asked, by key.
    """

    id: str
    kind: RunKind = "job"
    name: str
    entry: str
    input: dict[str, Json] = Field(default_factory=dict)
    owner: Owner
    foreground: bool = False
    not_before: float | None = None
    key: str | None = None
    depth: int = 0
    context: dict[str, Json] = Field(default_factory=dict)
    created_at: float

    state: RunState = RunState.PENDING
    attempt: int = 0
    started_at: float | None = None
    completed_at: float | None = None
    result: Json = None
    error: RunError | None = None
    progress: RunProgress | None = None
    logs: list[str] = Field(default_factory=list)
    steps: dict[str, StepRecord] = Field(default_factory=dict)
    questions: dict[str, Json] = Field(default_factory=dict)

    def apply(self, change: Change) -> None:
        """Bring it up to date with a `Change`."""
        for name in ("state", "attempt", "progress", "questions"):
            if (value := getattr(change, name)) is not None:
                setattr(self, name, value)
        if change.step is not None:
            self.steps[change.step.id] = change.step

    def end(self, outcome: Outcome, at: float) -> None:
        """Bring it up to date with how it ended; steps that were under way are cancelled."""
        self.state, self.result, self.error = outcome.state, outcome.result, outcome.error
        self.completed_at, self.questions = at, {}
        for id, step in self.steps.items():
            if not step.state.is_final:
                self.steps[id] = step.model_copy(update={"state": RunState.CANCELLED, "completed_at": at})


class Change(_Data):
    """What changed in a run that goes on; None where it stayed as it was.

    :param questions: all that are open now.
    """

    state: RunState | None = None
    attempt: int | None = None
    progress: RunProgress | None = None
    step: StepRecord | None = None
    questions: dict[str, Json] | None = None


class Journal(Protocol):
    """What an engine offers to the run that it executes."""

    def reserve(self, keys: Sequence[str]) -> None:
        """Say which steps may run concurrently from here on, in an order that is the same in every execution.

        Steps that run one after the other need no such word. A reserved step may never run.
        """
        ...

    async def step(self, key: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """What ``work`` gives, kept under ``key``: once kept, ``work`` does not run again, whatever happens to the
        process.

        ``work`` raises nothing but cancellation, and this raises nothing else: where the engine ends the execution,
        it cancels it. What ``work`` was doing when the process died, it does again.
        """
        ...

    async def report(self, change: Change) -> None:
        """Keep what changed, for whoever asks for the run.

        Reports come in any order where steps run concurrently, also from inside a step, and an execution that goes on
        after a restart repeats earlier ones: they are no steps. Progress may be kept less often than it is reported.
        """
        ...

    def log(self, line: str) -> None:
        """Keep a line of the log; from any thread, and without waiting."""
        ...


Execute: TypeAlias = Callable[[Run, Journal], Awaitable[Outcome]]
"""Carries a run out, which it only reads. Raises nothing but cancellation: what fails is an `Outcome` too.

It is called again, with the run as it was submitted, when the process died meanwhile.
"""

Changed: TypeAlias = Callable[[Run], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs to list; None where it does not matter.

    :param owner: the `Owner.key` of the runs.
    :param entry: the canonical id of their entry.
    """

    owner: str | None = None
    entry: str | None = None
    states: frozenset[RunState] | None = None
    limit: int = 100

    def matches(self, run: Run) -> bool:
        """Whether a run is meant, ``limit`` aside."""
        return (
            (self.owner is None or run.owner.key == self.owner)
            and (self.entry is None or run.entry == self.entry)
            and (self.states is None or run.state in self.states)
        )


class JobsConfig(_Data):
    """``jobs_config={…}`` of the server.

    :param store: where runs are kept: None or ``"memory"``, or what a plugin knows, such as a URL.
    :param max_running: how many runs are carried out at once in this process, those that somebody waits for aside.
    :param max_queued: how many more may wait, in this process or, where the engine is shared, in all; further ones are
        refused.
    :param max_kept: how many finished runs can be asked for; the oldest are forgotten first.
    :param keep_ms: for how long they can be.
    :param shutdown_ms: how long running runs may take to end when the server stops.
    :param engine: options of the engine's own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: Any = Field(default=None, repr=False)
    max_running: int = Field(default=10, gt=0)
    max_queued: int = Field(default=10_000, gt=0)
    max_kept: int = Field(default=1_000, ge=0)
    keep_ms: int = Field(default=24 * 60 * 60 * 1000, gt=0)
    shutdown_ms: int = Field(default=5_000, ge=0)
    engine: Mapping[str, Any] = Field(default_factory=dict, repr=False)


class QueueFullError(PublicMcpError):
    """As many runs wait as may."""

    code = "JOB_QUEUE_FULL"

    def __init__(self, limit: int) -> None:
        super().__init__(f"Too many runs are waiting (max: {limit}). Try again later")


@runtime_checkable
class JobEngine(Protocol):
    """Keeps runs, and executes them. Answered through the hook ``job_engine(config)`` of the plugin ``jobs``.

    It may be started again after it stopped. All its methods but `start` and the making of it are called between
    `start` and `stop`. The runs it gives are copies: nobody else changes them.

    :ivar durable: whether runs that were submitted are carried out though the process dies.
    """

    durable: bool

    async def start(self, execute: Execute) -> None:
        """Begin, and take up the runs that were left unfinished. ``execute`` is run on this event loop.

        Tasks of its own must not live in the caller's: `stop` may be called from another.

        :raises ConfigurationError: it can't work here; says why, and what to change.
        """
        ...

    async def stop(self, grace: float) -> None:
        """Let runs that are under way end for ``grace`` seconds, and cancel the rest.

        A durable engine begins no more of those that wait, and goes on with all of them at its next start. Another may
        begin them meanwhile, as long as there is time, and tells in the log how many are lost.
        """
        ...

    async def submit(self, run: Run) -> Run:
        """Keep a run and execute it when there is room, not before its time; it is kept when this returns.

        :returns: the run as it stands; the one that is there where there is one of that id, or an unfinished one of
            that key.
        :raises QueueFullError: as many wait as may.
        """
        ...

    async def get(self, run_id: str) -> Run | None:
        """A run as it stands; None when there is none, or it is forgotten."""
        ...

    async def list(self, query: RunQuery) -> Sequence[Run]:
        """The runs that a query means, the newest first."""
        ...

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run: it is `RunState.CANCELLED` when this returns, and nothing of it begins any more.

        The execution under way is cancelled soon: its code sees it at its next await.

        :returns: False when it had ended, or there is none.
        """
        ...

    async def wait(self, run_id: str, *, timeout: float | None = None, changed: Changed | None = None) -> Run | None:
        """Wait until a run has ended.

        :param timeout: for at most so many seconds; then the run is given as it stands.
        :param changed: awaited with the run whenever its state, progress or steps changed meanwhile; changes in quick
            succession may be told as one.
        :returns: None when there is none.
        """
        ...
