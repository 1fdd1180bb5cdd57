"""Scopes that are missing for one call: a client over HTTP is told in HTTP, so that it can get them and try again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INVALID_REQUEST

from frontmcp import FrontMcp, PromptContext, Tool, ToolContext, create_direct
from frontmcp.transports.http import serving
from plugins_builtin.authorities import AuthorityDeniedError

METADATA = 'resource_metadata="https://mcp.acme.example/.well-known/oauth-protected-resource/mcp"'
OLD, NEW = "2025-11-25", "2026-07-28"
JSON = {"accept": "application/json, text/event-stream"}
META = {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}
ADMIN: dict[str, Any] = {"authorities": "admin"}
DENIED = "profile:admin: roles.any: user has none of 'admin'"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # uvicorn is an asyncio server


@Tool(description="Purge", **ADMIN)
async def purge() -> str:
    return "purged"


@Tool(description="Purge by another tool")
async def cleanup(ctx: ToolContext) -> str:
    return (await ctx.call_tool("purge")).content[0].text  # type: ignore[union-attr]


@Tool(description="No scope helps", authorities={"roles": {"any": ["owner"]}})
async def sell() -> str:
    return "sold"


def make(auth: Any) -> FrontMcp:
    server = FrontMcp(
        "desk",
        tools=[purge, cleanup, sell],
        auth=auth,
        authorities={
            "profiles": {"admin": {"roles": {"any": ["admin"]}}},
            "scope_mapping": {"roles": {"admin": ["tickets:admin"]}},
        },
        autoload_plugins=False,
    )
    server.resource("desk://guide", name="guide", **ADMIN)(lambda: "open")
    note = server.prompt(name="note", **ADMIN)(write)
    note.complete("about")(lambda value: ["tickets"])
    server.prompt(name="open")(write).complete("about")(purged_first)
    return server


def write(about: str = "") -> str:
    return "note"


async def purged_first(ctx: PromptContext, value: str) -> list[str]:
    await ctx.call_tool("purge")
    return []


def completing(name: str) -> tuple[str, dict[str, Any]]:
    params = {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "about", "value": ""}}
    return "completion/complete", params


@pytest.fixture
def auth(signers: Any, trust: Any) -> dict[str, Any]:
    return {**trust, "public_key": signers["ES256"].pem, "scopes": ["tickets"]}


class Raw:
    """Posts one request at a time, in the way of an era."""

    def __init__(self, url: str, http: httpx2.AsyncClient, era: str, token: str | None) -> None:
        self.url, self.http, self.era = url, http, era
        self.headers = {**JSON, "mcp-protocol-version": era}
        if token is not None:
            self.headers["authorization"] = f"Bearer {token}"

    async def post(self, method: str, params: dict[str, Any], request_id: int = 7) -> httpx2.Response:
        headers = dict(self.headers)
        if self.era == NEW:
            params = {**params, "_meta": META}
            headers["mcp-method"] = method
            if name := params.get("name", params.get("uri")):
                headers["mcp-name"] = name
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        return await self.http.post(self.url, json=message, headers=headers)

    async def call(self, name: str) -> httpx2.Response:
        return await self.post("tools/call", {"name": name, "arguments": {}})

    async def open(self) -> None:
        params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        opened = await self.post("initialize", params, 0)
        if session := opened.headers.get("mcp-session-id"):
            self.headers["mcp-session-id"] = session


@asynccontextmanager
async def raw(server: FrontMcp, era: str, token: str | None, **options: Any) -> AsyncIterator[Raw]:
    async with serving(server, server.http_options(port=0, **options)) as url, httpx2.AsyncClient() as http:
        client = Raw(url, http, era, token)
        if era == OLD:
            await client.open()
        yield client


def result_of(answer: httpx2.Response) -> Any:
    """The result of an answer, whether JSON or the last event of a stream."""
    assert answer.status_code == 200
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    return json.loads(lines[-1] if lines else answer.text)["result"]


WAYS = [
    (NEW, {}),
    (NEW, {"json_response": True}),
    (OLD, {}),
    (OLD, {"json_response": True}),
    (OLD, {"stateless": True}),
]


@pytest.mark.parametrize(("era", "options"), WAYS, ids=str)
async def test_a_call_that_lacks_scopes_is_a_403(signers: Any, auth: Any, era: str, options: Any) -> None:
    async with raw(make(auth), era, signers["ES256"].token(scope="tickets"), **options) as client:
        for method, params in (
            ("tools/call", {"name": "purge", "arguments": {}}),
            ("resources/read", {"uri": "desk://guide"}),
            ("prompts/get", {"name": "note"}),
            completing("note"),
            ("resources/subscribe", {"uri": "desk://guide"}),
        ):
            if method == "resources/subscribe" and era == NEW:
                continue
            answer = await client.post(method, params)
            assert answer.status_code == 403
            assert answer.headers["www-authenticate"] == (
                f'Bearer error="insufficient_scope", scope="tickets tickets:admin", {METADATA}'
            )
            assert answer.headers["content-type"] == "application/json"
            body = answer.json()
            assert (body["id"], body["error"]["code"]) == (7, INVALID_REQUEST)
            assert body["error"]["message"].endswith(DENIED)
            data = body["error"]["data"]
            assert (data["code"], data["requiredScopes"]) == ("AUTHORITY_DENIED", ["tickets:admin"])


@pytest.mark.parametrize(("era", "options"), WAYS, ids=str)
async def test_everything_else_is_answered_as_ever(signers: Any, auth: Any, era: str, options: Any) -> None:
    signer = signers["ES256"]
    server = make(auth)
    async with raw(server, era, signer.token(scope="tickets"), **options) as client:
        inner = result_of(await client.call("cleanup"))
        assert inner["isError"]
        assert inner["content"][0]["text"].endswith(DENIED)
        assert result_of(await client.call("sell"))["_meta"]["code"] == "AUTHORITY_DENIED"
        completed = await client.post(*completing("open"))
        assert completed.status_code != 403
        assert DENIED in completed.text
        listed = result_of(await client.post("tools/list", {}))
        assert [tool["name"] for tool in listed["tools"]] == ["cleanup"]
    async with raw(server, era, signer.token(scope="tickets", roles=["admin"]), **options) as client:
        assert result_of(await client.call("purge"))["content"][0]["text"] == "purged"
    async with raw(server, era, signer.token(scope="tickets tickets:admin"), **options) as client:
        # The scopes that would help are there: another token would not.
        assert result_of(await client.call("purge"))["isError"]


@pytest.mark.parametrize("era", [NEW, OLD])
async def test_who_has_no_token_is_asked_for_one(auth: Any, era: str) -> None:
    async with raw(make({**auth, "required": False}), era, None) as client:
        answer = await client.call("purge")
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == f'Bearer scope="tickets tickets:admin", {METADATA}'
        assert result_of(await client.call("cleanup"))["isError"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_does_not_step_up_reads_why(signers: Any, auth: Any, mode: Any) -> None:
    server = make(auth)
    headers = {"authorization": f"Bearer {signers['ES256'].token(scope='tickets')}"}
    async with (
        serving(server, server.http_options(port=0)) as url,
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        for _ in range(2):
            with pytest.raises(MCPError, match=f'Access denied to Tool "desk:purge": {DENIED}'):
                await client.call_tool("purge")
        assert (await client.call_tool("cleanup")).is_error


async def test_without_tokens_or_http_it_is_a_result(auth: Any) -> None:
    local = make({"local": {"sub": "ops"}, "required": False})
    async with raw(local, NEW, None) as client:
        assert result_of(await client.call("purge"))["isError"]
    async with create_direct(make(auth)) as direct:
        with pytest.raises(AuthorityDeniedError) as refused:
            await direct.call_tool("purge")
    assert refused.value.challenge is None
