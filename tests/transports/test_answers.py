"""An answer over HTTP can become a refusal until a part of it was sent."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INVALID_REQUEST, ErrorData
from starlette.requests import Request

from frontmcp.interfaces import Challenge
from frontmcp.transports.answers import ANSWER, Answer, open_answer, refusal

HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}


class Wire:
    def __init__(self) -> None:
        self.sent: list[Any] = []
        scope: dict[str, Any] = {"type": "http", "method": "POST", "headers": []}
        self.answer = scope[ANSWER] = Answer(scope, self.never, self.send)
        self.http = Request(scope)

    async def never(self) -> Any:
        raise AssertionError("read")

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def body(self, text: bytes, more: bool = True) -> None:
        await self.answer.send({"type": "http.response.body", "body": text, "more_body": more})


async def test_the_head_waits_for_the_body() -> None:
    wire = Wire()
    await wire.answer.send(HEAD)
    assert wire.sent == []
    assert open_answer(wire.http) is wire.answer
    await wire.body(b": ping")
    await wire.body(b"data", more=False)
    assert wire.sent[0] == HEAD
    assert [each["body"] for each in wire.sent[1:]] == [b": ping", b"data"]


async def test_a_refusal_takes_the_place_of_all_of_it() -> None:
    wire = Wire()
    await wire.answer.send(HEAD)
    said = ErrorData(code=INVALID_REQUEST, message="no")
    wire.answer.refuse(refusal(Challenge(403, 'Bearer error="insufficient_scope"'), said, "id"))
    await wire.body(b"data: {}")
    await wire.body(b"", more=False)
    head, body = wire.sent
    assert head["status"] == 403
    assert dict(head["headers"])[b"www-authenticate"] == b'Bearer error="insufficient_scope"'
    assert json.loads(body["body"]) == {
        "jsonrpc": "2.0",
        "id": "id",
        "error": {"code": INVALID_REQUEST, "message": "no"},
    }


async def test_what_has_begun_can_not_be_taken_back() -> None:
    wire = Wire()
    await wire.answer.send(HEAD)
    await wire.body(b": ping")
    assert open_answer(wire.http) is None
    assert open_answer(None) is None
    assert open_answer(Request({"type": "http", "method": "POST", "headers": []})) is None
