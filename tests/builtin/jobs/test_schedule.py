"""What runs by itself: when, as whom, and what can't."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from frontmcp import ConfigurationError, FrontMcp, Job, JobContext, Step, Workflow, create_direct
from frontmcp.definitions.job import Schedule
from frontmcp.errors import FrontMcpError
from frontmcp.interfaces.jobs import QueueFullError, RunQuery
from plugins_builtin.jobs import schedule


def due(cron: str, after: str, zone: str | None = None) -> str:
    given = Schedule(cron, zone)
    return schedule.next_time(given, datetime.fromisoformat(after).replace(tzinfo=UTC)).astimezone(UTC).isoformat()


@pytest.mark.parametrize(
    ("cron", "after", "zone", "expected"),
    [
        ("0 3 * * *", "2026-03-01T02:59:59", None, "2026-03-01T03:00:00+00:00"),
        ("0 3 * * *", "2026-03-01T03:00:00", None, "2026-03-02T03:00:00+00:00"),
        ("0 3 * * *", "2026-03-01T00:00:00", "Europe/Berlin", "2026-03-01T02:00:00+00:00"),
        ("0 3 * * *", "2026-07-01T00:00:00", "Europe/Berlin", "2026-07-01T01:00:00+00:00"),
        ("30 2 * * *", "2026-03-28T12:00:00", "Europe/Berlin", "2026-03-29T01:00:00+00:00"),
        # An hour that does not come, and one that comes twice.
        ("30 2 * * *", "2026-03-29T01:00:00", "Europe/Berlin", "2026-03-30T00:30:00+00:00"),
        ("30 2 * * *", "2026-10-24T12:00:00", "Europe/Berlin", "2026-10-25T00:30:00+00:00"),
        ("30 2 * * *", "2026-10-25T00:30:00", "Europe/Berlin", "2026-10-26T01:30:00+00:00"),
        ("30 * * * *", "2026-10-25T00:30:00", "Europe/Berlin", "2026-10-25T01:30:00+00:00"),
        ("30 * * * *", "2026-03-29T00:30:00", "Europe/Berlin", "2026-03-29T01:30:00+00:00"),
        ("*/15 9-17 * * 1-5", "2026-11-27T17:50:00", None, "2026-11-30T09:00:00+00:00"),
        ("*/10 * * * * *", "2026-03-01T00:00:01", None, "2026-03-01T00:00:10+00:00"),
    ],
)
def test_when_it_is_due(cron: str, after: str, zone: str | None, expected: str) -> None:
    assert due(cron, after, zone) == expected


def test_wrong_schedules_stop_the_start_all_at_once(caplog: pytest.LogCaptureFixture) -> None:
    @Job(schedule="0 25 * * *")
    async def late() -> None: ...

    @Job(schedule="0 0 30 2 *")
    async def never() -> None: ...

    @Job(schedule="0 3 * * *", timezone="Europe/Berln", run_as={"sub": "x", "role": "admin"})  # type: ignore[typeddict-unknown-key]
    async def nowhere() -> None: ...

    @Job(schedule="0 3 * * *")
    async def needy(customer: str) -> None: ...

    @Job(schedule="0 3 * * *", run_as={"sub": "x"}, permissions=[{"action": "execute", "roles": ["admin"]}])
    async def refused() -> None: ...

    weekly = Workflow(name="weekly", steps=[Step("a", "late")], trigger={"schedule": "weekly"})
    with pytest.raises(ConfigurationError) as wrong:
        FrontMcp("desk", jobs=[late, never, nowhere, needy, refused], workflows=[weekly]).check()
    problems = "\n".join(wrong.value.problems)
    for text in (
        'schedule "0 25 * * *"',
        'schedule "0 0 30 2 *"',
        'timezone "Europe/Berln" is unknown',
        "wrong: role",
        "a scheduled run gives no such input: customer",
        'schedule "weekly"',
        "permissions= do not let run_as start it",
    ):
        assert text in problems
    assert len(wrong.value.problems) == 7


def test_a_run_of_nobody_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    @Job(schedule="0 3 * * *")
    async def digest() -> None: ...

    FrontMcp("desk", jobs=[digest]).check()
    assert "scheduled without run_as=: it runs as an anonymous caller" in caplog.text


async def test_it_runs_by_itself_as_whom_it_says_once_each_time() -> None:
    seen: list[Any] = []

    @Job(schedule="* * * * * *", run_as={"sub": "reporter", "roles": ["reader"]})
    async def tick(ctx: JobContext) -> None:
        seen.append((ctx.auth.sub, ctx.auth.roles, ctx.auth.is_anonymous))

    server = FrontMcp("desk", jobs=[tick])
    async with create_direct(server) as direct:
        with anyio.fail_after(10):
            while len(seen) < 2:
                await anyio.sleep(0.01)
        service = next(info.plugin for info in server.plugins.infos if info.name == "jobs")._service
        runs = await service.engine.list(RunQuery())
        assert len(runs) == len({run.id for run in runs}) == len(seen)
        owner = {"user": {"sub": "reporter"}}
        assert (await direct.get_job_status(runs[-1].id, auth_context=owner))["state"] == "completed"
    assert set(seen) == {("reporter", ("reader",), False)}


async def test_two_processes_run_each_time_once() -> None:
    ran: list[int] = []

    @Job(schedule="0 3 * * *")
    async def digest() -> None:
        ran.append(1)

    server = FrontMcp("desk", jobs=[digest])
    async with create_direct(server) as direct:
        service = next(info.plugin for info in server.plugins.infos if info.name == "jobs")._service
        (entry,) = server.entries("job")
        moment = datetime(2026, 3, 1, 3, tzinfo=UTC)
        for _ in range(2):
            run = await service.engine.submit(schedule._run(entry, moment))
            await service.engine.wait(run.id, timeout=5)
        assert ran == [1]
        with pytest.raises(FrontMcpError, match="not found"):
            await direct.get_job_status(run.id)


async def test_a_workflow_runs_by_itself_with_its_input(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "frontmcp.jobs")
    seen: list[Any] = []

    @Job
    async def note(day: str) -> None:
        seen.append(day)

    nightly = Workflow(
        name="nightly",
        steps=[Step("a", "note")],
        trigger={"schedule": "* * * * * *", "input": {"day": "monday"}, "run_as": {"sub": "reporter"}},
    )
    async with create_direct(FrontMcp("desk", jobs=[note], workflows=[nightly])) as direct:
        with anyio.fail_after(10):
            while 'workflow "nightly" ended, completed: run schedule:' not in caplog.text:
                await anyio.sleep(0.01)
        listed = (await direct.call_tool("list_workflows")).structured_content or {}
        assert listed["workflows"][0]["trigger"] == "schedule"
    assert seen[0] == "monday"
    assert 'workflow "nightly" begins, as scheduled: run schedule:' in caplog.text


async def test_a_clock_that_is_set_repeats_no_run_and_makes_up_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    @Job(schedule="0 3 * * *", run_as={"sub": "reporter"})
    async def digest() -> None: ...

    class Heard:
        def __init__(self) -> None:
            self.ids: list[str] = []

        async def submit(self, run: Any) -> None:
            self.ids.append(run.id)

    def set_clock(moment: str) -> None:
        clock[0] = datetime.fromisoformat(f"2026-03-{moment}+00:00").timestamp()

    clock, heard = [0.0], Heard()
    monkeypatch.setattr(schedule, "LOOK_AGAIN", 0.005)
    monkeypatch.setattr(time, "time", lambda: clock[0])
    set_clock("01T02:00:00")
    (entry,) = FrontMcp("desk", jobs=[digest]).entries("job")
    async with anyio.create_task_group() as group:
        group.start_soon(schedule.keep, heard, entry)
        for moment in ("01T03:00:01", "01T02:00:00", "01T03:00:01", "05T04:00:00", "05T04:00:01"):
            await anyio.sleep(0.03)
            set_clock(moment)
        with anyio.fail_after(10):
            while len(heard.ids) < 2:
                await anyio.sleep(0.005)
        await anyio.sleep(0.03)
        group.cancel_scope.cancel()
    due = "schedule:desk:digest:2026-03-{}T03:00:00+00:00"
    assert heard.ids == [due.format("01"), due.format("02")]


async def test_what_can_not_be_started_is_told_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "frontmcp.jobs")

    @Job(schedule="* * * * * *", run_as={"sub": "reporter"})
    async def tick() -> None: ...

    class Full:
        async def submit(self, run: Any) -> Any:
            raise QueueFullError(1)

    (entry,) = FrontMcp("desk", jobs=[tick]).entries("job")
    async with anyio.create_task_group() as group:
        group.start_soon(schedule.keep, Full(), entry)
        with anyio.fail_after(10):
            while "could not be started: Too many runs are waiting" not in caplog.text:
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()


def test_without_a_schedule_its_module_is_not_loaded() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from frontmcp import FrontMcp, Job\n"
        "async def f(): ...\n"
        "FrontMcp('desk', jobs=[Job(f)]).check(); assert 'cronsim' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
