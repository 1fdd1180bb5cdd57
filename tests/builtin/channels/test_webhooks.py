"""Webhooks over real HTTP: who is let in, what senders are told, and what a flood does."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import httpx2
import pytest
from pydantic import BaseModel

from frontmcp import Channel, ChannelContext, ConfigurationError, FrontMcp, Tool, ToolContext, create_direct
from frontmcp.testing.runs import Gate
from frontmcp.transports.http import serving

SECRET = "correct horse"


class Ref(BaseModel):
    ref: str


class Push(BaseModel):
    body: Ref


@Tool(available_when={"surface": ["http-trigger"]})
async def label(ctx: ToolContext) -> dict[str, Any]:
    return {"surface": ctx.call.surface, "anonymous": ctx.auth.is_anonymous, "ip": ctx.context.client_ip}


@asynccontextmanager
async def posting(server: FrontMcp, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        serving(server, server.http_options(port=0, **options)) as url,
        httpx2.AsyncClient(base_url=url.removesuffix("/mcp")) as client,
    ):
        yield client


def server_of(body: Any, *, tools: Any = (), **source: Any) -> FrontMcp:
    options = source.pop("options", {})
    channel = Channel("hub", source={"type": "webhook", "path": "/hooks/hub", **source}, **options)(body)  # type: ignore[typeddict-item]
    return FrontMcp("desk", tools=tools, channels=[channel])


async def events(server: FrontMcp) -> Any:
    async with create_direct(server) as direct:
        return json.loads((await direct.read_resource("channel://hub")).contents[0].text)  # type: ignore[union-attr]


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"x-hub-signature-256": f"sha256={digest}", "content-type": "application/json"}


async def test_a_post_is_an_event_whose_tools_run_on_the_trigger_surface() -> None:
    async def on_post(ctx: ChannelContext, payload: dict[str, Any]) -> Any:
        found = (await ctx.call_tool("label")).structured_content
        return {"content": json.dumps([payload["body"], payload["method"], payload["query"], found])}

    server = server_of(on_post, tools=[label])
    async with posting(server) as client:
        response = await client.post("/hooks/hub?a=1", json={"action": "opened"})
        assert (response.status_code, response.json()) == (200, {"ok": True, "channel": "hub"})
        body, method, query, found = json.loads((await events(server))["events"][0]["content"])
    assert (body, method, query) == ({"action": "opened"}, "POST", {"a": "1"})
    assert found == {"surface": "http-trigger", "anonymous": True, "ip": "127.0.0.1"}


@pytest.mark.parametrize(
    ("content", "content_type", "parsed"),
    [
        (b'{"a": 1}', "application/json; charset=utf-8", {"a": 1}),
        (b'{"a": 1}', "application/vnd.github+json", {"a": 1}),
        (b"a=1&b=", "application/x-www-form-urlencoded", {"a": "1", "b": ""}),
        ("grüß".encode(), "text/plain", "grüß"),
        (b"\xff", "application/octet-stream", "\ufffd"),
        (b"", "", ""),
    ],
)
async def test_bodies_are_read_by_their_type(content: bytes, content_type: str, parsed: Any) -> None:
    def on_post(payload: Any) -> str:
        return json.dumps(payload["body"])

    server = server_of(on_post)
    async with posting(server) as client:
        response = await client.post("/hooks/hub", content=content, headers={"content-type": content_type})
        assert response.status_code == 200
        assert json.loads((await events(server))["events"][0]["content"]) == parsed


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (signed(b"{}"), 200),
        (signed(b"{}", "wrong"), 401),
        (signed(b"other"), 401),
        ({}, 401),
        ({"x-hub-signature-256": "sha256=é".encode("latin-1").decode("latin-1")}, 401),
    ],
)
async def test_only_who_knows_the_secret_is_heard(headers: dict[str, str], status: int) -> None:
    heard = []
    server = server_of(lambda payload: heard.append(payload), secret=SECRET)
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    async with posting(server) as client:
        response = await client.post("/hooks/hub", content=b"{}", headers=encoded)
    assert response.status_code == status
    assert len(heard) == (status == 200)
    assert SECRET not in response.text


NAMED = {"allowed_hosts": ["hooks.example.com"], "allowed_origins": ["https://example.com"]}


@pytest.mark.parametrize(
    ("options", "headers", "status"),
    [
        ({}, {"host": "evil.example"}, 421),
        ({}, {"origin": "https://evil.example"}, 403),
        ({}, {"host": "localhost:8000", "origin": "http://localhost:3000"}, 200),
        (NAMED, {"host": "hooks.example.com"}, 200),
        (NAMED, {"host": "hooks.example.com", "origin": "https://example.com"}, 200),
        (NAMED, {"host": "hooks.example.com", "origin": "https://evil.example"}, 403),
        (NAMED, {"host": "127.0.0.1"}, 421),
    ],
)
@pytest.mark.parametrize("secret", [None, SECRET])
async def test_hosts_and_origins_are_those_of_the_endpoint(
    options: Any, headers: dict[str, str], status: int, secret: str | None
) -> None:
    heard = []
    server = server_of(lambda payload: heard.append(payload), secret=secret)
    async with posting(server, **options) as client:
        response = await client.post("/hooks/hub", content=b"{}", headers={**signed(b"{}"), **headers})
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        mcp = await client.post("/mcp", json=ping, headers={"accept": "application/json, text/event-stream", **headers})
        unsigned = await client.post("/hooks/hub", content=b"{}", headers=headers)
    assert response.status_code == status
    assert (mcp.status_code in (403, 421)) == (status != 200)
    assert len(heard) == (0 if status != 200 else 1 if secret else 2)
    if status != 200:
        assert response.json()["channel"] == "hub"
        assert unsigned.status_code == status


async def test_another_address_accepts_any_host_until_some_are_named() -> None:
    heard = []
    async with posting(server_of(lambda payload: heard.append(payload)), host="0.0.0.0") as client:
        url = str(client.base_url).replace("0.0.0.0", "127.0.0.1")
        response = await client.post(f"{url}/hooks/hub", content=b"{}", headers={"host": "hooks.example.com"})
    assert (response.status_code, len(heard)) == (200, 1)


async def test_each_app_of_a_server_accepts_its_own_hosts() -> None:
    heard = []
    server, evil = server_of(lambda payload: heard.append(payload)), {"host": "evil.example"}
    async with posting(server) as strict, posting(server, allowed_hosts=["evil.example"]) as named:
        statuses = [
            (await client.post("/hooks/hub", content=b"{}", headers=evil)).status_code for client in (strict, named)
        ]
    assert (statuses, len(heard)) == ([421, 200], 1)


async def test_another_signature_header_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUB_SECRET", SECRET)
    server = server_of(
        lambda payload: None, secret={"env": "HUB_SECRET"}, signature_header="x-signature", signature_prefix=""
    )
    digest = hmac.new(SECRET.encode(), b"{}", hashlib.sha256).hexdigest()
    async with posting(server) as client:
        assert (await client.post("/hooks/hub", content=b"{}", headers={"x-signature": digest})).status_code == 200
        assert (await client.post("/hooks/hub", content=b"{}", headers={"x-signature": "0"})).status_code == 401


async def test_what_is_not_handled_has_a_status_of_its_own() -> None:
    def on_post(payload: dict[str, Any]) -> None:
        if payload["body"] == "boom":
            raise RuntimeError("the table is missing")

    server = server_of(on_post, max_body=10)
    async with posting(server) as client:
        skipped = await client.post("/hooks/hub", content="fine")
        assert (skipped.status_code, skipped.json()) == (200, {"ok": True, "channel": "hub", "skipped": True})
        failed = await client.post("/hooks/hub", content="boom")
        assert (failed.status_code, failed.json()["ok"]) == (500, False)
        assert "table" not in failed.text
        assert (await client.post("/hooks/hub", content="x" * 11)).status_code == 413
        broken = await client.post("/hooks/hub", content="{", headers={"content-type": "application/json"})
        assert broken.status_code == 400
        wrong_method = await client.get("/hooks/hub")
        assert (wrong_method.status_code, wrong_method.headers["allow"]) == (405, "POST")
        assert ((await events(server))["failed"], (await events(server))["skipped"]) == (1, 1)


async def test_a_payload_that_does_not_fit_is_the_sender_s_fault() -> None:
    def on_post(payload: Push) -> str:
        return payload.body.ref

    server = server_of(on_post)
    async with posting(server) as client:
        assert (await client.post("/hooks/hub", json={"ref": "main"})).status_code == 200
        refused = await client.post("/hooks/hub", json={"ref": {"password": "hunter2"}})
    assert refused.status_code == 400
    assert "hunter2" not in refused.text


async def test_a_flood_is_bounded_without_any_other_plugin() -> None:
    release = anyio.Event()
    most = running = 0

    async def on_post(payload: Any) -> None:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await release.wait()
        running -= 1

    server = server_of(on_post, max_concurrent=3)
    statuses = []

    async def post(client: httpx2.AsyncClient) -> None:
        statuses.append((await client.post("/hooks/hub", content="x")).status_code)
        if statuses.count(503) == 5:
            release.set()

    async with posting(server) as client, anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(post, client)
    assert (most, sorted(statuses)) == (3, [200] * 3 + [503] * 5)


async def test_a_rate_limit_of_the_channel_is_told_with_its_time() -> None:
    server = server_of(lambda payload: None, options={"rate_limit": {"max_requests": 1, "partition_by": "ip"}})
    async with posting(server) as client:
        assert (await client.post("/hooks/hub", content="x")).status_code == 200
        limited = await client.post("/hooks/hub", content="x")
    assert limited.status_code == 429
    assert int(limited.headers["retry-after"]) > 0


async def test_a_channel_that_is_busy_asks_to_try_again() -> None:
    gate = Gate()

    async def on_post(payload: Any) -> None:
        await gate.pass_through()

    server = server_of(on_post, options={"concurrency": {"max_concurrent": 1}})
    async with posting(server) as client, anyio.create_task_group() as group:
        group.start_soon(partial(client.post, "/hooks/hub", content="x"))
        await gate.reached()
        assert (await client.post("/hooks/hub", content="x")).status_code == 503
        gate.open()


async def test_a_body_that_does_not_arrive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plugins_builtin.channels.webhook.BODY_SECONDS", 0.05)
    async with posting(server_of(lambda payload: None)) as client:
        host, port = client.base_url.host, client.base_url.port
        async with await anyio.connect_tcp(host, port or 80) as stream:
            await stream.send(f"POST /hooks/hub HTTP/1.1\r\nhost: {host}\r\ncontent-length: 100\r\n\r\n{{".encode())
            with anyio.fail_after(10):
                assert (await stream.receive()).startswith(b"HTTP/1.1 408")


async def test_the_global_address_filter_holds_for_webhooks() -> None:
    channel = Channel("hub", source={"type": "webhook", "path": "/hooks/hub"})(lambda payload: None)
    server = FrontMcp("desk", channels=[channel], throttle={"ip_filter": {"deny": ["127.0.0.0/8"]}})
    async with posting(server) as client:
        assert (await client.post("/hooks/hub", content="x")).status_code == 403


async def test_a_webhook_without_a_secret_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    async with posting(server_of(lambda payload: None)):
        assert "anybody who reaches /hooks/hub can send it events; give its source a secret" in caplog.text


async def test_a_webhook_at_the_path_of_mcp_would_hear_nothing_and_stops_the_start() -> None:
    server = server_of(lambda payload: None, path="/api")
    with pytest.raises(ConfigurationError, match="a plugin has a route at /api, where MCP is"):
        server.http_app(path="/api")
    server.http_app()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_a_webhook_where_health_is_told_stops_the_start(path: str) -> None:
    with pytest.raises(ConfigurationError, match=f"a plugin has a route at {path}, where .* is told; change its path"):
        server_of(lambda payload: None, path=path).http_app()
