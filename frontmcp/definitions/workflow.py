"""`Workflow` and `Step`: jobs that depend on one another."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from mcp_types import Icon

from frontmcp.arguments import keys_of
from frontmcp.call import Kind
from frontmcp.contexts.base import Context
from frontmcp.definitions.base import Sync, caller_namespace, caller_place
from frontmcp.definitions.body import Body, read_body
from frontmcp.definitions.job import Retry, Runnable, Schedule, positive, read_retry
from frontmcp.errors import ConfigurationError, nearest
from frontmcp.schema import SchemaLike

if TYPE_CHECKING:
    from frontmcp.definitions.options import AvailableWhen, Permission, RetryOptions, Trigger, Visibility

StepInput: TypeAlias = Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Step:
    """A step of a workflow: one run of a job.

    :param id: names it, in ``depends_on`` and in the results.
    :param job_name: the job, of the same app where it has one of that name.
    :param input: its arguments, or a function of the steps so far that gives them, called as
        ``steps.get(id).outputs``; the workflow's input by default.
    :param depends_on: the steps that must have ended well before it begins.
    :param condition: a function of the steps so far; where it does not give a true value the step is skipped.
    :param continue_on_error: steps that depend on it begin also when it failed.
    :param retry: in place of the job's own; ``timeout_ms`` alike.
    """

    id: str
    job_name: str
    input: StepInput | None = field(default=None, kw_only=True)
    depends_on: Sequence[str] = field(default=(), kw_only=True)
    condition: Callable[[Any], Any] | None = field(default=None, kw_only=True)
    continue_on_error: bool = field(default=False, kw_only=True)
    retry: RetryOptions | None = field(default=None, kw_only=True)
    timeout_ms: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("id", "job_name"):
            if not isinstance(given := getattr(self, name), str) or not given:
                raise ConfigurationError(f"Step: {name} must be a text that is not empty")
        if isinstance(self.depends_on, str):
            raise ConfigurationError(f'Step "{self.id}": depends_on must be a list of ids')
        _ = self.retry_policy
        if self.timeout_ms is not None:
            positive(f'Step "{self.id}"', "timeout_ms", self.timeout_ms)
        for name in ("input", "condition"):
            if inspect.iscoroutinefunction(getattr(self, name)):
                raise ConfigurationError(f'Step "{self.id}": {name} must be a plain function, not async')

    @property
    def retry_policy(self) -> Retry | None:
        """How often it is tried; None where the job says so."""
        return None if self.retry is None else read_retry(f'Step "{self.id}"', self.retry)


async def _nothing(**arguments: Any) -> None:
    """Stands where other entries have a body: a workflow's steps are run by who claims the kind."""


class Workflow(Runnable):
    """Run jobs in an order: each as soon as the steps that it depends on have ended well.

    A plain object, ``Workflow(name="nightly", steps=[…])``, or a decorator on an empty class.

    :param steps: at least one `Step`; what they depend on must not go in a circle.
    :param timeout_ms: how long the whole may take.
    :param max_concurrency: how many steps may run at once.
    :param trigger: ``{"schedule": "0 3 * * *", "timezone": …, "run_as": …, "input": …}`` runs it by itself.
    :param input_schema: as of `Tool`; any object by default.
    :param permissions: as of `Job`; ``labels`` alike.
    :param options: options that plugins claim; one that nobody claims stops the start.
    """

    kind: ClassVar[Kind] = "workflow"
    noun: ClassVar[str] = "Workflow"
    _default_timeout_ms: ClassVar[int] = 600_000

    steps: tuple[Step, ...]
    max_concurrency: int

    def __init__(
        self,
        *,
        steps: Sequence[Step],
        name: str | None = None,
        description: str | None = None,
        title: str | None = None,
        input_schema: SchemaLike | None = None,
        timeout_ms: int | None = None,
        max_concurrency: int = 5,
        trigger: Trigger | Literal["manual"] | None = None,
        permissions: Sequence[Permission] = (),
        labels: Mapping[str, str] | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        visibility: Visibility | None = None,
        available_when: AvailableWhen | None = None,
        authorities: Any = None,
        **options: Any,
    ) -> None:
        sync: Sync = "inline"
        self._configure(
            name=name, description=description, title=title, input_schema=input_schema, timeout_ms=timeout_ms,
            permissions=permissions, labels=labels, icons=icons, meta=meta, tags=tags, sync=sync,
            visibility=visibility, available_when=available_when, authorities=authorities, **options,
        )  # fmt: skip
        if not all(isinstance(step, Step) for step in steps):
            raise ConfigurationError("Workflow: steps= takes Step(…) objects")
        self.steps = tuple(steps)
        self.max_concurrency = positive(self.noun, "max_concurrency", max_concurrency)
        self._schedule = None if trigger in (None, "manual") else _read_trigger(trigger)
        self.namespace, self._made_at = caller_namespace(), caller_place()

    @property
    def is_complete(self) -> bool:
        """Whether it can be served though it decorates nothing."""
        return self.given_name is not None

    @property
    def schedule(self) -> Schedule | None:
        return self._schedule

    @property
    def source(self) -> str:
        return super().source if self.target is not None else self._made_at

    def bind(self, target: Any, namespace: Mapping[str, Any] | None) -> None:
        if self.target is not None or not inspect.isclass(target):
            raise ConfigurationError("a Workflow(…) decorates one empty class, or none")
        self.target = target
        self.namespace = namespace
        self._check_name(self.name)

    @cached_property
    def body(self) -> Body:
        return read_body(_nothing, None, Context)

    def problems(self) -> Iterator[str]:
        """What is wrong with the graph, in words."""
        ids = [step.id for step in self.steps]
        if not ids:
            yield "Workflow has no steps"
        if len(set(ids)) != len(ids):
            yield f"Workflow has duplicate step IDs: {', '.join(sorted({each for each in ids if ids.count(each) > 1}))}"
        for step in self.steps:
            for other in step.depends_on:
                if other not in ids:
                    yield f'Step "{step.id}" depends on unknown step "{other}"{nearest(str(other), ids)}'
        try:
            _ = self.order
        except CycleError as error:
            yield f'Workflow has a cycle involving step "{error.args[1][0]}": {" → ".join(error.args[1])}'

    @cached_property
    def order(self) -> tuple[Step, ...]:
        """The steps, each after those that it depends on; the same in every process.

        :raises CycleError: they go in a circle.
        """
        by_id = {step.id: step for step in self.steps}
        sorter = TopologicalSorter({step.id: step.depends_on for step in self.steps})
        return tuple(by_id[each] for each in sorter.static_order() if each in by_id)


def _read_trigger(given: Any) -> Schedule:
    keys = ("schedule", *Schedule._fields[1:])
    fields = {} if isinstance(given, str) else keys_of("Workflow: trigger=", given, keys)
    if "schedule" not in fields:
        raise ConfigurationError('Workflow: trigger= takes "manual", or when it runs: {"schedule": "0 3 * * *"}')
    return Schedule(fields.pop("schedule"), **fields)
