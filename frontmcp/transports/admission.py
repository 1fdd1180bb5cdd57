"""Who sends an HTTP request, asked before anything of it is read, so that a refusal is a real 401 or 403."""

from __future__ import annotations

from typing import Protocol

from mcp_types import INVALID_REQUEST, ErrorData
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from frontmcp.authentication import AuthenticationError, Challenge
from frontmcp.errors import FrontMcpError, sendable
from frontmcp.transports.answers import ANSWER, Answer, refusal


class Identifying(Protocol):
    """What admission needs of `Callers`."""

    async def identify(self, http: Request) -> None: ...


class Admission:
    """Stands before the MCP endpoint. Who it is stays noted for the message that the request carries.

    What reads HTTP for uvicorn may leave whitespace around the values of headers, which means nothing (RFC 9110, 5.5).
    """

    def __init__(self, app: ASGIApp, callers: Identifying) -> None:
        self._app = app
        self._callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}
        try:
            await self._callers.identify(Request(scope))
        except AuthenticationError as error:
            said = ErrorData(code=INVALID_REQUEST, message=sendable(error.text))
            await refusal(Challenge(error.status, error.challenge), said)(scope, receive, send)
            return
        except FrontMcpError:
            # A message is answered in its own way: the wire asks again, and tells what failed. Nothing else gets in.
            if scope["method"] != "POST":
                await Response(status_code=403)(scope, receive, send)
                return
        if scope["method"] == "POST":
            answer = scope[ANSWER] = Answer(scope, receive, send)
            send = answer.send
        await self._app(scope, receive, send)
