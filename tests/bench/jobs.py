"""What a job costs on the memory engine: from starting an empty one to its end, and 10,000 that wait.

python tests/bench/jobs.py
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc

import anyio

from frontmcp import FrontMcp, Job, create_direct

ROUNDS = 2_000
WAITING = 10_000


@Job
async def nothing() -> None:
    """Do nothing."""


@Job
async def forever() -> None:
    """Hold a place."""
    await anyio.sleep_forever()


def server(**config: int) -> FrontMcp:
    return FrontMcp("bench", jobs=[nothing, forever], jobs_config={"shutdown_ms": 0, **config})


async def foreground() -> list[float]:
    """Seconds of CPU of `execute_job`, from the call to its result: nothing in it waits."""
    taken = []
    async with create_direct(server()) as direct:
        for _ in range(ROUNDS):
            begun = time.process_time()
            await direct.call_tool("execute_job", {"name": "nothing"})
            taken.append(time.process_time() - begun)
    return taken


async def background() -> float:
    """Seconds of CPU for each of many jobs that are started at once, until the last has ended."""
    async with create_direct(server(max_kept=ROUNDS)) as direct:
        begun = time.process_time()
        for _ in range(ROUNDS):
            last = await direct.execute_job("nothing", background=True)
        while (await direct.get_job_status(last["runId"]))["state"] != "completed":
            await anyio.sleep(0)
        return (time.process_time() - begun) / ROUNDS


async def waiting() -> float:
    """Bytes of each job that waits."""
    async with create_direct(server(max_running=1)) as direct:
        await direct.execute_job("forever", background=True)
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(WAITING):
            await direct.execute_job("nothing", background=True)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return (after - before) / WAITING


def main() -> None:
    taken = sorted(anyio.run(foreground))
    print(f"foreground, submit to done: p50 {statistics.median(taken) * 1e6:.0f} µs, p99 {taken[-20] * 1e6:.0f} µs")
    print(f"background, each of {ROUNDS}: {anyio.run(background) * 1e6:.0f} µs")
    print(f"waiting, each of {WAITING}: {anyio.run(waiting):.0f} bytes")


if __name__ == "__main__":
    main()
