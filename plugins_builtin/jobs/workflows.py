"""Workflows: each step begins as soon as those it depends on have ended well."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, final

import anyio
from pydantic_core import to_jsonable_python

from frontmcp import Call, Step
from frontmcp.errors import new_error_id
from frontmcp.interfaces.jobs import Change, Journal, Outcome, Run, RunError, RunProgress, RunState, StepRecord
from plugins_builtin.jobs.attempts import (
    RunAttempt,
    SilentPeer,
    Tried,
    as_kept,
    attempt,
    check_permitted,
    failed,
    keys,
    tried,
)
from plugins_builtin.jobs.errors import WorkflowStepNotFoundError, WorkflowTimeoutError

logger = logging.getLogger("frontmcp.jobs")


def _plain(holds: Any) -> bool:
    """Whether a condition holds, which something to be awaited always would.

    :raises TypeError: it is such.
    """
    if inspect.isawaitable(holds):
        raise TypeError("a condition is a plain function, not async")
    return bool(holds)


@dataclass(frozen=True, slots=True)
class StepView:
    """What a step gave, for conditions and inputs of later ones.

    :ivar outputs: its result; empty when it failed or was skipped.
    """

    state: str
    outputs: Any


@final
class Steps:
    """The steps that have ended, as conditions and inputs are given them.

    :ivar input: the workflow's input.
    """

    def __init__(self, input: Mapping[str, Any], records: Mapping[str, StepRecord], known: Collection[str]) -> None:
        self.input = input
        self._records = records
        self._known = known

    def get(self, id: str) -> StepView:
        """A step that has ended.

        :raises WorkflowStepNotFoundError: there is none, or it has not.
        """
        record = self._records.get(id)
        if record is None or not record.state.is_final:
            raise WorkflowStepNotFoundError(id, self._known)
        return StepView(record.state.value, record.result if record.state is RunState.COMPLETED else {})

    __getitem__ = get


async def execute_workflow(server: Any, entry: Any, run: Run, journal: Journal) -> Outcome:
    """Carry a run of a workflow out, as a call of it that makes its steps' calls."""
    await journal.report(Change(state=RunState.RUNNING, attempt=1))
    begun = await journal.step("begin", _now)
    timeout = entry.definition.timeout_ms / 1000
    # The clock may have been set back while the process was not there.
    left = max(0.0, min(begun + timeout - time.time(), timeout))
    running = RunAttempt(server, run, journal, 1)
    running.begun = begun
    call = running.call(entry, SilentPeer)
    try:
        check_permitted(call)
        with anyio.move_on_after(left):
            result = await call.runner.start(call)
            state, error = _judged(result)
            return Outcome(state=state, result=result, error=error)
    except Exception as raised:
        return Outcome(state=RunState.FAILED, error=failed(raised, call))
    timed_out = WorkflowTimeoutError(run.name, entry.definition.timeout_ms)
    return Outcome(state=RunState.TIMED_OUT, error=failed(timed_out, call))


async def _now() -> float:
    return time.time()


def _judged(result: Any) -> tuple[RunState, RunError | None]:
    """How a workflow ended, by what it gave: a hook may have changed that."""
    if not isinstance(result, Mapping) or result.get("state") != RunState.FAILED.value:
        return RunState.COMPLETED, None
    errors = [step["error"] for step in result.get("stepResults", {}).values() if step.get("error")]
    return RunState.FAILED, RunError(**errors[0]) if errors else None


async def walk(call: Call) -> dict[str, Any]:
    """What a workflow's entry executes."""
    return await Walk(call).go()


class Walk:
    """The steps of one run of a workflow."""

    def __init__(self, call: Call) -> None:
        running: Any = call.attempt_of_run
        self._call = call
        self._run: Run = running.run
        self._journal: Journal = running.journal
        self._server = running.server
        self._begun: float = running.begun
        self._workflow = call.entry.definition
        self._jobs: Mapping[str, Any] = call.entry.jobs
        self._records: dict[str, StepRecord] = {}
        self._blocked: set[str] = set()
        self._failed = False
        self._done = {step.id: anyio.Event() for step in self._workflow.steps}
        self._room = anyio.CapacityLimiter(self._workflow.max_concurrency)
        self._view = Steps(call.input, self._records, self._done)

    async def go(self) -> dict[str, Any]:
        """Run every step that can run, and tell how each ended."""
        for step in self._workflow.order:
            self._journal.reserve(keys(f"{step.id} ", self._retry(step).max_attempts))
        async with anyio.create_task_group() as group:
            for step in self._workflow.order:
                group.start_soon(self._step, step)
        return {
            "workflowName": self._call.entry.name,
            "state": (RunState.FAILED if self._failed else RunState.COMPLETED).value,
            "stepResults": {step.id: self._records[step.id].model_dump(mode="json") for step in self._workflow.steps},
            "startedAt": int(self._begun * 1000),
            "completedAt": int(time.time() * 1000),
        }

    def _retry(self, step: Step) -> Any:
        return step.retry_policy or self._jobs[step.id].definition.retry

    async def _step(self, step: Step) -> None:
        for other in step.depends_on:
            await self._done[other].wait()
        if not self._blocked.isdisjoint(step.depends_on):
            self._blocked.add(step.id)
            await self._ended(step, Outcome(state=RunState.SKIPPED), completed_at=time.time())
        else:
            async with self._room:
                outcome, started_at, completed_at = await self._tried(step)
            await self._ended(step, outcome, started_at=started_at, completed_at=completed_at)

    async def _tried(self, step: Step) -> Tried:
        async def report(state: RunState, number: int) -> None:
            await self._tell(step, state=state, attempt=number, started_at=time.time() if number == 1 else None)

        async def once(number: int) -> dict[str, Any]:
            return await self._attempt(step, number)

        return await tried(once, self._retry(step), self._journal, report, f"{step.id} ")

    async def _attempt(self, step: Step, number: int) -> dict[str, Any]:
        if number == 1 and not self._wanted(step):
            return {"outcome": {"state": RunState.SKIPPED.value}, "again": False}
        try:
            arguments = self._arguments(step)
        except Exception as error:
            kept = as_kept(error, self._blame(step, "input", "the step fails"))
            outcome = Outcome(state=RunState.FAILED, error=kept)
            return {"outcome": outcome.model_dump(mode="json"), "again": False}
        job = self._jobs[step.id]
        call = self._server.plugin_calls.new_call(job, arguments, origin="job", surface="job", parent=self._call)
        call.attempt_of_run = RunAttempt(self._server, self._run, self._journal, number)
        return await attempt(call, step.timeout_ms or job.definition.timeout_ms)

    def _wanted(self, step: Step) -> bool:
        try:
            return step.condition is None or _plain(step.condition(self._view))
        except Exception:
            self._blame(step, "condition", "the step is skipped")
            return False

    def _blame(self, step: Step, what: str, so: str) -> str:
        """Log what a function of a step raised; the id of the error in the log."""
        error_id, place = new_error_id(), self._workflow.place
        text = '%s the %s= of step "%s" of %s failed in run %s: %s'
        logger.exception(text, error_id, what, step.id, place, self._run.id, so, extra={"error_id": error_id})
        return error_id

    def _arguments(self, step: Step) -> dict[str, Any]:
        given = step.input
        if given is None:
            return dict(self._run.input)
        resolved: dict[str, Any] = to_jsonable_python(given(self._view) if callable(given) else given)
        return resolved

    async def _ended(self, step: Step, outcome: Outcome, **times: float) -> None:
        ended_well = outcome.state in (RunState.COMPLETED, RunState.SKIPPED)
        if not ended_well and not step.continue_on_error:
            self._failed = True
            self._blocked.add(step.id)
        await self._tell(step, state=outcome.state, result=outcome.result, error=outcome.error, **times)
        self._done[step.id].set()
        ended = sum(each.is_set() for each in self._done.values())
        told = RunProgress(progress=ended, total=len(self._done), message=f"{step.id}: {outcome.state.value}")
        await self._journal.report(Change(progress=told))

    async def _tell(self, step: Step, **changed: Any) -> None:
        before = self._records.get(step.id) or StepRecord(id=step.id, job_name=step.job_name)
        news = {name: value for name, value in changed.items() if value is not None}
        self._records[step.id] = record = before.model_copy(update=news)
        await self._journal.report(Change(step=record))
