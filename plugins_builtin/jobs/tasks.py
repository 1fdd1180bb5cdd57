"""Tools that answer as a task: the extension ``io.modelcontextprotocol/tasks``, on the engine of jobs (docs/jobs.md).

Everything before a tool is executed, questions in its will hooks too, happens in the request. Then the call leaves it:
the client gets a task, and the call is run again where nobody waits, with what was asked and done before.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import anyio
from mcp import MCPError
from mcp_types import CallToolResult, ClientCapabilities

from frontmcp import Call, CallNext, PublicMcpError, RequestContext
from frontmcp.errors import MissingCapabilityError, ours, sendable, to_result
from frontmcp.interfaces import Question
from frontmcp.interfaces.extensions import Extension, Method
from frontmcp.interfaces.jobs import Change, Journal, Outcome, QueueFullError, Run, RunError, RunState
from plugins_builtin.jobs.attempts import RunAttempt, RunPeer
from plugins_builtin.jobs.errors import RunNotFoundError
from plugins_builtin.jobs.service import Service, owner_of

TASKS: Final = "io.modelcontextprotocol/tasks"
POLL_MS: Final = 500
LOOK_SECONDS: Final = 0.5
"""How often an answer is looked for that another process was given."""

STATUS: Final[Mapping[RunState, str]] = {
    RunState.COMPLETED: "completed",
    RunState.FAILED: "failed",
    RunState.TIMED_OUT: "failed",
    RunState.CANCELLED: "cancelled",
}


class TaskNotFoundError(PublicMcpError):
    """There is no task of that id, or the caller may not know of it."""

    code = "TASK_NOT_FOUND"
    rpc_code = RunNotFoundError.rpc_code

    def __init__(self) -> None:
        super().__init__("Failed to retrieve task: Task not found")


class Tasks:
    """The tasks of one server.

    :ivar extension: what the server declares and serves.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._going: dict[str, _Going] = {}
        service.execute_task = self.execute
        named: dict[str, Any] = {"required": ("taskId",), "header": "taskId"}
        self.extension = Extension(
            TASKS,
            (
                Method("tasks/get", self.get, **named),
                Method("tasks/update", self.update, **named),
                Method("tasks/cancel", self.cancel, **named),
            ),
        )

    # A call becomes a task

    async def around(self, call: Call, call_next: CallNext) -> Any:
        """Leave the request of a client that knows tasks, where the call would be executed."""
        if call.parent is not None or call.attempt_of_run is not None or call.request.transport == "direct":
            return await call_next()
        if call.request.asking is not None and call.request.offers(self.extension.capability):
            await call.request.asking.leave(partial(self._create, call))
        if call.entry.options["task"] == "required":
            raise MissingCapabilityError(self.extension.capability)
        return await call_next()

    async def _create(self, call: Call, state: str) -> Mapping[str, Any]:
        """Keep the task; what its client gets."""
        if len(self._going) >= self._service.config.max_queued:
            raise QueueFullError(self._service.config.max_queued)
        request, capabilities = call.request, call.request.client_capabilities
        run = Run(
            id=str(uuid.uuid4()),
            kind="tool",
            name=call.entry.name,
            entry=call.entry.id,
            input=dict(call.arguments),
            owner=owner_of(call.caller),
            foreground=True,
            context={
                "state": state,
                "surface": call.surface,
                "version": request.protocol_version,
                "capabilities": capabilities.model_dump(mode="json", by_alias=True, exclude_none=True),
            },
            created_at=time.time(),
        )
        kept = await self._service.engine.submit(run)
        return {"resultType": "task", **self._said(kept)}

    # It is carried out

    async def execute(self, entry: Any, run: Run, journal: Journal) -> Outcome:
        """Run the call that left its request, from its start."""
        await journal.report(Change(state=RunState.RUNNING, attempt=1))
        going = self._going[run.id] = _Going(run, journal, self._service.server.state_store, self._keep_seconds)
        try:
            kept = await journal.step("execute", lambda: self._executed(entry, run, journal, going))
        finally:
            del self._going[run.id]
        return Outcome.model_validate(kept)

    async def _executed(self, entry: Any, run: Run, journal: Journal, going: _Going) -> dict[str, Any]:
        server, context = self._service.server, run.context
        request = RequestContext(run.owner.caller(), "inside")
        request.protocol_version = context["version"]
        request.client_capabilities = ClientCapabilities.model_validate(context["capabilities"])
        request.peer = RunPeer(journal)
        call = server.plugin_calls.resumed_call(
            entry, run.input, request=request, state=context["state"], put=going.put
        )
        call.surface = context["surface"]
        call.attempt_of_run = RunAttempt(server, run, journal, 1)
        try:
            result: CallToolResult = await server.pipeline.run(call)
        except Exception as error:
            failure = getattr(error, "original_error", error)
            if isinstance(failure, MCPError):
                said = failure.error
                told = RunError(message=sendable(said.message), name="MCPError", code=str(said.code), public=True)
                return Outcome(state=RunState.FAILED, error=told).model_dump(mode="json")
            result = to_result(ours(error), production=server.production, fields=call.log_fields)
        data = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return Outcome(state=RunState.COMPLETED, result=data).model_dump(mode="json")

    @property
    def _keep_seconds(self) -> float:
        return self._service.config.keep_ms / 1000

    # What its client asks

    async def _find(self, request: RequestContext, task_id: str) -> Run:
        try:
            return await self._service.find(request.caller, task_id, "tool")
        except RunNotFoundError:
            raise TaskNotFoundError from None

    async def get(self, request: RequestContext, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """``tasks/get``: where it stands, with its result or what its user is asked."""
        run = await self._find(request, params["taskId"])
        said: dict[str, Any] = {"resultType": "complete", **self._said(run)}
        if run.state is RunState.COMPLETED:
            said["result"] = run.result
        elif run.error is not None:
            said["error"] = {"code": _rpc_code(run.error), "message": self._service.words_of(run.error)["message"]}
        elif not run.state.is_final and (questions := await self._unanswered(run)):
            said["status"] = "input_required"
            said["inputRequests"] = {key: each["request"] for key, each in questions.items()}
        return said

    async def _unanswered(self, run: Run) -> dict[str, Any]:
        store = self._service.server.state_store
        return {
            key: question
            for key, question in run.questions.items()
            if await store.get(_answer_key(run.id, key)) is None
        }

    async def update(self, request: RequestContext, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """``tasks/update``: answers to what was asked; others are passed over."""
        run = await self._find(request, params["taskId"])
        responses = params.get("inputResponses")
        store = self._service.server.state_store
        for key, response in (responses if isinstance(responses, Mapping) else {}).items():
            if key in run.questions and isinstance(response, Mapping):
                kept = json.dumps(dict(response)).encode()
                await store.add(_answer_key(run.id, key), kept, ttl=self._keep_seconds)
        if run.id in self._going:
            self._going[run.id].answered()
        return {"resultType": "complete"}

    async def cancel(self, request: RequestContext, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """``tasks/cancel``: nothing happens to what has ended."""
        run = await self._find(request, params["taskId"])
        await self._service.engine.cancel(run.id)
        return {"resultType": "complete"}

    def _said(self, run: Run) -> dict[str, Any]:
        updated = max(run.created_at, run.started_at or 0, run.completed_at or 0, *_asked_at(run))
        said: dict[str, Any] = {
            "taskId": run.id,
            "status": STATUS.get(run.state, "working"),
            "createdAt": _iso(run.created_at),
            "lastUpdatedAt": _iso(updated),
            "ttlMs": self._service.config.keep_ms,
            "pollIntervalMs": POLL_MS,
        }
        if run.progress is not None and run.progress.message is not None:
            said["statusMessage"] = run.progress.message
        return said


class _Going:
    """A task that is being carried out here: the questions it puts, and the answers it waits for."""

    def __init__(self, run: Run, journal: Journal, store: Any, keep_seconds: float) -> None:
        self._run_id, self._journal, self._store = run.id, journal, store
        self._keep_seconds = keep_seconds
        self._open: dict[str, Any] = {}
        self._some = anyio.Event()

    def answered(self) -> None:
        """Look whether an answer is there now."""
        self._some.set()
        self._some = anyio.Event()

    async def put(self, key: str, question: Question) -> Mapping[str, Any]:
        """Put a question, and wait for the result that answers it."""
        request = {"method": question.method, "params": dict(question.params)}
        self._open[key] = {"request": request, "at": time.time()}
        await self._tell()
        while (answer := await self._store.get(_answer_key(self._run_id, key))) is None:
            with anyio.move_on_after(LOOK_SECONDS):
                await self._some.wait()
        del self._open[key]
        await self._tell()
        given: Mapping[str, Any] = json.loads(answer)
        return given

    async def _tell(self) -> None:
        await self._journal.report(Change(questions=dict(self._open)))


def _answer_key(run_id: str, key: str) -> str:
    return f"task:{run_id}:{key}"


def _asked_at(run: Run) -> list[float]:
    return [question["at"] for question in run.questions.values()]


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _rpc_code(error: RunError) -> int:
    try:
        return int(error.code)
    except ValueError:
        return -32603
