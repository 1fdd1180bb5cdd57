"""`RequestContext`: in which request of a client a call is made."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, final

from frontmcp.abort import AbortController, AbortSignal
from frontmcp.call.caller import Caller
from frontmcp.call.protocols import Asking, Peer

HOPS: Final = "frontmcp/hops"
"""Where the ``_meta`` of a request has how many servers have passed it on, this one's client among them."""

SERVED_BY: Final = "frontmcp/server"
"""Where the ``_meta`` of a list has who serves it, told to servers that will pass it on."""

_UNSET: Final[Any] = object()


@final
class RequestContext:
    """One client request: the same object in every call made on its behalf, and in no other request.

    Made by transports and `create_direct`, which fill in what they know of the client.

    :param caller: who sent it.
    :param transport: ``"stdio" | "http" | "memory" | "direct"``.
    :ivar peer: the client as a call sees it; None where there is none.
    :ivar hops: how many servers passed the request on, as the client says (`App.from_mcp`).
    :ivar trace_context: ``traceparent``, ``tracestate`` and ``baggage`` as the client sent them.
    """

    # What a request without it shares: a request is made on every call, so only what differs is set.
    session_id: str | None = None
    protocol_version: str | None = None
    client_info: Any = None
    client_capabilities: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    client_ip: str | None = None
    hops: int = 0
    trace_context: Mapping[str, str] = MappingProxyType({})
    peer: Peer | None = None
    highest_progress: float | None = None
    asking: Asking | None = None
    provided: dict[type, Any] | None = None
    _request_id: str | None = None
    _started_at: datetime | None = None
    _values: dict[str, Any] | None = None
    _controller: AbortController | None = None

    def __init__(self, caller: Caller, transport: str = "direct") -> None:
        self.caller = caller
        self.transport = transport
        self._started = time.monotonic()

    @property
    def request_id(self) -> str:
        """The id of the request in logs; made at its first use when the transport brought none."""
        if self._request_id is None:
            self._request_id = uuid.uuid4().hex
        return self._request_id

    @property
    def started_at(self) -> datetime:
        """When the request began, in UTC."""
        if self._started_at is None:
            self._started_at = datetime.now(UTC) - timedelta(seconds=self.elapsed())
        return self._started_at

    def elapsed(self) -> float:
        """Seconds since the request began."""
        return time.monotonic() - self._started

    @property
    def signal(self) -> AbortSignal:
        """Aborted when the client cancels or goes away."""
        return self._abort_controller().signal

    def abort(self, reason: object = "The client cancelled the request") -> None:
        """Abort `signal`; transports call it when the client cancels or goes away."""
        self._abort_controller().abort(reason)

    def _abort_controller(self) -> AbortController:
        if self._controller is None:
            self._controller = AbortController()
        return self._controller

    def offers(self, required: Mapping[str, Any]) -> bool:
        """Whether the client declared the capabilities that are required, such as ``{"sampling": {}}``.

        A client that declared ``elicitation`` and no mode of it offers ``{"elicitation": {"form": {}}}``.
        """
        if self.client_capabilities is None:
            return False
        offered = self.client_capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
        if offered.get("elicitation") == {}:
            offered["elicitation"] = {"form": {}}
        return _covers(offered, required)

    def get(self, key: str, default: Any = None) -> Any:
        """A value that a hook or a call of this request `set`."""
        return default if self._values is None else self._values.get(key, default)

    def set(self, key: str, value: Any) -> None:
        """Keep a value for the other calls and hooks of this request."""
        if self._values is None:
            self._values = {}
        self._values[key] = value

    def has(self, key: str) -> bool:
        """Whether a value was `set`, None included."""
        return self._values is not None and key in self._values

    def delete(self, key: str) -> bool:
        """Forget a value; whether there was one."""
        return self._values is not None and self._values.pop(key, _UNSET) is not _UNSET


def _covers(offered: Any, required: Mapping[str, Any]) -> bool:
    return isinstance(offered, Mapping) and all(
        name in offered and _covers(offered[name], parts) for name, parts in required.items()
    )
