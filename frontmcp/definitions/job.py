"""`Job`: how a class or function runs in the background."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, overload

from mcp_types import Icon

from frontmcp.arguments import keys_of, several
from frontmcp.call import Caller, Kind
from frontmcp.contexts.base import Context
from frontmcp.contexts.job import JobContext
from frontmcp.definitions.base import F, Sync
from frontmcp.definitions.schemas import SchemaDefinition
from frontmcp.errors import ConfigurationError
from frontmcp.schema import SchemaLike

if TYPE_CHECKING:
    from frontmcp.definitions.options import (
        AvailableWhen,
        Concurrency,
        Permission,
        RateLimit,
        RetryOptions,
        RunAs,
        Timeout,
        Visibility,
    )

DEFAULT_TIMEOUT_MS = 300_000
MOST_ATTEMPTS = 100

Custom: TypeAlias = Callable[[Caller], Any]
ACTIONS = ("execute", "list", "read", "delete")


class Retry(NamedTuple):
    """How often a job is tried, and how long it waits in between.

    :param max_attempts: 1 for no retry.
    :param backoff_ms: the wait after the first attempt; each further one is ``backoff_multiplier`` times as long.
    """

    max_attempts: int = 3
    backoff_ms: float = 1000
    backoff_multiplier: float = 2
    max_backoff_ms: float = 60_000

    def delay(self, attempt: int) -> float:
        """Seconds to wait after an attempt, which count from 1."""
        # Bounded before it is raised: a power can grow beyond any float.
        grown = self.backoff_ms * min(self.backoff_multiplier, 1e6) ** min(attempt - 1, 50)
        return min(grown, self.max_backoff_ms) / 1000


class Rule(NamedTuple):
    """Who may do something with a job, besides the caller who started a run.

    :param roles: one of them; likewise ``scopes``.
    :param custom: whether a `Caller` may.
    """

    action: str
    roles: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None
    custom: Custom | None = None

    def allows(self, caller: Caller) -> bool:
        """Whether the rule lets a caller do it."""
        return (
            (self.roles is None or caller.has_role(*self.roles))
            and (self.scopes is None or caller.has_scope(*self.scopes))
            and (self.custom is None or self.custom(caller) is True)
        )


class Schedule(NamedTuple):
    """When something runs by itself.

    :param cron: five fields, or six with seconds first.
    :param timezone: a name such as ``"Europe/Berlin"``; UTC by default.
    :param run_as: ``{"sub": …, "roles": […], …}``; anonymous by default.
    :param input: its arguments.
    """

    cron: str
    timezone: str | None = None
    run_as: Mapping[str, Any] | None = None
    input: Mapping[str, Any] | None = None


class Runnable(SchemaDefinition):
    """What jobs and workflows share.

    :ivar rules: the permissions.
    """

    timeout_ms: int
    rules: tuple[Rule, ...]
    labels: Mapping[str, str]

    def _configure(
        self,
        *,
        timeout_ms: int | None = None,
        permissions: Sequence[Permission] = (),
        labels: Mapping[str, str] | None = None,
        **shared: Any,
    ) -> None:
        super()._configure(**shared)
        given = self._default_timeout_ms if timeout_ms is None else timeout_ms
        self.timeout_ms = positive(self.noun, "timeout_ms", given)
        self.rules = tuple(_rule(self.noun, given) for given in permissions)
        self.labels = dict(labels or {})

    _default_timeout_ms: ClassVar[int] = DEFAULT_TIMEOUT_MS

    @property
    def schedule(self) -> Schedule | None:
        """When it runs by itself; None for never."""
        return None

    def rules_for(self, action: str) -> list[Rule]:
        """The rules about an action, all of which must allow it."""
        return [rule for rule in self.rules if rule.action == action]


class Job(Runnable):
    """Run a class (derived from `JobContext`) or a function in the background, as the caller who asked for it.

    ``@Job`` alone takes name, description and schemas from what it decorates.

    :param name: 1 to 128 of ``A-Z a-z 0-9 _ . -``; by default the function's name, or the class's in snake_case.
    :param description: what it does; by default the docstring.
    :param input_schema: as of `Tool`; ``output_schema`` alike.
    :param retry: ``{"max_attempts": 3, "backoff_ms": 1000, "backoff_multiplier": 2, "max_backoff_ms": 60_000}``; what
        is left out has these values. Without it a job is tried once.
    :param timeout_ms: how long one attempt may take.
    :param schedule: when it runs by itself, in the five fields of cron: ``"0 3 * * *"``.
    :param timezone: of the schedule, such as ``"Europe/Berlin"``; UTC by default.
    :param run_as: who a scheduled run is: ``{"sub": "reporter", "roles": ["reader"]}``; anonymous by default.
    :param permissions: ``{"action": "execute", "roles": […], "scopes": […], "custom": …}``: who may start it
        (``execute``), see it listed (``list``), see runs of others (``read``), cancel those (``delete``).
    :param labels: what `list_jobs` can be asked for.
    :param sync: where a ``def`` body runs: in a worker ``"thread"``, or ``"inline"`` on the event loop.
    :param options: options that plugins claim; one that nobody claims stops the start.
    """

    kind: ClassVar[Kind] = "job"
    noun: ClassVar[str] = "Job"
    context_class: ClassVar[type[Context]] = JobContext

    retry: Retry

    # Type checkers take a decorated thing for what `__new__` returns: the bare form gives it back as it is.
    @overload
    def __new__(cls, target: F, /) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(
        cls,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        title: str | None = None,
        input_schema: SchemaLike | None = None,
        output_schema: Any = None,
        retry: RetryOptions | None = None,
        timeout_ms: int | None = None,
        schedule: str | None = None,
        timezone: str | None = None,
        run_as: RunAs | None = None,
        permissions: Sequence[Permission] = (),
        labels: Mapping[str, str] | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        sync: Sync = "thread",
        visibility: Visibility | None = None,
        available_when: AvailableWhen | None = None,
        authorities: Any = None,
        rate_limit: RateLimit | None = None,
        concurrency: Concurrency | None = None,
        timeout: Timeout | None = None,
        **options: Any,
    ) -> Job: ...
    def __new__(cls, target: Any = None, /, **keywords: Any) -> Any:
        job = super().__new__(cls)
        job._configure(**keywords)
        return job if target is None else job(target)

    def _configure(
        self,
        *,
        retry: RetryOptions | None = None,
        schedule: str | None = None,
        timezone: str | None = None,
        run_as: RunAs | None = None,
        **shared: Any,
    ) -> None:
        super()._configure(**shared)
        self.retry = Retry(max_attempts=1) if retry is None else read_retry(self.noun, retry)
        if schedule is None and (timezone is not None or run_as is not None):
            raise ConfigurationError("Job: timezone= and run_as= say how a schedule= runs, and there is none")
        self._schedule = None if schedule is None else Schedule(schedule, timezone, run_as)

    @property
    def schedule(self) -> Schedule | None:
        return self._schedule


def read_retry(noun: str, given: Any) -> Retry:
    """The retry policy a user wrote.

    :raises ConfigurationError: it is none.
    """
    retry = Retry(**keys_of(f"{noun}: retry=", given, Retry._fields))
    if not _is_count(retry.max_attempts) or not 1 <= retry.max_attempts <= MOST_ATTEMPTS:
        raise ConfigurationError(f"{noun}: retry: max_attempts must be a whole number from 1 to {MOST_ATTEMPTS}")
    for name in ("backoff_ms", "backoff_multiplier", "max_backoff_ms"):
        if not _is_number(getattr(retry, name)) or not 0 <= getattr(retry, name) < float("inf"):
            raise ConfigurationError(f"{noun}: retry: {name} must be a number that is not negative")
    return retry


def positive(noun: str, name: str, given: Any) -> int:
    """A whole number above 0.

    :raises ConfigurationError: it is none.
    """
    if not _is_count(given) or given <= 0:
        raise ConfigurationError(f"{noun}: {name} must be a whole number above 0")
    return int(given)


def _rule(noun: str, given: Any) -> Rule:
    known = {"action", "roles", "scopes", "custom"}
    if not isinstance(given, Mapping) or given.get("action") not in ACTIONS or not set(given) <= known:
        raise ConfigurationError(
            f"{noun}: permissions= takes {{'action': {' | '.join(ACTIONS)}, 'roles': […], 'scopes': […], 'custom': …}}"
        )
    custom = given.get("custom")
    if custom is not None and (not callable(custom) or inspect.iscoroutinefunction(custom)):
        raise ConfigurationError(f"{noun}: permissions=: custom takes a plain function of the caller, not async")
    lists = {name: tuple(several(name, given[name])) for name in ("roles", "scopes") if given.get(name) is not None}
    return Rule(given["action"], custom=custom, **lists)


def _is_count(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)
