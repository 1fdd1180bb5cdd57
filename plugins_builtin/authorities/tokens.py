"""Bearer tokens: verified, and turned into claims."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import jwt
from jwt.exceptions import InvalidSubjectError

from frontmcp import Caller
from plugins_builtin.authorities.identity import Identity, names_from
from plugins_builtin.authorities.keys import Keys

LONGEST: Final = 16 * 1024
REQUIRED: Final = ["exp", "iss", "aud", "sub"]


class BadTokenError(Exception):
    """A token that proves nothing; its text is for the client.

    :param reason: which check failed, for the operator: from the configuration, nothing of the token.
    """

    def __init__(self, text: str, reason: str | None = None) -> None:
        super().__init__(text)
        self.reason = reason

    @property
    def whole(self) -> str:
        """The text, with the reason where there is one."""
        return f"{self}: {self.reason}" if self.reason is not None else str(self)


def _invalid(reason: str) -> BadTokenError:
    return BadTokenError("The access token is invalid", reason)


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
        keys = await self._keys.find(kid, algorithm)
        for key in keys:
            try:
                return self._decode(token, key, algorithm)
            except (jwt.InvalidSignatureError, jwt.InvalidKeyError, TypeError, ValueError):
                continue
            except jwt.ExpiredSignatureError:
                raise BadTokenError("The access token has expired") from None
            except jwt.PyJWTError as error:
                raise _invalid(self._failed_check(error)) from None
        raise _invalid(
            "its signature is by none of the keys" if keys else "none of the keys is of its key id (kid) and algorithm"
        )

    def _header(self, token: str) -> tuple[str | None, str]:
        if len(token) > LONGEST:
            raise _invalid(f"it is longer than {LONGEST} characters")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError):
            raise _invalid("it is no signed JWT") from None
        kid, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise _invalid(f"its algorithm is none of {', '.join(self._algorithms)} (algorithms)")
        if not isinstance(kid, str | None):
            raise _invalid("its key id (kid) is no text")
        return kid, algorithm

    def _failed_check(self, error: jwt.PyJWTError) -> str:
        match error:
            case jwt.MissingRequiredClaimError():
                return f"it has no {error.claim}"
            case jwt.InvalidAudienceError():
                return f"its audience (aud) is not {' or '.join(self._required['audience'])}"
            case jwt.InvalidIssuerError():
                return f"its issuer (iss) is not exactly {self._required['issuer']}, a slash at the end counts"
            case jwt.ImmatureSignatureError():
                return "it is not valid yet (nbf, iat)"
            case InvalidSubjectError():
                return "its subject (sub) is no text"
        return "it is malformed"

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
    if found is None:
        raise _invalid("the verifier knows it not")
    if audience and found.resource is not None and found.resource not in audience:
        raise _invalid(f"its resource is not {' or '.join(audience)}")
    if found.expires_at is not None and found.expires_at + leeway < time.time():
        raise BadTokenError("The access token has expired")
    claims = {**(found.claims or {}), "sub": found.subject or found.client_id, "scope": " ".join(found.scopes)}
    return caller_from_claims(claims, mapping, token)
