"""The server option ``auth``: who calls, by bearer tokens over HTTP and by configuration elsewhere (docs/auth.md)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AfterValidator, AnyHttpUrl, BeforeValidator, ConfigDict, Field, TypeAdapter, model_validator
from starlette.routing import Route

from frontmcp import Caller
from frontmcp.interfaces import AuthenticationError, AuthenticationRequest, Challenge
from plugins_builtin.authorities.keys import (
    Key,
    Keys,
    KeysUnavailableError,
    RemoteKeys,
    StaticKeys,
    read_jwks,
    read_pem,
)
from plugins_builtin.authorities.policy import Model, Scope
from plugins_builtin.authorities.tokens import BadTokenError, JwtVerifier, caller_from_claims, caller_from_verifier

logger = logging.getLogger("frontmcp.authorities")

AS_GIVEN: Final = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))
"""Adds no slash: clients compare an issuer with what the issuer says of itself, letter by letter (RFC 8414, 3.3)."""

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

Algorithm: TypeAlias = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Asymmetric ones only: with a shared secret, whoever can check a token can make one."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError("it must be an https URL; http is for loopback only")
    return url


def _describable(text: str) -> str:
    """A text as an ``error_description`` may have it (RFC 6750, section 3)."""
    return re.sub(r"[^ !#-\[\]-~]", "?", text)


def _check_verifier(value: Any) -> Any:
    if value is not None and not callable(getattr(value, "verify_token", None)):
        raise ValueError("it needs a method: async def verify_token(self, token)")
    return value


Listed: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Url: TypeAlias = Annotated[str, AfterValidator(_check_url)]


class LocalCaller(Model):
    """Who calls over stdio, and between tasks of this process."""

    sub: str
    roles: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    claims: dict[str, Any] = Field(default_factory=dict)
    name: str | None = None
    email: str | None = None


class AuthOptions(Model):
    """The server option ``auth``.

    :ivar issuer: who issues the tokens: their ``iss``.
    :ivar audience: whom tokens must be for, any of these; ``resource`` by default.
    :ivar jwks_url: where the issuer's keys are; or the keys themselves as ``jwks`` or, in PEM, ``public_key``.
    :ivar algorithms: the signatures that count.
    :ivar verifier: verifies tokens in place of all that: ``async def verify_token(self, token)`` gives an
        ``AccessToken`` of the SDK or a `Caller`, or None.
    :ivar required: refuse requests without a token; a bad token is always refused.
    :ivar leeway: seconds that clocks may differ.
    :ivar resource: the public URL of the MCP endpoint; with it, clients are told where to get a token.
    :ivar authorization_servers: where; the issuer by default.
    :ivar scopes: what every token must have, all of it.
    :ivar local: who calls where there are no tokens: over stdio and in memory.
    """

    issuer: str | None = None
    audience: Listed | None = None
    jwks_url: Url | None = None
    jwks: Annotated[tuple[Key, ...], BeforeValidator(read_jwks)] | None = None
    public_key: Annotated[tuple[Annotated[Key, BeforeValidator(read_pem)], ...], BeforeValidator(_listed)] | None = None
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "ES256", "EdDSA")
    verifier: Annotated[Any, AfterValidator(_check_verifier)] = None
    required: bool = True
    leeway: Annotated[float, Field(ge=0, le=300)] = 30
    resource: Url | None = None
    authorization_servers: tuple[Url, ...] | None = None
    scopes: tuple[Scope, ...] = ()
    local: LocalCaller | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare_verifier(cls, value: Any) -> Any:
        return {"verifier": value} if hasattr(value, "verify_token") else value

    @model_validator(mode="after")
    def _is_whole(self) -> AuthOptions:
        ways = [self.jwks_url, self.jwks, self.public_key, self.verifier]
        given = sum(way is not None for way in ways)
        if given > 1:
            raise ValueError("give one of jwks_url, jwks, public_key and verifier")
        if not given and self.local is None:
            raise ValueError("nothing verifies tokens: give jwks_url, jwks, public_key or verifier")
        if given and self.verifier is None and (self.issuer is None or not self.audiences):
            raise ValueError("tokens are for somebody, from somebody: give issuer, and audience or resource")
        if self.jwks == ():
            raise ValueError("jwks has no key that verifies signatures")
        return self

    @property
    def audiences(self) -> tuple[str, ...]:
        """Whom tokens must be for."""
        own = () if self.resource is None else (self.resource,)
        return own if self.audience is None else self.audience

    @property
    def servers(self) -> tuple[str, ...]:
        """Where clients get tokens."""
        if self.authorization_servers is not None:
            return self.authorization_servers
        return (self.issuer,) if self.issuer is not None and urlsplit(self.issuer).scheme in ("http", "https") else ()

    @property
    def keys(self) -> Keys:
        """Where the keys are."""
        if self.jwks_url is not None:
            return RemoteKeys(self.jwks_url)
        return StaticKeys(self.jwks or self.public_key or ())


class Authenticator:
    """Tells who calls.

    :param mapping: the ``claims_mapping`` of the server's authorities.
    :param is_open: whether clients are told why a token is refused, as in development.
    """

    def __init__(
        self, options: AuthOptions, mapping: Mapping[str, str], is_open: Callable[[], bool] = lambda: False
    ) -> None:
        self._options = options
        self._mapping = mapping
        self._is_open = is_open
        self._local = Caller(**dict(options.local)) if options.local is not None else None
        self._jwts: JwtVerifier | None = None
        if options.verifier is None and options.issuer is not None:
            self._jwts = JwtVerifier(
                options.keys,
                algorithms=options.algorithms,
                issuer=options.issuer,
                audience=options.audiences,
                leeway=options.leeway,
            )

    async def caller(self, request: AuthenticationRequest) -> Caller | None:
        """Who sent a request; None for somebody who need not say.

        :raises AuthenticationError: a token is missing, bad, or not enough.
        """
        if request.transport != "http":
            return self._local
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            if self._options.required:
                raise AuthenticationError("Authentication required", challenge=self._challenge())
            return None
        caller = await self._verified(token.strip())
        if missing := set(self._options.scopes) - set(caller.scopes):
            raise self._insufficient(sorted(missing))
        return caller

    async def _verified(self, token: str) -> Caller:
        try:
            return await self._verify(token)
        except BadTokenError as error:
            logger.info("a token is refused: %s", error.whole)
            text = error.whole if self._is_open() else str(error)
            challenge = self._challenge(error="invalid_token", error_description=_describable(text))
            raise AuthenticationError(text, challenge=challenge) from None
        except KeysUnavailableError:
            text = "Tokens can't be verified at the moment"
            raise AuthenticationError(text, "AUTH_UNAVAILABLE", status=503, challenge="") from None

    async def _verify(self, token: str) -> Caller:
        options = self._options
        if options.verifier is not None:
            found = await options.verifier.verify_token(token)
            return caller_from_verifier(found, self._mapping, token, options.audiences, options.leeway)
        if self._jwts is None:
            raise BadTokenError("The access token is invalid", "auth has no keys and no verifier")
        return caller_from_claims(await self._jwts.claims(token), self._mapping, token)

    def step_up(self, caller: Caller, scopes: Sequence[str]) -> Challenge | None:
        """How a caller gets what a policy found missing; None where no token would have it.

        :param scopes: those that would help.
        """
        if set(scopes) <= set(caller.scopes) or not self._verifies:
            return None
        if caller.is_anonymous:
            return Challenge(401, self._challenge(scopes))
        return Challenge(403, self._challenge(scopes, error="insufficient_scope"))

    @property
    def _verifies(self) -> bool:
        return self._jwts is not None or self._options.verifier is not None

    def _insufficient(self, missing: Sequence[str]) -> AuthenticationError:
        challenge = self._challenge(error="insufficient_scope")
        text = f"The access token lacks the scope {' '.join(missing)}"
        return AuthenticationError(text, "INSUFFICIENT_SCOPE", status=403, challenge=challenge)

    def _challenge(self, scopes: Sequence[str] = (), **parts: str) -> str:
        """The ``WWW-Authenticate`` header: what was wrong, what is needed, and where it can be had.

        :param scopes: needed beside those that every token must have.
        """
        if needed := dict.fromkeys((*self._options.scopes, *scopes)):
            parts["scope"] = " ".join(needed)
        if (url := self._metadata_url) is not None:
            parts["resource_metadata"] = url
        said = ", ".join(f'{key}="{value}"' for key, value in parts.items())
        return f"Bearer {said}".rstrip()

    @property
    def _metadata_url(self) -> str | None:
        if self._options.resource is None or not self._options.servers:
            return None
        return str(build_resource_metadata_url(AnyHttpUrl(self._options.resource)))

    def routes(self, name: str) -> list[Route]:
        """The metadata by which clients find where to get a token (RFC 9728).

        :param name: what the server is called.
        """
        options = self._options
        if options.resource is None or not options.servers:
            logger.warning(
                "auth: clients are not told where to get a token; "
                "set resource to the public URL of the MCP endpoint, and issuer or authorization_servers to URLs"
            )
            return []
        return create_protected_resource_routes(
            AS_GIVEN.validate_python(options.resource),
            [AS_GIVEN.validate_python(url) for url in options.servers],
            scopes_supported=list(options.scopes) or None,
            resource_name=name,
        )
