"""Who calls: bearer tokens over HTTP in both eras, configuration elsewhere; what is refused, and how."""

from __future__ import annotations

import base64
import json
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken

from frontmcp import Caller, ConfigurationError, FrontMcp, Plugin, Tool, ToolContext, hookimpl
from frontmcp.interfaces import AuthenticationError
from frontmcp.transports.admission import Admission
from frontmcp.transports.http import serving
from plugins_builtin.authorities import keys as keys_module
from plugins_builtin.authorities.keys import KeysUnavailableError, RemoteKeys

METADATA = "https://mcp.acme.example/.well-known/oauth-protected-resource/mcp"
PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
OPEN = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
JSON = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # uvicorn is an asyncio server


@Tool
async def whoami(ctx: ToolContext) -> dict[str, Any]:
    auth = ctx.auth
    return {
        "sub": auth.sub,
        "roles": list(auth.roles),
        "permissions": list(auth.permissions),
        "scopes": list(auth.scopes),
        "name": auth.name,
        "email": auth.email,
        "anonymous": auth.is_anonymous,
    }


@Tool(authorities={"roles": {"any": ["admin"]}})
async def purge(ctx: ToolContext) -> str:
    return f"purged by {ctx.auth.sub}"


@Tool
async def cleanup(ctx: ToolContext) -> str:
    return (await ctx.call_tool("purge")).content[0].text  # type: ignore[union-attr]


def make(auth: Any, **options: Any) -> FrontMcp:
    return FrontMcp("desk", tools=[whoami, purge, cleanup], auth=auth, autoload_plugins=False, **options)


@asynccontextmanager
async def raw(server: FrontMcp, **options: Any) -> AsyncIterator[Any]:
    """A function that posts ``message`` with a token to the server."""
    async with serving(server, server.http_options(port=0, **options)) as url, httpx2.AsyncClient() as http:

        async def post(token: str | None, message: Any = OPEN, method: str = "POST", **headers: str) -> httpx2.Response:
            bearer = {} if token is None else {"authorization": f"Bearer {token}".strip()}
            return await http.request(method, url, json=message, headers={**JSON, **bearer, **headers})

        post.url, post.http = url, http  # type: ignore[attr-defined]
        yield post


@asynccontextmanager
async def client(url: str, token: str | None, mode: Any = "auto") -> AsyncIterator[Client]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as opened,
    ):
        yield opened


# Tokens that are good


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_token_says_who_calls(signers: Any, trust: Any, key_server: Any, algorithm: str, mode: str) -> None:
    token = signers[algorithm].token(
        roles=["admin"], permissions="read close", scope="a b", name="Nour", email="n@acme.example"
    )
    async with key_server(signers[algorithm]) as keys, raw(make({**trust, "jwks_url": keys.url})) as post:
        async with client(post.url, token, mode) as opened:
            assert (await opened.call_tool("whoami")).structured_content == {
                "sub": "nour",
                "roles": ["admin"],
                "permissions": ["read", "close"],
                "scopes": ["a", "b"],
                "name": "Nour",
                "email": "n@acme.example",
                "anonymous": False,
            }
            assert (await opened.call_tool("cleanup")).content[0].text == "purged by nour"  # type: ignore[union-attr]
        assert keys.fetches == 1


@pytest.mark.parametrize("way", ["jwks", "public_key", "kid-less"])
async def test_keys_may_be_given(signers: Any, trust: Any, make_signer: Any, way: str) -> None:
    signer = make_signer("ES256", None) if way == "kid-less" else signers["ES256"]
    given = {"public_key": signer.pem} if way == "public_key" else {"jwks": {"keys": [signer.jwk()]}}
    async with raw(make({**trust, **given})) as post:
        assert (await post(signer.token())).status_code == 200
        assert (await post(make_signer("ES256").token())).status_code == 401


@pytest.mark.parametrize("audience", ["https://other.example", ["x", "https://mcp.acme.example/mcp"], None])
async def test_the_audience_may_be_one_of_several(signers: Any, trust: Any, audience: Any) -> None:
    wanted = {"audience": ["https://other.example", "https://mcp.acme.example/mcp"]} if audience else {}
    signer = signers["ES256"]
    async with raw(make({**trust, **wanted, "public_key": signer.pem})) as post:
        token = signer.token(aud=audience) if audience else signer.token()
        assert (await post(token)).status_code == 200


async def test_clocks_may_differ_a_little(signers: Any, trust: Any) -> None:
    signer, now = signers["ES256"], int(time.time())
    async with raw(make({**trust, "public_key": signer.pem})) as post:
        assert (await post(signer.token(exp=now - 20))).status_code == 200
        assert (await post(signer.token(nbf=now + 20, iat=now + 20))).status_code == 200


async def test_the_claims_mapping_holds_for_tokens(signers: Any, trust: Any) -> None:
    signer = signers["ES256"]
    mapping = {"roles": "realm.roles", "permissions": "https://acme.example/can", "user_id": "uid"}
    token = signer.token(
        uid="u-7", realm={"roles": ["admin"]}, roles=["ignored"], **{"https://acme.example/can": ["close"]}
    )
    server = make({**trust, "public_key": signer.pem}, authorities={"claims_mapping": mapping})
    async with raw(server) as post, client(post.url, token) as opened:
        seen = (await opened.call_tool("whoami")).structured_content
        assert (seen["sub"], seen["roles"], seen["permissions"]) == ("u-7", ["admin"], ["close"])
        assert not (await opened.call_tool("purge")).is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_token_has_its_own_rights(signers: Any, trust: Any, mode: str) -> None:
    signer = signers["ES256"]
    async with raw(make({**trust, "public_key": signer.pem, "required": False})) as post:
        for token, allowed in ((signer.token(roles=["admin"]), True), (signer.token(), False), (None, False)) * 2:
            async with client(post.url, token, mode) as opened:
                listed = {tool.name for tool in (await opened.list_tools()).tools}
                assert ("purge" in listed) == allowed
                for name in ("purge", "cleanup"):
                    result = await opened.call_tool(name)
                    assert result.is_error != allowed
                    if not allowed:
                        assert result.meta["code"] == "AUTHORITY_DENIED"


async def test_without_a_token_one_is_anonymous_where_none_is_required(signers: Any, trust: Any) -> None:
    auth = {**trust, "public_key": signers["ES256"].pem, "required": False}
    async with raw(make(auth)) as post, client(post.url, None) as opened:
        seen = (await opened.call_tool("whoami")).structured_content
        assert seen["anonymous"]
        assert seen["roles"] == []


# Tokens that are not


def unsigned(**claims: Any) -> str:
    return jwt.encode({"iss": "https://issuer.acme.example", **claims}, None, "none")


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forged_with_public_key(signer: Any, says: str = "HS256") -> str:
    """An HMAC made with the public key as the secret."""
    parts = signer.token().split(".")
    header = encoded(json.dumps({"alg": says, "kid": "k1"}).encode())
    signed = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(
        f"{header}.{parts[1]}".encode(), signer.pem.encode()
    )
    return f"{header}.{parts[1]}.{encoded(signed)}"


def headed(signer: Any, header: Any, **claims: Any) -> str:
    """A good token but for its header and some claims, however odd: it is signed."""
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = {**jwt.decode(signer.token(), options={"verify_signature": False}), **claims}
    signing = f"{encoded(head)}.{encoded(json.dumps(whole).encode())}"
    algorithm = jwt.get_algorithm_by_name(signer.algorithm)
    return f"{signing}.{encoded(algorithm.sign(signing.encode(), signer.private))}"


GOOD = {"alg": "ES256", "kid": "k1"}
DEEP = b"[" * 5000 + b"]" * 5000


BAD: dict[str, Any] = {
    "empty": lambda signer, other: "",
    "no token": lambda signer, other: "nonsense",
    "three parts": lambda signer, other: "a.b.c",
    "too long": lambda signer, other: "a" * 20_000,
    "header is a list": lambda signer, other: base64.urlsafe_b64encode(b"[]").decode() + ".e30.x",
    "strange kid": lambda signer, other: signer.token(header={"kid": "k\u00e9y"})[:-3],
    "unknown kid": lambda signer, other: signer.token(header={"kid": "k9"}),
    "another key": lambda signer, other: other.token(),
    "no signature": lambda signer, other: signer.token().rpartition(".")[0] + ".",
    "alg none": lambda signer, other: unsigned(sub="nour", aud="https://mcp.acme.example/mcp", exp=9_999_999_999),
    "key confusion": lambda signer, other: forged_with_public_key(signer),
    "confusion under another name": lambda signer, other: forged_with_public_key(signer, "ES256"),
    "algorithm in small letters": lambda signer, other: headed(signer, {"alg": "es256", "kid": "k1"}),
    "algorithm of another key": lambda signer, other: headed(signer, {"alg": "RS256", "kid": "k1"}),
    "algorithm is a list": lambda signer, other: headed(signer, {"alg": ["ES256"], "kid": "k1"}),
    "no algorithm": lambda signer, other: headed(signer, {"kid": "k1"}),
    "brings its key": lambda signer, other: other.token(header={"jwk": other.jwk(), "kid": "k1"}),
    "says where its key is": lambda signer, other: other.token(header={"jku": "https://evil.example", "x5u": "x"}),
    "kid is a path": lambda signer, other: headed(other, {"alg": "ES256", "kid": "../../../../dev/null"}),
    "kid is a list": lambda signer, other: headed(signer, {"alg": "ES256", "kid": ["k1"]}),
    "kid is a number": lambda signer, other: headed(signer, {"alg": "ES256", "kid": 1}),
    "deep header": lambda signer, other: headed(signer, b'{"alg":"ES256","kid":' + DEEP + b"}"),
    "an extension nobody knows": lambda signer, other: headed(signer, {"alg": "ES256", "crit": ["x"], "x": 1}),
    "audiences of others": lambda signer, other: signer.token(aud=["https://other.example", "https://x.example"]),
    "no audience": lambda signer, other: signer.token(aud=[]),
    "audience is an object": lambda signer, other: signer.token(aud={"https://mcp.acme.example/mcp": True}),
    "part of an audience": lambda signer, other: signer.token(aud="https://mcp.acme.example/mcp/more"),
    "issuer is a list": lambda signer, other: headed(signer, GOOD, iss=["https://issuer.acme.example"]),
    "expires at a word": lambda signer, other: signer.token(exp="later"),
    "expires at infinity": lambda signer, other: signer.token(exp=float("inf")),
    "of a list": lambda signer, other: signer.token(sub=["nour"]),
    "expired": lambda signer, other: signer.token(exp=int(time.time()) - 60),
    "not yet": lambda signer, other: signer.token(nbf=int(time.time()) + 60),
    "another audience": lambda signer, other: signer.token(aud="https://other.example"),
    "another issuer": lambda signer, other: signer.token(iss="https://evil.example"),
    "never expires": lambda signer, other: signer.token("exp"),
    "for nobody": lambda signer, other: signer.token("aud"),
    "from nobody": lambda signer, other: signer.token("iss"),
    "of nobody": lambda signer, other: signer.token("sub"),
    "of the empty name": lambda signer, other: signer.token(sub=""),
    "of a number": lambda signer, other: signer.token(sub=7),
}


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("case", BAD)
async def test_a_bad_token_is_refused_and_leaves_no_trace(
    signers: Any, make_signer: Any, trust: Any, case: str, required: bool, caplog: pytest.LogCaptureFixture
) -> None:
    signer = signers["ES256"]
    token = BAD[case](signer, make_signer("ES256"))
    auth = {**trust, "jwks": {"keys": [signer.jwk(alg="ES256")]}, "required": required}
    with caplog.at_level(logging.DEBUG, "frontmcp"):
        async with raw(make(auth)) as post:
            answers = [await post(token, message) for message in (OPEN, PING)]
            answers += [await post(token, None, method) for method in ("GET", "DELETE")]
    for answer in answers:
        assert answer.status_code == 401
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith('Bearer error="invalid_token", error_description="The access token ')
        assert challenge.endswith(f'resource_metadata="{METADATA}"')
        assert ("expired" in challenge) == (case == "expired")
        if len(token) > 5:
            assert token not in answer.text + challenge
    assert len(token) < 6 or token not in caplog.text


REASONS: dict[str, str] = {
    "another audience": "its audience (aud) is not https://mcp.acme.example/mcp",
    "another issuer": "its issuer (iss) is not exactly https://issuer.acme.example, a slash at the end counts",
    "another key": "its signature is by none of the keys",
    "unknown kid": "none of the keys is of its key id (kid) and algorithm",
    "key confusion": "its algorithm is none of RS256, ES256, EdDSA (algorithms)",
    "kid is a number": "it is no signed JWT",
    "not yet": "it is not valid yet (nbf, iat)",
    "never expires": "it has no exp",
    "of a number": "its subject (sub) is no text",
    "too long": "it is longer than 16384 characters",
}


@pytest.mark.parametrize("environment", ["development", "production"])
@pytest.mark.parametrize("case", REASONS)
async def test_the_operator_learns_why_a_token_is_refused_and_in_development_the_client(
    signers: Any, make_signer: Any, trust: Any, case: str, environment: str, caplog: pytest.LogCaptureFixture
) -> None:
    signer = signers["ES256"]
    token = BAD[case](signer, make_signer("ES256"))
    auth = {**trust, "jwks": {"keys": [signer.jwk(alg="ES256")]}}
    with caplog.at_level(logging.INFO, "frontmcp"):
        async with raw(make(auth, environment=environment)) as post:
            answer = await post(token)
    whole = f"The access token is invalid: {REASONS[case]}"
    assert f"a token is refused: {whole}" in [record.getMessage() for record in caplog.records]
    said = whole if environment == "development" else "The access token is invalid"
    assert f'error_description="{said}"' in answer.headers["www-authenticate"]
    assert answer.json()["error"]["message"] == said
    assert not any(word in caplog.text + answer.text for word in ("evil", "other.example", "nour", "k9"))


async def test_a_reason_fits_into_a_header_whatever_the_issuer_is(signers: Any, trust: Any) -> None:
    signer = signers["ES256"]
    auth = {**trust, "issuer": 'Bücher "A"\\', "audience": "desk", "public_key": signer.pem}
    async with raw(make(auth, environment="development")) as post:
        answer = await post(signer.token(aud="desk"))
    assert answer.status_code == 401
    assert "is not exactly B?cher ?A??, a slash" in answer.headers["www-authenticate"]


async def test_only_algorithms_that_are_allowed_count_whatever_the_key_could(signers: Any, trust: Any) -> None:
    signer = signers["RS256"]
    bare = {"jwks": {"keys": [signer.jwk()]}}
    async with raw(make({**trust, **bare, "algorithms": ["RS256", "ES256"]})) as post:
        assert (await post(signer.token())).status_code == 200
        assert (await post(headed(signer, {"alg": "PS256"}))).status_code == 401
    async with raw(make({**trust, **bare, "algorithms": ["ES256"]})) as post:
        assert (await post(signer.token())).status_code == 401


@pytest.mark.parametrize(("named", "status"), [("RS256", 200), ("PS256", 401)])
async def test_a_key_is_for_the_algorithm_that_it_names(signers: Any, trust: Any, named: str, status: int) -> None:
    signer = signers["RS256"]
    key = {**signer.jwk(), "alg": named}
    async with raw(make({**trust, "jwks": {"keys": [key]}, "algorithms": ["RS256", "PS256"]})) as post:
        assert (await post(signer.token())).status_code == status


async def test_who_has_no_token_is_told_where_to_get_one(signers: Any, trust: Any) -> None:
    auth = {**trust, "public_key": signers["ES256"].pem, "scopes": ["tickets", "mail"]}
    async with raw(make(auth)) as post:
        for answer in (
            await post(None),
            await post(None, PING),
            await post(None, None, "GET"),
            await post(None, authorization="Basic bm91cjpzZWNyZXQ="),
        ):
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == (
                f'Bearer scope="tickets mail", resource_metadata="{METADATA}"'
            )
            assert answer.json()["error"]["message"] == "Authentication required"
        told = await post.http.get(post.url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource/mcp")
        assert told.status_code == 200
        assert told.json() == {
            "resource": "https://mcp.acme.example/mcp",
            "authorization_servers": ["https://issuer.acme.example"],
            "scopes_supported": ["tickets", "mail"],
            "bearer_methods_supported": ["header"],
            "resource_name": "desk",
        }
        assert (await post.http.get(post.url.removesuffix("/mcp") + "/healthz")).status_code == 200


async def test_the_metadata_have_urls_as_they_were_given(signers: Any) -> None:
    for given in ("https://mcp.acme.example", "https://mcp.acme.example/"):
        auth = {"issuer": given, "resource": given, "public_key": signers["ES256"].pem}
        async with raw(make(auth)) as post:
            told = await post.http.get(post.url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource")
            assert (told.json()["resource"], told.json()["authorization_servers"]) == (given, [given])


async def test_a_token_without_the_scopes_is_not_enough(signers: Any, trust: Any) -> None:
    signer = signers["ES256"]
    auth = {**trust, "public_key": signer.pem, "scopes": ["tickets", "mail"]}
    async with raw(make(auth)) as post:
        answer = await post(signer.token(scope="tickets"))
        assert answer.status_code == 403
        assert answer.headers["www-authenticate"] == (
            f'Bearer error="insufficient_scope", scope="tickets mail", resource_metadata="{METADATA}"'
        )
        assert (await post(signer.token(scope="mail tickets more"))).status_code == 200
        assert (await post(signer.token(scp=["mail", "tickets"]))).status_code == 200


async def test_a_refused_body_is_never_read() -> None:
    class Refusing:
        async def identify(self, http: Any) -> None:
            raise AuthenticationError("no", challenge="Bearer")

    async def never(*_: Any) -> Any:
        raise AssertionError("read")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await Admission(never, Refusing())({"type": "http", "method": "POST", "headers": []}, never, send)
    assert sent[0]["status"] == 401


async def test_without_a_resource_nobody_is_sent_anywhere(signers: Any, caplog: pytest.LogCaptureFixture) -> None:
    auth = {"issuer": "acme", "audience": "desk", "public_key": signers["ES256"].pem}
    async with raw(make(auth)) as post:
        answer = await post(None)
        assert answer.headers["www-authenticate"] == "Bearer"
    assert "set resource to the public URL" in caplog.text


async def test_a_session_belongs_to_its_token(signers: Any, trust: Any) -> None:
    signer = signers["ES256"]
    async with raw(make({**trust, "public_key": signer.pem})) as post:
        opened = await post(signer.token())
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        for token, status in ((signer.token(sub="mallory"), 404), (None, 401), (signer.token(jti="fresh"), 200)):
            assert (await post(token, PING, **session)).status_code == status


async def test_a_session_lends_its_rights_to_nobody(signers: Any, trust: Any) -> None:
    signer = signers["ES256"]
    admin = signer.token(roles=["admin"])
    purging = {**PING, "method": "tools/call", "params": {"name": "purge", "arguments": {}}}
    async with raw(make({**trust, "public_key": signer.pem, "required": False}), json_response=True) as post:
        for opener, others in ((admin, (None, signer.token(sub="dana"))), (None, (admin,))):
            opened = await post(opener)
            session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
            own = await post(opener, purging, **session)
            assert ("purged by nour" in own.text) == (opener is admin)
            for other in others:
                refused = await post(other, purging, **session)
                assert "purged" not in refused.text
                assert refused.status_code == 404 or "SESSION_OWNED" in refused.text


async def test_a_good_token_is_not_logged_either(signers: Any, trust: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = signers["ES256"].token()
    async with raw(make({**trust, "public_key": signers["ES256"].pem})) as post:
        for mode in ("auto", "legacy"):
            async with client(post.url, token, mode) as opened:
                await opened.call_tool("whoami")
                assert (await opened.call_tool("purge")).is_error
                assert (await opened.call_tool("nothing")).is_error
    ours = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore", "mcp.client"))]
    assert ours
    assert token not in "\n".join(f"{record.getMessage()} {record.__dict__}" for record in ours)


# Keys that change


async def test_a_new_key_is_found_by_its_id(
    make_signer: Any, trust: Any, key_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = make_signer("ES256", "old"), make_signer("ES256", "new")
    monkeypatch.setattr(keys_module, "MIN_REFRESH", 1e9)
    async with key_server(old) as keys, raw(make({**trust, "jwks_url": keys.url})) as post:
        assert (await post(old.token())).status_code == 200
        keys.signers = [new]
        assert (await post(new.token())).status_code == 401, "fetched a moment ago"
        assert keys.fetches == 1
        monkeypatch.setattr(keys_module, "MIN_REFRESH", 0.0)
        assert (await post(new.token())).status_code == 200
        assert (await post(old.token())).status_code == 401, "withdrawn"


async def test_keys_are_fetched_once_for_all_who_wait(
    make_signer: Any, key_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_module, "MIN_REFRESH", 1e9)
    async with key_server(make_signer()) as server:
        server.delay = 0.2
        keys = RemoteKeys(server.url)
        found: list[Any] = []

        async def find() -> None:
            found.extend(await keys.find("k1", "ES256"))

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(find)
        assert len(found) == 10
        for invented in range(20):
            assert await keys.find(f"invented-{invented}", "ES256") == []
        assert server.fetches == 1


@pytest.mark.parametrize("answer", [(500, None), (200, b"no json"), (200, b"[]"), (200, b"[" * 600_000), (302, b"")])
async def test_keys_that_can_not_be_fetched_let_nobody_in(
    signers: Any, trust: Any, key_server: Any, answer: tuple[int, bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_module, "MIN_REFRESH", 1e9)
    signer = signers["ES256"]
    async with key_server(signer) as keys, raw(make({**trust, "jwks_url": keys.url})) as post:
        keys.status, keys.body = answer
        for _ in range(3):
            refused = await post(signer.token())
            assert refused.status_code == 503
            assert "www-authenticate" not in refused.headers
        assert keys.fetches == 1


async def test_known_keys_hold_while_their_server_is_away_for_a_day(
    make_signer: Any, key_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(keys_module, "monotonic", lambda: clock[0])
    async with key_server(make_signer()) as server:
        keys = RemoteKeys(server.url)
        assert await keys.find("k1", "ES256")
        server.status = 500
        clock[0] += 3700
        assert await keys.find("k1", "ES256")
        assert server.fetches == 2
        clock[0] += 86400
        with pytest.raises(KeysUnavailableError):
            await keys.find("k1", "ES256")


class Fetches:
    """Fetches that hang until they are let go, or time out."""

    def __init__(self, signer: Any) -> None:
        self.signer = signer
        self.begun = 0
        self.hangs = True

    async def __call__(self, url: str) -> Any:
        self.begun += 1
        if self.hangs:
            await anyio.sleep_forever()
        return {"keys": [self.signer.jwk()]}

    async def until(self, begun: int) -> None:
        with anyio.fail_after(20):
            while self.begun != begun:
                await anyio.sleep(0.001)


@pytest.fixture
def fetches(make_signer: Any, monkeypatch: pytest.MonkeyPatch) -> Fetches:
    made = Fetches(make_signer())
    monkeypatch.setattr(keys_module, "_fetch", made)
    return made


async def test_a_fetch_that_is_cancelled_with_its_request_leaves_the_others_theirs(fetches: Fetches) -> None:
    keys = RemoteKeys("https://issuer.example")
    async with anyio.create_task_group() as group:
        leaves = anyio.CancelScope()

        async def leave() -> None:
            with leaves:
                await keys.find("k1", "ES256")

        group.start_soon(leave)
        await fetches.until(begun=1)
        fetches.hangs = False
        leaves.cancel()
        assert await keys.find("k1", "ES256")
    assert fetches.begun == 2


async def test_known_keys_do_not_wait_for_a_server_that_hangs(
    fetches: Fetches, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(keys_module, "monotonic", lambda: clock[0])
    keys = RemoteKeys("https://issuer.example")
    fetches.hangs = False
    assert await keys.find("k1", "ES256")
    fetches.hangs = True
    clock[0] += 3700
    async with anyio.create_task_group() as group:
        group.start_soon(keys.find, "k1", "ES256")
        await fetches.until(begun=2)
        with anyio.fail_after(20):
            assert await keys.find("k1", "ES256")
        group.cancel_scope.cancel()


async def test_all_who_wait_for_a_server_that_hangs_are_told_at_once(
    key_server: Any, make_signer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(keys_module, "monotonic", lambda: clock[0])
    monkeypatch.setattr(keys_module, "TIMEOUT", 0.3)

    async def drip(url: str) -> Any:
        nonlocal begun
        begun += 1
        clock[0] += keys_module.MIN_REFRESH
        return await fetch(url)

    begun, fetch = 0, keys_module._fetch
    monkeypatch.setattr(keys_module, "_fetch", drip)
    async with key_server(make_signer()) as server:
        server.drip = 0.05
        keys, failed = RemoteKeys(server.url), 0

        async def find() -> None:
            nonlocal failed
            with pytest.raises(KeysUnavailableError):
                await keys.find("k1", "ES256")
            failed += 1

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(find)
    assert (failed, begun) == (10, 1)


async def test_keys_that_are_not_for_signatures_are_passed_over(signers: Any, trust: Any, make_signer: Any) -> None:
    good, other = signers["ES256"], make_signer("ES256", "other")
    odd = [{"kty": "oct", "k": "c2VjcmV0", "kid": "k1"}, {"kty": "??"}, "x", other.jwk(use="enc"), good.jwk()]
    async with raw(make({**trust, "jwks": {"keys": odd}})) as post:
        assert (await post(good.token())).status_code == 200
        assert (await post(other.token())).status_code == 401


# Other ways to be somebody


class Verifier:
    def __init__(self, found: Any) -> None:
        self.found = found

    async def verify_token(self, token: str) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found if token == "good" else None


def access(**more: Any) -> AccessToken:
    return AccessToken(**{"token": "good", "client_id": "app", "scopes": ["a"], **more})


@pytest.mark.parametrize(
    ("found", "sub"),
    [
        (access(), "app"),
        (access(subject="nour", claims={"roles": ["admin"]}), "nour"),
        (access(resource="https://mcp.acme.example/mcp", expires_at=9_999_999_999), "app"),
        (Caller("nour", ("admin",)), "nour"),
        (access(expires_at=int(time.time()) - 60), None),
        (access(resource="https://other.example"), None),
    ],
)
@pytest.mark.parametrize("bare", [True, False])
async def test_a_verifier_of_ones_own(found: Any, sub: str | None, bare: bool) -> None:
    verifier = Verifier(found)
    auth: Any = verifier if bare and sub else {"verifier": verifier, "resource": "https://mcp.acme.example/mcp"}
    async with raw(make(auth)) as post:
        assert (await post("bad")).status_code == 401
        if sub is None:
            assert (await post("good")).status_code == 401
            return
        async with client(post.url, "good") as opened:
            assert (await opened.call_tool("whoami")).structured_content["sub"] == sub
            assert (await opened.call_tool("purge")).is_error == (sub == "app")


async def test_a_verifier_that_fails_lets_nobody_in() -> None:
    async with raw(make(Verifier(OSError("introspection is away")))) as post:
        answer = await post("good", {**PING, "method": "tools/call", "params": {"name": "whoami"}})
        assert "nour" not in answer.text
        assert "introspection" not in answer.text
        assert (await post("good", None, "GET")).status_code == 403


class ApiKeys(Plugin):
    name = "acme.keys"

    @hookimpl
    def authenticate(self, request: Any) -> Caller | None:
        return Caller("robot", ("admin",)) if request.headers.get("x-api-key") == "secret" else None


async def test_an_operators_plugin_is_asked_first(signers: Any, trust: Any) -> None:
    signer = signers["ES256"]
    async with raw(make({**trust, "public_key": signer.pem}, plugins=[ApiKeys])) as post:
        assert (await post(None, **{"x-api-key": "secret"})).status_code == 200
        assert (await post(None, **{"x-api-key": "wrong"})).status_code == 401
        assert (await post(signer.token())).status_code == 200


LOCAL = {"local": {"sub": "ops", "roles": ["admin"], "name": "Ops", "claims": {"plan": "pro"}}}


@pytest.mark.mcp(transport="memory")
async def test_in_memory_the_configuration_says_who_calls(mcp: Any) -> None:
    assert (await mcp.tools.call("whoami")).json()["sub"] == "ops"
    assert (await mcp.tools.call("cleanup")).text() == "purged by ops"


@pytest.mark.mcp(transport="stdio", era="2025-11-25")
async def test_over_stdio_too(mcp: Any) -> None:
    assert (await mcp.tools.call("cleanup")).text() == "purged by ops"


@pytest.fixture
def server() -> FrontMcp:
    return make(LOCAL)


async def test_the_local_caller_is_nobody_over_http() -> None:
    async with raw(make({**LOCAL, "required": False})) as post:
        async with client(post.url, None) as opened:
            assert (await opened.call_tool("whoami")).structured_content["anonymous"]
        assert (await post("anything")).status_code == 401
    async with raw(make(LOCAL)) as post:
        assert (await post(None)).status_code == 401


# The start


@pytest.mark.parametrize(
    ("auth", "named"),
    [
        ({}, "nothing verifies tokens: give jwks_url, jwks, public_key or verifier"),
        ({"issuer": "a", "audience": "b"}, "nothing verifies tokens"),
        ({"jwks_url": "https://a.example"}, "give issuer, and audience or resource"),
        ({"jwks_url": "https://a.example", "issuer": "a"}, "give issuer, and audience or resource"),
        ({"jwks_url": "http://a.example", "issuer": "a", "audience": "b"}, "jwks_url: it must be an https URL"),
        ({"jwks_url": "https://a", "jwks": {"keys": []}}, "give one of jwks_url, jwks, public_key and verifier"),
        ({"jwks": {"keys": []}, "issuer": "a", "audience": "b"}, "jwks has no key that verifies signatures"),
        ({"jwks": []}, "jwks: it is no JWKS: an object with a list of keys"),
        ({"public_key": "-----BEGIN"}, "public_key.0: public_key is no PEM public key"),
        ({"public_key": "public.pem"}, "public_key is no PEM public key; it takes the key itself: of a file, Path("),
        ({"jwks_url": "https://a", "algorithms": ["HS256"]}, "algorithms.0: Input should be 'RS256', "),
        ({"jwks_url": "https://a", "algorithms": ["none"]}, "algorithms.0: Input should be 'RS256', "),
        ({"jwks_url": "https://a", "algorithms": []}, "algorithms: "),
        ({"verifier": 7}, "verifier: it needs a method: async def verify_token(self, token)"),
        ({"jwks_uri": "https://a"}, "jwks_uri: there is no such key"),
        ({"local": {"roles": ["admin"]}}, "local.sub: Field required"),
        ({**LOCAL, "scopes": ['a"b']}, "scopes.0: a scope has no spaces, quotes or backslashes"),
        ({**LOCAL, "scopes": ["a\r\nset-cookie: x"]}, "scopes.0: a scope has no spaces"),
        ({**LOCAL, "scopes": ["a b"]}, "scopes.0: a scope has no spaces"),
        ({"leeway": 3600}, "leeway: Input should be less than or equal to 300"),
    ],
    ids=str,
)
def test_a_wrong_configuration_stops_the_start(auth: Any, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        make(auth).check()
    assert "option auth: " in str(refused.value)
    assert named in str(refused.value)


def test_without_the_plugin_auth_stops_the_start() -> None:
    with pytest.raises(ConfigurationError, match='no plugin claims the option "auth"'):
        FrontMcp("desk", auth=LOCAL, plugins=["no:authorities"]).check()


def test_a_server_without_it_does_not_wait_for_its_libraries() -> None:
    script = (
        "import sys; from frontmcp import FrontMcp; FrontMcp('desk', autoload_plugins=False).check(); "
        "print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "plugins_builtin.authorities.engine" not in ran.stdout
    assert "plugins_builtin.authorities.auth" not in ran.stdout
