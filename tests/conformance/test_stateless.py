"""Requests of 2026-07-28, each of which stands alone: discovery, refusals, headers, caching and subscriptions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

PREFIX = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
CACHED = [
    ("server/discover", {}),
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "test://static-text"}),
]
REQUESTS = [
    *CACHED,
    ("tools/call", {"name": "test_simple_text"}),
    ("prompts/get", {"name": "test_simple_prompt"}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            "argument": {"name": "arg1", "value": ""},
        },
    ),
]


async def test_discovery(modern: Any) -> None:
    result = (await modern.request("server/discover")).result
    assert result["supportedVersions"] == [MODERN]
    assert {"name", "version"} <= result["_meta"][f"{PREFIX}serverInfo"].keys()
    assert result["instructions"]
    capabilities = result["capabilities"]
    assert capabilities["tools"] == capabilities["prompts"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert "completions" in capabilities
    assert "tasks" not in capabilities


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_every_result_is_complete_and_says_whose_it_is(modern: Any, method: str, params: Any) -> None:
    reply = await modern.request(method, params)
    assert reply.status == 200
    assert reply.result["resultType"] == "complete"
    assert reply.result["_meta"][f"{PREFIX}serverInfo"]["name"] == "everything"
    assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize(("method", "params"), CACHED)
async def test_what_may_be_kept_says_how_long_and_by_whom(modern: Any, method: str, params: Any) -> None:
    result = (await modern.request(method, params)).result
    assert type(result["ttlMs"]) is int and result["ttlMs"] >= 0
    assert result["cacheScope"] in ("public", "private")


@pytest.mark.parametrize("left_out", ["protocolVersion", "clientCapabilities"])
async def test_a_request_that_does_not_say_what_it_must(modern: Any, left_out: str) -> None:
    message = modern.message("tools/list", None)
    message["params"]["_meta"] = modern.meta(**{left_out: None})
    reply = await modern.send(message)
    assert (reply.status, reply.error["code"]) == (400, -32602)


async def test_a_request_without_meta(modern: Any) -> None:
    message = modern.message("tools/list", None)
    del message["params"]
    reply = await modern.send(message)
    assert (reply.status, reply.error["code"]) == (400, -32602)


async def test_a_request_need_not_say_who_the_client_is(modern: Any) -> None:
    message = modern.message("tools/list", None)
    message["params"]["_meta"] = modern.meta(clientInfo=None)
    assert (await modern.send(message)).status == 200


async def test_an_unknown_version(modern: Any) -> None:
    message = modern.message("tools/list", None)
    message["params"]["_meta"] = modern.meta(protocolVersion="v999.0.0")
    reply = await modern.send(message, headers={"mcp-protocol-version": "v999.0.0"})
    assert (reply.status, reply.error["code"]) == (400, -32022)
    assert reply.error["data"] == {"supported": [MODERN], "requested": "v999.0.0"}


async def test_a_version_that_differs_from_its_header(modern: Any) -> None:
    message = modern.message("tools/list", None)
    message["params"]["_meta"] = modern.meta(protocolVersion="v999.0.0")
    reply = await modern.send(message)
    assert (reply.status, reply.error["code"]) == (400, -32020)


@pytest.mark.parametrize(
    "method",
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/method"],
)
async def test_methods_that_are_gone_or_never_were(modern: Any, method: str) -> None:
    reply = await modern.request(method)
    assert (reply.status, reply.error["code"]) == (404, -32601)


async def test_a_notification_is_accepted(modern: Any) -> None:
    message = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1, "_meta": modern.meta()},
    }
    reply = await modern.send(message)
    assert (reply.status, reply.text) == (202, "")


# Headers


@pytest.mark.parametrize("headers", [{"mcp-method": "tools/call"}, {"mcp-method": None}, {"mcp-method": "TOOLS/LIST"}])
async def test_a_method_that_differs_from_its_header(modern: Any, headers: Any) -> None:
    reply = await modern.request("tools/list", headers=headers)
    assert (reply.status, reply.error["code"]) == (400, -32020)


@pytest.mark.parametrize("name", ["wrong", None])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "test_simple_text"}),
        ("prompts/get", {"name": "test_simple_prompt"}),
        ("resources/read", {"uri": "test://static-text"}),
    ],
)
async def test_a_name_that_differs_from_its_header(modern: Any, method: str, params: Any, name: str | None) -> None:
    reply = await modern.request(method, params, headers={"mcp-name": name})
    assert (reply.status, reply.error["code"]) == (400, -32020)


async def test_a_name_may_be_encoded(modern: Any) -> None:
    reply = await modern.call("test_simple_text", {}, headers={"mcp-name": "=?base64?dGVzdF9zaW1wbGVfdGV4dA==?="})
    assert reply.status == 200


@pytest.mark.parametrize("spelling", ["Mcp-Name: {}", "MCP-NAME: {}", "mcp-name:   {} \t"])
async def test_headers_are_read_as_http_says(modern: Any, spelling: str) -> None:
    """By hand: HTTP clients send neither capitals nor whitespace."""
    message = modern.message("tools/call", {"name": "test_simple_text"})
    headers = {key: value for key, value in modern.headers(message).items() if key != "mcp-name"}
    place = urlsplit(modern.url)
    body = json.dumps(message)
    lines = [
        "POST /mcp HTTP/1.1",
        f"host: {place.netloc}",
        f"content-length: {len(body)}",
        "connection: close",
        *(f"{key}: {value}" for key, value in headers.items()),
        spelling.format("test_simple_text"),
    ]
    async with await anyio.connect_tcp(place.hostname or "", place.port or 0) as stream:
        await stream.send("\r\n".join([*lines, "", body]).encode())
        assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")


# Subscriptions


@asynccontextmanager
async def listening(modern: Any, id: Any, **wanted: bool) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    message = modern.message("subscriptions/listen", {"notifications": wanted})
    message["id"] = id
    async with modern.http.stream("POST", modern.url, json=message, headers=modern.headers(message)) as stream:
        assert stream.status_code == 200
        assert stream.headers["x-accel-buffering"] == "no"
        yield frames(stream)


async def frames(stream: Any) -> AsyncIterator[dict[str, Any]]:
    async for line in stream.aiter_lines():
        if line.startswith("data:"):
            yield json.loads(line.removeprefix("data:"))


@pytest.mark.parametrize("id", [9007199254740991, "listen"])
async def test_changes_that_a_stream_asked_for(modern: Any, id: Any) -> None:
    async with listening(modern, id, toolsListChanged=True) as stream:
        with anyio.fail_after(10):
            first = await anext(stream)
            assert first["method"] == "notifications/subscriptions/acknowledged"
            assert first["params"]["notifications"] == {"toolsListChanged": True}
            await modern.call("test_trigger_prompt_change", {})
            await modern.call("test_trigger_tool_change", {})
            second = await anext(stream)
    assert second["method"] == "notifications/tools/list_changed"
    assert [each["params"]["_meta"][f"{PREFIX}subscriptionId"] for each in (first, second)] == [id, id]


async def test_changes_that_a_stream_did_not_ask_for(modern: Any) -> None:
    async with listening(modern, 1, promptsListChanged=True) as stream:
        with anyio.fail_after(10):
            await anext(stream)
            await modern.call("test_trigger_tool_change", {})
            await modern.call("test_trigger_prompt_change", {})
            assert (await anext(stream))["method"] == "notifications/prompts/list_changed"


async def test_a_trigger_leaves_the_list_as_it_was(modern: Any) -> None:
    before = (await modern.request("tools/list")).result["tools"]
    await modern.call("test_trigger_tool_change", {})
    assert (await modern.request("tools/list")).result["tools"] == before
