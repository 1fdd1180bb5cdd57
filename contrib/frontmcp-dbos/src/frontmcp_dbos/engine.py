"""`DbosJobEngine`: a `JobEngine` whose runs are workflows of DBOS, so that they go on though their process dies.

DBOS keeps which runs there are to carry out, and the results of their steps; `Records` keeps the runs as people ask for
them. A run is first in the records, then a workflow; whatever a crash leaves in between is made good later.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, ClassVar, Final, TypeVar

import anyio
import anyio.to_thread
import pydantic_core
import sniffio
from dbos import DBOS, Serializer, SetEnqueueOptions, SetWorkflowID
from dbos import error as dbos_errors
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from frontmcp import ConfigurationError, PublicMcpError
from frontmcp.errors import describe
from frontmcp.interfaces import Background
from frontmcp.interfaces.jobs import (
    Execute,
    JobsConfig,
    Outcome,
    QueueFullError,
    Run,
    RunError,
    RunQuery,
    RunState,
)
from frontmcp_dbos.execution import DbosJournal, LeftError, Live, quieten_this_task
from frontmcp_dbos.records import FullError, Records, url_of
from frontmcp_dbos.slots import slots_of

logger = logging.getLogger("frontmcp.jobs")

T = TypeVar("T")

VERSION: Final = "frontmcp-1"
"""Of the workflow below: DBOS goes on with a workflow in the version only in which it began."""

CANCELLED: Final = Outcome(state=RunState.CANCELLED)
HAND_OVER_SECONDS: Final = 10.0
SAVE_SECONDS: Final = 0.1
WATCH_SECONDS: Final = 0.5
TAKE_OVER_SECONDS: Final = 2.0
FORGET_SECONDS: Final = 1.0
MAKE_GOOD_SECONDS: Final = 30.0


class DbosOptions(BaseModel):
    """``jobs_config={"engine": {…}}``.

    :ivar name: tells servers that share a database apart; 3 to 30 of ``a-z 0-9 _ -``.
    :ivar polling_ms: how often a process looks for runs that wait.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field("frontmcp", pattern=r"^[a-z0-9_-]{3,30}$")
    polling_ms: int = Field(50, gt=0)


class StoreUnavailableError(PublicMcpError):
    """The database of the runs does not answer."""

    code = "JOB_STORE_UNAVAILABLE"

    def __init__(self) -> None:
        super().__init__("The store of jobs does not answer. Try again later")


class JsonSerializer(Serializer):
    """What DBOS keeps is JSON: reading it back runs no code."""

    def serialize(self, data: Any) -> str:
        if isinstance(data, BaseException):
            data = {"error": type(data).__name__}
        return pydantic_core.to_json(data).decode()

    def deserialize(self, serialized_data: str) -> Any:
        return pydantic_core.from_json(serialized_data)

    def name(self) -> str:
        return "frontmcp_json"


@DBOS.workflow(name="frontmcp.run", max_recovery_attempts=1000)
async def carry_out(given: dict[str, Any]) -> dict[str, Any]:
    """The one workflow: a run, by the engine that this process has."""
    quieten_this_task()
    if DbosJobEngine.current is None:
        raise LeftError
    return await DbosJobEngine.current.carry_out(Run.model_validate(given))


class DbosJobEngine:
    """Durable runs in a SQLite file, or in PostgreSQL for the processes of many machines.

    :param config: ``store`` is the URL of the database.
    """

    durable = True
    current: ClassVar[DbosJobEngine | None] = None

    def __init__(self, config: JobsConfig) -> None:
        self._config = config
        try:
            self._options = DbosOptions(**config.engine)
        except ValidationError as error:
            raise ConfigurationError(
                f"jobs_config: engine: {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
            ) from None
        self._url = url_of(config.store)
        # DBOS takes no name twice in a database, though another server has it.
        self._queue = f"frontmcp-{self._options.name}"
        self._background = Background()
        self._live: dict[str, Live] = {}
        self._ended_since = 0

    # Life

    async def start(self, execute: Execute) -> None:
        if sniffio.current_async_library() != "asyncio":
            raise ConfigurationError("jobs_config: DBOS runs on asyncio only: start the server on it, not on trio")
        if DbosJobEngine.current is not None:
            raise ConfigurationError(
                "jobs_config: another server of this process has durable jobs, and DBOS is one per process: "
                "run this one in a process of its own"
            )
        self._execute, self._stopping, self._moving = execute, False, False
        self._suspects: set[int] = set()
        self._strays: set[str] = set()
        self._records = Records(self._url, self._options.name)
        self._slots = slots_of(self._url, self._options.name)
        DbosJobEngine.current = self
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise

    async def _open(self) -> None:
        try:
            await anyio.to_thread.run_sync(self._records.create)
            await anyio.to_thread.run_sync(self._slots.claim)
        except (SQLAlchemyError, OSError) as error:
            cause = getattr(error, "orig", None) or error
            where = self._url.render_as_string(hide_password=True)
            raise ConfigurationError(
                f"jobs_config: {where} can't be opened: {describe(cause).splitlines()[0]}"
            ) from None
        await self._launch()
        await self._background.start()
        self._background.spawn(self._repeat, SAVE_SECONDS, self._save)
        self._background.spawn(self._repeat, WATCH_SECONDS, self._watch)
        self._background.spawn(self._repeat, TAKE_OVER_SECONDS, self._take_over)
        self._background.spawn(self._repeat, FORGET_SECONDS, self._forget)
        self._background.spawn(self._repeat, MAKE_GOOD_SECONDS, self._make_good)

    async def _launch(self) -> None:
        DBOS(
            config={
                "name": self._options.name,
                "system_database_url": self._url.render_as_string(hide_password=False),
                "executor_id": self._executor,
                "application_version": f"{VERSION}-{self._options.name}",
                "serializer": JsonSerializer(),
                "enable_otlp": False,
                "log_level": "CRITICAL",
                "notification_listener_polling_interval_sec": 1.0,
            }
        )
        # On this event loop, where it then runs workflows.
        DBOS.launch()
        await outside(
            DBOS.register_queue_async(
                self._queue,
                worker_concurrency=self._config.max_running,
                polling_interval_sec=self._options.polling_ms / 1000,
                on_conflict="always_update",
            )
        )

    @property
    def _executor(self) -> str:
        return f"{self._options.name}-{self._slots.number}"

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
            await anyio.to_thread.run_sync(DBOS.destroy)
            await anyio.to_thread.run_sync(self._slots.release)
            await anyio.to_thread.run_sync(self._records.close)
        self._live.clear()
        DbosJobEngine.current = None

    # Runs

    async def submit(self, run: Run) -> Run:
        try:
            there = await self._stored(self._records.insert, run, None if run.foreground else self._places)
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
                await outside(self._hand_over(run))
        except BaseException as error:
            await self._withdraw(run.id)
            if not isinstance(error, Exception):
                raise
            logger.error("run %s could not be handed to DBOS: %s", run.id, type(error).__name__)
            raise StoreUnavailableError from error
        return run

    def _workflow_id(self, run_id: str) -> str:
        # Scheduled runs of two servers may have one id.
        return f"{self._options.name}:{run_id}"

    async def _hand_over(self, run: Run) -> None:
        """Hand a run to DBOS."""
        given = run.model_dump(mode="json")
        with ExitStack() as stack:
            stack.enter_context(SetWorkflowID(self._workflow_id(run.id)))
            if run.foreground:
                await DBOS.start_workflow_async(carry_out, given)
                return
            if run.not_before is not None and (seconds := run.not_before - time.time()) > 0:
                stack.enter_context(SetEnqueueOptions(delay_seconds=seconds))
            await DBOS.enqueue_workflow_async(self._queue, carry_out, given)

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

    async def get(self, run_id: str) -> Run | None:
        live = self._live.get(run_id)
        return live.copy() if live is not None else await self._stored(self._records.get, run_id)

    async def list(self, query: RunQuery) -> Sequence[Run]:
        found = await self._stored(self._records.query, query)
        return [self._live[run.id].copy() if run.id in self._live else run for run in found]

    async def cancel(self, run_id: str) -> bool:
        run = await self.get(run_id)
        if run is None or run.state.is_final:
            return False
        run.end(CANCELLED, time.time())
        if not await self._stored(self._records.end, run):
            return False
        self._cancel_here(run)
        self._ended_since += 1
        await outside(DBOS.cancel_workflow_async(self._workflow_id(run_id)))
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
                    found = await self._stored(self._records.get, run_id)
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
        await anyio.to_thread.run_sync(DBOS.destroy)
        await anyio.to_thread.run_sync(self._slots.claim)
        await self._launch()
        self._moving = False

    async def _take_over(self) -> None:
        """Go on with the runs of processes that are dead for the second time that somebody looks."""
        pending = await outside(
            DBOS.list_workflows_async(
                status="PENDING", application_name=self._options.name, load_input=False, load_output=False, limit=1000
            )
        )
        executors: defaultdict[int, list[str]] = defaultdict(list)
        for each in pending:
            executors[int((each.executor_id or "-").rpartition("-")[2] or -1)].append(each.workflow_id)
        executors.pop(self._slots.number, None)
        dead = [number for number in executors if await anyio.to_thread.run_sync(self._is_dead, number)]
        for number in self._suspects.intersection(dead):
            await anyio.to_thread.run_sync(self._resume, number)
        self._suspects = set(dead)

    def _is_dead(self, number: int) -> bool:
        with self._slots.dead(number) as dead:
            return bool(dead)

    def _resume(self, number: int) -> None:
        with self._slots.dead(number) as dead:
            if not dead:
                return
            left = DBOS.list_workflows(
                status="PENDING", executor_id=f"{self._options.name}-{number}", load_input=False, load_output=False
            )
            if left:
                logger.warning("a process died: %d of its runs go on", len(left))
                DBOS.resume_workflows([each.workflow_id for each in left], queue_name=self._queue)

    async def _forget(self) -> None:
        """Forget the oldest of the runs that have ended, once more of them have."""
        if not self._ended_since:
            return
        self._ended_since = 0
        forget = partial(self._records.forget, keep=self._config.max_kept, seconds=self._config.keep_ms / 1000)
        if forgotten := await anyio.to_thread.run_sync(forget):
            await outside(DBOS.delete_workflows_async([self._workflow_id(each) for each in forgotten]))

    async def _make_good(self) -> None:
        """Mend what crashes left between the records and DBOS."""
        before, self._strays = self._strays, set()
        for run_id in await anyio.to_thread.run_sync(self._records.going, time.time() - MAKE_GOOD_SECONDS):
            if run_id not in self._live:
                await self._mend(run_id)
        for run_id in self._strays & before:
            logger.warning("run %s was not under way, as it should have been: it goes on", run_id)
            await outside(DBOS.resume_workflow_async(self._workflow_id(run_id), queue_name=self._queue))

    async def _mend(self, run_id: str) -> None:
        workflow = await outside(DBOS.get_workflow_status_async(self._workflow_id(run_id)))
        run = await anyio.to_thread.run_sync(self._records.get, run_id)
        if run is None or run.state.is_final:
            return
        if workflow is None:
            await outside(self._hand_over(run.model_copy(update={"foreground": False})))
        elif workflow.status == "PENDING" and workflow.executor_id == self._executor:
            self._strays.add(run_id)
        elif workflow.status not in ("PENDING", "ENQUEUED", "DELAYED"):
            run.end(_outcome_of(workflow), time.time())
            await anyio.to_thread.run_sync(self._records.end, run)

    # The database

    async def _stored(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the records say.

        :raises StoreUnavailableError: they do not answer.
        """
        try:
            return await anyio.to_thread.run_sync(function, *arguments)
        except SQLAlchemyError as error:
            logger.warning("the store of jobs does not answer: %s", type(error).__name__)
            raise StoreUnavailableError from error

    async def _patiently(self, function: Callable[..., T], *arguments: Any) -> T:
        """The same, however long it takes; until the server stops."""
        pause = 0.1
        while True:
            try:
                return await _undisturbed(function, *arguments)
            except SQLAlchemyError:
                if self._stopping:
                    raise LeftError from None
                await anyio.sleep(pause)
                pause = min(pause * 2, 5)


def _tell(error: Exception) -> None:
    if isinstance(error, SQLAlchemyError | dbos_errors.DBOSException | OSError):
        logger.warning("the store of jobs does not answer: %s", type(error).__name__)
    else:
        logger.error("the store of jobs is not looked after", exc_info=error)


async def _undisturbed(function: Callable[..., T], *arguments: Any) -> T:
    with anyio.CancelScope(shield=True):
        return await anyio.to_thread.run_sync(function, *arguments)
    raise AssertionError("a shielded scope is never cancelled")


async def outside(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of DBOS as if no workflow were under way, though a run may be what asks for it."""
    return await asyncio.get_running_loop().create_task(coroutine, context=contextvars.Context())


def _outcome_of(workflow: Any) -> Outcome:
    if workflow.status == "SUCCESS":
        return Outcome.model_validate(workflow.output)
    if workflow.status == "CANCELLED":
        return CANCELLED
    return Outcome(state=RunState.FAILED, error=RunError(message=f"DBOS gave it up: {workflow.status}"))
