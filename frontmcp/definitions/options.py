"""The options of the built-in plugins, typed for editors. What they mean is the plugins' business."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

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
