"""What users write: ``rate_limit``, ``concurrency`` and ``timeout`` of an entry, ``throttle`` of the server."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticKnownError

from plugins_builtin.guards.addresses import IpFilter

DIMENSIONS: Final = ("global", "ip", "session", "user")
PARTITIONS: Final = '"global", "ip", "session", "user", or a function of the call that is not async'


def _partition(value: Any) -> Any:
    if value in DIMENSIONS or (callable(value) and not inspect.iscoroutinefunction(value)):
        return value
    raise PydanticKnownError("literal_error", {"expected": PARTITIONS})


PartitionBy: TypeAlias = Annotated[str | Callable[[Any], str | None], BeforeValidator(_partition)]


class _Limit(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    partition_by: PartitionBy = "global"
    on_store_failure: Literal["refuse", "allow"] = "refuse"


class RateLimit(_Limit):
    """At most ``max_requests`` calls in any window of ``window_ms`` milliseconds.

    :param partition_by: who has a limit of their own.
    :param on_store_failure: what happens to calls that can't be counted.
    """

    max_requests: int = Field(gt=0)
    window_ms: int = Field(60_000, gt=0)


class Concurrency(_Limit):
    """At most ``max_concurrent`` calls at once; others wait for ``queue_timeout_ms`` milliseconds."""

    max_concurrent: int = Field(gt=0)
    queue_timeout_ms: int = Field(0, ge=0)


class Timeout(BaseModel):
    """At most ``execute_ms`` milliseconds for the body and the hooks around it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    execute_ms: int = Field(gt=0)


class Throttle(BaseModel):
    """Limits of the whole server, and defaults for its entries.

    :param global_rate_limit: over all calls of clients; ``global_concurrency`` alike.
    :param default_rate_limit: for entries that have none; ``default_concurrency`` and ``default_timeout`` alike.
    :param ip_filter: which addresses may call.
    :param store: where calls are counted: a URL that a plugin knows, a `GuardStore`, or None for this process alone.
    :param max_partitions: how many partitions the store of this process tells apart at a time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    global_rate_limit: RateLimit | None = None
    global_concurrency: Concurrency | None = None
    default_rate_limit: RateLimit | None = None
    default_concurrency: Concurrency | None = None
    default_timeout: Timeout | None = None
    ip_filter: IpFilter | None = None
    store: Any = Field(default=None, repr=False)
    max_partitions: int = Field(default=100_000, gt=0)
