"""The engine of jobs in this process' memory: runs are lost when the process ends."""

from __future__ import annotations

import heapq
import itertools
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import Any

import anyio

from frontmcp.errors import describe, new_error_id
from frontmcp.interfaces import Background
from frontmcp.interfaces.jobs import (
    MAX_LOG_LINES,
    Change,
    Execute,
    JobsConfig,
    Outcome,
    QueueFullError,
    Run,
    RunError,
    RunQuery,
    RunState,
)

logger = logging.getLogger("frontmcp.jobs")

CANCELLED = Outcome(state=RunState.CANCELLED)
SPARE = 100


class Kept:
    """A run, and what carries it out.

    :ivar scope: of the execution under way.
    :ivar changed: set at the next change; None while nobody waits.
    """

    __slots__ = ("changed", "run", "scope")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.scope: anyio.CancelScope | None = None
        self.changed: anyio.Event | None = None

    def copy(self) -> Run:
        run = self.run.model_copy()
        run.logs, run.steps, run.questions = list(run.logs), dict(run.steps), dict(run.questions)
        return run

    def tell(self) -> None:
        """Wake whoever waits for a change."""
        if self.changed is not None:
            self.changed.set()
            self.changed = None

    async def wait(self) -> None:
        if self.changed is None:
            self.changed = anyio.Event()
        await self.changed.wait()


class MemoryJournal:
    """Of one execution: nothing outlives the process, so that a step is what its work gives."""

    __slots__ = ("_kept",)

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def reserve(self, keys: Sequence[str]) -> None:
        """Nothing to do: steps are not kept."""

    async def step(self, key: str, work: Callable[[], Awaitable[Any]]) -> Any:
        return await work()

    async def report(self, change: Change) -> None:
        run = self._kept.run
        if not run.state.is_final:
            run.apply(change)
            self._kept.tell()

    def log(self, line: str) -> None:
        logs = self._kept.run.logs
        logs.append(line)
        if len(logs) >= 2 * MAX_LOG_LINES:
            del logs[:-MAX_LOG_LINES]


class MemoryJobEngine:
    """A bounded queue, a bounded number of tasks, and a bounded number of finished runs."""

    durable = False

    def __init__(self, config: JobsConfig) -> None:
        self._config = config
        self._background = Background()
        self._runs: dict[str, Kept] = {}
        self._keys: dict[str, str] = {}
        self._queue: deque[Kept] = deque()
        self._later: list[tuple[float, int, Kept]] = []
        self._finished: OrderedDict[str, float] = OrderedDict()
        self._counter = itertools.count()
        self._queued = self._running = self._executing = 0

    async def start(self, execute: Execute) -> None:
        self._execute = execute
        self._idle, self._sooner = anyio.Event(), anyio.Event()
        await self._background.start()
        self._background.spawn(self._watch_the_clock)

    async def stop(self, grace: float) -> None:
        with anyio.move_on_after(grace):
            while self._unfinished:
                self._idle = anyio.Event()
                await self._idle.wait()
        lost = [kept for kept in self._runs.values() if not kept.run.state.is_final]
        if lost:
            logger.warning("the server stops: %d runs that have not ended are lost", len(lost))
        for kept in lost:
            self._end(kept, CANCELLED)
        await self._background.stop()
        self._queue.clear()
        self._later.clear()
        self._queued = self._running = self._executing = 0

    @property
    def _unfinished(self) -> bool:
        return bool(self._executing or self._queue)

    async def submit(self, run: Run) -> Run:
        if (there := self._runs.get(self._keys.get(run.key or "", run.id))) is not None:
            return there.copy()
        if not run.foreground and self._queued >= self._config.max_queued and not self._has_room(run):
            raise QueueFullError(self._config.max_queued)
        kept = self._runs[run.id] = Kept(run.model_copy())
        if run.key is not None:
            self._keys[run.key] = run.id
        if run.foreground:
            self._begin(kept)
        else:
            self._put(kept)
        return run

    def _has_room(self, run: Run) -> bool:
        return run.not_before is None and self._running < self._config.max_running

    def _put(self, kept: Kept) -> None:
        self._queued += 1
        moment = kept.run.not_before
        if moment is None or moment <= time.time():
            self._queue.append(kept)
            self._begin_next()
        else:
            heapq.heappush(self._later, (moment, next(self._counter), kept))
            self._sooner.set()

    def _begin_next(self) -> None:
        while self._queue and self._running < self._config.max_running and self._background.is_running:
            kept = self._queue.popleft()
            if kept.run.state.is_final:
                continue
            self._queued -= 1
            self._running += 1
            self._begin(kept)

    def _begin(self, kept: Kept) -> None:
        self._executing += 1
        kept.run.started_at = time.time()
        kept.scope = anyio.CancelScope()
        self._background.spawn(self._carry_out, kept)

    async def _carry_out(self, kept: Kept) -> None:
        assert kept.scope is not None
        outcome = CANCELLED
        try:
            with kept.scope:
                outcome = await self._execute(kept.run, MemoryJournal(kept))
        except Exception as error:
            error_id = new_error_id()
            logger.exception("%s run %s failed outside its job", error_id, kept.run.id)
            outcome = Outcome(
                state=RunState.FAILED,
                error=RunError(message=describe(error), name=type(error).__name__, error_id=error_id),
            )
        finally:
            kept.scope = None
            self._end(kept, outcome)
            self._executing -= 1
            if not kept.run.foreground:
                self._running -= 1
            self._begin_next()
            if not self._unfinished:
                self._idle.set()

    def _end(self, kept: Kept, outcome: Outcome) -> None:
        run = kept.run
        if run.state.is_final:
            return
        run.end(outcome, time.time())
        if run.key is not None:
            self._keys.pop(run.key, None)
        # Not by a clock that may be set: then all would be forgotten at once.
        self._finished[run.id] = time.monotonic()
        self._forget()
        kept.tell()

    def _forget(self) -> None:
        """Forget the oldest of the finished runs."""
        oldest_kept = time.monotonic() - self._config.keep_ms / 1000
        while self._finished:
            run_id, at = next(iter(self._finished.items()))
            if len(self._finished) <= self._config.max_kept and at >= oldest_kept:
                return
            del self._finished[run_id]
            del self._runs[run_id]

    async def _watch_the_clock(self) -> None:
        """Put runs into the queue when their time has come."""
        while True:
            while self._later and self._later[0][0] <= time.time():
                _, _, kept = heapq.heappop(self._later)
                if not kept.run.state.is_final:
                    self._queue.append(kept)
            self._begin_next()
            self._sooner = anyio.Event()
            # The clock may be set: look again now and then.
            with anyio.move_on_after(min(self._later[0][0] - time.time(), 60.0) if self._later else 60.0):
                await self._sooner.wait()

    async def get(self, run_id: str) -> Run | None:
        self._forget()
        kept = self._runs.get(run_id)
        return None if kept is None else kept.copy()

    async def list(self, query: RunQuery) -> Sequence[Run]:
        newest_first = reversed(self._runs.values())
        return [
            kept.copy()
            for kept in itertools.islice(filter(lambda kept: query.matches(kept.run), newest_first), query.limit)
        ]

    async def cancel(self, run_id: str) -> bool:
        kept = self._runs.get(run_id)
        if kept is None or kept.run.state.is_final:
            return False
        if kept.scope is not None:
            kept.scope.cancel()
        self._end(kept, CANCELLED)
        if kept.scope is None:
            self._queued -= 1
            self._drop_cancelled()
        return True

    def _drop_cancelled(self) -> None:
        """Let go of runs that were cancelled while they waited, once they are most of what waits."""
        if len(self._queue) + len(self._later) <= 2 * self._queued + SPARE:
            return
        self._queue = deque(kept for kept in self._queue if not kept.run.state.is_final)
        self._later = [waiting for waiting in self._later if not waiting[-1].run.state.is_final]
        heapq.heapify(self._later)

    async def wait(
        self, run_id: str, *, timeout: float | None = None, changed: Callable[[Run], Awaitable[None]] | None = None
    ) -> Run | None:
        kept = self._runs.get(run_id)
        if kept is None:
            return None
        with nullcontext() if timeout is None else anyio.move_on_after(timeout):
            while not kept.run.state.is_final:
                await kept.wait()
                if changed is not None:
                    await changed(kept.copy())
        return kept.copy()
