"""The memory engine passes the kit of job engines, on asyncio and trio."""

from __future__ import annotations

import time

import anyio
import pytest

from frontmcp.interfaces.jobs import JobsConfig, QueueFullError, RunState
from frontmcp.testing import JobEngineKit
from frontmcp.testing.runs import Gate, echo, ended, new_run, started
from plugins_builtin.jobs.memory import MemoryJobEngine


class TestMemoryJobEngine(JobEngineKit):
    @pytest.fixture
    def engine(self) -> MemoryJobEngine:
        return MemoryJobEngine(JobsConfig(max_running=2, max_queued=3, max_kept=4))


async def test_what_is_cancelled_while_it_waits_is_let_go() -> None:
    engine, gate = MemoryJobEngine(JobsConfig(max_running=1, max_kept=1)), Gate()
    async with started(engine, gate.hold):
        await engine.submit(new_run())
        await gate.reached()
        for number in range(1000):
            run = await engine.submit(new_run(not_before=time.time() + 60 if number % 2 else None))
            assert await engine.cancel(run.id)
        assert len(engine._queue) + len(engine._later) <= 101
        assert len(engine._runs) == 2
        gate.open()


async def test_ten_thousand_may_wait() -> None:
    engine, gate = MemoryJobEngine(JobsConfig(max_running=1)), Gate()
    async with started(engine, gate.hold, grace=0):
        await engine.submit(new_run())
        await gate.reached()
        for _ in range(10_000):
            await engine.submit(new_run())
        with pytest.raises(QueueFullError):
            await engine.submit(new_run())


async def test_a_clock_that_is_set_loses_no_run_that_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    now, clock = time.time(), [0.0]
    monkeypatch.setattr(time, "time", lambda: now + clock[0])
    async with started(MemoryJobEngine(JobsConfig()), echo) as engine:
        run = await ended(engine, (await engine.submit(new_run())).id)
        for clock[0] in (10 * 24 * 3600.0, -10 * 24 * 3600.0):
            assert await engine.get(run.id) is not None
            assert (await ended(engine, (await engine.submit(new_run())).id)).state is RunState.COMPLETED


async def test_what_has_ended_is_forgotten_in_time() -> None:
    async with started(MemoryJobEngine(JobsConfig(keep_ms=20)), echo) as engine:
        run = await ended(engine, (await engine.submit(new_run())).id)
        with anyio.fail_after(5):
            while await engine.get(run.id) is not None:
                await anyio.sleep(0.005)
