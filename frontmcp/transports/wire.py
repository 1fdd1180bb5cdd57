"""The SDK's handlers ↔ the pipeline. With `changes` and `listing`, all that touches what is provisional in the SDK.

Both protocol eras arrive here: 2026-07-28 (every request stands alone) and sessions up to 2025-11-25.
"""

from __future__ import annotations

import json
import logging
import uuid
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import anyio
import mcp_types as types
import pydantic_core
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    RequestStateBoundary,
    RequestStateSecurity,
)
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request

from frontmcp.asking import STATE_SECONDS, State, Suspended, Suspension, spend
from frontmcp.authentication import AuthenticationRequest, Challenge
from frontmcp.call import LEVELS, Answer, Asked, Call, Caller, Message, ProgressUpdate, Question, RequestContext, Sought
from frontmcp.chain import blame
from frontmcp.errors import (
    ClientAnswerError,
    FrontMcpError,
    MissingCapabilityError,
    PluginError,
    PublicMcpError,
    ResourceNotFoundError,
    log_error,
    ours,
    public_text,
    sendable,
    to_error_data,
    to_result,
)
from frontmcp.interfaces import StateStore
from frontmcp.pipeline import Pipeline
from frontmcp.pipeline.failures import is_cancellation
from frontmcp.registry import CompletableEntry, ListName, Registry, ToolEntry
from frontmcp.transports.answers import open_answer, refusal
from frontmcp.transports.changes import MOST_SUBSCRIPTIONS, Changes, admitted
from frontmcp.transports.extensions import extend, extensions_of
from frontmcp.transports.keys import state_keys
from frontmcp.transports.listing import ListOptions, Lists

if TYPE_CHECKING:
    from frontmcp.plugins import PluginManager

logger = logging.getLogger("frontmcp.wire")

Ctx = ServerRequestContext[Any, Any]
ANONYMOUS: Final = uuid.UUID("6f0a3c51-6f1a-4f0e-9a59-0f5be1f5c1a8")
NOBODY: Final = Caller.anonymous()
CALLER: Final = "frontmcp.caller"
"""Where an HTTP request's scope has who was found to send it."""

TIDY_SECONDS: Final = 5.0
TRACE_KEYS: Final = ("traceparent", "tracestate", "baggage")
OLDER_CODES: Final[Mapping[type[Exception], int]] = {
    ResourceNotFoundError: -32002,
    MissingCapabilityError: types.INVALID_REQUEST,
}
"""What has another code up to 2025-11-25."""

QUESTIONS: Final[Mapping[Asked, tuple[type[Any], type[types.Result]]]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResultWithTools),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}
"""What carries each question, and its answer."""

RESULT_TYPES: Final[Mapping[Sought, type[types.Result]]] = {
    "tool": types.CallToolResult,
    "resource": types.ReadResourceResult,
    "prompt": types.GetPromptResult,
}


class Served(Protocol):
    """What the wire needs of a server."""

    info: dict[str, Any]

    @property
    def instructions(self) -> str | None: ...
    @property
    def list_options(self) -> ListOptions: ...
    @property
    def pipeline(self) -> Pipeline: ...
    @property
    def hooks(self) -> PluginManager: ...
    @property
    def state_store(self) -> StateStore: ...
    @property
    def production(self) -> bool: ...
    def running(self) -> Any: ...
    def on_change(self, listener: Any) -> Callable[[], None]: ...


class _Server(Server[Any]):
    """The SDK's server, which says in both eras that lists may change, and offers what there is when it is asked."""

    transport = "memory"
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

    :ivar connections: how many wait for the answer to a request of an older protocol version.
    """

    def __init__(self) -> None:
        self.connections = 0
        self._flights: dict[tuple[str, str], _Flight] = {}

    def __len__(self) -> int:
        return len(self._flights)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """A connection waits for an answer while the block runs."""
        self.connections += 1
        try:
            yield
        finally:
            self.connections -= 1

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


class Wire:
    """Serves one `FrontMcp` through one low-level SDK server.

    :ivar server: the SDK's server, for every transport.
    :ivar changes: who is told of changes.
    :ivar sessions: the SDK's manager of HTTP sessions, once it is served over HTTP.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        self._pipeline = served.pipeline
        self._authenticate = served.hooks.chain("authenticate")
        keys = state_keys()
        self._lists = Lists(self._pipeline, served.list_options, AESGCMRequestStateCodec(keys))
        self.changes = Changes()
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
            on_list_tools=partial(self._list, "tools"),
            on_call_tool=self.call_tool,
            on_list_resources=partial(self._list, "resources"),
            on_list_resource_templates=partial(self._list, "templates"),
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_list_prompts=partial(self._list, "prompts"),
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
            on_subscriptions_listen=self.listen,
        )
        self.server.registry = self._pipeline.registry
        if find_spec("opentelemetry.sdk") is None:
            # Without it no span can ever be recorded, and making none costs a fifth of a request.
            self.server.middleware = [each for each in self.server.middleware if not _traces(each)]
        self.server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        self.server.middleware.append(
            RequestStateBoundary(
                RequestStateSecurity(keys=keys, ttl=STATE_SECONDS), default_audience=info.get("name", "frontmcp")
            )
        )
        for extension in extensions_of(served.hooks, served):
            extend(self.server, extension, self._refusable, self._protocol_error)
        self.in_flight = InFlight()
        self.sessions: Any = None
        self.trusted_proxy_depth = 0
        self._leave = served.on_change(self.changes.publish)

    def close(self) -> None:
        """Hear of no more changes: another wire takes over."""
        self._leave()

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncIterator[None]:
        async with self._served.running():
            self._closing = False
            yield

    async def listen(self, ctx: Ctx, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """``subscriptions/listen``: changes, until the client goes or the server stops."""
        if self._closing:
            raise MCPError(types.INTERNAL_ERROR, "The server is shutting down")
        if not params.notifications.resource_subscriptions:
            return await self.changes.listen(ctx, params)
        request = await self._refusable(ctx)
        wanted = dict.fromkeys(params.notifications.resource_subscriptions[:MOST_SUBSCRIPTIONS])
        uris = [uri for uri in wanted if await self._may(request, uri)]
        with self.changes.listening(uris):
            return await self.changes.listen(ctx, admitted(params, uris))

    async def _may(self, request: RequestContext, uri: str) -> bool:
        try:
            await self._admit(request, uri)
        except FrontMcpError:
            return False
        return True

    async def _admit(self, request: RequestContext, uri: str) -> None:
        """Refuse a subscription to a resource that the caller may not read."""
        call = self._pipeline.client_call(request, uri, {"uri": uri}, kind="resource")
        await self._pipeline.aside(call, anyio.lowlevel.checkpoint)

    def close_streams(self) -> None:
        """End open subscription streams and take no more: they would hold a shutdown."""
        self._closing = True
        self.changes.listen.close()

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        """What HTTP headers of a call are checked against, by whatever spelling the tool is called."""
        try:
            entry = self._pipeline.resolve(self._pipeline.client_call(RequestContext(NOBODY, "http"), name, None))
        except FrontMcpError:
            return None
        return cast("ToolEntry", entry).input.schema

    # Requests

    async def _request(self, ctx: Ctx) -> RequestContext:
        """The request's context: its caller, explicit; its peer; its abort."""
        session, connection, http = ctx.session, _connection(ctx), ctx.request
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        headers: Mapping[str, str] = http.headers if http is not None else {}
        client_ip = self.client_ip(http, headers) if http is not None else None
        transport = "http" if http is not None else self.server.transport
        if not modern:
            self.changes.track(connection)
        if http is not None and CALLER in http.scope:
            caller = http.scope[CALLER]
        else:
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
        if trace := _trace(ctx):
            request.trace_context = trace
        return request

    async def identify(self, http: Request) -> None:
        """Ask who sends an HTTP request, and note the answer on it for the message it carries.

        :raises FrontMcpError: it is refused.
        """
        request = AuthenticationRequest("http", http.headers, self.client_ip(http, http.headers))
        caller = http.scope[CALLER] = await self._caller(request)
        if caller is not None and not caller.is_anonymous:
            # By this the SDK lets nobody else use, listen to or end the session.
            http.scope["user"] = AuthenticatedUser(
                AccessToken(
                    token="", client_id=caller.sub, subject=caller.sub, scopes=[], claims={"iss": caller.issuer}
                )
            )

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

    def client_ip(self, http: Any, headers: Mapping[str, str]) -> str | None:
        """Who connected; behind trusted proxies, what the outermost of them saw."""
        if self.trusted_proxy_depth:
            hops = [hop.strip() for hop in headers.get("x-forwarded-for", "").split(",") if hop.strip()]
            if len(hops) >= self.trusted_proxy_depth:
                return hops[-self.trusted_proxy_depth]
        return http.client.host if http.client is not None else None

    async def _list(self, name: ListName, ctx: Ctx, params: types.PaginatedRequestParams | None) -> Any:
        """A list: what the caller may see, a page at a time."""
        request = await self._refusable(ctx)
        cursor = params.cursor if params is not None else None
        return await self._lists.page(name, request, cursor, modern=_is_modern(ctx))

    async def complete(self, ctx: Ctx, params: types.CompleteRequestParams) -> types.CompleteResult:
        """``completion/complete``: values for an argument of a prompt, or a variable of a template."""
        request = await self._refusable(ctx)
        ref, argument = params.ref, params.argument
        chosen = (params.context.arguments if params.context is not None else None) or {}
        kind: Sought = "prompt" if isinstance(ref, types.PromptReference) else "resource"
        name = ref.name if isinstance(ref, types.PromptReference) else ref.uri
        call = self._pipeline.client_call(request, name, None, kind=kind)
        try:
            completion = await self._pipeline.complete(call, argument.name, argument.value, chosen)
        except Exception as error:
            raise self._protocol_error(error, call) from None
        return types.CompleteResult(completion=completion)

    async def subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """``resources/subscribe``, of older sessions."""
        request = await self._refusable(ctx)
        try:
            await self._admit(request, params.uri)
        except Exception as error:
            raise self._protocol_error(error, None, older=True) from None
        self.changes.subscribe(_connection(ctx), params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Ctx, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """``resources/unsubscribe``, of older sessions."""
        await self._refusable(ctx)
        self.changes.unsubscribe(_connection(ctx), params.uri)
        return types.EmptyResult()

    async def _refusable(self, ctx: Ctx) -> RequestContext:
        """The request's context; a refusal is an error of the protocol."""
        try:
            return await self._request(ctx)
        except MCPError:
            raise
        except Exception as error:
            raise MCPError(types.INVALID_REQUEST, self._text(ours(error))) from None

    def _text(self, error: FrontMcpError) -> str:
        error_id = f"err_{uuid.uuid4().hex[:16]}"
        log_error(error, error_id)
        return sendable(public_text(error, error_id, production=self._served.production))

    async def call_tool(self, ctx: Ctx, params: types.CallToolRequestParams) -> Any:
        """``tools/call``: every failure is a result the model can read; nothing escapes."""
        return await self._run(_Asked(ctx, params, "tool", params.name, params.arguments))

    async def read_resource(self, ctx: Ctx, params: types.ReadResourceRequestParams) -> Any:
        """``resources/read``: every failure is an error of the protocol."""
        return await self._run(_Asked(ctx, params, "resource", params.uri, {"uri": params.uri}))

    async def get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> Any:
        """``prompts/get``: every failure is an error of the protocol."""
        return await self._run(_Asked(ctx, params, "prompt", params.name, params.arguments))

    async def _run(self, asked: _Asked) -> Any:
        call: Call | None = None
        try:
            request = await (self._request if asked.kind == "tool" else self._refusable)(asked.ctx)
            if asked.is_modern and (
                asked.params.request_state is not None or self._may_be_left(request.client_capabilities)
            ):
                return await self._suspendable(request, asked)
            call = asked.call(self._pipeline, request)
            result = await self._pipeline.run(call)
        except MCPError:
            raise
        except Exception as error:
            return self._failed(error, asked, call)
        return result if asked.is_modern or asked.kind != "tool" else _for_older_clients(call, result)

    def _failed(self, error: Exception, asked: _Asked, call: Call | None) -> types.CallToolResult:
        challenge = getattr(error, "challenge", None)
        answer = open_answer(asked.ctx.request) if isinstance(challenge, Challenge) and _is_unbegun(call) else None
        needs_error = asked.is_modern and isinstance(error, MissingCapabilityError)
        if asked.kind == "tool" and answer is None and not needs_error:
            fields = call.log_fields if call is not None else None
            return to_result(ours(error), production=self._served.production, fields=fields)
        failure = self._protocol_error(error, call, older=not asked.is_modern)
        if answer is not None:
            answer.refuse(refusal(cast("Challenge", challenge), failure.error, asked.ctx.request_id))
        raise failure from None

    def _protocol_error(self, error: Exception, call: Call | None, *, older: bool = False) -> MCPError:
        if isinstance(error, MCPError):
            return error
        fields = call.log_fields if call is not None else None
        data = to_error_data(ours(error), production=self._served.production, fields=fields)
        if older:
            data.code = OLDER_CODES.get(type(error), data.code)
        return MCPError.from_error_data(data)

    # Questions under 2026-07-28

    async def _suspendable(self, request: RequestContext, asked: _Asked) -> Any:
        state = self._state(request.caller, asked.params.request_state)
        if state is None:
            return await self._attempt(request, asked, None)

        async def produce() -> bytes:
            try:
                answer: Any = await self._attempt(request, asked, state)
            except MCPError as error:
                answer = {"error": error.error}
            return pydantic_core.to_json(answer, by_alias=True)

        return _result_of(await spend(self._served.state_store, state, produce), asked.kind)

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

    async def _attempt(self, request: RequestContext, asked: _Asked, state: State | None) -> Any:
        suspension = Suspension(
            self._served.state_store,
            request.caller,
            state,
            _answers(asked.params.input_responses),
        )
        request.asking = suspension
        call = asked.call(self._pipeline, request, suspension.attempt)
        try:
            outcome: Any = await suspension.run(lambda: self._pipeline.run(call))
        except Exception as error:
            return self._failed(error, asked, call)
        if not isinstance(outcome, Suspended):
            return outcome
        if outcome.answer is not None:
            return await self._left(outcome, asked, call)
        requests = {key: _request(question) for key, question in outcome.questions.items()}
        return types.InputRequiredResult(input_requests=requests, request_state=outcome.state.dump())

    async def _left(self, outcome: Suspended, asked: _Asked, call: Call) -> Any:
        """The answer to a request that its call has left for good."""
        assert outcome.answer is not None
        try:
            return await outcome.answer(outcome.state.dump())
        except Exception as error:
            return self._failed(error, asked, call)

    def _may_be_left(self, capabilities: types.ClientCapabilities | None) -> bool:
        """Whether a call may leave its request: to ask, or for an extension that both sides know."""
        if capabilities is None:
            return False
        if not (capabilities.elicitation is None and capabilities.sampling is None and capabilities.roots is None):
            return True
        declared = capabilities.extensions
        return declared is not None and not self.server.extensions.keys().isdisjoint(declared)

    # Older sessions

    async def _set_level(self, ctx: Ctx, params: types.SetLevelRequestParams) -> types.EmptyResult:
        _connection(ctx).state["frontmcp.level"] = params.level
        return types.EmptyResult()


@dataclass(slots=True)
class _Asked:
    """A request that a call answers."""

    ctx: Ctx
    params: types.CallToolRequestParams | types.ReadResourceRequestParams | types.GetPromptRequestParams
    kind: Sought
    name: str
    arguments: Mapping[str, Any] | None

    @property
    def is_modern(self) -> bool:
        return _is_modern(self.ctx)

    def call(self, pipeline: Pipeline, request: RequestContext, attempt: int = 0) -> Call:
        token = _progress_token(self.ctx)
        return pipeline.client_call(
            request, self.name, self.arguments, progress_token=token, attempt=attempt, kind=self.kind
        )


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

    async def close_stream(self) -> None:
        if self._ctx.close_sse_stream is not None:
            await self._ctx.close_sse_stream()

    def _wants(self, level: str) -> bool:
        asked = _connection(self._ctx).state.get("frontmcp.level", "debug")
        return LEVELS.index(level) >= LEVELS.index(asked)

    @property
    def can_ask(self) -> bool:
        return not self._modern and self._ctx.session.can_send_request

    async def ask(self, question: Question) -> Answer:
        related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        result_type = QUESTIONS[question.method][1]
        wanted = _request(question, _trace(self._ctx))
        try:
            return _answer(await self._ctx.session.send_request(wanted, result_type, metadata=related))
        except MCPError as error:
            told = f"The client answered {question.method} with an error ({error.error.code})"
            raise ClientAnswerError(told) from error
        except ValidationError:
            raise ClientAnswerError(f"The client's answer to {question.method} is none") from None

    async def elicited(self, elicitation_id: str) -> None:
        params = types.ElicitCompleteNotificationParams(elicitation_id=elicitation_id)
        await self._ctx.session.send_notification(
            types.ElicitCompleteNotification(params=params), related_request_id=self._ctx.request_id
        )


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


def _traces(middleware: Any) -> bool:
    return type(middleware).__name__ == "OpenTelemetryMiddleware"


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


def _is_modern(ctx: Ctx) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _progress_token(ctx: Ctx) -> str | int | None:
    return ctx.meta.get("progress_token") if ctx.meta else None


def _trace(ctx: Ctx) -> dict[str, str]:
    """Where the request stands in the client's trace, as it says."""
    meta = cast("Mapping[str, Any]", ctx.meta or {})
    return {key: meta[key] for key in TRACE_KEYS if isinstance(meta.get(key), str)}


def _request(question: Question, trace: Mapping[str, str] | None = None) -> Any:
    """The protocol's request for a question; one of its own is in the trace of what it is asked for."""
    params = {**question.params, "_meta": dict(trace)} if trace else dict(question.params)
    return QUESTIONS[question.method][0].model_validate({"method": question.method, "params": params})


def _answer(result: types.Result) -> Answer:
    return Answer(result.model_dump(mode="json", by_alias=True, exclude_none=True))


def _answers(responses: Mapping[str, types.Result] | None) -> dict[str, Answer]:
    return {key: _answer(response) for key, response in (responses or {}).items()}


def _result_of(answer: bytes, kind: Sought) -> Any:
    data = json.loads(answer)
    if "error" in data:
        raise MCPError.from_error_data(types.ErrorData.model_validate(data["error"]))
    kind_of_result = data.get("resultType", "complete")
    if kind_of_result not in ("complete", "input_required"):
        return data
    model = types.InputRequiredResult if kind_of_result == "input_required" else RESULT_TYPES[kind]
    return model.model_validate(data)


def _is_unbegun(call: Call | None) -> bool:
    """Whether a call ended before anything of it ran, so that what it raised is about itself."""
    return call is not None and not call.runs


def _for_older_clients(call: Call, result: types.CallToolResult) -> types.CallToolResult:
    """Up to 2025-11-25 structured content is an object: what is none travels as ``{"result": …}``."""
    output = call.entry.output
    data = result.structured_content
    if data is None or (isinstance(data, dict) and (output is None or output.is_object)):
        return result
    return result.model_copy(update={"structured_content": {"result": data}})
