"""What stands before the SDK's HTTP endpoint: it lets whole messages in, and none that could be mixed up."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

import anyio
import pydantic_core
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frontmcp.transports.in_flight import InFlight

logger = logging.getLogger("frontmcp.http")


class PostGuard:
    """Stands before the SDK's endpoint, and lets a message in only when it is whole and can't be mixed up.

    A body that does not arrive in time gets 408. What is no message in an older protocol version is refused here: the
    SDK would echo it. So is a request whose id is still in flight on the same session: the SDK would hand one of the
    two callers the other's answer. A session ends once it has what arrived before. 2026-07-28 has no sessions, and
    clean refusals of its own.

    :param in_flight: requests by session; the wire says whose handler runs.
    :param body_timeout: seconds a body may take to arrive.
    :param max_body: what is larger is refused further in, and not read here.
    :param stateless: there are no sessions.
    """

    def __init__(
        self, app: ASGIApp, in_flight: InFlight, *, body_timeout: float, max_body: int, stateless: bool
    ) -> None:
        self._app = app
        self._in_flight = in_flight
        self._body_timeout = body_timeout
        self._max_body = max_body
        self._stateless = stateless
        self._told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            session, _ = _session_of(scope)
            if scope["method"] == "DELETE" and session is not None:
                await self._in_flight.all_handed_over(session)
            await self._app(scope, receive, send)
            return
        messages: list[Message] = []
        with anyio.move_on_after(self._body_timeout) as waiting:
            await _read_body(receive, self._max_body, messages)
        if waiting.cancelled_caught:
            refusal = _refusal(408, INVALID_REQUEST, "The request's body did not arrive in time")
            refusal.headers["connection"] = "close"
            await refusal(scope, receive, send)
        elif messages[-1]["type"] == "http.request":
            await self._admit(messages, scope, _replay(messages, receive), send)

    async def _admit(self, messages: list[Message], scope: Scope, receive: Receive, send: Send) -> None:
        session, modern = _session_of(scope)
        if modern or messages[-1].get("more_body"):  # the rest of a body that is too large; further in it gets 413
            await self._app(scope, receive, send)
            return
        read = _read_message(b"".join(message.get("body", b"") for message in messages))
        if isinstance(read, Response):
            await read(scope, receive, send)
        elif not isinstance(read, JSONRPCRequest):
            with self._in_flight.notifying(session or ""):
                await self._hand_over(scope, receive, send)
        else:
            with self._in_flight.connected():
                if session is not None and not self._stateless:
                    await self._once(session, read.id, scope, receive, send)
                else:
                    await self._app(scope, receive, send)

    async def _hand_over(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A notification or an answer: acknowledged once its session has it.

        The SDK does it the other way round, and fails where the client ends the session in between.
        """
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        try:
            await self._app(scope, receive, hold)
        except anyio.ClosedResourceError:
            await _refusal(404, INVALID_REQUEST, "The session has ended")(scope, receive, send)
            return
        for message in held[:2]:
            await send(message)

    async def _once(self, session: str, request_id: str | int, scope: Scope, receive: Receive, send: Send) -> None:
        if not await self._in_flight.arrive(session, request_id):
            await self._refuse(request_id, scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._in_flight.leave(session, request_id)

    async def _refuse(self, request_id: str | int, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._told:
            self._told = True
            logger.warning(
                "a client reuses a request id while that request is in flight; such clients need http stateless=True"
            )
        text = "A request with this id is still in flight on this session"
        await _refusal(400, INVALID_REQUEST, text, request_id)(scope, receive, send)


def _refusal(status: int, code: int, text: str, request_id: str | int | None = None) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}, status)


def _session_of(scope: Scope) -> tuple[str | None, bool]:
    """The session that a request names, and whether it is none of an older protocol version."""
    session = None
    modern = False
    for name, value in scope["headers"]:
        if name == b"mcp-session-id":
            session = value.decode("latin-1")
        elif name == b"mcp-protocol-version":
            modern = value.decode("latin-1") not in HANDSHAKE_PROTOCOL_VERSIONS
    return session, modern


async def _read_body(receive: Receive, most: int, messages: list[Message]) -> None:
    """Read a body to its end, or until it is known to be too large."""
    size = 0
    while size <= most:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def _replay(messages: list[Message], receive: Receive) -> Receive:
    waiting = iter(messages)

    async def next_message() -> Message:
        message: MutableMapping[str, Any] | None = next(waiting, None)
        return message if message is not None else await receive()

    return next_message


def _read_message(body: bytes) -> JSONRPCMessage | Response:
    """The message of a body, read as the SDK reads it; or the answer to what is none."""
    try:
        data = pydantic_core.from_json(body)
    except ValueError:
        return _refusal(400, PARSE_ERROR, "Parse error: the body is no JSON")
    try:
        message = jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValidationError:
        message = None
    if message is None or (isinstance(message, JSONRPCNotification) and "id" in data):
        return _refusal(400, INVALID_REQUEST, "Invalid request: the body is no single JSON-RPC message")
    return message
