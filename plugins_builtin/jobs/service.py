"""The runs of one server: who may start and see them, and how each is carried out on whatever engine keeps it."""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Final

from pydantic_core import to_jsonable_python

from frontmcp import Call, Caller, ConfigurationError, InvalidInputError, PublicMcpError
from frontmcp.errors import nearest, unknown_store
from frontmcp.interfaces import Background, at_event_depth, event_depth
from frontmcp.interfaces.jobs import JobEngine as JobEngine
from frontmcp.interfaces.jobs import JobsConfig as JobsConfig
from frontmcp.interfaces.jobs import Journal, Outcome, Owner, Run, RunError, RunKind, RunState
from plugins_builtin.jobs.attempts import HOPS, RunAttempt, attempt, check_permitted, failed, reporting, tried
from plugins_builtin.jobs.errors import RunCancelledError, RunFailedError, RunNotFoundError
from plugins_builtin.jobs.workflows import execute_workflow

logger = logging.getLogger("frontmcp.jobs")

ONLY_HERE = (
    'runs are kept in memory and are lost when the server stops; frontmcp-dbos keeps them: jobs_config={"store": …}'
)
SCHEMES: Final = ("sqlite", "postgresql", "postgres")
"""Of stores that frontmcp-dbos knows."""

EVENTS: Final = "events"
"""Where the context of a run has how many events led to it."""

MANY_WORKERS = (
    "each of %s workers knows only the runs it started itself: use one worker, or an engine that workers share, such "
    "as frontmcp-dbos"
)


class Service:
    """Starts runs, shows them, and carries them out.

    :ivar engine: keeps the runs.
    """

    def __init__(self, server: Any) -> None:
        self.server = server
        self.config = JobsConfig()
        self.engine: JobEngine
        self._has_engine = False
        self._is_heard = False
        self._by_id: dict[tuple[RunKind, str], Any] = {}
        self.execute_task: Callable[[Any, Run, Journal], Awaitable[Outcome]]
        self._background = Background()

    # The server's life

    def settle(self) -> None:
        """Look which entries there are, and ask for an engine, once.

        :raises ConfigurationError: nobody has one for ``jobs_config``.
        """
        self._is_heard = self._has_listeners()
        self._by_id = {("tool", entry.id): entry for entry in self.server.tools()}
        self._by_id |= {(entry.kind, entry.id): entry for entry in self._entries()}
        if self._has_engine:
            return
        config = self.server.options.get("jobs_config") or self.config
        engine = self.server.plugins.call("job_engine", config)
        if engine is None:
            wrong = unknown_store(config.store, "JobEngine", "sqlite:///jobs.db", _hint)
            raise ConfigurationError(f"jobs_config: {wrong}")
        if not isinstance(engine, JobEngine):
            raise ConfigurationError("a job_engine hook answered with something that is no JobEngine")
        self.config, self.engine, self._has_engine = config, engine, True

    def _has_listeners(self) -> bool:
        """Whether anybody wants to know that a run has ended: a channel, or a plugin that is no built-in."""
        plugins = self.server.plugins
        others = (step for step in plugins.steps("on_emit") if not plugins.is_built_in(step.plugin))
        return bool(self.server.entries("channel")) or next(others, None) is not None

    async def start(self) -> None:
        """Start the engine, and the clock of what is scheduled."""
        await self.engine.start(self.execute)
        if not self.engine.durable:
            logger.info(ONLY_HERE)
            workers = os.environ.get("WEB_CONCURRENCY", "1")
            if workers.isdecimal() and int(workers) > 1:
                logger.warning(MANY_WORKERS, workers)
        scheduled = [entry for entry in self._entries() if entry.definition.schedule is not None]
        if scheduled:
            await self._background.start()
            for entry in scheduled:
                self._background.spawn(import_module("plugins_builtin.jobs.schedule").keep, self.engine, entry)

    async def stop(self) -> None:
        """Stop the clock, and the engine."""
        await self._background.stop()
        await self.engine.stop(self.config.shutdown_ms / 1000)

    def _entries(self) -> list[Any]:
        return [*self.server.entries("job"), *self.server.entries("workflow")]

    # Starting, showing and cancelling

    async def begin(
        self,
        call: Call,
        kind: RunKind,
        name: str,
        arguments: Mapping[str, Any],
        *,
        foreground: bool,
        delay_ms: float | None = None,
        key: str | None = None,
    ) -> tuple[Run, bool]:
        """Start a run on behalf of a call, whose caller it belongs to.

        :param foreground: the call waits for it.
        :param key: while a run of this caller, entry and key has not ended, it is given instead.
        :returns: the run, and whether it was started now.
        :raises InvalidInputError: the caller can reach no such job or workflow, or the input does not fit.
        :raises AccessDeniedError: the caller may not start it.
        """
        wanted = self.server.plugin_calls.new_call(
            name, _json(arguments, kind), origin=call.origin, surface=call.surface, parent=call, kind=kind
        )
        wanted.scope = None

        async def submit() -> tuple[Run, bool]:
            if (invalid := wanted.validate()) is not None:
                raise invalid
            check_permitted(wanted)
            entry, owner = wanted.entry, owner_of(call.caller)
            run = Run(
                id=str(uuid.uuid4()),
                kind=kind,
                name=entry.name,
                entry=entry.id,
                input=dict(wanted.arguments),
                owner=owner,
                foreground=foreground,
                not_before=None if not delay_ms else time.time() + delay_ms / 1000,
                key=None if key is None else json.dumps([owner.key, entry.id, key]),
                depth=wanted.depth if foreground else 0,
                context=_led_to(call),
                created_at=time.time(),
            )
            kept = await self.engine.submit(run)
            return kept, kept.id == run.id

        started: tuple[Run, bool] = await self.server.pipeline.aside(wanted, submit)
        return started

    async def find(self, caller: Caller, run_id: str, *kinds: RunKind, action: str = "read") -> Run:
        """A run that the caller may do something with.

        :raises RunNotFoundError: there is none.
        """
        run = await self.engine.get(run_id)
        if run is None or run.kind not in kinds or not self._may(caller, run, action):
            raise RunNotFoundError(run_id)
        return run

    def _may(self, caller: Caller, run: Run, action: str) -> bool:
        if run.owner.is_anonymous:
            # Who holds the id is who started it; the id of a scheduled run can be guessed.
            if caller.is_anonymous and "scheduled" not in run.context:
                return True
        elif not caller.is_anonymous and run.owner.key == caller.key:
            return True
        entry = self._entry(run)
        rules = entry.definition.rules_for(action) if entry is not None and run.kind != "tool" else []
        return bool(rules) and all(rule.allows(caller) for rule in rules)

    async def cancel(self, caller: Caller, run_id: str) -> Run:
        """Cancel a run; how it stands then.

        :raises RunNotFoundError: the caller may not know of it.
        """
        run = await self.find(caller, run_id, "job", "workflow", action="delete")
        if await self.engine.cancel(run_id):
            self._announce(run, Outcome(state=RunState.CANCELLED))
        return await self.find(caller, run_id, "job", "workflow", action="delete")

    def error_of(self, run: Run) -> Exception:
        """What a run that somebody waited for failed with."""
        if run.state == RunState.CANCELLED:
            return RunCancelledError(run.id)
        error = run.error or RunError(message="Unknown error")
        kind = PublicMcpError if error.public else RunFailedError
        return kind(error.message, error.code)

    def words_of(self, error: RunError) -> dict[str, Any]:
        """What may be told of a failure: in production only what is public."""
        message = error.message
        if self.server.production and not error.public:
            message = RunFailedError.masked_text.format(error_id=error.error_id)
        return {"message": message, "name": error.name, "code": error.code}

    # Carrying out

    def _entry(self, run: Run) -> Any:
        return self._by_id.get((run.kind, run.entry))

    async def execute(self, run: Run, journal: Journal) -> Outcome:
        """Carry a run out; see `Execute`."""
        is_scheduled = "scheduled" in run.context
        if is_scheduled:
            logger.info('%s "%s" begins, as scheduled: run %s', run.kind, run.name, run.id)
        with at_event_depth(_depth_of(run)):
            outcome = await self._outcome(run, journal)
        if is_scheduled:
            level = logging.INFO if outcome.state is RunState.COMPLETED else logging.WARNING
            logger.log(level, '%s "%s" ended, %s: run %s', run.kind, run.name, outcome.state.value, run.id)
        self._announce(run, outcome)
        return outcome

    def _announce(self, run: Run, outcome: Outcome) -> None:
        """Tell the application that a run of a job has ended."""
        if not self._is_heard or run.kind != "job" or not self.server.background.is_running:
            return
        told: dict[str, Any] = {"runId": run.id, "jobName": run.name, "state": outcome.state.value}
        if outcome.error is not None:
            told["error"] = self.words_of(outcome.error)
        elif outcome.state is RunState.COMPLETED:
            told["result"] = outcome.result
        with at_event_depth(_depth_of(run)):
            self.server.emit_beside("job.completed", told)

    async def _outcome(self, run: Run, journal: Journal) -> Outcome:
        entry = self._entry(run)
        if entry is None:
            gone = InvalidInputError(f'{run.kind.capitalize()} "{run.name}" not found')
            return Outcome(state=RunState.FAILED, error=failed(gone))
        if run.kind == "tool":
            return await self.execute_task(entry, run, journal)
        if run.kind == "workflow":
            return await execute_workflow(self.server, entry, run, journal)
        definition = entry.definition

        async def once(number: int) -> dict[str, Any]:
            return await attempt(RunAttempt(self.server, run, journal, number).call(entry), definition.timeout_ms)

        return (await tried(once, definition.retry, journal, reporting(journal))).outcome


def _led_to(call: Call) -> dict[str, Any]:
    """What led to a run that a call starts, as far as it has an end somewhere: its context keeps that."""
    counts = {EVENTS: event_depth(), HOPS: call.request.hops}
    return {name: count for name, count in counts.items() if count}


def _depth_of(run: Run) -> int:
    """How many events led to a run, one to the other."""
    depth = run.context.get(EVENTS, 0)
    return depth if isinstance(depth, int) else 0


def owner_of(caller: Caller) -> Owner:
    """A caller as JSON data, without the token; claims that are no JSON are left out."""
    return Owner(
        sub=caller.sub,
        roles=caller.roles,
        permissions=caller.permissions,
        scopes=caller.scopes,
        claims=to_jsonable_python(dict(caller.claims), fallback=lambda value: None) if caller.claims else {},
        name=caller.name,
        email=caller.email,
        is_anonymous=caller.is_anonymous,
    )


def _json(arguments: Mapping[str, Any], kind: str) -> dict[str, Any]:
    try:
        data: dict[str, Any] = to_jsonable_python(dict(arguments), inf_nan_mode="constants")
    except ValueError:
        issue = {"path": [], "message": "Value is no JSON", "type": "json_type"}
    else:
        return data
    raise InvalidInputError(f"Invalid {kind} input", [issue])


def _hint(scheme: str) -> str:
    return ": pip install frontmcp-dbos" if scheme.startswith(SCHEMES) else nearest(scheme, SCHEMES)
