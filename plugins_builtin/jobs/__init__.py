"""`jobs`: work that outlives the call that started it, and the tools that start and follow it (docs/jobs.md).

A server without jobs and workflows has none of it: what does the work loads with the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

from frontmcp import Call, CallNext, ConfigurationError, Option, Plugin, hookimpl
from plugins_builtin.jobs import specs

if TYPE_CHECKING:
    from frontmcp.interfaces.jobs import JobEngine, JobsConfig


LATE: Final = "the first {what} can't be added to a server that was checked: declare one before"


def _load(module: str) -> Any:
    """A module of this package, loaded when it is first needed."""
    return import_module(f"{__name__}.{module}")


def _check_surface(entry: Any) -> None:
    """Refuse what could be started and never run: an attempt is made on the surface ``job``."""
    when = entry.options.get("available_when")
    surfaces = when.get("surface") if isinstance(when, Mapping) else None
    if surfaces is not None and "job" not in surfaces:
        raise ConfigurationError(f'{entry.definition.place}: available_when: it runs on the surface "job"; add that')


class Jobs(Plugin):
    """Claims jobs and workflows, and brings the tools for them."""

    name = "jobs"
    kinds = ("job", "workflow")
    options = (
        Option("jobs_config", "frontmcp.interfaces.jobs:JobsConfig", server=True),
        Option("task", Literal[True, "required"], kinds=("tool", "agent")),
    )

    def __init__(self) -> None:
        self._service: Any = None
        self._tasks: Any = None

    @hookimpl
    def register_hookspecs(self, manager: Any) -> None:
        manager.add_hookspecs(specs)

    @hookimpl(trylast=True)
    def job_engine(self, config: JobsConfig) -> JobEngine | None:
        if config.store is None or config.store == "memory":
            engine: JobEngine = _load("memory").MemoryJobEngine(config)
            return engine
        given = config.store
        return given if isinstance(given, _load("service").JobEngine) else None

    @hookimpl
    def provide_extensions(self, server: Any) -> Iterable[Any]:
        return () if self._tasks is None else (self._tasks.extension,)

    @hookimpl(option="task", tryfirst=True)
    async def around_execute(self, call: Call, call_next: CallNext) -> Any:
        return await self._tasks.around(call, call_next)

    @hookimpl
    def provide_entries(self, server: Any) -> Iterable[Any]:
        jobs, workflows = server.entries("job"), server.entries("workflow")
        if not jobs and not workflows:
            return ()
        tools: Iterable[Any] = _load("tools").make_tools(self._service_of(server), has_workflows=bool(workflows))
        return tools

    def _service_of(self, server: Any) -> Any:
        if self._service is None:
            self._service = _load("service").Service(server)
        return self._service

    @hookimpl
    def prepare_entry(self, entry: Any, server: Any) -> None:
        if entry.kind == "workflow":
            entry.invoke = _load("workflows").walk
        if entry.kind in self.kinds:
            _check_surface(entry)
            if entry.definition.schedule is not None:
                _load("schedule").check(entry)

    @hookimpl
    def settled(self, server: Any) -> None:
        has_tasks = any(entry.options.get("task") for entry in server.tools())
        if self._service is None and (server.entries("job") or server.entries("workflow")):
            raise ConfigurationError(LATE.format(what="job or workflow"))
        if self._tasks is None and has_tasks:
            if server.started:
                raise ConfigurationError(LATE.format(what="tool with task="))
            self._tasks = _load("tasks").Tasks(self._service_of(server))
        if self._service is not None:
            self._service.settle()

    @hookimpl
    async def server_started(self, server: Any) -> None:
        if self._service is not None:
            await self._service.start()

    @hookimpl
    async def server_stopping(self, server: Any) -> None:
        if self._service is not None:
            await self._service.stop()
