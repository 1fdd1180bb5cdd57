"""DBOS, which keeps which runs there are to carry out, and the results of their steps."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import pydantic_core
from dbos import DBOS, Serializer, SetEnqueueOptions, SetWorkflowID
from sqlalchemy.engine import URL

from frontmcp.interfaces.jobs import Run
from frontmcp_dbos.execution import LeftError, quieten_this_task

T = TypeVar("T")

VERSION: Final = "frontmcp-1"
"""Of the workflow below: DBOS goes on with a workflow in the version only in which it began."""

CarryOut: TypeAlias = Callable[[Run], Awaitable[dict[str, Any]]]
"""What the workflow of a run does, and gives."""


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
    if DbosQueue.carry_out is None:
        raise LeftError
    return await DbosQueue.carry_out(Run.model_validate(given))


class DbosQueue:
    """The runs of one server as workflows of DBOS, of which there is one in a process.

    :cvar carry_out: of the engine that this process has; None while it has none.
    :param app: tells servers that share a database apart.
    """

    carry_out: ClassVar[CarryOut | None] = None

    def __init__(self, url: URL, app: str) -> None:
        self._url = url
        self._app = app
        # DBOS takes no name twice in a database, though another server has it.
        self._name = f"frontmcp-{app}"

    async def launch(self, slot: int, *, max_running: int, polling_ms: int) -> None:
        """Begin to carry runs out, on this event loop, as the executor of a slot."""
        DBOS(
            config={
                "name": self._app,
                "system_database_url": self._url.render_as_string(hide_password=False),
                "executor_id": self._executor(slot),
                "application_version": f"{VERSION}-{self._app}",
                "serializer": JsonSerializer(),
                "enable_otlp": False,
                "log_level": "CRITICAL",
                "notification_listener_polling_interval_sec": 1.0,
            }
        )
        DBOS.launch()
        await outside(
            DBOS.register_queue_async(
                self._name,
                worker_concurrency=max_running,
                polling_interval_sec=polling_ms / 1000,
                on_conflict="always_update",
            )
        )

    def destroy(self) -> None:
        """Carry nothing out any more; for worker threads."""
        DBOS.destroy()

    def _executor(self, slot: int) -> str:
        return f"{self._app}-{slot}"

    def slot_of(self, workflow: Any) -> int:
        """The slot of the process that carries a workflow out; -1 where it is none's."""
        return int((workflow.executor_id or "-").rpartition("-")[2] or -1)

    def workflow_id(self, run_id: str) -> str:
        """Scheduled runs of two servers may have one id."""
        return f"{self._app}:{run_id}"

    async def put(self, run: Run) -> None:
        """Hand a run to DBOS; one that somebody waits for begins at once, here."""
        await outside(self._put(run))

    async def _put(self, run: Run) -> None:
        given = run.model_dump(mode="json")
        with ExitStack() as stack:
            stack.enter_context(SetWorkflowID(self.workflow_id(run.id)))
            if run.foreground:
                await DBOS.start_workflow_async(carry_out, given)
                return
            if run.not_before is not None and (seconds := run.not_before - time.time()) > 0:
                stack.enter_context(SetEnqueueOptions(delay_seconds=seconds))
            await DBOS.enqueue_workflow_async(self._name, carry_out, given)

    async def cancel(self, run_id: str) -> None:
        """Let nothing of a run begin any more."""
        await outside(DBOS.cancel_workflow_async(self.workflow_id(run_id)))

    async def forget(self, run_ids: Collection[str]) -> None:
        """Forget runs that have ended."""
        await outside(DBOS.delete_workflows_async([self.workflow_id(each) for each in run_ids]))

    async def workflow(self, run_id: str) -> Any:
        """What DBOS says of a run; None where it knows of none."""
        return await outside(DBOS.get_workflow_status_async(self.workflow_id(run_id)))

    async def under_way(self) -> Mapping[int, Sequence[str]]:
        """The ids of the workflows that are being carried out, by slot."""
        pending = await outside(
            DBOS.list_workflows_async(
                status="PENDING", application_name=self._app, load_input=False, load_output=False, limit=1000
            )
        )
        found: defaultdict[int, list[str]] = defaultdict(list)
        for each in pending:
            found[self.slot_of(each)].append(each.workflow_id)
        return found

    async def resume(self, run_id: str) -> None:
        """Let a run go on, wherever there is room."""
        await outside(DBOS.resume_workflow_async(self.workflow_id(run_id), queue_name=self._name))

    def left_by(self, slot: int) -> list[str]:
        """The ids of the workflows that the process of a slot has under way; for worker threads."""
        left = DBOS.list_workflows(
            status="PENDING", executor_id=self._executor(slot), load_input=False, load_output=False
        )
        return [each.workflow_id for each in left]

    def resume_all(self, workflow_ids: list[str]) -> None:
        """Let workflows go on, wherever there is room; for worker threads."""
        DBOS.resume_workflows(workflow_ids, queue_name=self._name)


async def outside(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of DBOS as if no workflow were under way, though a run may be what asks for it."""
    return await asyncio.get_running_loop().create_task(coroutine, context=contextvars.Context())
