"""The store may be wrong, away, or somebody else's: what then is told, and what goes on."""

from __future__ import annotations

import os
import re
import resource
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import psycopg
import pytest
from frontmcp_dbos import DbosJobs
from frontmcp_dbos.engine import DbosJobEngine
from frontmcp_dbos.queue import JsonSerializer
from frontmcp_dbos.records import FullError, Records, url_of
from frontmcp_dbos.slots import slots_of

from frontmcp import ConfigurationError, FrontMcp, Job, JobContext, Step, Workflow, create_direct
from frontmcp.direct import Direct
from frontmcp.errors import FrontMcpError
from frontmcp.interfaces.jobs import Change, JobsConfig, Journal, Outcome, Run, RunQuery, RunState
from frontmcp.testing.runs import Gate, echo, ended, found, new_run, started

if TYPE_CHECKING:
    from conftest import PostgresServer


def engine_of(store: str, **config: Any) -> DbosJobEngine:
    return DbosJobEngine(JobsConfig(store=store, **config))


class TestWrong:
    @pytest.mark.parametrize("store", ["sqlite://", "sqlite:///:memory:"])
    def test_memory_is_no_store(self, store: str) -> None:
        with pytest.raises(ConfigurationError, match=r'runs need a file: write "sqlite:///jobs.db"'):
            engine_of(store)

    @pytest.mark.parametrize(
        ("store", "words"),
        [
            ("postgresql://me:hun@ter2@db/jobs", 'more than one "@": write that of a password as %40'),
            ("postgresql://me:hunter2@db:port/jobs", "is no URL: write sqlite:///jobs.db or postgresql://"),
            ("postgresql+asyncpg://me:hunter2@db/jobs", r"is of postgresql\+asyncpg: write sqlite:///jobs.db or"),
        ],
    )
    def test_what_is_wrong_with_a_url_is_told_without_its_password(self, store: str, words: str) -> None:
        server = FrontMcp("desk", jobs=[double], plugins=[DbosJobs()], autoload_plugins=False)
        server.check()
        with pytest.raises(ConfigurationError, match=words) as refused:
            TestServer().server(store).check()
        assert "ter2" not in str(refused.value)

    def test_an_option_that_is_none_is_named(self) -> None:
        with pytest.raises(ConfigurationError, match="jobs_config: engine: nmae: Extra inputs"):
            engine_of("sqlite:///jobs.db", engine={"nmae": "x"})

    async def test_a_file_that_can_not_be_written(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match=r"jobs_config: sqlite:///.* can't be opened: unable to open"):
            await engine_of(f"sqlite:///{tmp_path}/missing/jobs.db").start(echo)

    @pytest.mark.parametrize(
        ("kept", "words"), [(0.5, "database disk image is malformed"), (0, "file is not a database")]
    )
    async def test_a_file_that_is_broken(self, kept: float, words: str, sqlite_store: str) -> None:
        path = sqlite_store.removeprefix("sqlite:///")
        os.truncate(path, int(kept * os.stat(path).st_size))
        if not kept:
            await anyio.Path(path).write_bytes(b"no database" * 1000)
        with pytest.raises(ConfigurationError, match=f"can't be opened: {words}"):
            await engine_of(sqlite_store).start(echo)

    async def test_what_dbos_may_not_do_is_told(self, postgres: PostgresServer) -> None:
        name = postgres.new_database()
        with psycopg.connect(postgres.url(name), autocommit=True) as admin:
            admin.execute("CREATE ROLE weak LOGIN")
            admin.execute("GRANT CREATE ON SCHEMA public TO weak")
        with pytest.raises(ConfigurationError, match=f"can't be opened: permission denied for database {name}"):
            await engine_of(postgres.url(name).replace("frontmcp@", "weak@")).start(echo)

    async def test_a_server_that_is_not_there_is_named_without_its_password(self) -> None:
        with pytest.raises(ConfigurationError) as refused:
            await engine_of("postgresql://me:hunter2@127.0.0.1:1/jobs").start(echo)
        assert "127.0.0.1:1/jobs can't be opened: connection" in str(refused.value)
        assert "hunter2" not in str(refused.value)

    async def test_it_starts_after_a_start_that_failed(self, tmp_path: Path, sqlite_store: str) -> None:
        with pytest.raises(ConfigurationError):
            await engine_of(f"sqlite:///{tmp_path}/missing/jobs.db").start(echo)
        async with started(engine_of(sqlite_store), echo) as engine:
            assert (await ended(engine, (await engine.submit(new_run())).id)).state == RunState.COMPLETED

    async def test_one_process_has_one(self, sqlite_store: str, tmp_path: Path) -> None:
        async with started(engine_of(sqlite_store), echo):
            with pytest.raises(ConfigurationError, match="DBOS is one per process"):
                await engine_of(f"sqlite:///{tmp_path}/other.db").start(echo)

    def test_trio_is_refused(self, tmp_path: Path) -> None:
        start = engine_of(f"sqlite:///{tmp_path}/jobs.db").start
        with ThreadPoolExecutor() as pool, pytest.raises(ConfigurationError, match="asyncio only"):
            pool.submit(anyio.run, start, echo, backend="trio").result()


class TestKept:
    def test_reading_runs_no_code(self) -> None:
        serializer = JsonSerializer()
        assert serializer.deserialize(serializer.serialize({"a": [1, None]})) == {"a": [1, None]}
        assert serializer.deserialize(serializer.serialize(ValueError("secret"))) == {"error": "ValueError"}
        with pytest.raises(ValueError, match="expected"):
            serializer.deserialize("gASVDAAAAAAAAACMCGJ1aWx0aW5zlIwEZXZhbJSTlC4=")

    async def test_servers_of_other_names_do_not_see_runs(self, sqlite_store: str) -> None:
        async with started(engine_of(sqlite_store), echo) as engine:
            run = await engine.submit(new_run(foreground=True))
            await ended(engine, run.id)
        async with started(engine_of(sqlite_store, engine={"name": "another"}), echo) as engine:
            assert await engine.get(run.id) is None
            assert list(await engine.list(RunQuery())) == []
            # As where both have a job of one name on one schedule.
            await engine.submit(run.model_copy(update={"input": {"of": "another"}}))
            assert (await ended(engine, run.id)).result == {"of": "another"}

    async def test_a_run_that_began_goes_on_at_the_next_start(
        self, sqlite_store: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO", "frontmcp.jobs")
        begun = anyio.Event()

        async def hold(run: Run, journal: Journal) -> Outcome:
            await journal.report(Change(state=RunState.RUNNING, attempt=1))
            journal.log("first")
            begun.set()
            await anyio.sleep_forever()
            raise AssertionError

        async def finish(run: Run, journal: Journal) -> Outcome:
            journal.log("second")
            return Outcome(state=RunState.COMPLETED, result=run.input)

        async with started(engine_of(sqlite_store), hold, grace=0.1) as engine:
            run = await engine.submit(new_run(foreground=True, input={"a": 1}))
            await begun.wait()
        async with started(engine_of(sqlite_store), finish) as engine:
            again = await ended(engine, run.id)
        assert (again.state, again.result) == (RunState.COMPLETED, {"a": 1})
        assert f"run {run.id} of job" in caplog.text
        assert again.logs == ["first", "second"]

    async def test_a_run_that_begins_while_the_server_stops_is_left_to_the_next_start(
        self, sqlite_store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begins = threading.Event()

        async def step(run: Run, journal: Journal) -> Outcome:
            async def work() -> int:
                return 1

            return Outcome(state=RunState.COMPLETED, result=await journal.step("work", work))

        async with started(engine_of(sqlite_store), step) as engine:
            begin = engine._records.begin  # type: ignore[attr-defined]

            def slowly(run_id: str) -> bool:
                begins.set()
                time.sleep(0.5)
                return bool(begin(run_id))

            monkeypatch.setattr(engine._records, "begin", slowly)  # type: ignore[attr-defined]
            run = await engine.submit(new_run())
            assert await anyio.to_thread.run_sync(begins.wait, 10)
        async with started(engine_of(sqlite_store), step) as engine:
            assert (await ended(engine, run.id)).state is RunState.COMPLETED

    async def test_a_key_is_held_and_a_time_waited_for_across_restarts(self, store: str) -> None:
        gate, begin = Gate(), time.time()
        async with started(engine_of(store), gate.hold, grace=0.1) as engine:
            held = await engine.submit(new_run(key="nightly"))
            late = await engine.submit(new_run(key="later", not_before=begin + 2))
            never = await engine.submit(new_run(not_before=begin + 2))
            await gate.reached()
        async with started(engine_of(store), echo) as engine:
            assert (await engine.submit(new_run(key="later"))).id == late.id
            assert await engine.cancel(never.id)
            again = await engine.submit(new_run(key="nightly"))
            assert again.id == held.id or (await found(engine, held.id)).state is RunState.COMPLETED
            assert (await ended(engine, late.id)).state is RunState.COMPLETED
            assert time.time() >= begin + 2
            assert (await ended(engine, never.id)).state is RunState.CANCELLED
            assert (await engine.submit(new_run(key="later"))).id != late.id

    async def test_lines_of_a_log_are_written_together(
        self, sqlite_store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        saved: list[int] = []

        async def chatter(run: Run, journal: Journal) -> Outcome:
            for number in range(500):
                journal.log(str(number))
                await anyio.sleep(0.001)
            return Outcome(state=RunState.COMPLETED)

        async with started(engine_of(sqlite_store), chatter) as engine:
            save = engine._records.save  # type: ignore[attr-defined]

            def counted(runs: Any) -> None:
                saved.extend(len(run.logs) for run in runs)
                save(runs)

            monkeypatch.setattr(engine._records, "save", counted)  # type: ignore[attr-defined]
            run = await ended(engine, (await engine.submit(new_run())).id)
        assert len(run.logs) == 500
        assert 1 <= len(saved) <= 50

    async def test_readers_and_a_writer_share_the_file(self, sqlite_store: str) -> None:
        async with started(engine_of(sqlite_store), echo):
            with sqlite3.connect(sqlite_store.removeprefix("sqlite:///")) as database:
                assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


class TestQueue:
    async def test_processes_that_submit_at_once_keep_no_more_than_may_wait(self, store: str) -> None:
        url = url_of(store)
        processes, begin, kept = [Records(url, "frontmcp") for _ in range(8)], threading.Barrier(8), list[Any]()

        def submit(records: Records) -> None:
            begin.wait(10)
            for _ in range(4):
                with suppress(FullError):
                    kept.append(records.insert(new_run(), 10))

        async with anyio.create_task_group() as group:
            for records in processes:
                group.start_soon(anyio.to_thread.run_sync, submit, records)
        assert (kept, processes[0].waiting()) == ([None] * 10, 10)
        for records in processes:
            records.close()


class TestMended:
    async def test_a_cancel_that_dbos_did_not_hear_of(self, store: str) -> None:
        gate = Gate()
        async with started(engine_of(store, max_running=1), gate.hold) as engine:
            await engine.submit(new_run())
            await gate.reached()
            cancelled = await engine.submit(new_run())
            cancelled.end(Outcome(state=RunState.CANCELLED), time.time())
            engine._records.end(cancelled)
            gate.open()
            await ended(engine, (await engine.submit(new_run())).id)
            with anyio.fail_after(10):
                while (await engine._queue.workflow(cancelled.id)).status != "SUCCESS":  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            assert gate.entered == 2

    async def test_a_run_that_is_under_way_nowhere(self, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("engine", "recovery"):
            monkeypatch.setattr(f"frontmcp_dbos.{module}.MAKE_GOOD_SECONDS", 0.3)
        async with started(engine_of(store), echo) as engine:
            engine._moving = True
            runs = [await engine.submit(new_run(foreground=foreground)) for foreground in (True, False)]
            await anyio.sleep(0.3)
            engine._moving = False
            for run in runs:
                assert (await ended(engine, run.id)).state == RunState.COMPLETED


class TestNoWriting:
    async def test_a_disk_that_takes_no_more_fails_no_run(
        self, sqlite_store: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        await self.check(sqlite_store, full_disk(), "disk I/O error", monkeypatch, caplog)

    async def test_nor_does_a_database_that_became_read_only(
        self,
        postgres: PostgresServer,
        postgres_store: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        words = r"cannot execute [A-Z ]+ in a read-only transaction"
        await self.check(postgres_store, read_only(postgres), words, monkeypatch, caplog)

    async def check(
        self,
        store: str,
        without_writing: AbstractContextManager[None],
        words: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        for module in ("engine", "recovery"):
            monkeypatch.setattr(f"frontmcp_dbos.{module}.MAKE_GOOD_SECONDS", 0.3)
        gate, ran = Gate(), list[str]()

        async def steps(run: Run, journal: Journal) -> Outcome:
            async def work(name: str) -> str:
                ran.append(name)
                if name == "two":
                    await gate.pass_through()
                return name

            gave = [await journal.step(name, partial(work, name)) for name in ("one", "two", "three")]
            return Outcome(state=RunState.COMPLETED, result=gave)

        async with started(engine_of(store), steps) as engine:
            run = await engine.submit(new_run(foreground=True))
            await gate.reached()
            with without_writing:
                gate.open()
                left = f'run {run.id} is left, to go on later: its step "two" was not kept: {words}'
                with anyio.fail_after(20):
                    while not re.search(left, caplog.text):  # noqa: ASYNC110
                        await anyio.sleep(0.01)
                with pytest.raises(FrontMcpError) as refused:
                    await engine.submit(new_run())
                assert refused.value.code == "JOB_STORE_UNAVAILABLE"
                assert re.search(f"the store of jobs does not answer: {words}", caplog.text)
                assert not (await found(engine, run.id)).state.is_final
            assert (await ended(engine, run.id)).result == ["one", "two", "three"]
        assert ran == ["one", "two", "two", "three"]


@contextmanager
def read_only(server: PostgresServer) -> Iterator[None]:
    """Nothing is written in any transaction, as after a failover."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as admin:

        def set_to(value: str) -> None:
            admin.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}".encode())
            admin.execute("SELECT pg_reload_conf()")
            # Sessions are told by a signal: until then they write on.
            while admin.execute("SHOW default_transaction_read_only").fetchone() != (value,):
                time.sleep(0.01)

        set_to("on")
        try:
            yield
        finally:
            set_to("off")


@contextmanager
def full_disk() -> Iterator[None]:
    """No file takes more than it has."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


class TestLock:
    async def test_it_is_held_again_when_the_database_is_back(
        self, postgres: PostgresServer, postgres_store: str
    ) -> None:
        async with started(engine_of(postgres_store), echo) as engine:
            await anyio.to_thread.run_sync(postgres.stop)
            await anyio.sleep(2)
            await anyio.to_thread.run_sync(postgres.start)
            with anyio.fail_after(20):
                while await anyio.to_thread.run_sync(engine._recovery.is_dead, engine._slots.number):  # noqa: ASYNC110
                    await anyio.sleep(0.1)

    async def test_who_lost_it_to_another_process_becomes_another(self, postgres_store: str) -> None:
        gate = Gate()
        async with started(engine_of(postgres_store), gate.hold) as engine:
            other, number = slots_of(engine._url, "frontmcp"), engine._slots.number
            runs = [await engine.submit(new_run(foreground=foreground)) for foreground in (True, False)]
            await gate.reached(2)
            await anyio.to_thread.run_sync(steal, engine._slots, other)
            await gate.was_cancelled.wait()
            gate.open()
            with anyio.fail_after(20):
                while engine._moving or engine._slots.number == number:  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            assert (await ended(engine, (await engine.submit(new_run())).id)).state == RunState.COMPLETED
            await anyio.to_thread.run_sync(other.release)
            for run in runs:
                assert (await ended(engine, run.id)).state == RunState.COMPLETED


def steal(slots: Any, other: Any) -> None:
    """End the session that holds a slot, and take the slot."""
    with slots._using, psycopg.connect(str(slots._engine.url).replace("+psycopg", ""), autocommit=True) as admin:
        pid = slots._session.connection.dbapi_connection.info.backend_pid
        other._session = other._engine.connect()
        admin.execute("SELECT pg_terminate_backend(%s)", [pid])
        while not other._lock(other._session, slots.number):
            time.sleep(0.01)


async def test_a_database_that_goes_away_and_comes_back(
    postgres: PostgresServer, postgres_store: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def steps(run: Run, journal: Journal) -> Outcome:
        async def work() -> int:
            await anyio.sleep(0.05)
            return 1

        for number in range(5):
            await journal.step(str(number), work)
        return Outcome(state=RunState.COMPLETED)

    async with started(engine_of(postgres_store, max_running=5), steps) as engine:
        ids = [(await engine.submit(new_run())).id for _ in range(20)]
        await anyio.sleep(0.2)
        await anyio.to_thread.run_sync(postgres.stop)
        with pytest.raises(FrontMcpError) as refused:
            await engine.submit(new_run())
        assert (refused.value.code, refused.value.public) == ("JOB_STORE_UNAVAILABLE", True)
        await anyio.sleep(1)
        await anyio.to_thread.run_sync(postgres.start)
        with anyio.fail_after(60):
            for run_id in ids:
                run = None
                while run is None or not run.state.is_final:
                    try:
                        run = await engine.wait(run_id, timeout=5)
                    except FrontMcpError:
                        await anyio.sleep(0.1)
                assert run.state == RunState.COMPLETED
    assert "the store of jobs does not answer" in caplog.text


@Job
async def double(ctx: JobContext, number: int) -> int:
    """Twice a number."""
    ctx.log("doubling")
    return 2 * number


async def until_ended(direct: Direct, run_id: str) -> dict[str, Any]:
    with anyio.fail_after(20):
        while "completedAt" not in (status := await direct.get_job_status(run_id)):  # noqa: ASYNC110
            await anyio.sleep(0.02)
    return status


@Workflow(
    name="twice",
    steps=[
        Step("one", "double", input={"number": 1}),
        Step("two", "double", input=lambda steps: {"number": steps.get("one").outputs}, depends_on=["one"]),
    ],
)
class Twice: ...


class TestServer:
    def server(self, store: str, **options: Any) -> FrontMcp:
        return FrontMcp(
            "desk",
            jobs=[double, *options.pop("jobs", ())],
            workflows=[Twice],
            plugins=[DbosJobs(), *options.pop("plugins", ())],
            autoload_plugins=False,
            jobs_config={"store": store},
        )

    async def test_jobs_and_workflows_run_on_it(self, sqlite_store: str) -> None:
        async with create_direct(self.server(sqlite_store)) as direct:
            done = await direct.execute_job("double", {"number": 21})
            assert (done["state"], done["result"]) == ("completed", 42)
            flow = await direct.execute_workflow("twice")
            assert flow["state"] == "completed"
        async with create_direct(self.server(sqlite_store)) as direct:
            again = await direct.get_job_status(done["runId"])
            assert (again["state"], again["result"], len(again["logs"])) == ("completed", 42, 1)

    async def test_what_took_too_long_is_told_apart_from_what_was_cancelled(self, sqlite_store: str) -> None:
        gate = Gate()

        @Job(timeout_ms=50)
        async def slow() -> None:
            await anyio.sleep_forever()

        @Job
        async def hold() -> None:
            await gate.pass_through()

        async with create_direct(self.server(sqlite_store, jobs=[slow, hold])) as direct:
            late = await direct.execute_job("slow", background=True)
            held = await direct.execute_job("hold", background=True)
            await gate.reached()
            await direct.cancel_job(held["runId"])
            await gate.was_cancelled.wait()
            states = [await until_ended(direct, each["runId"]) for each in (late, held)]
        assert [each["state"] for each in states] == ["timed_out", "cancelled"]
        assert (states[0]["error"]["code"], "error" in states[1]) == ("JOB_TIMEOUT", False)

    async def test_a_token_is_in_no_file(self, sqlite_store: str) -> None:
        caller = {"user": {"sub": "nour", "team": "blue-team"}, "token": "s3cret-token"}
        async with create_direct(self.server(sqlite_store)) as direct:
            await direct.execute_job("double", {"number": 21}, auth_context=caller)
        path = anyio.Path(sqlite_store.removeprefix("sqlite:///"))
        kept = b"".join([await each.read_bytes() async for each in path.parent.iterdir()])
        assert b"blue-team" in kept
        assert b"s3cret-token" not in kept

    async def test_it_fires_what_is_scheduled(self, sqlite_store: str) -> None:
        seen = list[str]()

        @Job(schedule="* * * * * *", run_as={"sub": "reporter"})
        async def tick(ctx: JobContext) -> None:
            seen.append(ctx.auth.sub)

        server = self.server(sqlite_store, jobs=[tick])
        async with server.running():
            with anyio.fail_after(20):
                while not seen:  # noqa: ASYNC110
                    await anyio.sleep(0.05)
        assert set(seen) == {"reporter"}

    def test_without_jobs_it_is_off_and_the_server_starts(self) -> None:
        FrontMcp("desk", plugins=[DbosJobs(), "no:jobs"], autoload_plugins=False).check()
