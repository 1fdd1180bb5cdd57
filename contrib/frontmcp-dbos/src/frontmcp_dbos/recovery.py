"""What processes that died have left: runs that others go on with, and runs that DBOS does not know of."""

from __future__ import annotations

import logging
import time
from collections.abc import Container
from typing import Any, Final

import anyio.to_thread

from frontmcp.interfaces.jobs import Outcome, RunError, RunState
from frontmcp_dbos.queue import DbosQueue
from frontmcp_dbos.records import Records
from frontmcp_dbos.slots import Slots

logger = logging.getLogger("frontmcp.jobs")

CANCELLED: Final = Outcome(state=RunState.CANCELLED)
TAKE_OVER_SECONDS: Final = 2.0
MAKE_GOOD_SECONDS: Final = 30.0


class Recovery:
    """Looks after the runs of all processes of a server.

    :param live: the ids of the runs that this process carries out.
    """

    def __init__(self, records: Records, queue: DbosQueue, slots: Slots, live: Container[str]) -> None:
        self._records, self._queue, self._slots, self._live = records, queue, slots, live
        self._suspects: set[int] = set()
        self._strays: set[str] = set()

    async def take_over(self) -> None:
        """Go on with the runs of processes that are dead for the second time that somebody looks."""
        others = [slot for slot in await self._queue.under_way() if slot != self._slots.number]
        dead = [slot for slot in others if await anyio.to_thread.run_sync(self.is_dead, slot)]
        for slot in self._suspects.intersection(dead):
            await anyio.to_thread.run_sync(self._inherit, slot)
        self._suspects = set(dead)

    def is_dead(self, slot: int) -> bool:
        """Whether no process holds a slot; for worker threads."""
        with self._slots.dead(slot) as dead:
            return bool(dead)

    def _inherit(self, slot: int) -> None:
        with self._slots.dead(slot) as dead:
            if dead and (left := self._queue.left_by(slot)):
                self._queue.resume_all(left)
                logger.warning("a process died: %d of its runs go on", len(left))

    async def make_good(self) -> None:
        """Mend what crashes left between the records and DBOS."""
        before, self._strays = self._strays, set()
        for run_id in await anyio.to_thread.run_sync(self._records.going, time.time() - MAKE_GOOD_SECONDS):
            if run_id not in self._live:
                await self._mend(run_id)
        for run_id in self._strays & before:
            await self._queue.resume(run_id)
            logger.warning("run %s was not under way, as it should have been: it goes on", run_id)

    async def _mend(self, run_id: str) -> None:
        workflow = await self._queue.workflow(run_id)
        run = await anyio.to_thread.run_sync(self._records.get, run_id)
        if run is None or run.state.is_final:
            return
        if workflow is None:
            await self._queue.put(run.model_copy(update={"foreground": False}))
        elif workflow.status == "PENDING" and self._queue.slot_of(workflow) == self._slots.number:
            self._strays.add(run_id)
        elif workflow.status not in ("PENDING", "ENQUEUED", "DELAYED"):
            run.end(_outcome_of(workflow), time.time())
            await anyio.to_thread.run_sync(self._records.end, run)


def _outcome_of(workflow: Any) -> Outcome:
    if workflow.status == "SUCCESS":
        return Outcome.model_validate(workflow.output)
    if workflow.status == "CANCELLED":
        return CANCELLED
    return Outcome(state=RunState.FAILED, error=RunError(message=f"DBOS gave it up: {workflow.status}"))
