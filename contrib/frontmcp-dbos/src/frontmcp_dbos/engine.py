"""`DbosJobEngine`: a `JobEngine` whose runs are workflows of DBOS, so that they go on though their process dies.

DBOS keeps which runs there are to carry out, and the results of their steps; `Records` keeps the runs as people ask for
them. A run is first in the records, then a workflow; whatever a crash leaves in between is made good later.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import sniffio
from dbos import error as dbos_errors
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from frontmcp import ConfigurationError
from frontmcp.errors import describe
from frontmcp.interfaces import Background
from frontmcp.interfaces.jobs import Execute, JobsConfig, Outcome, QueueFullError, Run, RunError, RunQuery, RunState
from frontmcp_dbos.execution import DbosJournal, LeftError, Live
from frontmcp_dbos.queue import DbosQueue
from frontmcp_dbos.records import FullError, Records, first_line, url_of, why
from frontmcp_dbos.recovery import CANCELLED, MAKE_GOOD_SECONDS, TAKE_OVER_SECONDS, Recovery
from frontmcp_dbos.slots import slots_of
from frontmcp_dbos.store import StoreUnavailableError, asked, patiently

logger = logging.getLogger("frontmcp.jobs")

T = TypeVar("T")

HAND_OVER_SECONDS: Final = 10.0
SAVE_SECONDS: Final = 0.1
WATCH_SECONDS: Final = 0.5
FORGET_SECONDS: Final = 1.0


class DbosOptions(BaseModel):
    """``jobs_config={"engine": {…}}``.

    :ivar name: tells servers that share a database apart; 3 to 30 of ``a-z 0-9 _ -``.
    :ivar polling_ms: how often a process looks for runs that wait.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field("frontmcp", pattern=r"^[a-z0-9_-]{3,30}$")
    polling_ms: int = Field(50, gt=0)


class DbosJobEngine:
    """Durable runs in a SQLite file, or in PostgreSQL for the processes of many machines.

    :param config: ``store`` is the URL of the database.
    """

    durable = True

    def __init__(self, config: JobsConfig) -> None:
        self._config = config
        try:
            self._options = DbosOptions(**config.engine)
        except ValidationError as error:
            raise ConfigurationError(
                f"jobs_config: engine: {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
            ) from None
        self._url = url_of(config.store)
        self._queue = DbosQueue(self._url, self._options.name)
        self._background = Background()
        self._live: dict[str, Live] = {}
        self._ended_since = 0

    # Life

    async def start(self, execute: Execute) -> None:
        if sniffio.current_async_library() != "asyncio":
            raise ConfigurationError("jobs_config: DBOS runs on asyncio only: start the server on it, not on trio")
        if DbosQueue.carry_out is not None:
            raise ConfigurationError(
                "jobs_config: another server of this process has durable jobs, and DBOS is one per process: "
                "run this one in a process of its own"
            )
        self._execute, self._stopping, self._moving = execute, False, False
        self._records = Records(self._url, self._options.name)
        self._slots = slots_of(self._url, self._options.name)
        self._recovery = Recovery(self._records, self._queue, self._slots, self._live)
        DbosQueue.carry_out = self.carry_out
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise

    async def _open(self) -> None:
        try:
            await anyio.to_thread.run_sync(self._records.create)
            await anyio.to_thread.run_sync(self._slots.claim)
            await self._launch()
        except (SQLAlchemyError, dbos_errors.DBOSException, OSError) as error:
            where = self._url.render_as_string(hide_password=True)
            raise ConfigurationError(f"jobs_config: {where} can't be opened: {first_line(error)}") from None
        await self._background.start()
        self._background.spawn(self._repeat, SAVE_SECONDS, self._save)
        self._background.spawn(self._repeat, WATCH_SECONDS, self._watch)
        self._background.spawn(self._repeat, TAKE_OVER_SECONDS, self._recovery.take_over)
        self._background.spawn(self._repeat, FORGET_SECONDS, self._forget)
        self._background.spawn(self._repeat, MAKE_GOOD_SECONDS, self._recovery.make_good)

    async def _launch(self) -> None:
        polling_ms = self._options.polling_ms
        await self._queue.launch(self._slots.number, max_running=self._config.max_running, polling_ms=polling_ms)

    async def stop(self, grace: float) -> None:
        self._stopping = True
        with anyio.move_on_after(grace):
            await self._until_idle()
        for live in self._live.values():
            live.leave()
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(5):
                await self._until_idle()
            await self._close()

    async def _until_idle(self) -> None:
        while self._live:  # noqa: ASYNC110 (runs leave in many places)
            await anyio.sleep(0.01)

    async def _close(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._background.stop()
            await anyio.to_thread.run_sync(self._queue.destroy)
            await anyio.to_thread.run_sync(self._slots.release)
            await anyio.to_thread.run_sync(self._records.close)
        self._live.clear()
        DbosQueue.carry_out = None

    # Runs

    async def submit(self, run: Run) -> Run:
        try:
            there = await asked(self._records.insert, run, None if run.foreground else self._places)
        except FullError:
            raise QueueFullError(self._config.max_queued) from None
        if there is not None:
            live = self._live.get(there.id)
            return live.copy() if live is not None else there
        if run.foreground:
            self._live[run.id] = Live(run.model_copy(deep=True))
        try:
            # Who goes away meanwhile leaves no half of a run.
            with anyio.fail_after(HAND_OVER_SECONDS, shield=True):
                await self._queue.put(run)
        except BaseException as error:
            await self._withdraw(run.id)
            if not isinstance(error, Exception):
                raise
            logger.error("run %s could not be handed to DBOS: %s", run.id, why(error))
            raise StoreUnavailableError from error
        return run

    async def _withdraw(self, run_id: str) -> None:
        """Cancel a run of which nobody has heard, as far as the store answers."""
        with anyio.move_on_after(HAND_OVER_SECONDS, shield=True), suppress(Exception):
            await self.cancel(run_id)
        self._live.pop(run_id, None)

    @property
    def _places(self) -> int:
        """How many runs may wait, those aside for which this process has room: they wait until it looks for them."""
        running = sum(not live.run.foreground for live in self._live.values())
        return self._config.max_queued + max(0, self._config.max_running - running)

    async def carry_out(self, run: Run) -> dict[str, Any]:
        """What the workflow of a run does."""
        live = await self._begun(run)
        if live is None:
            return CANCELLED.model_dump(mode="json")
        try:
            return (await self._executed(live, run)).model_dump(mode="json")
        finally:
            self._live.pop(run.id, None)
            live.tell()

    async def _begun(self, run: Run) -> Live | None:
        """The run, now under way; None when it has ended."""
        self._leave_if_it_ends(run)
        live = self._live.get(run.id)
        if live is None:
            if not await self._patiently(self._records.begin, run.id):
                return None
            kept = await self._patiently(self._records.get, run.id)
            # From here on whoever stops waits for it.
            self._leave_if_it_ends(run)
            live = self._live[run.id] = Live(kept or run)
            if live.run.state is not RunState.PENDING:
                logger.info('run %s of %s "%s" goes on where it was left', run.id, run.kind, run.name)
        live.run.started_at = live.run.started_at or time.time()
        return live

    def _leave_if_it_ends(self, run: Run) -> None:
        """Leave a run to a later start, or to the executor that this process becomes."""
        if self._stopping or self._moving:
            self._live.pop(run.id, None)
            raise LeftError

    async def _executed(self, live: Live, run: Run) -> Outcome:
        outcome = CANCELLED
        try:
            with live.scope:
                outcome = await self._execute(run, DbosJournal(live))
        except dbos_errors.DBOSWorkflowCancelledError:
            live.left = True
        except Exception as error:
            logger.exception("run %s failed outside its job", run.id)
            outcome = Outcome(state=RunState.FAILED, error=RunError(message=describe(error), name=type(error).__name__))
        if live.left or live.run.state.is_final:
            if live.dirty:
                await self._patiently(self._records.save, [live.run])
            raise LeftError
        live.run.end(outcome, time.time())
        self._ended_since += 1
        await self._patiently(self._records.end, live.run)
        return outcome

    async def _patiently(self, function: Callable[..., T], *arguments: Any) -> T:
        return await patiently(lambda: self._stopping, function, *arguments)

    async def get(self, run_id: str) -> Run | None:
        live = self._live.get(run_id)
        return live.copy() if live is not None else await asked(self._records.get, run_id)

    async def list(self, query: RunQuery) -> Sequence[Run]:
        found = await asked(self._records.query, query)
        return [self._live[run.id].copy() if run.id in self._live else run for run in found]

    async def cancel(self, run_id: str) -> bool:
        run = await self.get(run_id)
        if run is None or run.state.is_final:
            return False
        run.end(CANCELLED, time.time())
        if not await asked(self._records.end, run):
            return False
        self._cancel_here(run)
        self._ended_since += 1
        await self._queue.cancel(run_id)
        return True

    def _cancel_here(self, run: Run) -> None:
        live = self._live.get(run.id)
        if live is not None:
            live.run = run
            live.scope.cancel()
            live.tell()

    async def wait(
        self, run_id: str, *, timeout: float | None = None, changed: Callable[[Run], Awaitable[None]] | None = None
    ) -> Run | None:
        run = await self.get(run_id)
        with anyio.move_on_after(timeout):
            pause = 0.01
            while run is not None and not run.state.is_final:
                live = self._live.get(run_id)
                if live is None:
                    # Another process carries it out, or it waits.
                    await anyio.sleep(pause)
                    pause = min(pause * 1.5, 0.25)
                    found = await asked(self._records.get, run_id)
                else:
                    await live.wait()
                    found = live.copy()
                if changed is not None and found is not None and found != run:
                    await changed(found)
                run = found
        return run

    # Beside the runs

    async def _repeat(self, seconds: float, function: Callable[[], Awaitable[None]]) -> None:
        failing = False
        while True:
            await anyio.sleep(seconds)
            try:
                await function()
                failing = False
            except Exception as error:
                if not failing:
                    _tell(error)
                failing = True

    async def _save(self) -> None:
        """Bring the rows of live runs up to date."""
        behind = [live for live in self._live.values() if live.dirty and not live.run.state.is_final]
        for live in behind:
            live.dirty = False
        if behind:
            try:
                await anyio.to_thread.run_sync(self._records.save, [live.copy() for live in behind])
            except SQLAlchemyError:
                for live in behind:
                    live.dirty = True
                raise

    async def _watch(self) -> None:
        """Notice what others did: runs that were cancelled, and a slot that was lost."""
        if self._live:
            for run_id in await anyio.to_thread.run_sync(self._records.ended, list(self._live)):
                run = await anyio.to_thread.run_sync(self._records.get, run_id)
                live = self._live.get(run_id)
                if run is not None and live is not None and not live.run.state.is_final:
                    self._cancel_here(run)
        if self._moving or not await anyio.to_thread.run_sync(self._slots.renew):
            await self._move()

    async def _move(self) -> None:
        """Become another executor: no two processes may be one, and another has the slot by now."""
        if not self._moving:
            logger.error("the database had lost sight of this process: others go on with its runs")
        self._moving = True
        for live in list(self._live.values()):
            live.leave()
        with anyio.move_on_after(5):
            await self._until_idle()
        await anyio.to_thread.run_sync(self._queue.destroy)
        await anyio.to_thread.run_sync(self._slots.claim)
        await self._launch()
        self._moving = False

    async def _forget(self) -> None:
        """Forget the oldest of the runs that have ended, once more of them have."""
        if not self._ended_since:
            return
        self._ended_since = 0
        forget = partial(self._records.forget, keep=self._config.max_kept, seconds=self._config.keep_ms / 1000)
        if forgotten := await anyio.to_thread.run_sync(forget):
            await self._queue.forget(forgotten)


def _tell(error: Exception) -> None:
    if isinstance(error, SQLAlchemyError | dbos_errors.DBOSException | OSError):
        logger.warning("the store of jobs does not answer: %s", why(error))
    else:
        logger.error("the store of jobs is not looked after", exc_info=error)
