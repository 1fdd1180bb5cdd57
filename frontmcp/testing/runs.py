"""What tests of job engines are written with: runs, executions that wait, and engines that run inside a block."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from frontmcp.interfaces.jobs import Change, Execute, JobEngine, Journal, Outcome, Owner, Run, RunState

PATIENCE = 20.0
"""Seconds until a test that hangs fails."""


class Gate:
    """Holds executions until it is opened; counts them."""

    def __init__(self) -> None:
        self.entered = self.inside = 0
        self.was_cancelled = anyio.Event()
        self._opened = anyio.Event()

    def open(self) -> None:
        """Let everybody pass."""
        self._opened.set()

    async def pass_through(self) -> None:
        """Wait until it is open."""
        self.entered += 1
        self.inside += 1
        try:
            await self._opened.wait()
        except anyio.get_cancelled_exc_class():
            self.was_cancelled.set()
            raise
        finally:
            self.inside -= 1

    async def hold(self, run: Run, journal: Journal) -> Outcome:
        """An `Execute` that waits at the gate."""
        await journal.report(Change(state=RunState.RUNNING, attempt=1))
        await self.pass_through()
        return Outcome(state=RunState.COMPLETED)

    async def reached(self, count: int = 1) -> None:
        """Wait until so many have come to the gate."""
        with anyio.fail_after(PATIENCE):
            while self.entered < count:  # noqa: ASYNC110
                await anyio.sleep(0.005)


async def echo(run: Run, journal: Journal) -> Outcome:
    """An `Execute` that gives the input back."""
    return Outcome(state=RunState.COMPLETED, result=run.input)


@asynccontextmanager
async def started(engine: JobEngine, execute: Execute, *, grace: float = PATIENCE) -> AsyncIterator[JobEngine]:
    """An engine that runs inside."""
    await engine.start(execute)
    try:
        yield engine
    finally:
        with anyio.CancelScope(shield=True):
            await engine.stop(grace)


def new_id() -> str:
    """An id that no other test has."""
    return str(uuid.uuid4())


def new_run(**fields: Any) -> Run:
    """A run to submit."""
    given: dict[str, Any] = {"id": new_id(), "name": "export", "entry": "desk:export", "owner": Owner(sub="nour")}
    return Run(**{**given, "created_at": time.time(), **fields})


async def found(engine: JobEngine, run_id: str) -> Run:
    """A run that is there."""
    run = await engine.get(run_id)
    assert run is not None, f"run {run_id} is not there"
    return run


async def until(engine: JobEngine, run_id: str, holds: Callable[[Run], bool]) -> Run:
    """A run, once something holds of it."""
    with anyio.fail_after(PATIENCE):
        while not holds(run := await found(engine, run_id)):  # noqa: ASYNC110
            await anyio.sleep(0.01)
    return run


async def ended(engine: JobEngine, run_id: str) -> Run:
    """A run, once it has ended."""
    with anyio.fail_after(PATIENCE):
        run = await engine.wait(run_id)
    assert run is not None, f"run {run_id} is not there"
    assert run.state.is_final
    return run
