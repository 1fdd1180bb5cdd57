"""Workflows: the order of steps, what a failure does, and graphs that can't be."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from frontmcp import (
    Around,
    Call,
    CallNext,
    ConfigurationError,
    FrontMcp,
    Job,
    JobContext,
    Plugin,
    PublicMcpError,
    Step,
    Workflow,
    create_direct,
)
from frontmcp.errors import FrontMcpError
from frontmcp.interfaces.jobs import Change, Journal, Outcome, Owner, Run, RunState
from frontmcp.testing.runs import Gate, new_run

NOUR = {"user": {"sub": "nour", "roles": ["admin"]}}


@Job
async def echo(ctx: JobContext, value: Any = None) -> Any:
    ctx.log(f"echo {value}")
    return {"value": value}


@Job
async def boom() -> None:
    raise PublicMcpError("it broke", "BROKEN")


def serve(*steps: Step, jobs: Any = (echo, boom), plugins: Any = (), **options: Any) -> FrontMcp:
    nightly = Workflow(name="nightly", description="Report", steps=steps, **options)
    config = {"shutdown_ms": 0}
    return FrontMcp("desk", jobs=jobs, workflows=[nightly], plugins=plugins, autoload_plugins=False, jobs_config=config)


async def run(server: FrontMcp, given: Any = None) -> dict[str, Any]:
    async with create_direct(server) as direct:
        with anyio.fail_after(10):
            ended = await direct.execute_workflow("nightly", given)
            status = await direct.get_workflow_status(ended["runId"])
        assert status["stepResults"] == ended["result"]["stepResults"]
        return status


def states(status: dict[str, Any]) -> dict[str, str]:
    return {id: step["state"] for id, step in status["stepResults"].items()}


async def test_steps_run_after_those_they_depend_on_with_what_those_gave() -> None:
    status = await run(
        serve(
            Step("c", "echo", depends_on=["b", "a"], input=lambda seen: {"value": [seen.get("a").outputs, seen.input]}),
            Step("a", "echo", input={"value": 1}),
            Step("b", "echo", depends_on=["a"]),
        ),
        {"value": 7},
    )  # fmt: skip
    steps = status["stepResults"]
    assert (status["state"], status["workflowName"]) == ("completed", "nightly")
    assert steps["b"]["outputs"] == {"value": 7}
    assert steps["c"]["outputs"] == {"value": [{"value": 1}, {"value": 7}]}
    assert (steps["c"]["jobName"], steps["c"]["attempt"]) == ("echo", 1)
    assert steps["a"]["completedAt"] <= steps["b"]["startedAt"] <= steps["c"]["startedAt"]
    assert status["progress"] == {"progress": 3, "total": 3, "message": "c: completed"}


async def test_no_more_steps_run_at_once_than_may() -> None:
    inside, most = [0], [0]

    @Job
    async def hold() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        await anyio.sleep(0.02)
        inside[0] -= 1

    await run(serve(*(Step(f"s{n}", "hold") for n in range(8)), jobs=[hold], max_concurrency=3))
    assert most == [3]


class Later:
    """Something to be awaited, which is always true."""

    def __await__(self) -> Iterator[None]:
        yield None


async def later(caller: Any) -> bool:
    return True


async def test_a_condition_that_does_not_hold_or_fails_skips_the_step_alone() -> None:
    status = await run(
        serve(
            Step("a", "echo", condition=lambda steps: False),
            Step("b", "echo", depends_on=["a"], condition=lambda steps: steps.get("nowhere")),
            Step("c", "echo", depends_on=["b"], input=lambda steps: {"value": steps.get("a").outputs}),
            Step("d", "echo", condition=lambda steps: Later()),
        )
    )
    assert status["state"] == "completed"
    assert states(status) == {"a": "skipped", "b": "skipped", "c": "completed", "d": "skipped"}
    assert status["stepResults"]["c"]["outputs"] == {"value": {}}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda steps: {"value": 1 / 0}, "ZeroDivisionError: division by zero"),
        (lambda steps: {"value": steps["ehco"]}, 'Step "ehco" does not exist; did you mean "echo"?'),
        (lambda steps: {"value": steps["late"]}, 'Step "late" has not completed yet: add depends_on=["late"]'),
        (lambda steps: {"value": steps["echo"].outputs}, None),
    ],
)
async def test_an_input_that_fails_is_in_the_log_with_step_run_and_place(
    wrong: Any, said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    late = Step("late", "echo", depends_on=["wrong"])
    status = await run(serve(Step("echo", "echo"), Step("wrong", "echo", depends_on=["echo"], input=wrong), late))
    errors = [record for record in caplog.records if record.name == "frontmcp.jobs" and record.levelname == "ERROR"]
    assert len(errors) == (said is not None)
    if said is None:
        assert status["state"] == "completed"
        return
    assert 'the input= of step "wrong" of Workflow "nightly"' in (line := errors[0].getMessage())
    assert status["runId"] in line
    assert said in caplog.text
    assert f'File "{__file__}"' in caplog.text
    assert states(status) == {"echo": "completed", "wrong": "failed", "late": "skipped"}


async def test_a_failure_skips_what_depends_on_it_and_nothing_else() -> None:
    status = await run(
        serve(
            Step("a", "boom"),
            Step("b", "echo", depends_on=["a"]),
            Step("c", "echo", depends_on=["b"]),
            Step("d", "echo"),
        )
    )
    assert status["state"] == "failed"
    assert states(status) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "completed"}
    assert status["error"] == {"message": "it broke", "name": "PublicMcpError", "code": "BROKEN"}


async def test_a_failure_may_be_passed_over() -> None:
    status = await run(
        serve(
            Step("a", "boom", continue_on_error=True),
            Step("b", "echo", depends_on=["a"], input=lambda steps: {"value": steps.get("a").state}),
        )
    )
    assert (status["state"], states(status)) == ("completed", {"a": "failed", "b": "completed"})
    assert status["stepResults"]["b"]["outputs"] == {"value": "failed"}


async def test_retry_and_timeout_of_a_step_stand_in_for_its_jobs() -> None:
    attempts: list[int] = []

    @Job
    async def slow(ctx: JobContext) -> str:
        attempts.append(ctx.attempt)
        await (anyio.sleep_forever() if ctx.attempt < 3 else anyio.sleep(0))
        return ctx.run_id

    step = Step("a", "slow", retry={"max_attempts": 3, "backoff_ms": 0}, timeout_ms=100)
    status = await run(serve(step, jobs=[slow]))
    assert attempts == [1, 2, 3]
    assert (status["stepResults"]["a"]["attempt"], status["stepResults"]["a"]["outputs"]) == (3, status["runId"])


async def test_the_jobs_own_retry_holds_where_a_step_has_none() -> None:
    @Job(retry={"max_attempts": 2, "backoff_ms": 0}, timeout_ms=10)
    async def slow() -> None:
        await anyio.sleep_forever()

    status = await run(serve(Step("a", "slow"), jobs=[slow]))
    assert (status["state"], status["stepResults"]["a"]["state"]) == ("failed", "timed_out")
    assert (status["stepResults"]["a"]["attempt"], status["error"]["code"]) == (2, "JOB_TIMEOUT")


async def test_the_whole_may_take_only_so_long() -> None:
    @Job
    async def slow() -> None:
        await anyio.sleep_forever()

    async with create_direct(serve(Step("a", "slow"), jobs=[slow], timeout_ms=30)) as direct:
        with pytest.raises(FrontMcpError, match='Workflow "nightly" timed out after 30ms') as late:
            await direct.execute_workflow("nightly")
        assert late.value.code == "WORKFLOW_TIMEOUT"
        started = await direct.execute_workflow("nightly", background=True)
        with anyio.fail_after(10):
            while "completedAt" not in (status := await direct.get_workflow_status(started["runId"])):
                await anyio.sleep(0.01)
        assert (status["state"], states(status)) == ("timed_out", {"a": "cancelled"})
        assert status["stepResults"]["a"]["completedAt"] == status["completedAt"]


async def test_an_input_that_does_not_fit_fails_its_step() -> None:
    @Job
    async def exact(n: int) -> int:
        return n

    status = await run(
        serve(
            Step("a", "exact", input={"n": "x"}, retry={"max_attempts": 5}),
            Step("b", "exact", input=lambda steps: {"n": steps.get("nowhere").outputs}),
            jobs=[exact],
        )
    )
    assert status["stepResults"]["a"]["error"]["code"] == "INVALID_INPUT"
    assert status["stepResults"]["b"]["error"]["code"] == "WORKFLOW_STEP_NOT_FOUND"


async def test_every_call_passes_the_hooks_as_the_caller_who_started_it() -> None:
    seen: list[Any] = []

    class Watch(Plugin):
        @Around("execute", kinds=("job", "workflow"))
        async def watch(self, call: Call, call_next: CallNext) -> Any:
            seen.append((call.path, call.entry.kind, call.caller.sub, call.surface))
            return await call_next()

    async with create_direct(serve(Step("a", "echo"), plugins=[Watch])) as direct:
        ended = await direct.execute_workflow("nightly", auth_context=NOUR)
        with pytest.raises(FrontMcpError, match="not found"):
            await direct.get_workflow_status(ended["runId"])
    assert seen == [("nightly", "workflow", "nour", "job"), ("nightly → echo", "job", "nour", "job")]


async def test_a_step_is_not_a_way_around_the_permissions_of_its_job() -> None:
    ran: list[str] = []

    @Job(permissions=[{"action": "execute", "roles": ["admin"]}], retry={"max_attempts": 3})
    async def purge(ctx: JobContext) -> None:
        ran.append(ctx.auth.sub)

    async with create_direct(serve(Step("a", "purge"), jobs=[purge])) as direct:
        refused = await direct.execute_workflow("nightly", auth_context={"user": {"sub": "dana"}})
        assert refused["result"]["stepResults"]["a"]["error"]["code"] == "ACCESS_DENIED"
        assert (refused["state"], ran) == ("failed", [])
        assert (await direct.execute_workflow("nightly", auth_context=NOUR))["state"] == "completed"
    assert ran == ["nour"]


async def test_in_the_background_it_is_followed_and_cancelled() -> None:
    gate = Gate()

    @Job
    async def hold() -> None:
        await gate.pass_through()

    async with create_direct(serve(Step("a", "hold"), Step("b", "hold", depends_on=["a"]), jobs=[hold])) as direct:
        started = await direct.execute_workflow("nightly", background=True)
        assert started == {"runId": started["runId"], "state": "pending"}
        await gate.reached()
        status = await direct.get_workflow_status(started["runId"])
        assert (status["state"], states(status)) == ("running", {"a": "running"})
        assert (await direct.cancel_job(started["runId"]))["state"] == "cancelled"
        with anyio.fail_after(5):
            await gate.was_cancelled.wait()
        assert gate.entered == 1
        with pytest.raises(FrontMcpError, match="not found"):
            await direct.get_job_status(started["runId"])


async def test_workflows_are_listed() -> None:
    async with create_direct(serve(Step("a", "echo"), Step("b", "echo"), tags=["night"])) as direct:
        listed = (await direct.call_tool("list_workflows", {"tags": ["night"]})).structured_content
        entry = {"name": "nightly", "description": "Report", "tags": ["night"], "trigger": "manual", "stepCount": 2}
        assert listed == {"workflows": [entry], "count": 1}
        names = [tool.name for tool in await direct.list_tools()]
        assert names == ["cancel_job", "execute_job", "execute_workflow", "get_job_status", "get_workflow_status"]


async def test_an_input_schema_holds_for_the_whole() -> None:
    async with create_direct(serve(Step("a", "echo"), input_schema={"value": int})) as direct:
        with pytest.raises(FrontMcpError, match="Invalid workflow input"):
            await direct.execute_workflow("nightly", {"value": "x"})


async def test_what_a_workflow_failed_with_is_masked_in_production() -> None:
    @Job
    async def leak() -> None:
        raise RuntimeError("db-7.internal refused")

    server = FrontMcp(
        "desk", jobs=[leak], workflows=[Workflow(name="nightly", steps=[Step("a", "leak")])], environment="production"
    )
    status = await run(server)
    assert "db-7" not in str(status)
    assert "Please contact support" in status["stepResults"]["a"]["error"]["message"]


# Going on after the process died


class Kept:
    """What an engine keeps of a run, while the process dies at a step."""

    def __init__(self, dies_at: str | None) -> None:
        self.dies_at = dies_at
        self.process = anyio.CancelScope()
        self.steps: dict[str, Any] = {}
        self.reserved: list[str] = []

    def reserve(self, keys: Any) -> None:
        self.reserved += keys

    def log(self, line: str) -> None:
        pass

    async def report(self, change: Change) -> None:
        pass

    async def step(self, key: str, work: Any) -> Any:
        if key not in self.steps:
            if key == self.dies_at:
                self.process.cancel()
                await anyio.sleep_forever()
            self.steps[key] = await work()
        return self.steps[key]


async def test_kept_steps_are_not_run_again() -> None:
    ran: list[str] = []

    @Job(retry={"max_attempts": 2, "backoff_ms": 0})
    async def note(ctx: JobContext, id: str) -> str:
        ran.append(f"{id} {ctx.attempt}")
        if ctx.attempt == 1 and id == "b":
            raise RuntimeError("once")
        return id

    before: dict[str, list[str]] = {"a": [], "b": ["a"], "c": ["b"]}
    steps = [Step(id, "note", input={"id": id}, depends_on=ids) for id, ids in before.items()]
    server = serve(*steps, jobs=[note])
    async with create_direct(server):
        service = next(info.plugin for info in server.plugins.infos if info.name == "jobs")._service
        run = new_run(kind="workflow", name="nightly", entry="desk:nightly", owner=Owner(sub="nour"))
        kept = Kept(dies_at="c attempt 1")
        with kept.process:
            await service.execute(run, kept)
        assert kept.process.cancelled_caught
        assert ran == ["a 1", "b 1", "b 2"]
        kept.dies_at = None
        outcome: Outcome = await service.execute(run, kept)
        await anyio.sleep(0.002)
        repeated = (await service.execute(run, kept)).result
    assert (outcome.state, ran) == (RunState.COMPLETED, ["a 1", "b 1", "b 2", "c 1"])
    assert outcome.result["stepResults"]["b"]["attempt"] == 2
    assert repeated["stepResults"] == outcome.result["stepResults"]
    assert repeated["startedAt"] == outcome.result["startedAt"]
    third = len(kept.reserved) // 3
    assert kept.reserved == kept.reserved[:third] * 3
    assert set(kept.steps) - {"begin"} <= set(kept.reserved)


async def test_the_time_of_the_whole_goes_on_while_the_process_is_down() -> None:
    server = serve(Step("a", "echo"), timeout_ms=1000)
    async with create_direct(server):
        service = next(info.plugin for info in server.plugins.infos if info.name == "jobs")._service
        kept: Any = Kept(dies_at=None)
        kept.steps["begin"] = time.time() - 2
        run: Run = new_run(kind="workflow", name="nightly", entry="desk:nightly")
        journal: Journal = kept
        assert (await service.execute(run, journal)).state is RunState.TIMED_OUT


async def test_a_clock_set_back_while_the_process_was_down_holds_nothing_up() -> None:
    @Job(retry={"max_attempts": 2, "backoff_ms": 0})
    async def flaky(ctx: JobContext) -> str:
        return "done" if ctx.attempt == 2 else str(1 / 0)

    @Job
    async def slow() -> None:
        await anyio.sleep_forever()

    server, later = serve(Step("a", "slow"), jobs=[flaky, slow], timeout_ms=50), time.time() + 3600
    async with create_direct(server):
        service = next(info.plugin for info in server.plugins.infos if info.name == "jobs")._service
        kept = Kept(dies_at=None)
        kept.steps |= {"begin": later, "wait 1": later}
        with anyio.fail_after(5):
            late = await service.execute(new_run(kind="workflow", name="nightly", entry="desk:nightly"), kept)
            outcome = await service.execute(new_run(name="flaky", entry="desk:flaky"), kept)
    assert (late.state, outcome.result) == (RunState.TIMED_OUT, "done")


async def test_what_is_no_longer_there_fails() -> None:
    server = serve(Step("a", "echo"))
    async with create_direct(server):
        service = next(info.plugin for info in server.plugins.infos if info.name == "jobs")._service
        outcome = await service.execute(new_run(name="gone", entry="desk:gone"), Kept(None))
    assert (outcome.state, outcome.error.message) == (RunState.FAILED, 'Job "gone" not found')


# Graphs that can't be


def test_wrong_graphs_stop_the_start_all_at_once() -> None:
    line = sys._getframe().f_lineno + 1
    twice = Workflow(name="twice", steps=[Step("a", "echo"), Step("a", "echo"), Step("b", "echo", depends_on=["x"])])
    circle = Workflow(
        name="circle",
        steps=[Step("a", "echo", depends_on=["b"]), Step("b", "echo", depends_on=["a"]), Step("c", "nowhere")],
    )
    zeins = Step("zeins", "echo")
    near = Workflow(name="near", steps=[zeins, Step("c", "echo", depends_on=["eins"])])
    empty = Workflow(name="empty", steps=[])
    jobless = Workflow(name="jobless", steps=[Step("a", "eccho")])
    with pytest.raises(ConfigurationError) as wrong:
        FrontMcp("desk", jobs=[echo], workflows=[twice, circle, empty, jobless, near]).check()
    problems = "\n".join(wrong.value.problems)
    for text in (
        f'Workflow "twice" ({__file__}:{line}): Workflow has duplicate step IDs: a',
        f'Workflow "twice" ({__file__}:{line}): Step "b" depends on unknown step "x"',
        'Step "c" depends on unknown step "eins"; did you mean "zeins"?',
        f'Workflow "circle" ({__file__}:{line + 1}): Workflow has a cycle involving step',
        f'Workflow "circle" ({__file__}:{line + 1}): Step "c" runs the job "nowhere", which does not exist',
        "): Workflow has no steps",
        '): Step "a" runs the job "eccho", which does not exist; did you mean "echo"?',
    ):
        assert text in problems


def test_a_workflow_decorates_an_empty_class_or_none() -> None:
    @Workflow(steps=[Step("a", "echo")])
    class NightlyReport:
        """Report what happened."""

    server = FrontMcp("desk", jobs=[echo], workflows=[NightlyReport])
    (entry,) = server.entries("workflow")
    assert (entry.name, entry.definition.description) == ("nightly_report", "Report what happened.")
    for wrong in (Workflow(steps=[Step("a", "echo")]), echo, int):
        with pytest.raises(ConfigurationError, match=r"workflows=|@Workflow"):
            FrontMcp("desk", workflows=[wrong]).check()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Step("", "echo"), "id must be a text"),
        (lambda: Step("a", "echo", depends_on="b"), "depends_on must be a list"),
        (lambda: Step("a", "echo", retry={"max_attempts": 0}), "max_attempts must be a whole number"),
        (lambda: Step("a", "echo", retry={"max_attempt": 1}), 'retry= has no key "max_attempt"; did you mean "max_att'),  # type: ignore[typeddict-unknown-key]
        (lambda: Job(retry=3), "Job: retry= takes a dict with some of the keys max_attempts, .*, not an object of int"),  # type: ignore[arg-type]
        (lambda: Step("a", "echo", timeout_ms=0), "timeout_ms must be"),
        (lambda: Workflow(name="x", steps=["a"]), "takes Step"),  # type: ignore[list-item]
        (lambda: Workflow(name="x", steps=[], max_concurrency=0), "max_concurrency must be"),
        (lambda: Workflow(name="x", steps=[], trigger={"scedule": "x"}), 'no key "scedule"; did you mean "schedule"'),  # type: ignore[typeddict-item]
        (lambda: Workflow(name="x", steps=[], trigger="0 3 * * *"), 'trigger= takes "manual", or when it runs'),  # type: ignore[arg-type]
        (lambda: Workflow(name="x", steps=[], trigger={"timezone": "UTC"}), 'trigger= takes "manual", or when'),  # type: ignore[typeddict-item]
        (lambda: Job(permissions=[{"action": "fly"}]), "permissions= takes"),  # type: ignore[typeddict-item]
        (lambda: Job(permissions=[{"action": "read", "roles": "admin"}]), r"roles= takes a list.*write roles=\[…\]"),
        (lambda: Job(permissions=[{"action": "read", "custom": later}]), "custom takes a plain function of the caller"),
        (lambda: Job(timezone="UTC"), "there is none"),
    ],
)
def test_wrong_words_are_refused_where_they_are_written(make: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        make()
