"""What is posted to a session that ends meanwhile."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from frontmcp.transports.in_flight import InFlight
from frontmcp.transports.posts import PostGuard


async def answered(app: Any, body: dict[str, Any]) -> list[Message]:
    """What the client of an older session gets for a post."""
    guard = PostGuard(app, InFlight(), body_timeout=1, max_body=1000, stateless=False)
    scope = {"type": "http", "method": "POST", "headers": [(b"mcp-session-id", b"s")]}
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await guard(scope, receive, send)
    return sent


@pytest.mark.parametrize("ends", [False, True])
async def test_a_notification_to_a_session_that_ends_meanwhile_finds_none(ends: bool) -> None:
    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        for status in (202, 500) if ends else (202,):
            # The SDK acknowledges first, then finds the session closed, says so, and fails at that too.
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        if ends:
            raise anyio.ClosedResourceError

    head, body = await answered(endpoint, {"jsonrpc": "2.0", "method": "notifications/cancelled"})
    assert head["status"] == (404 if ends else 202)
    if ends:
        assert json.loads(body["body"])["error"]["message"] == "The session has ended"
