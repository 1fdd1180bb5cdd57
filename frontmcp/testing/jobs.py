"""What every job engine must do, as tests: subclass `JobEngineKit`, or `DurableEngineKit` for a durable one."""

from __future__ import annotations

import math
from typing import Any

import anyio
import anyio.to_thread

from frontmcp.interfaces.jobs import (
    MAX_LOG_LINES,
    Change,
    JobEngine,
    Journal,
    Outcome,
    Owner,
    Run,
    RunError,
    RunProgress,
    RunQuery,
    RunState,
    StepRecord,
)
from frontmcp.testing.queues import QueueTests
from frontmcp.testing.runs import PATIENCE, Gate, echo, ended, found, new_id, new_run, started, until


class JobEngineKit(QueueTests):
    """Tests of a `JobEngine`.

    ``class TestMine(JobEngineKit)`` with a fixture ``engine`` that gives one which is not started: it carries out
    two runs at once, lets three more wait, and keeps four that have ended (``max_running=2, max_queued=3,
    max_kept=4``). Ids are new in each test, so that what an engine keeps may be there still.
    """

    async def test_it_is_a_job_engine(self, engine: JobEngine) -> None:
        assert isinstance(engine, JobEngine)
        assert isinstance(engine.durable, bool)

    async def test_a_run_is_carried_out(self, engine: JobEngine) -> None:
        async with started(engine, echo):
            submitted = new_run(input={"a": [1, {"b": None}]})
            kept = await engine.submit(submitted)
            assert (kept.id, kept.owner, kept.state) == (submitted.id, submitted.owner, RunState.PENDING)
            run = await ended(engine, kept.id)
            assert (run.state, run.result, run.error) == (RunState.COMPLETED, {"a": [1, {"b": None}]}, None)
            assert run.completed_at is not None
            assert run == await engine.get(run.id)

    async def test_what_is_not_there_is_not_found(self, engine: JobEngine) -> None:
        async with started(engine, echo):
            assert await engine.get(new_id()) is None
            assert await engine.wait(new_id(), timeout=1) is None
            assert await engine.cancel(new_id()) is False

    async def test_a_failure_is_kept(self, engine: JobEngine) -> None:
        error = RunError(message="no ticket", name="KeyError", code="NO_TICKET", public=True, error_id="err_1")

        async def fail(run: Run, journal: Journal) -> Outcome:
            return Outcome(state=RunState.FAILED, error=error)

        async with started(engine, fail):
            run = await ended(engine, (await engine.submit(new_run())).id)
            assert (run.state, run.result, run.error) == (RunState.FAILED, None, error)

    async def test_an_execute_that_raises_fails_its_run_and_no_other(self, engine: JobEngine) -> None:
        async def sometimes(run: Run, journal: Journal) -> Outcome:
            if run.input:
                raise ValueError("a mistake of the plugin")
            return Outcome(state=RunState.COMPLETED)

        async with started(engine, sometimes):
            assert (await ended(engine, (await engine.submit(new_run(input={"x": 1}))).id)).state == RunState.FAILED
            assert (await ended(engine, (await engine.submit(new_run())).id)).state == RunState.COMPLETED

    async def test_the_owner_is_kept_whole(self, engine: JobEngine) -> None:
        owner = Owner(
            sub="nour",
            roles=("admin",),
            permissions=("read",),
            scopes=("all",),
            claims={"iss": "https://id.example", "team": {"id": 7}},
            name="Nour",
            email="nour@example.com",
        )
        async with started(engine, echo):
            run = await ended(engine, (await engine.submit(new_run(owner=owner, context={"era": "new"}))).id)
            assert run.owner == owner
            assert run.owner.key == "https://id.example|nour"
            assert run.context == {"era": "new"}

    async def test_what_is_reported_can_be_read_at_once(self, engine: JobEngine) -> None:
        gate = Gate()

        async def report(run: Run, journal: Journal) -> Outcome:
            await journal.report(Change(state=RunState.RUNNING, attempt=1))
            await journal.report(Change(progress=RunProgress(progress=1, total=2, message="half")))
            await journal.report(Change(step=StepRecord(id="a", job_name="j", state=RunState.RUNNING, attempt=1)))
            await journal.report(Change(state=RunState.RETRYING, attempt=2))
            await journal.report(Change(questions={"q1": {"message": "Sure?"}}))
            await gate.pass_through()
            return Outcome(state=RunState.COMPLETED)

        async with started(engine, report):
            run_id = (await engine.submit(new_run())).id
            await gate.reached()
            run = await until(engine, run_id, lambda run: bool(run.questions) and run.progress is not None)
            assert (run.state, run.attempt, run.started_at is not None) == (RunState.RETRYING, 2, True)
            assert run.progress == RunProgress(progress=1, total=2, message="half")
            assert run.steps == {"a": StepRecord(id="a", job_name="j", state=RunState.RUNNING, attempt=1)}
            assert run.questions == {"q1": {"message": "Sure?"}}
            gate.open()
            assert (await ended(engine, run_id)).questions == {}

    async def test_whatever_is_told_can_be_read(self, engine: JobEngine) -> None:
        progress = RunProgress(progress=math.inf, total=math.inf, message="nothing\0 more")

        async def tell(run: Run, journal: Journal) -> Outcome:
            journal.log(progress.message or "")
            await journal.report(Change(state=RunState.RUNNING, attempt=1, progress=progress))
            await anyio.sleep(0.3)
            return Outcome(state=RunState.FAILED, error=RunError(message="\0"))

        owner = Owner(sub="nour\0" * 2_000)
        async with started(engine, tell):
            run_id = (await engine.submit(new_run(owner=owner, key="\0" + "k" * 10_000, input={"a": "\0"}))).id
            await until(engine, run_id, lambda run: run.progress == progress)
            run = await ended(engine, run_id)
            assert (run.logs, run.progress, run.owner) == ([progress.message], progress, owner)
            assert run == (await engine.list(RunQuery(owner=owner.key)))[0]
            assert await engine.get("no\0ne") is None
            assert await engine.get("no\ud800ne") is None

    async def test_who_goes_away_while_submitting_leaves_no_half_of_a_run(self, engine: JobEngine) -> None:
        ids = []
        async with started(engine, echo):
            for milliseconds in range(0, 16, 2):
                for foreground in (True, False):
                    run = new_run(foreground=foreground)
                    with anyio.move_on_after(milliseconds / 1000):
                        await engine.submit(run)
                    if await engine.get(run.id) is not None:
                        ids.append(run.id)
                        await ended(engine, run.id)
            assert ids, "none was submitted"

    async def test_log_lines_are_kept_in_order_also_from_threads(self, engine: JobEngine) -> None:
        async def log(run: Run, journal: Journal) -> Outcome:
            journal.log("first")
            await anyio.to_thread.run_sync(journal.log, "second")
            for number in range(200):
                journal.log(str(number))
            return Outcome(state=RunState.COMPLETED)

        async with started(engine, log):
            run = await ended(engine, (await engine.submit(new_run())).id)
            assert run.logs == ["first", "second", *map(str, range(200))]

    async def test_of_a_log_the_newest_lines_are_kept(self, engine: JobEngine) -> None:
        count = 5 * MAX_LOG_LINES

        async def log(run: Run, journal: Journal) -> Outcome:
            for number in range(count):
                journal.log(str(number))
            return Outcome(state=RunState.COMPLETED)

        async with started(engine, log):
            logs = (await ended(engine, (await engine.submit(new_run())).id)).logs
            assert MAX_LOG_LINES <= len(logs) <= 2 * MAX_LOG_LINES
            assert logs == [str(number) for number in range(count - len(logs), count)]

    async def test_a_step_gives_what_its_work_gave(self, engine: JobEngine) -> None:
        async def steps(run: Run, journal: Journal) -> Outcome:
            found: dict[str, Any] = {}

            async def one(key: str) -> None:
                async def work() -> Any:
                    await anyio.sleep(0.001)
                    return {"of": key}

                found[key] = await journal.step(key, work)

            await one("first")
            journal.reserve(["a", "b", "c", "never"])
            async with anyio.create_task_group() as group:
                for key in ("c", "b", "a"):
                    group.start_soon(one, key)
            await one("last")
            return Outcome(state=RunState.COMPLETED, result=found)

        async with started(engine, steps):
            run = await ended(engine, (await engine.submit(new_run())).id)
            assert run.result == {key: {"of": key} for key in ("first", "a", "b", "c", "last")}

    async def test_waiting_tells_of_changes(self, engine: JobEngine) -> None:
        gate, seen = Gate(), list[Run]()

        async def report(run: Run, journal: Journal) -> Outcome:
            await gate.pass_through()
            await journal.report(Change(state=RunState.RUNNING, attempt=1))
            for number in range(1, 4):
                await journal.report(Change(progress=RunProgress(progress=number)))
                await anyio.sleep(0.01)
            return Outcome(state=RunState.COMPLETED)

        async def changed(run: Run) -> None:
            seen.append(run)
            gate.open()

        async with started(engine, report):
            run_id = (await engine.submit(new_run())).id
            await gate.reached()
            gate.open()
            with anyio.fail_after(PATIENCE):
                run = await engine.wait(run_id, changed=changed)
            assert run is not None
            assert run.state == RunState.COMPLETED
            told = [each.progress.progress for each in seen if each.progress is not None]
            assert told == sorted(told)

    async def test_waiting_ends_in_time(self, engine: JobEngine) -> None:
        gate = Gate()
        async with started(engine, gate.hold):
            run_id = (await engine.submit(new_run())).id
            run = await engine.wait(run_id, timeout=0.05)
            assert run is not None
            assert not run.state.is_final
            gate.open()

    async def test_many_may_wait_for_one_run(self, engine: JobEngine) -> None:
        gate, found = Gate(), list[Run]()

        async def wait(run_id: str) -> None:
            found.append(await ended(engine, run_id))

        async with started(engine, gate.hold):
            run_id = (await engine.submit(new_run())).id
            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(wait, run_id)
                await gate.reached()
                gate.open()
            assert [run.state for run in found] == [RunState.COMPLETED] * 5

    async def test_runs_are_listed_by_what_is_asked_for_the_newest_first(self, engine: JobEngine) -> None:
        nour, ben, entry = Owner(sub=new_id()), Owner(sub=new_id()), f"desk:{new_id()}"
        async with started(engine, echo):
            ids = []
            for owner in (nour, ben, nour):
                run = await engine.submit(new_run(owner=owner, entry=entry))
                ids.append((await ended(engine, run.id)).id)

            async def listed(**query: Any) -> list[str]:
                return [run.id for run in await engine.list(RunQuery(**query))]

            assert await listed(entry=entry) == ids[::-1]
            assert await listed(owner=nour.key) == [ids[2], ids[0]]
            assert await listed(owner=nour.key, limit=1) == [ids[2]]
            assert await listed(entry=entry, states=frozenset({RunState.FAILED})) == []
            assert await listed(entry=entry, states=frozenset({RunState.COMPLETED})) == ids[::-1]

    async def test_what_it_gives_is_a_copy(self, engine: JobEngine) -> None:
        async with started(engine, echo):
            run = await ended(engine, (await engine.submit(new_run())).id)
            run.logs.append("not mine")
            run.state = RunState.FAILED
            again = await found(engine, run.id)
            assert (again.logs, again.state) == ([], RunState.COMPLETED)

    async def test_of_finished_runs_the_oldest_are_forgotten(self, engine: JobEngine) -> None:
        async with started(engine, echo):
            ids = []
            for _ in range(7):
                run = await engine.submit(new_run())
                ids.append((await ended(engine, run.id)).id)
            with anyio.fail_after(PATIENCE):
                # Nothing tells that one has been forgotten.
                while await engine.get(ids[0]) is not None:  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            assert await engine.get(ids[-1]) is not None

    async def test_stopping_lets_runs_end(self, engine: JobEngine) -> None:
        done = list[str]()

        async def slow(run: Run, journal: Journal) -> Outcome:
            await anyio.sleep(0.2)
            done.append(run.id)
            return Outcome(state=RunState.COMPLETED)

        async with started(engine, slow):
            run = await engine.submit(new_run(foreground=True))
            await anyio.sleep(0.05)
        assert done == [run.id]

    async def test_stopping_cancels_what_does_not_end(self, engine: JobEngine) -> None:
        gate = Gate()
        async with started(engine, gate.hold, grace=0.05):
            await engine.submit(new_run())
            await gate.reached()
        assert gate.was_cancelled.is_set()

    async def test_it_may_be_started_again(self, engine: JobEngine) -> None:
        for _ in range(2):
            async with started(engine, echo):
                assert (await ended(engine, (await engine.submit(new_run())).id)).state == RunState.COMPLETED
