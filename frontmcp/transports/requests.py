"""The context of each request: its caller, explicit; its peer; its session."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final

from mcp.server.connection import Connection

from frontmcp.authentication import AuthenticationRequest
from frontmcp.call import Caller, RequestContext
from frontmcp.errors import PublicMcpError
from frontmcp.transports.callers import CALLER, Callers
from frontmcp.transports.changes import Changes
from frontmcp.transports.failures import Failures
from frontmcp.transports.peer import ClientPeer
from frontmcp.transports.sdk import Ctx, connection_of, hops_of, is_modern, trace_of

ANONYMOUS: Final = uuid.UUID("6f0a3c51-6f1a-4f0e-9a59-0f5be1f5c1a8")


class Requests:
    """Makes the context of each request to one server.

    :ivar transport: how requests come that do not come over HTTP.
    """

    def __init__(self, callers: Callers, changes: Changes, failures: Failures) -> None:
        self._callers = callers
        self._changes = changes
        self._failures = failures
        self.transport = "memory"

    async def context(self, ctx: Ctx) -> RequestContext:
        """The context of a request.

        :raises FrontMcpError: it is refused.
        """
        session, connection, http = ctx.session, connection_of(ctx), ctx.request
        modern = is_modern(ctx)
        headers: Mapping[str, str] = http.headers if http is not None else {}
        client_ip = self._callers.client_ip(http) if http is not None else None
        transport = "http" if http is not None else self.transport
        if not modern:
            self._changes.track(connection)
        if http is not None and CALLER in http.scope:
            caller = http.scope[CALLER]
        else:
            caller = await self._callers.find(AuthenticationRequest(transport, headers, client_ip))
        caller = caller or _anonymous(connection, headers, modern=modern)
        if not modern and connection.state.setdefault("frontmcp.owner", caller.key) != caller.key:
            raise PublicMcpError("This session belongs to another user", "SESSION_OWNED")
        request = RequestContext(caller, transport)
        if not modern:
            request.session_id = connection.session_id or headers.get("mcp-session-id")
        request.protocol_version = ctx.protocol_version
        request.client_info = session.client_params and session.client_params.client_info
        request.client_capabilities = session.client_capabilities
        request.headers = headers
        request.client_ip = client_ip
        request.peer = ClientPeer(ctx, modern=modern)
        if trace := trace_of(ctx):
            request.trace_context = trace
        if hops := hops_of(ctx):
            request.hops = hops
        return request

    async def admitted(self, ctx: Ctx) -> RequestContext:
        """`context`, where a refusal is an error of the protocol.

        :raises MCPError: it is refused.
        """
        try:
            return await self.context(ctx)
        except Exception as error:
            raise self._failures.refusal(error) from None


def _anonymous(connection: Connection, headers: Mapping[str, str], *, modern: bool) -> Caller:
    """One anonymous caller per session; one per request where there is no session (architecture §8)."""
    if modern and connection.has_standalone_channel is False:
        return Caller.anonymous()
    session_id = connection.session_id or headers.get("mcp-session-id")
    if session_id is not None:
        return Caller(f"anon:{uuid.uuid5(ANONYMOUS, session_id)}", is_anonymous=True)
    caller: Caller = connection.state.setdefault("frontmcp.caller", Caller.anonymous())
    return caller
