"""A webhook: a route beside the MCP endpoint whose posts are events of a channel."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from frontmcp import Caller, FrontMcpError, RequestContext
from plugins_builtin.channels.sources import WebhookSource

BODY_SECONDS: Final = 30.0
STATUS: Final[Mapping[str, int]] = {
    "INVALID_INPUT": 400,
    "IP_BLOCKED": 403,
    "IP_NOT_ALLOWED": 403,
    "AUTHORITY_DENIED": 403,
    "RATE_LIMIT_EXCEEDED": 429,
    "CONCURRENCY_LIMIT": 503,
    "QUEUE_TIMEOUT": 503,
    "SERVER_BUSY": 503,
}
"""The status of an error by its code; of any other, 500. Senders retry what is 429 or 5xx."""

Handle = Callable[[Any, RequestContext], Awaitable[bool]]


class Refused(Exception):
    """What a sender is told instead of its event being handled."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers


class Webhook:
    """Receives posts: an ASGI app, so that a post with another method gets Starlette's own answer.

    :param handle: handles a payload; whether there was anything to tell.
    :param callers: knows the address a request came from, and which Host and Origin headers are accepted.
    """

    def __init__(self, channel: str, source: WebhookSource, handle: Handle, callers: Any) -> None:
        self._channel = channel
        self._source = source
        self._handle = handle
        self._callers = callers
        self._handling = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._received(Request(scope, receive))
        except Refused as refusal:
            body = {"ok": False, "channel": self._channel, "error": str(refusal)}
            response = JSONResponse(body, refusal.status, refusal.headers)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _received(self, request: Request) -> Response:
        if (refusal := await self._callers.refusal(request)) is not None:
            raise Refused(refusal.status_code, bytes(refusal.body).decode())
        if request.method != "POST":
            raise Refused(405, "Only POST is received here", {"allow": "POST"})
        if self._handling >= self._source.max_concurrent:
            raise Refused(503, "Too many events are being handled", {"retry-after": "1"})
        self._handling += 1
        try:
            told = await self._handled(request)
        finally:
            self._handling -= 1
        answer: dict[str, Any] = {"ok": True, "channel": self._channel}
        return JSONResponse(answer if told else {**answer, "skipped": True})

    async def _handled(self, request: Request) -> bool:
        body = await _body(request, self._source.max_body)
        if not self._source.is_signed(body, request.headers):
            raise Refused(401, "The signature is missing or wrong")
        headers = dict(request.headers)
        payload = {
            "body": _parsed(body, headers.get("content-type", "")),
            "headers": headers,
            "method": request.method,
            "query": dict(request.query_params),
        }
        context = RequestContext(Caller.anonymous(), "http")
        context.headers, context.client_ip = headers, self._callers.client_ip(request)
        try:
            return await self._handle(payload, context)
        except FrontMcpError as error:
            raise _refusal(error) from error


def _refusal(error: FrontMcpError) -> Refused:
    status = STATUS.get(error.code, 500)
    retry_after = getattr(error, "retry_after", None)
    headers = {"retry-after": str(retry_after)} if retry_after is not None else None
    return Refused(status, str(error) if error.public and status != 500 else "The event was not handled", headers)


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS) as late:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise Refused(413, f"The body is larger than {most} bytes", {"connection": "close"})
    if late.cancelled_caught:
        raise Refused(408, "The body did not arrive in time", {"connection": "close"})
    return bytes(body)


def _parsed(body: bytes, content_type: str) -> Any:
    """JSON and forms as data, anything else as text."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise Refused(400, "The body is no JSON") from None
    text = body.decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True)) if kind == "application/x-www-form-urlencoded" else text
