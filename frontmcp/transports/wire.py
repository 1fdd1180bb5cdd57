"""The SDK's handlers ↔ the pipeline: which part of the wire serves which method.

Both protocol eras arrive here: 2026-07-28 (every request stands alone) and sessions up to 2025-11-25.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any, Final, cast

import mcp_types as types
from mcp.server import NotificationOptions, Server
from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateBoundary, RequestStateSecurity

from frontmcp.asking import STATE_SECONDS
from frontmcp.call import SERVED_BY, Caller, RequestContext, Sought
from frontmcp.errors import FrontMcpError
from frontmcp.registry import CompletableEntry, ListName, Registry, ToolEntry
from frontmcp.transports.callers import Callers
from frontmcp.transports.calls import Calls
from frontmcp.transports.changes import Changes
from frontmcp.transports.extensions import extend, extensions_of
from frontmcp.transports.failures import Failures
from frontmcp.transports.in_flight import InFlight
from frontmcp.transports.keys import state_keys
from frontmcp.transports.listing import Lists
from frontmcp.transports.peer import set_level
from frontmcp.transports.requests import Requests
from frontmcp.transports.sdk import Ctx, is_modern
from frontmcp.transports.served import Served
from frontmcp.transports.subscriptions import Subscriptions
from frontmcp.transports.suspending import Suspending

NOBODY: Final = Caller.anonymous()


class _Server(Server[Any]):
    """The SDK's server, which says in both eras that lists may change, and offers what there is when it is asked."""

    registry: Registry

    def create_initialization_options(self, *arguments: Any, **keywords: Any) -> Any:
        changed = NotificationOptions(tools_changed=True, resources_changed=True, prompts_changed=True)
        return super().create_initialization_options(changed, *arguments[1:], **keywords)

    def get_capabilities(self, *arguments: Any, **keywords: Any) -> types.ServerCapabilities:
        capabilities = super().get_capabilities(*arguments, **keywords)
        entries = [entry for entry in self.registry.entries() if entry.owner is None]
        if not any(entry.sought == "resource" for entry in entries):
            capabilities.resources = None
        if not any(entry.sought == "prompt" for entry in entries):
            capabilities.prompts = None
        if not any(isinstance(entry, CompletableEntry) and entry.can_complete for entry in entries):
            capabilities.completions = None
        return capabilities


class Wire:
    """Serves one `FrontMcp` through one low-level SDK server.

    :ivar server: the SDK's server, for every transport.
    :ivar changes: who is told of changes.
    :ivar callers: finds who makes a request.
    :ivar requests: makes the context of a request.
    :ivar in_flight: requests of older sessions over HTTP.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        self._pipeline = served.pipeline
        keys = state_keys()
        self._lists = Lists(self._pipeline, served.list_options, AESGCMRequestStateCodec(keys))
        self._failures = Failures(served)
        self.changes = Changes()
        self.callers = Callers(served.hooks)
        self.requests = Requests(self.callers, self.changes, self._failures)
        self._subscriptions = Subscriptions(self._pipeline, self.requests, self._failures, self.changes)
        self.in_flight = InFlight()
        self.server = self._sdk_server(keys)
        for extension in extensions_of(served.hooks, served):
            extend(self.server, extension, self.requests.admitted, self._failures.protocol_error)
        self._leave = served.on_change(self.changes.publish)

    def _sdk_server(self, keys: list[str] | list[bytes]) -> _Server:
        info = self._served.info
        name = info.get("name", "frontmcp")
        extensions: dict[str, dict[str, Any]] = {}
        suspending = Suspending(self._served, self._failures, extensions)
        calls = Calls(self._served, self.requests, self._failures, suspending)
        server = _Server(
            name,
            version=info["version"],
            title=info.get("title"),
            description=info.get("description"),
            website_url=info.get("website_url"),
            icons=info.get("icons"),
            instructions=self._served.instructions,
            lifespan=self._lifespan,
            get_tool_input_schema=self._input_schema,
            on_list_tools=partial(self._list, "tools"),
            on_call_tool=calls.call_tool,
            on_list_resources=partial(self._list, "resources"),
            on_list_resource_templates=partial(self._list, "templates"),
            on_read_resource=calls.read_resource,
            on_subscribe_resource=self._subscriptions.subscribe,
            on_unsubscribe_resource=self._subscriptions.unsubscribe,
            on_list_prompts=partial(self._list, "prompts"),
            on_get_prompt=calls.get_prompt,
            on_completion=self._complete,
            on_subscriptions_listen=self._subscriptions.listen,
        )
        server.registry = self._pipeline.registry
        server.extensions = extensions
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
        security = RequestStateSecurity(keys=keys, ttl=STATE_SECONDS)
        server.middleware = [
            *_that_work(server.middleware),
            RequestStateBoundary(security, default_audience=name),
        ]
        return server

    def close(self) -> None:
        """Hear of no more changes: another wire takes over."""
        self._leave()

    def close_streams(self) -> None:
        """End open subscription streams and take no more: they would hold a shutdown."""
        self._subscriptions.close()

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncIterator[None]:
        async with self._served.running():
            self._subscriptions.open()
            yield

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        """What HTTP headers of a call are checked against, by whatever spelling the tool is called."""
        try:
            entry = self._pipeline.resolve(self._pipeline.client_call(RequestContext(NOBODY, "http"), name, None))
        except FrontMcpError:
            return None
        return cast("ToolEntry", entry).input.schema

    async def _list(self, name: ListName, ctx: Ctx, params: types.PaginatedRequestParams | None) -> Any:
        """A list: what the caller may see, a page at a time."""
        request = await self.requests.admitted(ctx)
        cursor = params.cursor if params is not None else None
        page = await self._lists.page(name, request, cursor, modern=is_modern(ctx))
        return {**page, "_meta": {SERVED_BY: self._served.identity}} if request.hops else page

    async def _complete(self, ctx: Ctx, params: types.CompleteRequestParams) -> types.CompleteResult:
        """``completion/complete``: values for an argument of a prompt, or a variable of a template."""
        request = await self.requests.admitted(ctx)
        ref, argument = params.ref, params.argument
        chosen = (params.context.arguments if params.context is not None else None) or {}
        kind: Sought = "prompt" if isinstance(ref, types.PromptReference) else "resource"
        name = ref.name if isinstance(ref, types.PromptReference) else ref.uri
        call = self._pipeline.client_call(request, name, None, kind=kind)
        try:
            completion = await self._pipeline.complete(call, argument.name, argument.value, chosen)
        except Exception as error:
            raise self._failures.refused(error, ctx, call) from None
        return types.CompleteResult(completion=completion)


def _that_work(middleware: Sequence[Any]) -> list[Any]:
    """Without OpenTelemetry no span can ever be recorded, and making none costs a fifth of a request."""
    if find_spec("opentelemetry.sdk") is not None:
        return list(middleware)
    return [each for each in middleware if type(each).__name__ != "OpenTelemetryMiddleware"]
