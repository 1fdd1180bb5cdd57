"""The kit of durable engines: what it asks of the simplest engine that keeps anything, and what it finds wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from frontmcp.interfaces.jobs import Change, Execute, JobsConfig, Journal, Outcome, Run
from frontmcp.testing import DurableEngineKit
from plugins_builtin.jobs.memory import MemoryJobEngine


class KeepingJournal:
    """Keeps what steps give, in a table."""

    def __init__(self, journal: Journal, run: Run, kept: sqlite3.Connection) -> None:
        self._journal, self._run, self._kept = journal, run, kept
        self.reserve, self.log = journal.reserve, journal.log

    async def report(self, change: Change) -> None:
        await self._journal.report(change)

    async def step(self, key: str, work: Callable[[], Awaitable[Any]]) -> Any:
        row = self._kept.execute("select value from steps where run = ? and key = ?", (self._run.id, key)).fetchone()
        if row is not None:
            return int(row[0])
        value = await work()
        self._kept.execute("insert into steps values (?, ?, ?)", (self._run.id, key, value))
        return value


class KeepingJobEngine(MemoryJobEngine):
    """Keeps unfinished runs and their steps in a file; what it gives is in memory."""

    durable = True

    def __init__(self, path: str) -> None:
        super().__init__(JobsConfig())
        self._kept = sqlite3.connect(path, isolation_level=None)
        self._kept.execute("create table if not exists runs (id primary key, run)")
        self._kept.execute("create table if not exists steps (run, key, value, primary key (run, key))")

    async def start(self, execute: Execute) -> None:
        async def keeping(run: Run, journal: Journal) -> Outcome:
            return await execute(run, KeepingJournal(journal, run, self._kept))

        await super().start(keeping)
        for (kept,) in self._kept.execute("select run from runs").fetchall():
            await super().submit(Run.model_validate_json(kept))

    async def submit(self, run: Run) -> Run:
        self._kept.execute("insert or ignore into runs values (?, ?)", (run.id, run.model_dump_json()))
        return await super().submit(run)


def make_keeping(path: str) -> KeepingJobEngine:
    return KeepingJobEngine(path)


def make_forgetful(path: str) -> MemoryJobEngine:
    return MemoryJobEngine(JobsConfig())


class TestKit:
    """The kit's own test of durability, run on an engine that has it."""

    engine = "keeping"

    @pytest.fixture
    def durable_factory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
        monkeypatch.syspath_prepend(Path(__file__).parent)
        return f"{Path(__file__).stem}:make_{self.engine}", str(tmp_path / "runs.db")

    test_a_kill_loses_no_run_and_repeats_no_step = (
        DurableEngineKit.test_a_kill_loses_no_run_and_repeats_no_step_that_was_kept
    )
    RUNS = DurableEngineKit.RUNS
    STEPS = DurableEngineKit.STEPS


class TestForgetful(TestKit):
    """It fails for one that has not."""

    engine = "forgetful"

    @pytest.mark.xfail(raises=AssertionError, strict=True)
    async def test_a_kill_loses_no_run_and_repeats_no_step(
        self, durable_factory: tuple[str, str], tmp_path: Path
    ) -> None:
        await DurableEngineKit.test_a_kill_loses_no_run_and_repeats_no_step_that_was_kept(
            self, durable_factory, tmp_path
        )
