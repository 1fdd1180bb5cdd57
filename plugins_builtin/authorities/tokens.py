"""Bearer tokens: verified, and turned into claims."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import jwt

from frontmcp import Caller
from plugins_builtin.authorities.identity import Identity, names_from
from plugins_builtin.authorities.keys import Keys

LONGEST: Final = 16 * 1024
REQUIRED: Final = ["exp", "iss", "aud", "sub"]


class BadTokenError(Exception):
    """A token that proves nothing; its text is for the client."""


class JwtVerifier:
    """Verifies JWTs: signature, issuer, audience, time.

    :param algorithms: the only ones that count, whatever a token says.
    :param audience: at least one of these must be among the token's.
    """

    def __init__(
        self, keys: Keys, *, algorithms: Sequence[str], issuer: str, audience: Sequence[str], leeway: float
    ) -> None:
        self._keys = keys
        self._algorithms = algorithms
        self._required: dict[str, Any] = {"issuer": issuer, "audience": list(audience), "leeway": leeway}

    async def claims(self, token: str) -> dict[str, Any]:
        """What a token says.

        :raises BadTokenError: it can't be trusted.
        :raises KeysUnavailableError: nobody can say now.
        """
        kid, algorithm = self._header(token)
        for key in await self._keys.find(kid, algorithm):
            try:
                return self._decode(token, key, algorithm)
            except (jwt.InvalidSignatureError, jwt.InvalidKeyError, TypeError, ValueError):
                continue
            except jwt.ExpiredSignatureError:
                raise BadTokenError("The access token has expired") from None
            except jwt.PyJWTError:
                break
        raise BadTokenError("The access token is invalid")

    def _header(self, token: str) -> tuple[str | None, str]:
        try:
            header = jwt.get_unverified_header(token) if len(token) <= LONGEST else {}
        except (jwt.PyJWTError, ValueError):
            header = {}
        kid, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms or not isinstance(kid, str | None):
            raise BadTokenError("The access token is invalid")
        return kid, algorithm

    def _decode(self, token: str, key: Any, algorithm: str) -> dict[str, Any]:
        # The key as it is, not as a JWK: the algorithm is the one that was allowed, never one that a key names.
        return jwt.decode(token, key, algorithms=[algorithm], options={"require": REQUIRED}, **self._required)


def caller_from_claims(claims: Mapping[str, Any], mapping: Mapping[str, str], token: str) -> Caller:
    """The caller whom a verified token's claims describe.

    :raises BadTokenError: they name nobody.
    """
    scopes = claims.get("scope", claims.get("scp"))
    caller = Caller(
        claims["sub"],
        names_from(claims.get("roles")),
        names_from(claims.get("permissions")),
        names_from(scopes),
        dict(claims),
        *(claims[key] if isinstance(claims.get(key), str) else None for key in ("name", "email")),
        token=token,
    )
    mapped = Identity(caller, mapping).caller
    if not mapped.sub:
        raise BadTokenError("The access token names nobody")
    return mapped


def caller_from_verifier(
    found: Any, mapping: Mapping[str, str], token: str, audience: Sequence[str], leeway: float
) -> Caller:
    """The caller whom a `TokenVerifier` found: an ``AccessToken`` of the SDK, or a `Caller`.

    :raises BadTokenError: nobody; or a token that is over, or for somebody else.
    """
    if isinstance(found, Caller):
        return found
    if found is None or (audience and found.resource is not None and found.resource not in audience):
        raise BadTokenError("The access token is invalid")
    if found.expires_at is not None and found.expires_at + leeway < time.time():
        raise BadTokenError("The access token has expired")
    claims = {**(found.claims or {}), "sub": found.subject or found.client_id, "scope": " ".join(found.scopes)}
    return caller_from_claims(claims, mapping, token)
