"""What of the MCP SDK is provisional or private, and used here, is as we know it.

A test that fails after an upgrade of ``mcp`` names what changed and the modules that use it.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer, NotificationOptions, Server, ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.elicitation import render_elicitation_schema
from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
)
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.uri_template import UriTemplate
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

ROOT = Path(__file__).parent.parent
PACKAGES = ("frontmcp", "plugins_builtin", "contrib")
SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if "tests" not in path.parts
}
TREES = {path: ast.parse(source) for path, source in SOURCES.items()}
INSIDE = ("frontmcp/transports/", "frontmcp/testing/", "frontmcp/upstream/")
"""Where the inside of the SDK may be touched: its server, its client."""

ELSEWHERE = {
    "frontmcp/definitions/tool.py": {"mcp.shared.inbound"},
    "frontmcp/definitions/resource.py": {"mcp.shared.uri_template"},
    "frontmcp/definitions/upstream.py": {"mcp_types.version"},
    "frontmcp/questions.py": {"mcp.server.elicitation"},
    "plugins_builtin/authorities/auth.py": {"mcp.server.auth.routes"},
}
"""Modules of the SDK that others use: pure functions and constants, which know no connection."""

PRIVATE = {"_connection"}
"""The SDK's private names that are used."""

FOREIGN = {"_asdict", "_exit", "_field_defaults", "_fields", "_getframe", "_serve"}
"""Underscored names of others: the standard library's public ones, and uvicorn's `Server._serve`."""

MODERN, OLDER = "2026-07-28", "2025-11-25"

Check = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Canary:
    """One thing of the SDK.

    :ivar token: what is written where it is used.
    """

    what: str
    where: tuple[str, ...]
    token: str
    check: Check

    def __str__(self) -> str:
        return self.what


CANARIES: list[Canary] = []


def canary(what: str, *where: str, token: str) -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        CANARIES.append(Canary(what, where, token, check))
        return check

    return add


def parameters(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters)


Seen = list[ServerRequestContext[Any, Any]]


@asynccontextmanager
async def connected(mode: str, inside: Callable[[Any], Any] = lambda ctx: None, **options: Any) -> AsyncIterator[Any]:
    """A client of a server with one tool, which lets us look at its context."""

    async def call(ctx: ServerRequestContext[Any, Any], params: Any) -> types.CallToolResult:
        inside(ctx)
        return types.CallToolResult(content=[])

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="look", input_schema={"type": "object"})])

    server: Server[Any] = Server("canary", version="1", on_call_tool=call, on_list_tools=list_tools)
    for middleware in options.get("middleware", ()):
        server.middleware.append(middleware)
    async with Client(server, mode=mode) as client:  # type: ignore[arg-type]
        yield client


async def looked(mode: str, look: Callable[[Any], Any]) -> None:
    """Look at a request's context in a handler; what is wrong comes out here."""
    wrong: list[BaseException] = []

    def inside(ctx: Any) -> None:
        try:
            look(ctx)
        except BaseException as error:
            wrong.append(error)

    async with connected(mode, inside) as client:
        await client.call_tool("look")
    if wrong:
        raise wrong[0]


@canary("ServerSession._connection", "frontmcp/transports/sdk.py", token="session._connection")
async def _() -> None:
    def look(ctx: Any) -> None:
        assert isinstance(ctx.session._connection, Connection)

    for mode in ("legacy", "auto"):
        await looked(mode, look)


@canary(
    "Connection.state, a dict that lives as long as the session",
    "frontmcp/transports/peer.py",
    "frontmcp/transports/requests.py",
    token=".state",
)
async def _() -> None:
    seen: list[Any] = []
    async with connected("legacy", lambda ctx: seen.append(ctx.session._connection)) as client:
        await client.call_tool("look")
        await client.call_tool("look")
    assert seen[0] is seen[1]
    assert type(seen[0].state) is dict


@canary("Connection.exit_stack, run when the session ends", "frontmcp/transports/changes.py", token=".exit_stack")
async def _() -> None:
    ended: list[str] = []

    def look(ctx: Any) -> None:
        assert isinstance(ctx.session._connection.exit_stack, AsyncExitStack)
        ctx.session._connection.exit_stack.callback(ended.append, "ended")

    await looked("legacy", look)
    assert ended == ["ended"]


@canary(
    "Connection.session_id", "frontmcp/transports/in_flight.py", "frontmcp/transports/requests.py", token=".session_id"
)
async def _() -> None:
    assert Connection.for_loop(None, session_id="x").session_id == "x"  # type: ignore[arg-type]


@canary("Connection.has_standalone_channel", "frontmcp/transports/changes.py", token=".has_standalone_channel")
async def _() -> None:
    assert Connection.from_envelope(MODERN, None, None).has_standalone_channel is False
    assert Connection.for_loop(object()).has_standalone_channel is True  # type: ignore[arg-type]


@canary("Connection.send_…_changed", "frontmcp/transports/changes.py", token="send_tool_list_changed")
async def _() -> None:
    for name in ("send_tool_list_changed", "send_resource_list_changed", "send_prompt_list_changed"):
        assert inspect.iscoroutinefunction(getattr(Connection, name)), name
    assert "uri" in parameters(Connection.send_resource_updated)


@canary(
    "Server.middleware, called as (ctx, call_next) around every handler",
    "frontmcp/transports/http.py",
    token=".middleware",
)
async def _() -> None:
    seen: list[str] = []

    async def middleware(ctx: Any, call_next: Any) -> Any:
        seen.append(ctx.method)
        assert ctx.request_id is not None or ctx.method.startswith("notifications/")
        return await call_next(ctx)

    async with connected("legacy", middleware=[middleware]) as client:
        await client.call_tool("look")
    assert "tools/call" in seen


@canary(
    "Server.create_initialization_options(notification_options)",
    "frontmcp/transports/wire.py",
    token="create_initialization_options",
)
async def _() -> None:
    assert next(iter(inspect.signature(Server("x").create_initialization_options).parameters)) == "notification_options"
    assert {"tools_changed", "prompts_changed", "resources_changed"} <= parameters(NotificationOptions)


@canary(
    "Server.add_request_handler(method, params_type, handler)",
    "frontmcp/transports/wire.py",
    token="add_request_handler",
)
async def _() -> None:
    assert list(inspect.signature(Server("x").add_request_handler).parameters)[:3] == [
        "method",
        "params_type",
        "handler",
    ]


@canary(
    "StreamableHTTPSessionManager and its endpoint",
    "frontmcp/transports/http.py",
    token="StreamableHTTPASGIApp(",
)
async def _() -> None:
    sessions = StreamableHTTPSessionManager(
        Server("x"),
        stateless=False,
        json_response=False,
        security_settings=TransportSecuritySettings(allowed_hosts=[], allowed_origins=[]),
        max_request_body_size=1,
        retry_interval=1,
        session_idle_timeout=1,
        max_sessions=1,
    )
    assert callable(StreamableHTTPASGIApp(sessions))
    async with sessions.run():
        pass


@canary(
    "StreamableHTTPSessionManager.event_store, read for each session that begins",
    "frontmcp/transports/replay.py",
    token="def event_store",
)
async def _() -> None:
    admit = inspect.getsource(StreamableHTTPSessionManager._admit_session)
    assert "event_store=self.event_store" in admit
    assert list(inspect.signature(EventStore.store_event).parameters) == ["self", "stream_id", "message"]


@canary("ServerRequestContext.close_sse_stream", "frontmcp/transports/peer.py", token="close_sse_stream")
async def _() -> None:
    await looked("legacy", lambda ctx: ctx.close_sse_stream)


@canary("find_invalid_x_mcp_header", "frontmcp/definitions/tool.py", token="find_invalid_x_mcp_header")
async def _() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}
    assert find_invalid_x_mcp_header(schema) is None
    schema["properties"]["a"]["type"] = "number"
    assert "only permitted on integer/string/boolean" in (find_invalid_x_mcp_header(schema) or "")


@canary(
    "Server(get_tool_input_schema=, on_subscriptions_listen=, …)",
    "frontmcp/transports/wire.py",
    token="get_tool_input_schema",
)
async def _() -> None:
    wanted = {"get_tool_input_schema", "on_list_tools", "on_call_tool", "on_subscriptions_listen", "lifespan", "icons"}
    assert wanted <= parameters(Server.__init__)


@canary(
    "ServerRequestContext: session, request, request_id, protocol_version, meta",
    "frontmcp/transports/requests.py",
    "frontmcp/transports/sdk.py",
    token="ctx.protocol_version",
)
async def _() -> None:
    versions: list[str] = []

    def look(ctx: Any) -> None:
        versions.append(ctx.protocol_version)
        assert ctx.request is None
        assert ctx.request_id is not None
        assert ctx.meta is None or isinstance(ctx.meta, dict)
        assert ctx.session.client_params.client_info.name
        assert isinstance(ctx.session.client_capabilities, types.ClientCapabilities)
        assert isinstance(ctx.session.can_send_request, bool)

    await looked("legacy", look)
    await looked("auto", look)
    assert versions[0] not in MODERN_PROTOCOL_VERSIONS
    assert versions[1] in MODERN_PROTOCOL_VERSIONS


@canary(
    "ServerSession.report_progress, send_log_message, send_request, send_notification",
    "frontmcp/transports/peer.py",
    token="related_request_id",
)
async def _() -> None:
    def look(ctx: Any) -> None:
        assert {"progress", "total", "message"} <= parameters(ctx.session.report_progress)
        assert "related_request_id" in parameters(ctx.session.send_log_message)
        assert {"request", "result_type", "metadata"} <= parameters(ctx.session.send_request)
        assert {"notification", "related_request_id"} <= parameters(ctx.session.send_notification)
        assert ServerMessageMetadata(related_request_id=1).related_request_id == 1

    await looked("auto", look)


@canary("MCPDeprecationWarning of send_log_message", "frontmcp/transports/peer.py", token="MCPDeprecationWarning")
async def _() -> None:
    assert issubclass(MCPDeprecationWarning, UserWarning)


@canary(
    "the codec of sealed states, which also seals cursors",
    "frontmcp/transports/listing.py",
    token="AESGCMRequestStateCodec",
)
async def _() -> None:
    codec = AESGCMRequestStateCodec(["a key of at least thirty-two bytes", "an old key of thirty-two bytes or more"])
    assert codec.unseal(codec.seal(b"tools:x")) == b"tools:x"
    for wrong in ("", "x", codec.seal(b"x")[:-2]):
        with pytest.raises(InvalidRequestState):
            codec.unseal(wrong)


@canary(
    "RequestStateBoundary, a middleware that seals request states",
    "frontmcp/transports/wire.py",
    token="RequestStateBoundary(",
)
async def _() -> None:
    assert {"keys", "ttl"} <= parameters(RequestStateSecurity)
    assert "default_audience" in parameters(RequestStateBoundary)
    boundary = RequestStateBoundary(RequestStateSecurity(keys=[b"k" * 32], ttl=600), default_audience="x")
    async with connected("auto", middleware=[boundary]) as client:
        assert not (await client.call_tool("look")).is_error


@canary("ListenHandler and its bus", "frontmcp/transports/changes.py", token="ListenHandler(")
async def _() -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    assert list(inspect.signature(handler).parameters) == ["ctx", "params"]
    handler.close()


@canary("stdio_server and SessionMessage", "frontmcp/transports/stdio.py", token="stdio_server()")
async def _() -> None:
    assert {"stdin", "stdout"} <= parameters(stdio_server)
    error = types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=types.PARSE_ERROR, message="x"))
    assert SessionMessage(error).message is error


@canary("the envelope of messages", "frontmcp/transports/posts.py", token="jsonrpc_message_adapter")
async def _() -> None:
    read = types.jsonrpc_message_adapter.validate_python
    assert isinstance(read({"jsonrpc": "2.0", "id": 1, "method": "x"}, by_name=False), types.JSONRPCRequest)
    # An id that is none makes a notification of a request: the guard over HTTP refuses those itself.
    assert isinstance(read({"jsonrpc": "2.0", "id": {}, "method": "x"}, by_name=False), types.JSONRPCNotification)


@canary("the protocol versions", "frontmcp/transports/posts.py", "frontmcp/testing/roads.py", token="PROTOCOL_VERSIONS")
async def _() -> None:
    assert MODERN in MODERN_PROTOCOL_VERSIONS
    assert OLDER in HANDSHAKE_PROTOCOL_VERSIONS
    assert set(KNOWN_PROTOCOL_VERSIONS) == {*MODERN_PROTOCOL_VERSIONS, *HANDSHAKE_PROTOCOL_VERSIONS}


@canary(
    "MCPError passes a handler as the protocol's error",
    "frontmcp/transports/failures.py",
    "frontmcp/transports/listing.py",
    "frontmcp/transports/subscriptions.py",
    "frontmcp/transports/suspending.py",
    token="MCPError(",
)
async def _() -> None:
    def look(ctx: Any) -> None:
        raise MCPError(-32602, "Invalid cursor")

    for mode in ("legacy", "auto"):
        async with connected(mode, look) as client:
            with pytest.raises(MCPError, match="Invalid cursor") as raised:
                await client.call_tool("look")
            assert raised.value.error.code == -32602


@canary("render_elicitation_schema", "frontmcp/questions.py", token="render_elicitation_schema")
async def _() -> None:
    class Flat(BaseModel):
        n: int

    class Nested(BaseModel):
        inner: Flat

    assert render_elicitation_schema(Flat)["properties"]["n"]["type"] == "integer"
    with pytest.raises(TypeError):
        render_elicitation_schema(Nested)


@canary("UriTemplate", "frontmcp/definitions/resource.py", token="UriTemplate")
async def _() -> None:
    assert UriTemplate.parse("a://{id}").match("a://7") == {"id": "7"}


@canary("the client's transport, for tests of servers", "frontmcp/testing/roads.py", token="streamable_http_client")
async def _() -> None:
    assert {"url", "http_client"} <= parameters(streamable_http_client)
    assert {"mode"} <= parameters(Client)


@pytest.mark.parametrize("bird", CANARIES, ids=str)
async def test_the_sdk_is_as_we_know_it(bird: Canary) -> None:
    try:
        await bird.check()
    except Exception as error:
        where = ", ".join(bird.where)
        pytest.fail(f"mcp {version('mcp')} changed {bird.what}, which {where} uses: {type(error).__name__}: {error}")


@pytest.mark.parametrize("bird", CANARIES, ids=str)
def test_the_canary_names_where_it_is_used(bird: Canary) -> None:
    for path in bird.where:
        assert bird.token in SOURCES[path], f"{path} uses {bird.what} no more"


# Where the inside is touched


@canary("MCPServer._lowlevel_server", "frontmcp/definitions/upstream.py", token='"_lowlevel_server"')
async def _() -> None:
    assert isinstance(getattr(MCPServer("canary"), "_lowlevel_server", None), Server)


@canary("FastMCP._mcp_server", "frontmcp/definitions/upstream.py", token='"_mcp_server"')
async def _() -> None:
    fastmcp = pytest.importorskip("fastmcp", exc_type=ImportError)
    assert isinstance(fastmcp.FastMCP("canary")._mcp_server, Server)


@canary(
    "a client's callbacks run in the context of the request", "frontmcp/upstream/connection.py", token="_exchange.get()"
)
async def _() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody's")
    seen = []

    async def logged(params: Any) -> None:
        seen.append(variable.get())

    async def call(ctx: ServerRequestContext[Any, Any], params: Any) -> types.CallToolResult:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await ctx.session.send_log_message("info", "here", related_request_id=ctx.request_id)
        return types.CallToolResult(content=[])

    server: Server[Any] = Server("canary", on_call_tool=call)
    for mode in ("auto", "legacy"):
        async with Client(server, mode=mode, log_level="info", logging_callback=logged) as client:
            variable.set(mode)
            await client.session.send_request(
                types.CallToolRequest(params=types.CallToolRequestParams(name="look")), types.CallToolResult
            )
    assert seen == ["auto", "legacy"]


def own_names() -> set[str]:
    """The underscored attributes that classes of ours have."""
    found = set()
    for node in (node for tree in TREES.values() for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            found.add(node.attr)
        elif isinstance(node, ast.ClassDef):
            found.update(names_of(node))
    return found


def names_of(node: ast.ClassDef) -> Iterator[str]:
    for member in ast.walk(node):
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            yield member.name
        elif isinstance(member, ast.Name) and isinstance(member.ctx, ast.Store):
            yield member.id
        elif isinstance(member, ast.Constant) and isinstance(member.value, str):
            yield member.value  # __slots__


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def foreign_private_names() -> Iterator[tuple[str, str]]:
    own = own_names() - PRIVATE
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or is_self(node.value) or node.attr in own:
                continue
            if node.attr.startswith("_") and not node.attr.startswith("__"):
                yield path, node.attr


def imported_modules(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return {name for name in found if name.partition(".")[0] in ("mcp", "mcp_types")}


def test_private_names_of_others_are_known_and_those_of_the_sdk_are_touched_by_the_transports_alone() -> None:
    found = {(path, name) for path, name in foreign_private_names() if name not in FOREIGN}
    assert {name for _, name in found} == PRIVATE
    assert [path for path, _ in found if not path.startswith(INSIDE)] == []


def test_the_inside_of_the_sdk_is_imported_by_the_transports_alone() -> None:
    doors = {"mcp", "mcp.server", "mcp_types"}
    found = {
        path: modules
        for path, tree in TREES.items()
        if not path.startswith(INSIDE) and (modules := imported_modules(tree) - doors)
    }
    assert found == ELSEWHERE


def test_no_private_module_of_the_sdk_is_imported() -> None:
    private = {
        (path, module)
        for path, tree in TREES.items()
        for module in imported_modules(tree)
        if any(part.startswith("_") for part in module.split("."))
    }
    assert private == set()


def test_the_sdk_traces_by_one_middleware_of_this_name() -> None:
    """transports/wire.py drops it where opentelemetry-sdk is not installed, since it then costs and does nothing."""
    assert [type(each).__name__ for each in Server("canary").middleware] == ["OpenTelemetryMiddleware"]
