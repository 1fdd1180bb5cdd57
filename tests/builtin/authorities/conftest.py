"""An issuer of tokens: keys of each kind, a key server on loopback, and a server that trusts it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import jwt
import pytest
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from frontmcp.transports.http import bind
from frontmcp.transports.options import HttpOptions

ISSUER = "https://issuer.acme.example"
RESOURCE = "https://mcp.acme.example/mcp"
MAKERS: dict[str, Callable[[], Any]] = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


class Signer:
    """One private key, and tokens signed with it."""

    def __init__(self, algorithm: str = "ES256", kid: str | None = "k1") -> None:
        self.algorithm, self.kid = algorithm, kid
        self.private = MAKERS[algorithm]()

    @property
    def pem(self) -> str:
        return self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def jwk(self, **more: Any) -> dict[str, Any]:
        algorithm = jwt.get_algorithm_by_name(self.algorithm)
        found: dict[str, Any] = algorithm.to_jwk(self.private.public_key(), as_dict=True)  # type: ignore[attr-defined]
        return {**found, **({"kid": self.kid} if self.kid else {}), **more}

    def token(self, *without: str, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A good token of nour's, but for ``claims``, and without some."""
        now = int(time.time())
        whole = {"iss": ISSUER, "aud": RESOURCE, "sub": "nour", "iat": now, "exp": now + 300, **claims}
        for name in without:
            del whole[name]
        headers = {**({"kid": self.kid} if self.kid else {}), **(header or {})}
        return jwt.encode(whole, self.private, self.algorithm, headers=headers)


class KeyServer:
    """Serves a JWKS that a test may change, and counts who asks."""

    def __init__(self, *signers: Signer) -> None:
        self.signers = list(signers)
        self.fetches = 0
        self.delay = 0.0
        self.status = 200
        self.body: bytes | None = None
        self.drip: float | None = None
        self.url = ""

    async def answer(self, request: Request) -> Response:
        self.fetches += 1
        await anyio.sleep(self.delay)
        if self.drip is not None:
            return StreamingResponse(self._drops(self.drip), self.status)
        if self.body is not None:
            return Response(self.body, self.status)
        return JSONResponse({"keys": [signer.jwk() for signer in self.signers]}, self.status)

    async def _drops(self, seconds: float) -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await anyio.sleep(seconds)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[KeyServer]:
        bound = bind(HttpOptions(port=0))
        app = Starlette(routes=[Route("/jwks", self.answer)])
        host = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        async with anyio.create_task_group() as group:
            group.start_soon(host._serve, [bound])
            while not host.started:
                await anyio.sleep(0.01)
            self.url = f"http://127.0.0.1:{bound.getsockname()[1]}/jwks"
            try:
                yield self
            finally:
                host.should_exit = True


@pytest.fixture
def make_signer() -> type[Signer]:
    return Signer


@pytest.fixture(scope="session")
def signers() -> dict[str, Signer]:
    """A signer of each algorithm, made once."""
    return {algorithm: Signer(algorithm) for algorithm in MAKERS}


@pytest.fixture
def key_server() -> Callable[..., AbstractAsyncContextManager[KeyServer]]:
    """``async with key_server(signer, …) as keys``."""
    return lambda *signers: KeyServer(*signers).serving()


@pytest.fixture
def trust() -> dict[str, Any]:
    """Options of ``auth`` but for the keys."""
    return {"issuer": ISSUER, "resource": RESOURCE}
