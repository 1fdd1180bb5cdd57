"""`JobEntry` and `WorkflowEntry`: what runs in the background, and what becomes of its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from frontmcp.call import Call
from frontmcp.definitions.job import Job, Runnable
from frontmcp.definitions.workflow import Workflow
from frontmcp.entries.base import Entry, validating
from frontmcp.errors import FrontMcpError, InvalidOutputError, JobExecutionError, nearest
from frontmcp.providers import Providers
from frontmcp.schema import json_text, jsonable
from frontmcp.threads import Threads


class RunnableEntry(Entry):
    """What jobs and workflows share: their results are JSON data."""

    result_type = object
    definition: Runnable

    def __init__(self, definition: Runnable, app_id: str, *, threads: Threads, providers: Providers) -> None:
        super().__init__(definition, app_id, threads=threads, providers=providers)
        self.validate = validating(self.validate, f"Invalid {self.kind} input")

    def format(self, call: Call, value: Any) -> Any:
        """JSON data for a raw value.

        :raises InvalidOutputError: it does not match the output schema, or is no JSON.
        """
        output = self.definition.output
        try:
            data = jsonable(value) if output is None else output.check(value)
            json_text(data)
        except InvalidOutputError as error:
            raise error.of(f"{self.definition.noun} output") from error.__cause__
        return data

    def check(self, result: Any) -> None:
        output = self.definition.output
        try:
            json_text(jsonable(result))
            if output is not None:
                output.verify(result)
        except InvalidOutputError as error:
            raise error.of(f"{self.definition.noun} output") from error.__cause__

    def failed(self, call: Call, error: BaseException | None) -> FrontMcpError:
        return JobExecutionError(self.definition.noun, self.name, error)

    def listed(self, name: str, *, modern: bool) -> Mapping[str, Any]:
        """As listed by the tools of jobs."""
        definition = self.definition
        said = {
            "description": definition.description,
            "tags": list(definition.tags),
            "labels": dict(definition.labels),
        }
        return {"name": name, **{key: value for key, value in said.items() if value}}


class JobEntry(RunnableEntry):
    """A job; a call is one attempt."""

    kind = "job"
    kinds = ("job",)
    sought = "job"
    list_name = "jobs"
    definition: Job

    def listed(self, name: str, *, modern: bool) -> Mapping[str, Any]:
        return {**super().listed(name, modern=modern), "inputSchema": self.definition.input.schema}


class WorkflowEntry(RunnableEntry):
    """A workflow; a call walks its steps.

    :ivar jobs: the job of each step, by the step's id; known once the registry has settled.
    """

    kind = "workflow"
    kinds = ("workflow",)
    sought = "workflow"
    list_name = "workflows"
    definition: Workflow

    def __init__(self, definition: Workflow, app_id: str, *, threads: Threads, providers: Providers) -> None:
        super().__init__(definition, app_id, threads=threads, providers=providers)
        self.jobs: Mapping[str, JobEntry] = {}

    def settle(self, jobs: Sequence[JobEntry]) -> list[str]:
        """Find the jobs of the steps, those of its own app first; what is wrong with steps and jobs, in words."""
        by_name: dict[str, JobEntry] = {}
        for entry in sorted(jobs, key=lambda entry: entry.app_id != self.app_id):
            for name in (entry.name, entry.id, entry.listed_name):
                by_name.setdefault(name, entry)
        steps = self.definition.steps
        self.jobs = {step.id: by_name[step.job_name] for step in steps if step.job_name in by_name}
        missing = [
            f'Step "{step.id}" runs the job "{step.job_name}", which does not exist{nearest(step.job_name, by_name)}'
            for step in steps
            if step.job_name not in by_name
        ]
        return [f"{self.definition.place}: {problem}" for problem in (*self.definition.problems(), *missing)]

    def listed(self, name: str, *, modern: bool) -> Mapping[str, Any]:
        trigger = "manual" if self.definition.schedule is None else "schedule"
        return {
            **super().listed(name, modern=modern),
            "trigger": trigger,
            "stepCount": len(self.definition.steps),
        }
