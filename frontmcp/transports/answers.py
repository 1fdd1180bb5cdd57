"""The answer to an HTTP request, which can become a refusal for as long as nothing of it was sent."""

from __future__ import annotations

from typing import Final

from mcp_types import ErrorData, RequestId
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from frontmcp.authentication import Challenge

ANSWER: Final = "frontmcp.answer"
"""Where an HTTP request's scope has its `Answer`."""


class Answer:
    """What is sent in answer to a POST. Its head waits for the first part of its body.

    The SDK sends the head of a stream before the message is handled, and only then is known who may not.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._head: Message | None = None
        self._refusal: Response | None = None
        self.has_begun = False

    def refuse(self, refusal: Response) -> None:
        """Answer with this instead."""
        self._refusal = refusal

    async def send(self, message: Message) -> None:
        """What the endpoint sends."""
        if message["type"] == "http.response.start":
            self._head = message
            return
        if not self.has_begun:
            self.has_begun = True
            if self._refusal is not None:
                await self._refusal(self._scope, self._receive, self._send)
            elif self._head is not None:
                await self._send(self._head)
        if self._refusal is None:
            await self._send(message)


def open_answer(http: Request | None) -> Answer | None:
    """The answer to a request, if it can still become a refusal."""
    answer = http.scope.get(ANSWER) if http is not None else None
    return answer if isinstance(answer, Answer) and not answer.has_begun else None


def refusal(challenge: Challenge, error: ErrorData, request_id: RequestId | None = None) -> Response:
    """A refusal in HTTP, with the error of the protocol as its body."""
    body = {"jsonrpc": "2.0", "id": request_id, "error": error.model_dump(mode="json", exclude_none=True)}
    headers = {"www-authenticate": challenge.header} if challenge.header else None
    return JSONResponse(body, challenge.status, headers)
