"""Several processes work on one database: one is killed, and the others go on with what it had."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest

from frontmcp.testing.durability import child, lines, until_lines
from frontmcp.testing.runs import new_id

if TYPE_CHECKING:
    from conftest import PostgresServer

RUNS = 12
STEPS = 4


async def test_one_of_three_is_killed(store: str, tmp_path: Path) -> None:
    journal, ids = tmp_path / "steps", [new_id() for _ in range(RUNS)]
    journal.touch()
    victim = child(("worker:make", store), journal, ids)
    await until_lines(journal, "submitted", RUNS)
    others = [child(("worker:make", store), journal, ids, "again") for _ in range(2)]
    try:
        await until_lines(journal, "kept", 6)
        victim.send_signal(signal.SIGKILL)
        await anyio.to_thread.run_sync(victim.wait)
        at_kill = lines(journal)
        for other in others:
            # It ends when every run has, and fails if one is lost.
            assert await anyio.to_thread.run_sync(lambda other=other: other.wait(timeout=100)) == 0
    finally:
        for process in (victim, *others):
            process.kill()
            process.wait()
    kept = counted(lines(journal), "kept")
    assert {step for step, _ in kept} == {f"{run} {step}" for run in ids for step in range(STEPS)}
    begun = dict(counted(lines(journal), "begin"))
    assert [step for step, _ in counted(at_kill, "kept") if begun[step] > 1] == []


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_processes_start_at_once_on_a_new_database(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if kind == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        store = server.url(server.new_database())
    else:
        store = f"sqlite:///{tmp_path}/jobs.db"
    processes = [process(store, tmp_path / f"steps{number}") for number in range(4)]
    try:
        for each in processes:
            assert await anyio.to_thread.run_sync(lambda each=each: each.wait(timeout=100)) == 0
    finally:
        for each in processes:
            each.kill()
            each.wait()


def process(store: str, journal: Path) -> subprocess.Popen[bytes]:
    """One that submits two runs, and ends when they have ended."""
    journal.touch()
    return child(("worker:make", store), journal, [new_id(), new_id()])


def counted(written: list[str], word: str) -> list[tuple[str, int]]:
    """How often each step began, or was kept."""
    steps = [line.removeprefix(f"{word} ") for line in written if line.startswith(f"{word} ")]
    return [(step, steps.count(step)) for step in dict.fromkeys(steps)]
