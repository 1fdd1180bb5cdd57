"""The SDK's handlers ↔ the pipeline. The only module that touches what is private or provisional in the SDK.

Both protocol eras arrive here: 2026-07-28 (every request stands alone) and sessions up to 2025-11-25.
"""

from __future__ import annotations

import json
import logging
import os
import uuid
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import anyio
import mcp_types as types
import pydantic_core
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
)
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from frontmcp.asking import STATE_SECONDS, State, Suspended, Suspension, spend
from frontmcp.call import Answer, Call, Caller, Message, ProgressUpdate, Question, RequestContext
from frontmcp.chain import blame
from frontmcp.errors import (
    FrontMcpError,
    InternalMcpError,
    PluginError,
    PublicMcpError,
    describe,
    log_error,
    public_text,
    sendable,
    to_result,
)
from frontmcp.interfaces import StateStore
from frontmcp.pipeline import Pipeline, is_cancellation
from frontmcp.registry import ToolEntry

if TYPE_CHECKING:
    from frontmcp.plugins import PluginManager

logger = logging.getLogger("frontmcp.wire")

Ctx = ServerRequestContext[Any, Any]
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
ANONYMOUS: Final = uuid.UUID("6f0a3c51-6f1a-4f0e-9a59-0f5be1f5c1a8")
TIDY_SECONDS: Final = 5.0
TELL_SECONDS: Final = 5.0
TRACE_KEYS: Final = ("traceparent", "tracestate", "baggage")


class Served(Protocol):
    """What the wire needs of a server."""

    info: dict[str, Any]

    @property
    def instructions(self) -> str | None: ...
    @property
    def pagination(self) -> int | None: ...
    @property
    def pipeline(self) -> Pipeline: ...
    @property
    def hooks(self) -> PluginManager: ...
    @property
    def state_store(self) -> StateStore: ...
    @property
    def production(self) -> bool: ...
    def running(self) -> Any: ...
    def find(self, name: str) -> ToolEntry | None: ...
    def on_change(self, listener: Any) -> Callable[[], None]: ...


class _Server(Server[Any]):
    """The SDK's server, saying in both eras that lists may change."""

    transport = "memory"

    def create_initialization_options(self, *arguments: Any, **keywords: Any) -> Any:
        return super().create_initialization_options(
            NotificationOptions(tools_changed=True), *arguments[1:], **keywords
        )


@dataclass(frozen=True, slots=True)
class AuthenticationRequest:
    """What an `authenticate` hook is given.

    :ivar token: the bearer token, if the request has one.
    """

    transport: str
    headers: Mapping[str, str]
    client_ip: str | None

    @property
    def token(self) -> str | None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" and token else None


class _Flight:
    """One request of an older session: on a connection, and in a handler once that has begun."""

    def __init__(self) -> None:
        self.connected = True
        self.running = False
        self.answered = False
        self.over = anyio.Event()


class InFlight:
    """Which requests of older sessions are on their way, from the arrival of the id until it can't be mixed up.

    A request is over when its connection is done *and* its handler does not run: on a session whose stream was
    dropped the handler runs on, and after an answer the SDK still tidies up. Ids that are written alike are one: the
    SDK mixes up ``1`` and ``"1"``.
    """

    def __init__(self) -> None:
        self._flights: dict[tuple[str, str], _Flight] = {}

    def __len__(self) -> int:
        return len(self._flights)

    async def arrive(self, session: str, request_id: Any) -> bool:
        """Whether the id is free, or soon will be; then it is taken."""
        key = (session, str(request_id))
        earlier = self._flights.get(key)
        if earlier is not None and earlier.answered:
            with anyio.move_on_after(TIDY_SECONDS):
                await earlier.over.wait()
        if key in self._flights:
            return False
        self._flights[key] = _Flight()
        return True

    def leave(self, session: str, request_id: Any) -> None:
        """The connection is done with the request."""
        key = (session, str(request_id))
        self._flights[key].connected = False
        self._tidy(key)

    async def __call__(self, ctx: Ctx, call_next: Any) -> Any:
        """The SDK's middleware around every handler."""
        key = (_connection(ctx).session_id or "", str(ctx.request_id))
        flight = self._flights.get(key)
        if flight is None:
            return await call_next(ctx)
        flight.running = True
        try:
            return await call_next(ctx)
        finally:
            flight.running, flight.answered = False, True
            self._tidy(key)

    def _tidy(self, key: tuple[str, str]) -> None:
        flight = self._flights.get(key)
        if flight is not None and not flight.connected and not flight.running:
            del self._flights[key]
            flight.over.set()


def state_keys() -> list[str] | list[bytes]:
    """The keys that seal states and cursors: ``FRONTMCP_STATE_KEYS`` (comma-separated), else one of this process."""
    given = [key.strip() for key in os.environ.get("FRONTMCP_STATE_KEYS", "").split(",") if key.strip()]
    return given or [os.urandom(32)]


class Wire:
    """Serves one `FrontMcp` through one low-level SDK server.

    :ivar server: the SDK's server, for every transport.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        self._pipeline = served.pipeline
        self._authenticate = served.hooks.chain("authenticate")
        self._connections: set[Connection] = set()
        self._pages: dict[tuple[int, bool, str | None], types.ListToolsResult] = {}
        keys = state_keys()
        self._cursors = AESGCMRequestStateCodec(keys)
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._closing = False
        info = served.info
        self.server = _Server(
            info.get("name", "frontmcp"),
            version=info["version"],
            title=info.get("title"),
            description=info.get("description"),
            website_url=info.get("website_url"),
            icons=info.get("icons"),
            instructions=served.instructions,
            lifespan=self._lifespan,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=self.listen,
        )
        self.server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        self.server.middleware.append(
            RequestStateBoundary(
                RequestStateSecurity(keys=keys, ttl=STATE_SECONDS), default_audience=info.get("name", "frontmcp")
            )
        )
        self.in_flight = InFlight()
        self.trusted_proxy_depth = 0
        served.on_change(self._changed)

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncIterator[None]:
        async with self._served.running():
            self._closing = False
            yield

    async def listen(self, ctx: Ctx, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """``subscriptions/listen``: changes, until the client goes or the server stops."""
        if self._closing:
            raise MCPError(types.INTERNAL_ERROR, "The server is shutting down")
        return await self._listen(ctx, params)

    def close_streams(self) -> None:
        """End open subscription streams and take no more: they would hold a shutdown."""
        self._closing = True
        self._listen.close()

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        entry = self._served.find(name)
        return entry.input.schema if entry is not None else None

    # Requests

    async def _request(self, ctx: Ctx) -> RequestContext:
        """The request's context: its caller, explicit; its peer; its abort."""
        session, connection, http = ctx.session, _connection(ctx), ctx.request
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        headers: Mapping[str, str] = http.headers if http is not None else {}
        client_ip = self._client_ip(http, headers) if http is not None else None
        transport = "http" if http is not None else self.server.transport
        if not modern:
            self._track(connection)
        caller = await self._caller(AuthenticationRequest(transport, headers, client_ip))
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
        request.peer = _Peer(ctx, modern=modern)
        if ctx.meta:
            meta = cast("Mapping[str, Any]", ctx.meta)
            request.trace_context = {key: meta[key] for key in TRACE_KEYS if key in meta}
        return request

    async def _caller(self, request: AuthenticationRequest) -> Caller | None:
        if self._authenticate is None:
            return None
        try:
            caller: Caller | None = await self._authenticate(request)
        except BaseException as error:
            if is_cancellation(error) or isinstance(error, MCPError) or getattr(error, "public", False):
                raise
            step = blame(error, self._served.hooks.steps("authenticate"))
            plugin = step.plugin if step is not None else "?"
            raise PluginError(plugin, "authenticate", error) from error
        return caller

    def _client_ip(self, http: Any, headers: Mapping[str, str]) -> str | None:
        """Who connected; behind trusted proxies, what the outermost of them saw."""
        if self.trusted_proxy_depth:
            hops = [hop.strip() for hop in headers.get("x-forwarded-for", "").split(",") if hop.strip()]
            if len(hops) >= self.trusted_proxy_depth:
                return hops[-self.trusted_proxy_depth]
        return http.client.host if http.client is not None else None

    async def list_tools(self, ctx: Ctx, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """``tools/list``: what the caller may see, a page at a time."""
        request = await self._refusable(ctx)
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        listed = await self._pipeline.list_tools(request)
        cursor = params.cursor if params is not None else None
        version = self._pipeline.registry.version
        if listed is not self._pipeline.shared_list("tools"):
            return self._page(listed, cursor, modern)
        key = (version, modern, cursor)
        if key not in self._pages:
            if len(self._pages) > 256 or any(old[0] != version for old in self._pages):
                self._pages.clear()
            self._pages[key] = self._page(listed, cursor, modern)
        return self._pages[key]

    def _page(self, listed: list[tuple[str, ToolEntry]], cursor: str | None, modern: bool) -> types.ListToolsResult:
        size = self._served.pagination
        if cursor is not None:
            after = self._opened(cursor)
            listed = [pair for pair in listed if pair[0] > after]
        page = listed if size is None else listed[:size]
        more = len(page) < len(listed)
        return types.ListToolsResult(
            tools=[entry.wire(name=name, modern=modern) for name, entry in page],
            next_cursor=self._cursors.seal(f"tools:{page[-1][0]}".encode()) if more else None,
        )

    def _opened(self, cursor: str) -> str:
        try:
            kind, _, name = self._cursors.unseal(cursor).decode().partition(":")
        except (InvalidRequestState, ValueError):
            kind, name = "", ""
        if kind != "tools":
            raise MCPError(types.INVALID_PARAMS, "Invalid cursor")
        return name

    async def _refusable(self, ctx: Ctx) -> RequestContext:
        """The request's context; a refusal is an error of the protocol."""
        try:
            return await self._request(ctx)
        except MCPError:
            raise
        except Exception as error:
            ours = error if isinstance(error, FrontMcpError) else InternalMcpError(describe(error))
            raise MCPError(types.INVALID_REQUEST, self._text(ours)) from None

    def _text(self, error: FrontMcpError) -> str:
        error_id = f"err_{uuid.uuid4().hex[:16]}"
        log_error(error, error_id)
        return sendable(public_text(error, error_id, production=self._served.production))

    async def call_tool(
        self, ctx: Ctx, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """``tools/call``: every failure is a result the model can read; nothing escapes."""
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        call: Call | None = None
        try:
            request = await self._request(ctx)
            if modern and (params.request_state is not None or _can_fill_forms(request.client_capabilities)):
                return await self._suspendable(request, params, _progress_token(ctx))
            call = self._pipeline.client_call(
                request, params.name, params.arguments, progress_token=_progress_token(ctx)
            )
            result: types.CallToolResult = await self._pipeline.run(call)
        except MCPError:
            raise
        except Exception as error:
            return self._failed(error, call)
        return result if modern else _for_older_clients(call, result)

    def _failed(self, error: Exception, call: Call | None) -> types.CallToolResult:
        ours = error
        if not isinstance(error, FrontMcpError):
            ours = InternalMcpError(describe(error))
            ours.__cause__ = error
        assert isinstance(ours, FrontMcpError)
        fields = call.log_fields if call is not None else None
        return to_result(ours, production=self._served.production, fields=fields)

    # Questions under 2026-07-28

    async def _suspendable(
        self, request: RequestContext, params: types.CallToolRequestParams, token: str | int | None
    ) -> types.CallToolResult | types.InputRequiredResult:
        state = self._state(request.caller, params.request_state)
        if state is None:
            return await self._attempt(request, params, token, None)

        async def produce() -> bytes:
            return pydantic_core.to_json(await self._attempt(request, params, token, state), by_alias=True)

        return _result_of(await spend(self._served.state_store, state, produce))

    def _state(self, caller: Caller, text: str | None) -> State | None:
        if text is None:
            return None
        try:
            state = State.load(text)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise MCPError(types.INVALID_PARAMS, "Invalid or expired requestState") from None
        if not state.belongs_to(caller):
            logger.warning("a requestState of another caller was refused")
            raise MCPError(types.INVALID_PARAMS, "Invalid or expired requestState")
        return state

    async def _attempt(
        self,
        request: RequestContext,
        params: types.CallToolRequestParams,
        token: str | int | None,
        state: State | None,
    ) -> types.CallToolResult | types.InputRequiredResult:
        suspension = Suspension(
            self._served.state_store,
            request.caller,
            state,
            _answers(params.input_responses),
            can_ask=_can_fill_forms(request.client_capabilities),
        )
        request.asking = suspension
        call = self._pipeline.client_call(
            request, params.name, params.arguments, progress_token=token, attempt=suspension.attempt
        )
        try:
            outcome: types.CallToolResult | Suspended = await suspension.run(lambda: self._pipeline.run(call))
        except Exception as error:
            return self._failed(error, call)
        if not isinstance(outcome, Suspended):
            return outcome
        requests = {key: types.ElicitRequest(params=_form(question)) for key, question in outcome.questions.items()}
        return types.InputRequiredResult(
            input_requests=cast("types.InputRequests", requests), request_state=outcome.state.dump()
        )

    # Older sessions

    def _track(self, connection: Connection) -> None:
        """Remember a session, to tell it of changes, until it ends."""
        if connection not in self._connections and connection.has_standalone_channel:
            self._connections.add(connection)
            connection.exit_stack.callback(self._connections.discard, connection)

    async def _set_level(self, ctx: Ctx, params: types.SetLevelRequestParams) -> types.EmptyResult:
        _connection(ctx).state["frontmcp.level"] = params.level
        return types.EmptyResult()

    async def _changed(self, what: str) -> None:
        """Tell the clients of both eras that a list changed."""
        self._pages.clear()
        await self._bus.publish(ToolsListChanged())
        async with anyio.create_task_group() as group:
            for connection in self._connections:
                group.start_soon(_tell, connection)


class _Peer:
    """The client of one request."""

    __slots__ = ("_ctx", "_modern")

    def __init__(self, ctx: Ctx, *, modern: bool) -> None:
        self._ctx = ctx
        self._modern = modern

    async def progress(self, update: ProgressUpdate) -> None:
        message = sendable(update.message) if update.message is not None else None
        await self._ctx.session.report_progress(update.progress, update.total, message)

    async def notify(self, message: Message) -> None:
        if not self._modern and not self._wants(message.level):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await self._ctx.session.send_log_message(
                message.level, _log_data(message.data), message.logger, related_request_id=self._ctx.request_id
            )

    def _wants(self, level: str) -> bool:
        asked = _connection(self._ctx).state.get("frontmcp.level", "debug")
        return LEVELS.index(level) >= LEVELS.index(asked)

    @property
    def can_ask(self) -> bool:
        session = self._ctx.session
        return not self._modern and session.can_send_request and _can_fill_forms(session.client_capabilities)

    async def ask(self, question: Question) -> Answer:
        result = await self._ctx.session.elicit_form(
            question.message, dict(question.form), related_request_id=self._ctx.request_id
        )
        return Answer(result.action, result.content)


async def _tell(connection: Connection) -> None:
    # A client that opened a stream and does not read it must not hold up the others.
    with anyio.move_on_after(TELL_SECONDS):
        await connection.send_tool_list_changed()


def _log_data(data: Any) -> Any:
    """What a log message says, as JSON that can be written: what is none is shown as Python shows it."""
    if isinstance(data, str):
        return sendable(data)
    shown = pydantic_core.to_jsonable_python(data, fallback=repr, inf_nan_mode="strings")
    try:
        pydantic_core.to_json(shown)
    except ValueError:
        return json.loads(json.dumps(shown, ensure_ascii=False).encode("utf-8", "replace"))
    return shown


def _connection(ctx: Ctx) -> Connection:
    # The SDK has no public handle on what outlives one request of a session.
    connection: Connection = ctx.session._connection
    return connection


def _anonymous(connection: Connection, headers: Mapping[str, str], *, modern: bool) -> Caller:
    """One anonymous caller per session; one per request where there is no session (architecture §8)."""
    if modern and connection.has_standalone_channel is False:
        return Caller.anonymous()
    session_id = connection.session_id or headers.get("mcp-session-id")
    if session_id is not None:
        return Caller(f"anon:{uuid.uuid5(ANONYMOUS, session_id)}", is_anonymous=True)
    caller: Caller = connection.state.setdefault("frontmcp.caller", Caller.anonymous())
    return caller


def _progress_token(ctx: Ctx) -> str | int | None:
    return ctx.meta.get("progress_token") if ctx.meta else None


def _can_fill_forms(capabilities: types.ClientCapabilities | None) -> bool:
    """Whether the client declared that its user can fill in forms; a bare ``{}`` means forms."""
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _form(question: Question) -> types.ElicitRequestFormParams:
    return types.ElicitRequestFormParams(message=question.message, requested_schema=dict(question.form))


def _answers(responses: Mapping[str, Any] | None) -> dict[str, Answer]:
    found = {}
    for key, response in (responses or {}).items():
        if isinstance(response, types.ElicitResult):
            found[key] = Answer(response.action, response.content)
    return found


def _result_of(answer: bytes) -> types.CallToolResult | types.InputRequiredResult:
    data = json.loads(answer)
    model = types.InputRequiredResult if data.get("resultType") == "input_required" else types.CallToolResult
    return model.model_validate(data)


def _for_older_clients(call: Call, result: types.CallToolResult) -> types.CallToolResult:
    """Up to 2025-11-25 structured content is an object: what is none travels as ``{"result": …}``."""
    output = call.entry.output
    data = result.structured_content
    if data is None or (isinstance(data, dict) and (output is None or output.is_object)):
        return result
    return result.model_copy(update={"structured_content": {"result": data}})
