"""Executions under way in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
from dbos import DBOS
from sqlalchemy.exc import SQLAlchemyError

from frontmcp.interfaces.jobs import MAX_LOG_LINES, Change, Run
from frontmcp_dbos.records import is_away, why

logger = logging.getLogger("frontmcp.jobs")


class LeftError(BaseException):
    """Ends an execution with which a later one goes on, or of a run that has ended: DBOS keeps nothing of it."""


class Live:
    """A run that this process carries out, or is about to.

    :ivar run: as it stands; its row follows.
    :ivar scope: of the execution.
    :ivar dirty: the row is behind.
    :ivar left: the execution is given up, but not the run.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.scope = anyio.CancelScope()
        self.dirty = self.left = False
        self._changed: anyio.Event | None = None

    def leave(self) -> None:
        """Give the execution up."""
        self.left = True
        self.scope.cancel()

    def copy(self) -> Run:
        return self.run.model_copy(deep=True)

    def tell(self) -> None:
        """Wake whoever waits for a change."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def wait(self) -> None:
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()


class DbosJournal:
    """Of one execution: its steps are those of a workflow of DBOS, and what it reports is in the row of the run."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._reserved: dict[str, Any] = {}

    def reserve(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._reserved[key] = DBOS.reserve_step()

    async def step(self, key: str, work: Callable[[], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            return await work()

        reserved = self._reserved.pop(key, None)
        run_step = DBOS.run_step_async if reserved is None else reserved.run_async
        try:
            return await run_step({"name": key}, run)
        except SQLAlchemyError as error:
            if not is_away(error):
                raise
            text = 'run %s is left, to go on later: its step "%s" was not kept: %s'
            logger.error(text, self._live.run.id, key, why(error))
            self._live.leave()
            await anyio.sleep_forever()

    async def report(self, change: Change) -> None:
        run = self._live.run
        if not run.state.is_final:
            run.apply(change)
            self._live.dirty = True
            self._live.tell()

    def log(self, line: str) -> None:
        logs = self._live.run.logs
        logs.append(line)
        if len(logs) >= 2 * MAX_LOG_LINES:
            del logs[:-MAX_LOG_LINES]
        self._live.dirty = True


def quieten_this_task() -> None:
    """Let nobody complain that the end of this task, a `LeftError`, was never looked at."""
    task = asyncio.current_task()
    if task is not None:
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
