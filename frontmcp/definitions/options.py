"""What definitions take in tables, typed for editors: type checkers alone load this.

What an option means is the business of the plugin that claims it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, Required, TypeAlias, TypedDict

Visibility: TypeAlias = Literal["public", "hidden", "internal"]
Partition: TypeAlias = Literal["global", "ip", "session", "user"] | Callable[[Any], str]


class AvailableWhen(TypedDict, total=False):
    """Where an entry is available: all of the fields must hold, one of each list."""

    surface: Sequence[Literal["mcp", "agent", "job", "http-trigger", "cli"]]
    os: Sequence[str]
    runtime: Sequence[str]
    deployment: Sequence[str]
    provider: Sequence[str]
    target: Sequence[str]
    env: Sequence[str]


class RateLimit(TypedDict, total=False):
    """At most ``max_requests`` calls in any window of ``window_ms`` milliseconds."""

    max_requests: int
    window_ms: int
    partition_by: Partition
    on_store_failure: Literal["refuse", "allow"]


class Concurrency(TypedDict, total=False):
    """At most ``max_concurrent`` calls at once; others wait ``queue_timeout_ms`` milliseconds."""

    max_concurrent: int
    queue_timeout_ms: int
    partition_by: Partition
    on_store_failure: Literal["refuse", "allow"]


class Timeout(TypedDict, total=False):
    """At most ``execute_ms`` milliseconds for the body and the hooks around it."""

    execute_ms: int


class Llm(TypedDict, total=False):
    """The model of an agent: an ``adapter``, or a ``provider`` with what that one needs. Other keys are for the latter.

    ``api_key`` is the key, or ``{"env": "NAME"}``. ``temperature``, ``max_tokens`` and ``stop`` hold for every request.
    """

    adapter: Any
    provider: str
    model: str
    api_key: str | Mapping[Literal["env"], str]
    base_url: str
    temperature: float
    max_tokens: int
    stop: Sequence[str]


class Swarm(TypedDict, total=False):
    """Which agents an agent's model sees beside its own, who sees the agent, and how deep agents call agents."""

    can_see_other_agents: bool
    visible_agents: Sequence[str]
    is_visible: bool
    max_call_depth: int


class Execution(TypedDict, total=False):
    """How an agent's loop runs; ``timeout`` and ``notification_interval`` are in milliseconds."""

    max_iterations: int
    max_total_tokens: int
    timeout: int
    parallel_tool_calls: bool
    inherit_parent_tools: bool
    enable_streaming: bool
    enable_notifications: bool
    notification_interval: int
    enable_auto_progress: bool


class RetryOptions(TypedDict, total=False):
    """How often a job is tried, and how long it waits in between."""

    max_attempts: int
    backoff_ms: float
    backoff_multiplier: float
    max_backoff_ms: float


class RunAs(TypedDict, total=False):
    """The caller of scheduled runs."""

    sub: Required[str]
    roles: Sequence[str]
    permissions: Sequence[str]
    scopes: Sequence[str]
    claims: Mapping[str, Any]
    name: str
    email: str


class Permission(TypedDict, total=False):
    """Who may do something with a job."""

    action: Required[Literal["execute", "list", "read", "delete"]]
    roles: Sequence[str]
    scopes: Sequence[str]
    custom: Callable[[Any], bool]


class Trigger(TypedDict, total=False):
    """When a workflow runs by itself."""

    schedule: Required[str]
    timezone: str
    run_as: RunAs
    input: Mapping[str, Any]


class Cache(TypedDict, total=False):
    """How long a client may keep what it read (2026-07-28 on).

    ``ttl`` is in seconds, 0 by default. ``scope`` is ``"private"`` by default: for the caller alone; ``"public"``, for
    anybody, holds only where every caller may read the resource.
    """

    ttl: float
    scope: Literal["public", "private"]


class Webhook(TypedDict):
    """Whoever posts to a path beside the MCP endpoint."""

    type: Literal["webhook"]
    path: str
    secret: NotRequired[str | Mapping[Literal["env"], str]]
    signature_header: NotRequired[str]
    signature_prefix: NotRequired[str]
    max_body: NotRequired[int]
    max_concurrent: NotRequired[int]


class AppEvent(TypedDict):
    """``await server.emit(event, payload)`` of this process."""

    type: Literal["app-event"]
    event: str


class AgentCompletion(TypedDict):
    """An agent of the server is done; one of ``agents``, or any."""

    type: Literal["agent-completion"]
    agents: NotRequired[Sequence[str]]


class JobCompletion(TypedDict):
    """A run of a job of the server has ended; of one of ``jobs``, or any."""

    type: Literal["job-completion"]
    jobs: NotRequired[Sequence[str]]


class Manual(TypedDict):
    """``await server.emit(<the channel's name>, payload)``."""

    type: Literal["manual"]


Source: TypeAlias = Webhook | AppEvent | AgentCompletion | JobCompletion | Manual
