"""What every job engine must do with runs that wait, as tests: a part of `JobEngineKit`."""

from __future__ import annotations

import time

import anyio
import pytest

from frontmcp.errors import PublicMcpError
from frontmcp.interfaces.jobs import JobEngine, Run, RunState
from frontmcp.testing.runs import PATIENCE, Gate, echo, ended, found, new_id, new_run, started


class QueueTests:
    """How many run and wait at once, when they begin, and how they are cancelled."""

    async def test_no_more_run_at_once_than_may_but_those_somebody_waits_for(self, engine: JobEngine) -> None:
        gate = Gate()
        async with started(engine, gate.hold):
            queued = [(await engine.submit(new_run())).id for _ in range(3)]
            await gate.reached(2)
            awaited = (await engine.submit(new_run(foreground=True))).id
            await gate.reached(3)
            await anyio.sleep(0.05)
            assert gate.inside == 3
            gate.open()
            for run_id in (*queued, awaited):
                assert (await ended(engine, run_id)).state == RunState.COMPLETED

    async def test_no_more_wait_than_may(self, engine: JobEngine) -> None:
        gate = Gate()
        async with started(engine, gate.hold):
            for _ in range(2):
                await engine.submit(new_run())
            await gate.reached(2)
            for _ in range(3):
                await engine.submit(new_run())
            with pytest.raises(PublicMcpError) as refused:
                await engine.submit(new_run())
            assert refused.value.code == "JOB_QUEUE_FULL"
            gate.open()

    async def test_no_more_wait_than_may_though_many_are_submitted_at_once(self, engine: JobEngine) -> None:
        gate, kept, refused = Gate(), list[Run](), list[str]()

        async def submit() -> None:
            try:
                kept.append(await engine.submit(new_run()))
            except PublicMcpError as error:
                refused.append(error.code)

        async with started(engine, gate.hold):
            for _ in range(2):
                await engine.submit(new_run())
            await gate.reached(2)
            async with anyio.create_task_group() as group:
                for _ in range(12):
                    group.start_soon(submit)
            assert (len(kept), refused) == (3, ["JOB_QUEUE_FULL"] * 9)
            gate.open()

    async def test_a_run_that_waits_already_is_given_where_no_more_may_wait(self, engine: JobEngine) -> None:
        gate, key = Gate(), new_id()
        async with started(engine, gate.hold):
            for _ in range(2):
                await engine.submit(new_run())
            await gate.reached(2)
            first = await engine.submit(new_run(key=key))
            for _ in range(2):
                await engine.submit(new_run())
            assert (await engine.submit(new_run(key=key))).id == first.id
            assert (await engine.submit(first)).id == first.id
            gate.open()

    async def test_a_run_waits_for_its_time(self, engine: JobEngine) -> None:
        async with started(engine, echo):
            begin = time.time()
            late = await engine.submit(new_run(not_before=begin + 0.3))
            soon = await engine.submit(new_run())
            await ended(engine, soon.id)
            assert (await found(engine, late.id)).state == RunState.PENDING
            assert (await ended(engine, late.id)).state == RunState.COMPLETED
            assert time.time() >= begin + 0.3

    async def test_an_id_is_submitted_once(self, engine: JobEngine) -> None:
        gate = Gate()
        async with started(engine, gate.hold):
            run = new_run(input={"n": 1})
            await engine.submit(run)
            await gate.reached()
            again = await engine.submit(run)
            assert (again.id, again.input) == (run.id, {"n": 1})
            gate.open()
            await ended(engine, run.id)
            assert (await engine.submit(run)).state == RunState.COMPLETED
            assert gate.entered == 1

    async def test_a_key_is_held_until_its_run_has_ended(self, engine: JobEngine) -> None:
        gate, key = Gate(), new_id()
        async with started(engine, gate.hold):
            first = await engine.submit(new_run(key=key))
            assert (await engine.submit(new_run(key=key))).id == first.id
            assert (await engine.submit(new_run(key=new_id()))).id != first.id
            gate.open()
            await ended(engine, first.id)
            assert (await engine.submit(new_run(key=key))).id != first.id

    async def test_a_running_run_is_cancelled(self, engine: JobEngine) -> None:
        gate = Gate()
        async with started(engine, gate.hold):
            run_id = (await engine.submit(new_run())).id
            await gate.reached()
            assert await engine.cancel(run_id) is True
            assert (await found(engine, run_id)).state == RunState.CANCELLED
            assert (await ended(engine, run_id)).state == RunState.CANCELLED
            with anyio.fail_after(PATIENCE):
                await gate.was_cancelled.wait()
            assert await engine.cancel(run_id) is False
            assert (await found(engine, run_id)).state == RunState.CANCELLED

    async def test_a_waiting_run_is_cancelled_and_never_begins(self, engine: JobEngine) -> None:
        gate = Gate()
        async with started(engine, gate.hold):
            for _ in range(2):
                await engine.submit(new_run())
            await gate.reached(2)
            waiting = (await engine.submit(new_run())).id
            later = (await engine.submit(new_run(not_before=time.time() + 60))).id
            assert await engine.cancel(waiting) is True
            assert await engine.cancel(later) is True
            assert (await ended(engine, waiting)).state == RunState.CANCELLED
            assert (await ended(engine, later)).state == RunState.CANCELLED
            gate.open()
            last = await engine.submit(new_run())
            await ended(engine, last.id)
            assert gate.entered == 3
