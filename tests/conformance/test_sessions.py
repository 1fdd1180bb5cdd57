"""The life of a session, up to 2025-11-25, and what protects a server on loopback."""

from __future__ import annotations

import re
from typing import Any

import anyio
import httpx2
import pytest


async def test_a_session_begins(older: Any) -> None:
    result = older.opened.result
    assert result["protocolVersion"] == older.era
    assert {"name", "version"} <= result["serverInfo"].keys()
    assert result["instructions"]
    assert re.fullmatch(r"[\x21-\x7e]+", older.session["mcp-session-id"])


async def test_what_is_declared_is_served(older: Any) -> None:
    capabilities = older.opened.result["capabilities"]
    assert capabilities["tools"] == capabilities["prompts"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert {"completions", "logging"} <= capabilities.keys()
    assert "tasks" not in capabilities


async def test_a_ping(older: Any) -> None:
    assert (await older.request("ping")).result == {}


async def test_three_requests_at_once(older: Any) -> None:
    statuses = []

    async def call() -> None:
        statuses.append((await older.call("test_tool_with_logging", {})).status)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(call)
    assert statuses == [200, 200, 200]


async def test_a_session_ends(older: Any) -> None:
    ended = await older.http.delete(older.url, headers=older.session)
    assert 200 <= ended.status_code < 300
    assert (await older.request("tools/list")).status == 404


async def test_changes_arrive_on_the_stream_of_the_session(older: Any) -> None:
    headers = older.session | {"accept": "text/event-stream"}
    async with older.http.stream("GET", older.url, headers=headers) as stream:
        assert stream.status_code == 200
        await older.call("test_trigger_tool_change", {})
        await older.call("test_trigger_prompt_change", {})
        seen: list[str] = []
        with anyio.fail_after(10):
            async for line in stream.aiter_lines():
                seen += re.findall(r'"notifications/(\w+)/list_changed"', line)
                if "prompts" in seen:
                    break
    assert set(seen) == {"tools", "prompts"}


async def test_a_web_page_is_kept_out(leg: Any) -> None:
    evil = {"host": "evil.example.com", "origin": "http://evil.example.com"}
    assert 400 <= (await leg.request("tools/list", headers=evil)).status < 500
    assert 400 <= (await leg.request("tools/list", headers={"origin": evil["origin"]})).status < 500
    assert (await leg.request("tools/list", headers={"origin": leg.url.removesuffix("/mcp")})).status == 200


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_is_no_session_to_listen_to_or_to_end(modern: Any, method: str) -> None:
    answer: httpx2.Response = await modern.http.request(
        method, modern.url, headers={"accept": "text/event-stream", "mcp-protocol-version": modern.era}
    )
    assert answer.status_code == 405
    assert "mcp-session-id" not in answer.headers
