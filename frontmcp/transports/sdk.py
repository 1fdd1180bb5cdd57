"""What the SDK hands to a handler, read in one place: some of it is provisional or private."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from frontmcp.call import HOPS, Call, RequestContext, Sought
from frontmcp.pipeline import Pipeline

Ctx: TypeAlias = ServerRequestContext[Any, Any]
TRACE_KEYS: Final = ("traceparent", "tracestate", "baggage")


def connection_of(ctx: Ctx) -> Connection:
    """The connection that a message came on."""
    # The SDK has no public handle on what outlives one request of a session.
    connection: Connection = ctx.session._connection
    return connection


def is_modern(ctx: Ctx) -> bool:
    """Whether the request stands alone: from 2026-07-28 on."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def trace_of(ctx: Ctx) -> dict[str, str]:
    """Where the request stands in the client's trace, as it says."""
    meta = cast("Mapping[str, Any]", ctx.meta or {})
    return {key: meta[key] for key in TRACE_KEYS if isinstance(meta.get(key), str)}


def hops_of(ctx: Ctx) -> int:
    """How many servers passed the request on, as it says; anybody may say anything."""
    hops = cast("Mapping[str, Any]", ctx.meta or {}).get(HOPS)
    return max(hops, 0) if type(hops) is int else 0


class CallRequest(NamedTuple):
    """A request that a call answers."""

    ctx: Ctx
    params: types.CallToolRequestParams | types.ReadResourceRequestParams | types.GetPromptRequestParams
    kind: Sought
    name: str
    arguments: Mapping[str, Any] | None

    @property
    def is_modern(self) -> bool:
        return is_modern(self.ctx)

    def call(self, pipeline: Pipeline, request: RequestContext, attempt: int = 0) -> Call:
        """The call that answers it."""
        token = self.ctx.meta.get("progress_token") if self.ctx.meta else None
        return pipeline.client_call(
            request, self.name, self.arguments, progress_token=token, attempt=attempt, kind=self.kind
        )
