"""What a job costs: `python tests/bench.py [URL]`, by default in a SQLite file of its own."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time

from worker import make

from frontmcp.testing.runs import echo, ended, new_run, started

RUNS = 300


async def main(store: str) -> None:
    async with started(make(store), echo) as engine:
        seconds = []
        for _ in range(RUNS):
            begin = time.perf_counter()
            await ended(engine, (await engine.submit(new_run(foreground=True))).id)
            seconds.append(time.perf_counter() - begin)
    seconds.sort()
    print(f"submit to done, ms: median {seconds[RUNS // 2] * 1000:.1f}, best {seconds[0] * 1000:.1f}")  # noqa: T201


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/jobs.db"))
