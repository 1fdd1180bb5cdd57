"""The tools of jobs and workflows. What goes over the wire keeps the names that clients know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, NotRequired, cast

import anyio
from pydantic import Field
from typing_extensions import TypedDict

from frontmcp import Tool, ToolContext
from frontmcp.errors import JobNotFoundError, WorkflowNotFoundError, nearest
from frontmcp.interfaces.jobs import Run, RunKind, RunProgress, RunState, StepRecord
from plugins_builtin.jobs.errors import RunNotFoundError
from plugins_builtin.jobs.service import Service

MAX_DELAY_MS: Final = 10 * 365 * 24 * 60 * 60 * 1000
"""Ten years: what comes later than that is a mistake, and no clock of a database."""

RunId = Annotated[str, Field(description="The id that starting it gave")]


class Started(TypedDict):
    """A run that was started, or has ended."""

    runId: str
    state: str
    result: NotRequired[Any]
    logs: NotRequired[list[str]]


class Failure(TypedDict):
    """What a run or a step failed with."""

    message: str
    name: str
    code: str


class Progressed(TypedDict):
    """How far a run is."""

    progress: float
    total: NotRequired[float]
    message: NotRequired[str]


class JobStatus(TypedDict):
    """Where a run of a job stands; times are milliseconds since the epoch."""

    runId: str
    jobName: str
    state: str
    result: NotRequired[Any]
    error: NotRequired[Failure]
    progress: NotRequired[Progressed]
    startedAt: int
    completedAt: NotRequired[int]
    attempt: int
    logs: list[str]


class StepResult(TypedDict):
    """Where a step stands."""

    jobName: str
    state: str
    attempt: int
    outputs: NotRequired[Any]
    error: NotRequired[Failure]
    startedAt: NotRequired[int]
    completedAt: NotRequired[int]


class WorkflowStatus(TypedDict):
    """Where a run of a workflow stands."""

    runId: str
    workflowName: str
    state: str
    stepResults: dict[str, StepResult]
    error: NotRequired[Failure]
    progress: NotRequired[Progressed]
    startedAt: int
    completedAt: NotRequired[int]


class Listed(TypedDict):
    """A job or a workflow."""

    name: str
    description: NotRequired[str]
    tags: NotRequired[list[str]]
    labels: NotRequired[dict[str, str]]
    inputSchema: NotRequired[dict[str, Any]]
    trigger: NotRequired[str]
    stepCount: NotRequired[int]


class Jobs(TypedDict):
    """The jobs that the caller may start."""

    jobs: list[Listed]
    count: int


class Workflows(TypedDict):
    """The workflows that the caller may start."""

    workflows: list[Listed]
    count: int


class Cancelled(TypedDict):
    """A run that was cancelled, or had ended before."""

    runId: str
    state: str


def make_tools(service: Service, *, has_workflows: bool) -> Iterable[Tool]:
    """The tools, as definitions."""
    made = [execute_job, get_job_status, list_jobs, cancel_job]
    if has_workflows:
        made += [execute_workflow, get_workflow_status, list_workflows]
    for make in made:
        yield make(service)


def execute_job(service: Service) -> Tool:
    def result(run: Run) -> dict[str, Any]:
        return {"result": run.result, "logs": run.logs}

    return _executing(service, "job", "Run a job, and wait for its result or follow it in the background", result)


def execute_workflow(service: Service) -> Tool:
    def result(run: Run) -> dict[str, Any]:
        return {"result": workflow_result(service, run)}

    return _executing(
        service, "workflow", "Run a workflow, and wait for its end or follow it in the background", result
    )


def _executing(service: Service, kind: RunKind, description: str, result: Callable[[Run], dict[str, Any]]) -> Tool:
    """A tool that starts runs.

    :param result: what it says of a run that has ended, besides the id and the state.
    """

    async def execute(
        ctx: ToolContext,
        name: Annotated[str, Field(description=f"The {kind}'s name")],
        input: Annotated[dict[str, Any] | None, Field(description=f"The {kind}'s input")] = None,
        background: Annotated[bool, Field(description="Answer at once, with the id of the run")] = False,
        delayMs: Annotated[
            float, Field(ge=0, le=MAX_DELAY_MS, description="Start so many milliseconds later; background only")
        ] = 0,
        key: Annotated[str | None, Field(description="Give the run of this key that has not ended, if any")] = None,
    ) -> Started:
        delay_ms = delayMs if background else 0
        try:
            run, is_new = await service.begin(
                ctx.call, kind, name, input or {}, foreground=not background, delay_ms=delay_ms, key=key
            )
        except (JobNotFoundError, WorkflowNotFoundError) as error:
            names = [each["name"] for each in await listed(service, ctx, kind)]
            raise type(error)(name, nearest(name, names)) from None
        if background:
            return {"runId": run.id, "state": run.state.value}
        run = await finished(service, ctx, run, is_own=is_new)
        return cast("Started", {"runId": run.id, "state": run.state.value, **result(run)})

    return _tool(f"execute_{kind}", description, execute, {"kind": kind})


async def finished(service: Service, ctx: ToolContext, run: Run, *, is_own: bool) -> Run:
    """Wait until a run has ended, and tell the caller how far it is meanwhile.

    :param is_own: it was started for this wait: who stops waiting cancels it.
    :raises Exception: what it failed with. A workflow whose steps failed has ended like any other.
    """
    told: RunProgress | None = None

    async def changed(now: Run) -> None:
        nonlocal told
        if now.progress is not None and now.progress != told:
            told = now.progress
            await ctx.progress(told.progress, told.total, told.message)

    try:
        ended = await service.engine.wait(run.id, changed=changed)
    except BaseException:
        if is_own:
            with anyio.CancelScope(shield=True):
                await service.engine.cancel(run.id)
        raise
    if ended is None:
        raise RunNotFoundError(run.id)
    has_ended_by_steps = ended.state is RunState.FAILED and ended.result is not None
    if ended.state is not RunState.COMPLETED and not has_ended_by_steps:
        raise service.error_of(ended)
    return ended


def get_job_status(service: Service) -> Tool:
    async def execute(ctx: ToolContext, runId: RunId) -> JobStatus:
        run = await service.find(ctx.auth, runId, "job")
        status = {**_status(service, run), "jobName": run.name, "attempt": run.attempt, "logs": run.logs}
        if run.state is RunState.COMPLETED:
            status["result"] = run.result
        return cast("JobStatus", status)

    return _tool("get_job_status", "How far a run of a job is, what it logged, and its result", execute)


def get_workflow_status(service: Service) -> Tool:
    async def execute(ctx: ToolContext, runId: RunId) -> WorkflowStatus:
        run = await service.find(ctx.auth, runId, "workflow")
        steps = {step.id: _step(service, step) for step in run.steps.values()}
        status = {**_status(service, run), "workflowName": run.name, "stepResults": steps}
        return cast("WorkflowStatus", status)

    return _tool("get_workflow_status", "How far a run of a workflow is, and what its steps gave", execute)


def cancel_job(service: Service) -> Tool:
    async def execute(ctx: ToolContext, runId: RunId) -> Cancelled:
        run = await service.cancel(ctx.auth, runId)
        return {"runId": run.id, "state": run.state.value}

    return _tool("cancel_job", "Cancel a run of a job or a workflow", execute)


def list_jobs(service: Service) -> Tool:
    async def execute(
        ctx: ToolContext, tags: list[str] | None = None, labels: dict[str, str] | None = None, query: str = ""
    ) -> Jobs:
        found = await listed(service, ctx, "job", tags, labels, query)
        return {"jobs": found, "count": len(found)}

    return _tool("list_jobs", "The jobs that can be run", execute, visibility="hidden")


def list_workflows(service: Service) -> Tool:
    async def execute(
        ctx: ToolContext, tags: list[str] | None = None, labels: dict[str, str] | None = None, query: str = ""
    ) -> Workflows:
        found = await listed(service, ctx, "workflow", tags, labels, query)
        return {"workflows": found, "count": len(found)}

    return _tool("list_workflows", "The workflows that can be run", execute, visibility="hidden")


async def listed(
    service: Service,
    ctx: ToolContext,
    kind: RunKind,
    tags: list[str] | None = None,
    labels: Mapping[str, str] | None = None,
    query: str = "",
) -> list[Any]:
    """What the caller may start and asks for: one of the tags, all of the labels, the words in name or description."""
    call = ctx.call
    entries = await service.server.pipeline.list_entries(f"{kind}s", call.request, surface=call.surface)
    found = []
    for name, entry in entries:
        definition = entry.definition
        words = f"{name} {definition.description or ''}".lower()
        if (
            (not tags or not set(tags).isdisjoint(definition.tags))
            and (labels or {}).items() <= definition.labels.items()
            and query.lower() in words
            and all(rule.allows(call.caller) for rule in definition.rules_for("list"))
        ):
            found.append(entry.wire(name=name, modern=True))
    return found


def workflow_result(service: Service, run: Run) -> Any:
    """The result of a workflow, with its steps' failures as they may be told."""
    if not isinstance(run.result, dict):
        return run.result
    return {**run.result, "stepResults": {step.id: _step(service, step) for step in run.steps.values()}}


def _status(service: Service, run: Run) -> dict[str, Any]:
    status: dict[str, Any] = {"runId": run.id, "state": run.state.value}
    status["startedAt"] = _milliseconds(run.started_at or run.created_at)
    if run.completed_at is not None:
        status["completedAt"] = _milliseconds(run.completed_at)
    if run.error is not None:
        status["error"] = service.words_of(run.error)
    if run.progress is not None:
        status["progress"] = run.progress.model_dump(exclude_none=True)
    return status


def _step(service: Service, step: StepRecord) -> StepResult:
    said: dict[str, Any] = {"jobName": step.job_name, "state": step.state.value, "attempt": step.attempt}
    if step.state is RunState.COMPLETED:
        said["outputs"] = step.result
    if step.error is not None:
        said["error"] = service.words_of(step.error)
    for name, at in (("startedAt", step.started_at), ("completedAt", step.completed_at)):
        if at is not None:
            said[name] = _milliseconds(at)
    return cast("StepResult", said)


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _tool(
    name: str,
    description: str,
    function: Callable[..., Any],
    namespace: Mapping[str, Any] | None = None,
    **options: Any,
) -> Tool:
    """A definition; ``namespace`` has the local names that annotations use."""
    tool = Tool(name=name, description=description, **options)
    tool.bind(function, namespace)
    return tool
