"""Several processes work on one database: one is killed, and the others go on with what it had."""

from __future__ import annotations

import signal
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from frontmcp.testing.durability import child, lines, until_lines
from frontmcp.testing.runs import new_id

RUNS = 12
STEPS = 4


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_one_of_three_is_killed(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    store: str = request.getfixturevalue(f"{kind}_store")
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


def counted(written: list[str], word: str) -> list[tuple[str, int]]:
    """How often each step began, or was kept."""
    steps = [line.removeprefix(f"{word} ") for line in written if line.startswith(f"{word} ")]
    return [(step, steps.count(step)) for step in dict.fromkeys(steps)]
