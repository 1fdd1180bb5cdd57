"""What every durable job engine must do besides: a process is killed, and the next one goes on."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from frontmcp.interfaces.jobs import Change, Execute, JobEngine, Journal, Outcome, Run, RunState
from frontmcp.testing.jobs import JobEngineKit
from frontmcp.testing.runs import new_id, new_run


class DurableEngineKit(JobEngineKit):
    """Tests of a `JobEngine` that claims to be durable: what `JobEngineKit` asks, and that nothing is lost by a kill.

    A fixture ``durable_factory`` gives how a process of its own makes an engine: ``("package.module:function",
    argument)``, the function being given the argument, which is text. Each test has a store of its own.
    """

    RUNS = 6
    STEPS = 4

    async def test_it_claims_to_be_durable(self, engine: JobEngine) -> None:
        assert engine.durable

    async def test_a_kill_loses_no_run_and_repeats_no_step_that_was_kept(
        self, durable_factory: tuple[str, str], tmp_path: Path
    ) -> None:
        ids = [new_id() for _ in range(self.RUNS)]
        journal = tmp_path / "steps"
        journal.touch()
        first = child(durable_factory, journal, ids)
        await until_lines(journal, "submitted", self.RUNS)
        await until_lines(journal, "kept", self.RUNS)
        first.send_signal(signal.SIGKILL)
        await anyio.to_thread.run_sync(first.wait)
        at_kill = lines(journal)
        second = child(durable_factory, journal, ids, "again")
        try:
            assert await anyio.to_thread.run_sync(lambda: second.wait(timeout=120)) == 0
        finally:
            second.kill()
            second.wait()
        begun, kept = _read(lines(journal))
        assert {run for run, _ in kept} == set(ids), "a run was lost"
        assert all((run, step) in kept for run in ids for step in range(self.STEPS)), "a step was lost"
        _, kept_before = _read(at_kill)
        for run, step in kept_before:
            assert begun.count((run, step)) == 1, f"step {step} of {run} was kept, and ran again"


def child(factory: tuple[str, str], journal: Path, ids: list[str], *words: str) -> subprocess.Popen[bytes]:
    """A process that submits runs to an engine, and ends when all have ended."""
    main = "from frontmcp.testing.durability import main; main()"
    command = [sys.executable, "-c", main, *factory, str(journal), ",".join(ids), *words]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def lines(journal: Path) -> list[str]:
    """What processes have written."""
    return journal.read_text().split("\n")[:-1]


async def until_lines(journal: Path, word: str, count: int) -> None:
    """Wait until processes have written so many lines that begin with a word."""
    with anyio.fail_after(60):
        while sum(line.startswith(word) for line in lines(journal)) < count:  # noqa: ASYNC110
            await anyio.sleep(0.01)


def _read(written: list[str]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """The steps that began, and those that were kept: what follows a step in its run came after it was kept."""
    begun, kept = list[tuple[str, int]](), list[tuple[str, int]]()
    for line in written:
        word, run, step = line.split()
        if word != "submitted":
            (begun if word == "begin" else kept).append((run, int(step)))
    return begun, kept


def _appender(journal: Path) -> Callable[[str], None]:
    # One write of one line: what a kill leaves is whole, and in order.
    file = os.open(journal, os.O_WRONLY | os.O_APPEND)

    def write(line: str) -> None:
        os.write(file, f"{line}\n".encode())

    return write


def _stepping(write: Callable[[str], None], steps: int) -> Execute:
    async def execute(run: Run, journal: Journal) -> Outcome:
        await journal.report(Change(state=RunState.RUNNING, attempt=1))
        for step in range(steps):

            async def work(step: int = step) -> Any:
                write(f"begin {run.id} {step}")
                await anyio.sleep(0.02)
                return step

            assert await journal.step(f"step {step}", work) == step
            write(f"kept {run.id} {step}")
        return Outcome(state=RunState.COMPLETED, result=steps)

    return execute


async def _child(factory: str, argument: str, journal: Path, ids: list[str], again: bool) -> None:
    module, _, name = factory.partition(":")
    engine: JobEngine = getattr(importlib.import_module(module), name)(argument)
    write = _appender(journal)
    await engine.start(_stepping(write, DurableEngineKit.STEPS))
    if not again:
        for run_id in ids:
            await engine.submit(new_run(id=run_id))
            write(f"submitted {run_id} 0")
    for run_id in ids:
        run = await engine.wait(run_id, timeout=100)
        assert run is not None, f"{run_id} is lost"
        assert run.state == RunState.COMPLETED, f"{run_id} is {run.state}"
    await engine.stop(1)


def main() -> None:
    """The process that is killed, and the one that goes on."""
    factory, argument, journal, ids, *words = sys.argv[1:]
    asyncio.run(_child(factory, argument, Path(journal), ids.split(","), bool(words)))
