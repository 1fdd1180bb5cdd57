"""Who may hear of changes: ``subscriptions/listen`` and, of older sessions, ``resources/subscribe``."""

from __future__ import annotations

import anyio.lowlevel
import mcp_types as types
from mcp.shared.exceptions import MCPError

from frontmcp.call import Call, RequestContext
from frontmcp.errors import FrontMcpError
from frontmcp.pipeline import Pipeline
from frontmcp.transports.changes import MOST_SUBSCRIPTIONS, Changes, admitted
from frontmcp.transports.failures import Failures
from frontmcp.transports.requests import Requests
from frontmcp.transports.sdk import Ctx, connection_of


class Subscriptions:
    """Lets clients subscribe to what they may read."""

    def __init__(self, pipeline: Pipeline, requests: Requests, failures: Failures, changes: Changes) -> None:
        self._pipeline = pipeline
        self._requests = requests
        self._failures = failures
        self._changes = changes
        self._closing = False

    def open(self) -> None:
        """Take streams, again after `close`."""
        self._closing = False

    def close(self) -> None:
        """End open streams and take no more: they would hold a shutdown."""
        self._closing = True
        self._changes.listen.close()

    async def listen(self, ctx: Ctx, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """``subscriptions/listen``: changes, until the client goes or the server stops."""
        if self._closing:
            raise MCPError(types.INTERNAL_ERROR, "The server is shutting down")
        if not params.notifications.resource_subscriptions:
            return await self._changes.listen(ctx, params)
        request = await self._requests.admitted(ctx)
        wanted = dict.fromkeys(params.notifications.resource_subscriptions[:MOST_SUBSCRIPTIONS])
        uris = [uri for uri in wanted if await self._may(request, uri)]
        with self._changes.listening(uris):
            return await self._changes.listen(ctx, admitted(params, uris))

    async def subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """``resources/subscribe``, of older sessions."""
        request = await self._requests.admitted(ctx)
        call = self._read(request, params.uri)
        try:
            await self._admit(call)
        except Exception as error:
            raise self._failures.refused(error, ctx, call, older=True) from None
        self._changes.subscribe(connection_of(ctx), params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Ctx, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """``resources/unsubscribe``, of older sessions."""
        await self._requests.admitted(ctx)
        self._changes.unsubscribe(connection_of(ctx), params.uri)
        return types.EmptyResult()

    async def _may(self, request: RequestContext, uri: str) -> bool:
        try:
            await self._admit(self._read(request, uri))
        except FrontMcpError:
            return False
        return True

    def _read(self, request: RequestContext, uri: str) -> Call:
        return self._pipeline.client_call(request, uri, {"uri": uri}, kind="resource")

    async def _admit(self, call: Call) -> None:
        """Refuse a subscription to a resource that the caller may not read."""
        await self._pipeline.aside(call, anyio.lowlevel.checkpoint)
