"""Jobs: their tools, attempts, owners and limits, on the memory engine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest

from frontmcp import (
    App,
    Around,
    Call,
    Caller,
    Channel,
    ConfigurationError,
    FrontMcp,
    Job,
    JobContext,
    Plugin,
    PublicMcpError,
    Step,
    Tool,
    ToolContext,
    Workflow,
    create_direct,
    hookimpl,
)
from frontmcp.direct import Direct
from frontmcp.errors import FrontMcpError
from frontmcp.interfaces.jobs import Owner
from frontmcp.testing.runs import Gate, new_run

NOUR = {"user": {"sub": "nour", "roles": ["admin"]}, "token": "s3cret-token"}
DANA = {"user": {"sub": "dana"}}
ENDED = {"completed", "failed", "cancelled", "timed_out"}


async def until(direct: Direct, run_id: str, *states: str, **user: Any) -> dict[str, Any]:
    with anyio.fail_after(10):
        while True:
            status = await direct.get_job_status(run_id, **user)
            if status["state"] in (states or ENDED):
                return status
            await anyio.sleep(0.002)


async def refused(awaitable: Awaitable[Any]) -> FrontMcpError:
    with pytest.raises(FrontMcpError) as raised:
        await awaitable
    return raised.value


def lines(status: dict[str, Any]) -> list[str]:
    return [line.split("] ", 1)[1] for line in status["logs"]]


@Job(name="export-tickets", description="Export tickets", output_schema={"rows": int}, tags=["export"])
class ExportTickets(JobContext):
    async def execute(self, customer: str, rows: int = 43) -> dict[str, int]:
        self.log(f"Exporting {customer}")
        return {"rows": rows}


@Job
async def boom() -> None:
    """Fail."""
    raise RuntimeError("db-7.internal refused")


def serve(*jobs: Any, **options: Any) -> FrontMcp:
    options.setdefault("jobs_config", {"shutdown_ms": 0})
    return FrontMcp("desk", jobs=jobs, autoload_plugins=False, **options)


# The tools


async def test_without_a_job_there_are_no_tools() -> None:
    async with create_direct(FrontMcp("desk")) as direct:
        assert await direct.list_tools() == []


async def test_the_tools_that_clients_see() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        tools = {tool.name: tool for tool in await direct.list_tools()}
        assert sorted(tools) == ["cancel_job", "execute_job", "get_job_status"]
        schema = tools["execute_job"].input_schema
        assert schema["required"] == ["name"]
        assert set(schema["properties"]) == {"name", "input", "background", "delayMs", "key"}
        assert tools["get_job_status"].input_schema["required"] == ["runId"]


async def test_in_the_foreground_the_call_waits_for_the_result() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        run = await direct.execute_job("export-tickets", {"customer": "acme"})
        assert set(run) == {"runId", "state", "result", "logs"}
        assert (run["state"], run["result"], lines(run)) == ("completed", {"rows": 43}, ["Exporting acme"])
        assert (await direct.call_tool("execute-job", {"name": "export-tickets", "input": {"customer": "x"}})).content


async def test_in_the_background_it_answers_at_once() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        run = await direct.execute_job("desk:export-tickets", {"customer": "acme"}, background=True)
        assert run == {"runId": run["runId"], "state": "pending"}
        status = await until(direct, run["runId"])
        assert set(status) == {"runId", "jobName", "state", "result", "startedAt", "completedAt", "attempt", "logs"}
        assert (status["jobName"], status["attempt"]) == ("export-tickets", 1)
        assert 0 <= status["completedAt"] - status["startedAt"] < 10_000


async def test_jobs_are_listed_by_tags_labels_and_words() -> None:
    @Job(labels={"team": "billing", "size": "l"})
    async def invoice(customer: str) -> None:
        """Write an INVOICE."""

    async def listed(**asked: Any) -> list[str]:
        content = (await direct.call_tool("list_jobs", asked)).structured_content or {}
        assert content["count"] == len(content["jobs"])
        return [each["name"] for each in content["jobs"]]

    async with create_direct(serve(ExportTickets, invoice)) as direct:
        assert await listed() == ["export-tickets", "invoice"]
        assert await listed(tags=["export", "other"]) == ["export-tickets"]
        assert await listed(labels={"team": "billing"}) == ["invoice"]
        assert await listed(labels={"team": "billing", "size": "s"}) == []
        assert await listed(query="invoice") == await listed(query="WRITE AN") == ["invoice"]
        (found,) = (await direct.call_tool("list_jobs", {"query": "invoice"})).structured_content["jobs"]  # type: ignore[index]
        assert found["inputSchema"]["required"] == ["customer"]


async def test_what_is_not_there_is_told_in_the_known_words() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        for awaitable, text in (
            (direct.execute_job("nope"), 'Job "nope" not found'),
            (direct.get_job_status("r-1"), 'Run "r-1" not found'),
            (direct.cancel_job("r-1"), 'Run "r-1" not found'),
        ):
            error = await refused(awaitable)
            assert (error.code, str(error), error.public) == ("INVALID_INPUT", text, True)


async def test_input_is_checked_before_anything_runs() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        error: Any = await refused(direct.execute_job("export-tickets", {"rows": 1}, background=True))
        assert (error.code, error.message) == ("INVALID_INPUT", "Invalid job input")
        assert error.validation_errors[0]["path"] == ["customer"]
        error = await refused(direct.execute_job("export-tickets", {"customer": object()}))
        assert error.code == "INVALID_INPUT"


async def test_output_is_checked() -> None:
    @Job
    async def count() -> int:
        return "many"  # type: ignore[return-value]

    async with create_direct(serve(count)) as direct:
        status = await until(direct, (await direct.execute_job("count", background=True))["runId"])
        assert status["error"]["code"] == "INVALID_OUTPUT"
        assert status["error"]["message"].startswith("Job output validation failed")


async def test_functions_and_apps_have_jobs_too() -> None:
    app = App(id="reports")
    server = FrontMcp("desk", apps=[app])

    @app.job
    def add(ctx: JobContext, numbers: list[int]) -> int:
        ctx.log(threading.current_thread().name)
        return sum(numbers)

    @server.job(name="ping")
    async def pong(ctx: JobContext) -> str:
        ctx.respond(ctx.run_id)

    async with create_direct(server) as direct:
        run = await direct.execute_job("reports:add", {"numbers": [1, 2]})
        assert run["result"] == 3
        assert lines(run) != ["MainThread"]
        run = await direct.execute_job("ping")
        assert run["result"] == run["runId"]


# Attempts


def flaky(good_at: int, **options: Any) -> tuple[Any, list[int]]:
    attempts: list[int] = []

    @Job(name="flaky", **options)
    async def job(ctx: JobContext) -> int:
        attempts.append(ctx.attempt)
        ctx.log(f"attempt {ctx.attempt}")
        if ctx.attempt < good_at:
            raise RuntimeError("not yet")
        return ctx.attempt

    return job, attempts


async def test_a_job_is_tried_again_and_every_attempt_logs() -> None:
    job, attempts = flaky(3, retry={"max_attempts": 3, "backoff_ms": 1})
    async with create_direct(serve(job)) as direct:
        status = await until(direct, (await direct.execute_job("flaky", background=True))["runId"])
        assert (status["state"], status["result"], status["attempt"]) == ("completed", 3, 3)
        assert attempts == [1, 2, 3]
        assert lines(status) == ["attempt 1", "attempt 2", "attempt 3"]


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({}, [1, 2, 4, 8, 16, 32, 60, 60]),
        ({"backoff_ms": 10, "backoff_multiplier": 3, "max_backoff_ms": 100}, [0.01, 0.03, 0.09, 0.1, 0.1]),
        ({"backoff_ms": 500, "backoff_multiplier": 1}, [0.5, 0.5, 0.5]),
    ],
)
def test_each_wait_is_longer_up_to_a_bound(options: Any, seconds: list[float]) -> None:
    retry = Job(retry=options).retry
    assert [retry.delay(attempt) for attempt in range(1, len(seconds) + 1)] == pytest.approx(seconds)


async def test_while_it_runs_it_is_running() -> None:
    gate = Gate()

    @Job
    async def hold(ctx: JobContext) -> None:
        ctx.log("here")
        await gate.pass_through()

    async with create_direct(serve(hold)) as direct:
        run_id = (await direct.execute_job("hold", background=True))["runId"]
        status = await until(direct, run_id, "running")
        await gate.reached()
        status = await direct.get_job_status(run_id)
        assert (status["attempt"], lines(status), "completedAt" in status) == (1, ["here"], False)


async def test_while_it_waits_for_the_next_attempt_it_is_retrying() -> None:
    job, attempts = flaky(2, retry={"max_attempts": 2, "backoff_ms": 60_000})
    async with create_direct(serve(job)) as direct:
        run_id = (await direct.execute_job("flaky", background=True))["runId"]
        status = await until(direct, run_id, "retrying")
        assert (status["attempt"], attempts) == (1, [1])
        assert (await direct.cancel_job(run_id))["state"] == "cancelled"


async def test_without_retry_it_is_tried_once_and_the_last_error_is_told() -> None:
    job, attempts = flaky(2)
    async with create_direct(serve(job)) as direct:
        error: Any = await refused(direct.execute_job("flaky"))
        assert (error.code, error.original_error.code) == ("TOOL_EXECUTION_ERROR", "JOB_EXECUTION_ERROR")
        assert str(error) == 'Tool "execute_job" execution failed: Job "flaky" execution failed: not yet'
        assert attempts == [1]


async def test_a_public_error_reaches_who_waits_as_it_is() -> None:
    @Job(retry={"max_attempts": 2, "backoff_ms": 0})
    async def pick(ctx: JobContext) -> None:
        ctx.fail(PublicMcpError(f"no ticket, attempt {ctx.attempt}", "NO_TICKET"))

    async with create_direct(serve(pick)) as direct:
        error = await refused(direct.execute_job("pick"))
        assert (error.code, str(error)) == ("NO_TICKET", "no ticket, attempt 2")
        status = await until(direct, (await direct.execute_job("pick", background=True))["runId"])
        assert status["error"] == {"message": "no ticket, attempt 2", "name": "PublicMcpError", "code": "NO_TICKET"}


async def test_what_fails_is_masked_in_production_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with create_direct(serve(boom, environment="production")) as direct:
        status = await until(direct, (await direct.execute_job("boom", background=True))["runId"])
        assert status["state"] == "failed"
        message, error_id = status["error"]["message"].rsplit(" ", 1)
        assert message == "Internal FrontMCP error. Please contact support with error ID:"
        (record,) = [each for each in caplog.records if error_id in each.getMessage()]
        assert "db-7.internal refused" in record.getMessage()


async def test_an_attempt_that_takes_too_long_is_cut_and_its_signal_aborted() -> None:
    reasons: list[Any] = []

    @Job(timeout_ms=20, retry={"max_attempts": 2, "backoff_ms": 0})
    async def slow(ctx: JobContext) -> None:
        ctx.signal.add_callback(lambda: reasons.append(ctx.signal.reason))
        await anyio.sleep_forever()

    async with create_direct(serve(slow)) as direct:
        error = await refused(direct.execute_job("slow"))
        assert (error.code, str(error)) == ("JOB_TIMEOUT", 'Job "slow" timed out after 20ms')
        status = await until(direct, (await direct.execute_job("slow", background=True))["runId"])
        assert (status["state"], status["attempt"]) == ("timed_out", 2)
    assert len(reasons) == 4


async def test_every_attempt_passes_the_hooks_of_its_kind() -> None:
    seen: list[Any] = []

    class Watch(Plugin):
        @Around("execute", kinds="job")
        async def watch(self, call: Call, call_next: Callable[[], Awaitable[Any]]) -> Any:
            try:
                return await call_next()
            finally:
                seen.append((call.entry.id, call.origin, call.surface, call.caller.sub, call.caller.token))

    job, _ = flaky(2, retry={"max_attempts": 2, "backoff_ms": 0})
    async with create_direct(serve(job, plugins=[Watch])) as direct:
        await direct.execute_job("flaky", auth_context=NOUR)
    assert seen == [("desk:flaky", "job", "job", "nour", None)] * 2


async def test_a_line_of_the_log_is_bounded_and_can_be_sent() -> None:
    @Job
    async def chatty(ctx: JobContext) -> None:
        ctx.log("x" * 100_000)
        ctx.log("half of a pair: \ud800")

    async with create_direct(serve(chatty)) as direct:
        long, broken = lines(await direct.execute_job("chatty"))
        assert (len(long), broken) == (8193, "half of a pair: \\ud800")


# Time and place


async def test_text_that_utf8_can_not_carry_hides_no_run() -> None:
    half = "report-\ud800.txt"

    @Job
    async def read(ctx: JobContext, fail: bool = False) -> int:
        ctx.log(half)
        await ctx.progress(1, 2, half)
        await ctx.notify(half)
        if fail:
            raise FileNotFoundError(half)
        return 1

    flow = Workflow(name="flow", steps=[Step("a", "read", input={"fail": True})])
    async with create_direct(serve(read, workflows=[flow], environment="development")) as direct:
        assert (await direct.execute_job("read"))["state"] == "completed"
        started = await direct.execute_job("read", {"fail": True}, background=True)
        status = await until(direct, started["runId"])
        assert lines(status)[0] == status["progress"]["message"] == r"report-\ud800.txt"
        assert r"report-\ud800.txt" in status["error"]["message"]
        ended = await direct.execute_workflow("flow")
        assert r"report-\ud800.txt" in ended["result"]["stepResults"]["a"]["error"]["message"]


async def test_no_delay_is_beyond_every_clock() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        late = {"name": "export-tickets", "input": {"customer": "acme"}, "background": True, "delayMs": 1e300}
        assert (await refused(direct.call_tool("execute_job", late))).code == "INVALID_INPUT"


async def test_a_run_may_be_started_later() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        asked = {"name": "export-tickets", "input": {"customer": "acme"}, "background": True, "delayMs": 60_000}
        run = (await direct.call_tool("execute_job", asked)).structured_content or {}
        assert (await direct.get_job_status(run["runId"]))["state"] == "pending"
        assert await direct.cancel_job(run["runId"]) == {"runId": run["runId"], "state": "cancelled"}


async def test_a_key_gives_the_run_that_has_not_ended_of_that_caller() -> None:
    gate = Gate()

    @Job
    async def hold() -> None:
        await gate.pass_through()

    async def start(user: Any, key: str) -> str:
        asked = {"name": "hold", "background": True, "key": key}
        run = (await direct.call_tool("execute_job", asked, auth_context=user)).structured_content or {}
        return str(run["runId"])

    async with create_direct(serve(hold)) as direct:
        first = await start(NOUR, "a")
        assert await start(NOUR, "a") == first
        assert len({first, await start(NOUR, "b"), await start(DANA, "a")}) == 3
        one, other = {"user": {"sub": "x"}}, {"user": {"sub": "x|desk:hold"}}
        assert await start(one, "desk:hold|a") != await start(other, "a")
        gate.open()
        await until(direct, first, auth_context=NOUR)
        assert await start(NOUR, "a") != first


async def test_a_job_that_waits_for_jobs_takes_no_place_from_them() -> None:
    @Job
    async def leaf(n: int) -> int:
        return n

    @Job
    async def root(ctx: JobContext) -> list[int]:
        found = []
        for n in range(3):
            run = await ctx.call_tool("execute_job", {"name": "leaf", "input": {"n": n}})
            found.append((run.structured_content or {})["result"])
        return found

    async with create_direct(serve(leaf, root, jobs_config={"max_running": 1})) as direct:
        with anyio.fail_after(10):
            status = await until(direct, (await direct.execute_job("root", background=True))["runId"])
        assert status["result"] == [0, 1, 2]


async def test_jobs_that_start_themselves_end_somewhere() -> None:
    @Job
    async def again(ctx: JobContext) -> None:
        await ctx.call_tool("execute_job", {"name": "again"})

    async with create_direct(serve(again)) as direct:
        with anyio.fail_after(10):
            assert "nested deeper than 16" in str(await refused(direct.execute_job("again")))


async def test_more_than_may_wait_are_refused() -> None:
    gate = Gate()

    @Job
    async def hold() -> None:
        await gate.pass_through()

    async with create_direct(serve(hold, jobs_config={"max_running": 1, "max_queued": 2, "shutdown_ms": 0})) as direct:
        for _ in range(3):
            await direct.execute_job("hold", background=True)
        error = await refused(direct.execute_job("hold", background=True))
        assert (error.code, error.public) == ("JOB_QUEUE_FULL", True)


async def test_who_stops_waiting_cancels_the_run() -> None:
    gate = Gate()

    @Job
    async def hold() -> None:
        await gate.pass_through()

    async with create_direct(serve(hold)) as direct, anyio.create_task_group() as group:
        group.start_soon(direct.execute_job, "hold")
        await gate.reached()
        group.cancel_scope.cancel()
    with anyio.fail_after(5):
        await gate.was_cancelled.wait()


async def test_who_stops_waiting_for_a_run_that_was_there_leaves_it_alone() -> None:
    gate = Gate()

    @Job
    async def hold() -> str:
        await gate.pass_through()
        return "done"

    async with create_direct(serve(hold)) as direct:
        asked = {"name": "hold", "key": "one"}
        run = (await direct.call_tool("execute_job", {**asked, "background": True})).structured_content or {}
        await gate.reached()
        with anyio.move_on_after(0.05):
            await direct.call_tool("execute_job", asked)
        gate.open()
        assert (await until(direct, run["runId"]))["result"] == "done"
        assert not gate.was_cancelled.is_set()


async def test_a_run_is_cancelled_for_who_waits_too() -> None:
    gate, errors = Gate(), list[FrontMcpError]()

    @Job
    async def hold(ctx: JobContext) -> None:
        ids.append(ctx.run_id)
        await gate.pass_through()

    ids: list[str] = []
    async with create_direct(serve(hold)) as direct:

        async def wait() -> None:
            errors.append(await refused(direct.execute_job("hold")))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await gate.reached()
            await direct.cancel_job(ids[0])
        assert (errors[0].code, (await direct.get_job_status(ids[0]))["state"]) == ("RUN_CANCELLED", "cancelled")
        assert (await direct.cancel_job(ids[0]))["state"] == "cancelled"


@pytest.mark.parametrize("by", ["cancel_job", "the server stops", "timeout_ms"])
async def test_a_body_in_a_thread_sees_by_its_signal_that_its_run_is_cancelled(by: str) -> None:
    begun, ended = threading.Event(), threading.Event()

    @Job(timeout_ms=50 if by == "timeout_ms" else 10_000)
    def busy(ctx: JobContext) -> None:
        begun.set()
        while not ctx.signal.aborted and not ended.wait(0.005):
            pass
        ended.set()

    try:
        async with create_direct(serve(busy)) as direct:
            started = await direct.execute_job("busy", background=True)
            assert await anyio.to_thread.run_sync(begun.wait, 10)
            if by == "cancel_job":
                await direct.cancel_job(started["runId"])
            if by != "the server stops":
                assert await anyio.to_thread.run_sync(ended.wait, 10)
        assert await anyio.to_thread.run_sync(ended.wait, 10)
    finally:
        ended.set()


async def test_what_has_ended_is_not_cancelled_any_more() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        run = await direct.execute_job("export-tickets", {"customer": "acme"})
        assert await direct.cancel_job(run["runId"]) == {"runId": run["runId"], "state": "completed"}


async def test_at_the_end_what_runs_may_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "frontmcp.jobs")
    done: list[bool] = []

    @Job
    async def short() -> None:
        await anyio.sleep(0.05)
        done.append(True)

    async with create_direct(serve(short, jobs_config={"shutdown_ms": 10_000})) as direct:
        await direct.execute_job("short", background=True)
    assert done == [True]
    assert "lost when the server stops" in caplog.text


async def test_at_the_end_it_is_told_how_many_are_lost(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()

    @Job
    async def hold() -> None:
        await gate.pass_through()

    async with create_direct(serve(hold, jobs_config={"max_running": 1, "shutdown_ms": 0})) as direct:
        for _ in range(3):
            await direct.execute_job("hold", background=True)
        await gate.reached()
    assert gate.was_cancelled.is_set()
    assert "the server stops: 3 runs that have not ended are lost" in caplog.text


async def test_each_of_many_workers_is_said_to_know_its_own_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", "4")
    async with create_direct(serve(ExportTickets)):
        assert "each of 4 workers knows only the runs it started itself" in caplog.text


# Whose run it is


async def test_a_run_of_nobody_is_theirs_who_have_its_id_and_nobodys_who_has_a_name() -> None:
    server = serve(ExportTickets)
    async with create_direct(server) as direct:
        service = next(info.plugin for info in server.plugins.infos if info.name == "jobs")._service
        run = new_run(
            owner=Owner(sub="anon:1", is_anonymous=True), entry="desk:export-tickets", input={"customer": "a"}
        )
        await service.engine.submit(run)
        assert (await service.find(Caller.anonymous(), run.id, "job")).id == run.id
        assert str(await refused(direct.get_job_status(run.id, auth_context=NOUR))) == f'Run "{run.id}" not found'
        named = await direct.execute_job("export-tickets", {"customer": "a"}, auth_context=NOUR)
        assert "not found" in str(await refused(service.find(Caller.anonymous(), named["runId"], "job")))


async def test_a_run_is_its_starters_and_nobody_elses() -> None:
    async with create_direct(serve(ExportTickets)) as direct:
        run = await direct.execute_job("export-tickets", {"customer": "acme"}, auth_context=NOUR)
        assert (await direct.get_job_status(run["runId"], auth_context=NOUR))["state"] == "completed"
        issued = {"user": {"sub": "nour", "iss": "https://elsewhere.example"}}
        for stranger in (DANA, issued, None):
            for awaitable in (
                direct.get_job_status(run["runId"], auth_context=stranger),
                direct.cancel_job(run["runId"], auth_context=stranger),
            ):
                assert str(await refused(awaitable)) == f'Run "{run["runId"]}" not found'


async def test_what_it_calls_it_calls_as_its_owner_without_a_token() -> None:
    seen: list[Any] = []

    @Tool(visibility="internal")
    async def note(ctx: ToolContext) -> None:
        seen.append((ctx.auth.sub, ctx.auth.roles, ctx.auth.token, ctx.call.origin, ctx.call.surface))

    @Job
    async def nightly(ctx: JobContext) -> None:
        assert ctx.auth.claims["team"] == "blue"
        await ctx.call_tool("note")

    async with create_direct(serve(nightly, tools=[note])) as direct:
        user = {"user": {"sub": "nour", "roles": ["admin"], "team": "blue"}, "token": "s3cret-token"}
        await direct.execute_job("nightly", auth_context=user)
    assert seen == [("nour", ("admin",), None, "job", "job")]


async def test_permissions_say_who_starts_sees_and_cancels() -> None:
    permissions: Any = [
        {"action": "execute", "roles": ["agent", "admin"]},
        {"action": "read", "roles": ["admin"]},
        {"action": "list", "scopes": ["jobs"]},
        {"action": "delete", "custom": lambda caller: caller.sub == "root"},
    ]

    @Job(permissions=permissions)
    async def purge() -> int:
        return 1

    agent = {"user": {"sub": "ben", "roles": ["agent"], "scopes": ["jobs"]}}
    async with create_direct(serve(purge)) as direct:
        error = await refused(direct.execute_job("purge", auth_context=DANA))
        assert (error.code, str(error)) == ("ACCESS_DENIED", 'Access denied to Job "desk:purge"')
        run = await direct.execute_job("purge", auth_context=agent)
        assert (await direct.get_job_status(run["runId"], auth_context=NOUR))["result"] == 1
        assert (await refused(direct.cancel_job(run["runId"], auth_context=NOUR))).code == "INVALID_INPUT"
        assert (await direct.cancel_job(run["runId"], auth_context={"user": {"sub": "root"}}))["state"] == "completed"
        for user, count in ((agent, 1), (NOUR, 0)):
            listed = (await direct.call_tool("list_jobs", {}, auth_context=user)).structured_content or {}
            assert listed["count"] == count


async def test_authorities_hold_when_it_is_started_and_at_every_attempt() -> None:
    policy = {"roles": {"any": ["admin"]}}
    allowed = [True]

    class Moody(Plugin):
        @hookimpl(kinds="job")
        async def check_authorities(self, call: Call) -> None:
            if not allowed[0]:
                raise PublicMcpError("no longer", "AUTHORITY_DENIED")

    @Job(authorities=policy, retry={"max_attempts": 5, "backoff_ms": 0})
    async def purge() -> None:
        allowed[0] = False
        raise RuntimeError("again")

    async with create_direct(serve(purge, plugins=[Moody])) as direct:
        error = await refused(direct.execute_job("purge", background=True, auth_context=DANA))
        assert error.code == "AUTHORITY_DENIED"
        assert str(error).startswith('Access denied to Job "desk:purge"')
        run = await direct.execute_job("purge", background=True, auth_context=NOUR)
        status = await until(direct, run["runId"], auth_context=NOUR)
        assert (status["error"]["code"], status["attempt"]) == ("AUTHORITY_DENIED", 2)


async def test_internal_jobs_are_for_tools() -> None:
    @Job(visibility="internal")
    async def purge() -> int:
        return 1

    @Tool
    async def ask(ctx: ToolContext) -> Any:
        return (await ctx.call_tool("execute_job", {"name": "purge"})).structured_content

    async with create_direct(serve(purge, tools=[ask])) as direct:
        assert str(await refused(direct.execute_job("purge"))) == 'Job "purge" not found'
        assert ((await direct.call_tool("ask")).structured_content or {})["result"] == 1


async def test_a_client_is_told_the_nearest_of_the_jobs_that_it_can_reach() -> None:
    @Job
    async def invoice() -> int:
        return 1

    @Job(visibility="internal")
    async def invoices() -> int:
        return 1

    @Job(authorities={"roles": {"any": ["admin"]}})
    async def invoicing() -> int:
        return 1

    async with create_direct(serve(invoice, invoices, invoicing)) as direct:
        for wrong in ("invoice_", "invoicin"):
            assert str(await refused(direct.execute_job(wrong))) == f'Job "{wrong}" not found; did you mean "invoice"?'


async def test_limits_count_attempts() -> None:
    job, attempts = flaky(
        9, retry={"max_attempts": 5, "backoff_ms": 0}, rate_limit={"max_requests": 2, "window_ms": 60_000}
    )
    async with create_direct(serve(job)) as direct:
        status = await until(direct, (await direct.execute_job("flaky", background=True))["runId"])
        assert (status["error"]["code"], attempts) == ("RATE_LIMIT_EXCEEDED", [1, 2])


# What others hear


@pytest.fixture
def server() -> FrontMcp:
    @Job
    class Export(JobContext):
        async def execute(self) -> str:
            await self.progress(1, 2, "half")
            await self.call_tool("write")
            return "done"

    @Tool(visibility="internal")
    async def write(ctx: ToolContext) -> None:
        await ctx.progress(2, 2, "whole")

    return serve(Export, boom, tools=[write])


async def test_an_error_that_is_not_public_is_the_tools_for_who_waits_and_the_jobs_in_the_status(mcp: Any) -> None:
    (await mcp.tools.call("execute_job", {"name": "boom"})).assert_error("TOOL_EXECUTION_ERROR")
    started = await mcp.tools.call("execute_job", {"name": "boom", "background": True})
    status = await mcp.jobs.wait(started.json()["runId"])
    assert (status["error"]["code"], status["error"]["name"]) == ("JOB_EXECUTION_ERROR", "RuntimeError")


async def test_a_client_that_waits_hears_the_progress(mcp: Any) -> None:
    result = await mcp.tools.call("execute_job", {"name": "export"})
    assert result.json()["result"] == "done"
    told = [(each.progress, each.total, each.message) for each in mcp.notifications.progress()]
    assert told[-1] == (2, 2, "whole")
    assert told == sorted(told)


async def test_progress_is_kept_for_who_asks_later(mcp: Any) -> None:
    started = await mcp.tools.call("execute_job", {"name": "export", "background": True})
    status = await mcp.jobs.wait(started.json()["runId"])
    assert status["progress"] == {"progress": 2, "total": 2, "message": "whole"}


async def test_waiting_for_what_is_not_there_fails_at_once(mcp: Any) -> None:
    with pytest.raises(AssertionError, match='Run "r-1" not found'):
        await mcp.jobs.wait("r-1")


async def test_channels_hear_of_runs_that_ended() -> None:
    heard: list[Any] = []

    @Channel("done", source={"type": "job-completion", "jobs": ["export-tickets", "boom"]})
    async def done(payload: dict[str, Any]) -> None:
        heard.append(payload)

    async with create_direct(serve(ExportTickets, boom, channels=[done])) as direct:
        run = await direct.execute_job("export-tickets", {"customer": "acme"})
        await refused(direct.execute_job("boom"))
        with anyio.fail_after(5):
            while len(heard) < 2:
                await anyio.sleep(0.002)
    assert heard[0] == {
        "runId": run["runId"], "jobName": "export-tickets", "state": "completed", "result": {"rows": 43},
    }  # fmt: skip
    assert (heard[1]["state"], heard[1]["error"]["name"]) == ("failed", "RuntimeError")


async def test_entries_may_come_and_go_while_runs_go_on() -> None:
    gate = Gate()

    @Job
    async def hold() -> str:
        await gate.pass_through()
        return "done"

    @Tool
    async def late() -> None: ...

    server = serve(hold)
    async with create_direct(server) as direct:
        run_id = (await direct.execute_job("hold", background=True))["runId"]
        await gate.reached()
        await server.add_tool(late)
        gate.open()
        assert (await until(direct, run_id))["result"] == "done"
        assert (await direct.execute_job("hold"))["result"] == "done"


async def test_the_first_job_and_task_must_be_there_at_the_start() -> None:
    @Tool(task=True)
    async def late() -> None: ...

    server = FrontMcp("desk", autoload_plugins=False)
    async with server.running():
        with pytest.raises(ConfigurationError, match="the first tool with task= can't be added"):
            await server.add_tool(late)
        with pytest.raises(ConfigurationError, match="the first job or workflow can't be added"):
            server.job(name="boom")(boom)
        assert server.entries() == []


# Mistakes that stop the start


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"plugins": ["no:jobs"]}, r'Job "boom" .*no plugin claims the kind job: plugin "jobs".* is disabled'),
        ({"jobs_config": {"store": "sqllite:///x.db"}}, r'the store sqllite://…; did you mean "sqlite"'),
        ({"jobs_config": {"store": "sqlite:///x.db"}}, r"jobs_config: no plugin knows the store sqlite://.*frontmcp-dbos"),
        ({"jobs_config": {"store": "nowhere"}}, r'"store" takes a URL'),
        ({"jobs_config": {"store": 7}}, r"no plugin makes a JobEngine of int"),
        ({"jobs_config": {"max_runing": 7}}, r"jobs_config.*max_runing"),
        ({"jobs_config": {"max_running": 0}}, r"jobs_config.*max_running"),
    ],
)  # fmt: skip
def test_wrong_configuration_stops_the_start(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        serve(boom, **options).check()


def test_a_job_that_could_never_run_stops_the_start() -> None:
    @Job(available_when={"surface": ["mcp"]})
    async def hidden() -> None: ...

    with pytest.raises(ConfigurationError, match='it runs on the surface "job"'):
        serve(hidden).check()


def test_no_text_shows_what_a_store_is_given() -> None:
    with pytest.raises(ConfigurationError) as wrong:
        serve(boom, jobs_config={"store": "postgresql://user:hunter2@db/x"}).check()
    assert "hunter2" not in str(wrong.value)


async def test_a_plugin_brings_an_engine() -> None:
    from frontmcp.interfaces.jobs import JobsConfig
    from plugins_builtin.jobs.memory import MemoryJobEngine

    asked: list[JobsConfig] = []

    class Engines(Plugin):
        @hookimpl
        def job_engine(self, config: JobsConfig) -> Any:
            asked.append(config)
            return MemoryJobEngine(config) if config.store == "acme://runs" else None

    config = {"store": "acme://runs", "engine": {"depth": 3}}
    async with create_direct(serve(ExportTickets, plugins=[Engines], jobs_config=config)) as direct:
        assert (await direct.execute_job("export-tickets", {"customer": "a"}))["state"] == "completed"
    assert [each.engine for each in asked] == [{"depth": 3}]
