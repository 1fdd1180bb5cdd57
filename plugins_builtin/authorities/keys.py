"""The keys that tokens are signed with: given once, or fetched and fetched anew as they change."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Protocol

import anyio
import httpx2
import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_public_key

logger = logging.getLogger("frontmcp.authorities")

MIN_REFRESH: Final = 10.0
"""Seconds between two fetches: a token with an invented key id must not cause one each."""
FRESH: Final = 3600.0
"""Seconds after which keys are fetched anew, so that a withdrawn one stops counting."""
STALE: Final = 86400.0
"""Seconds after which keys that can't be fetched anew count no longer."""
TIMEOUT: Final = 10.0
LARGEST: Final = 512 * 1024


@dataclass(frozen=True, slots=True)
class Key:
    """A public key, and what it says of itself."""

    key: Any
    kid: str | None = None
    algorithm: str | None = None


class Keys(Protocol):
    """Where a verifier finds keys."""

    async def find(self, kid: str | None, algorithm: str) -> Sequence[Any]:
        """The keys that a token may be signed with.

        :raises KeysUnavailableError: they can't be had now.
        """
        ...


class KeysUnavailableError(Exception):
    """The keys can't be fetched."""


def read_jwks(jwks: Any) -> list[Key]:
    """The keys of a JWKS that can verify a signature; others are passed over.

    :raises ValueError: it is none.
    """
    listed = jwks.get("keys") if isinstance(jwks, Mapping) else None
    if not isinstance(listed, list):
        raise ValueError("it is no JWKS: an object with a list of keys")
    return [key for key in map(_read_jwk, listed) if key is not None]


def _read_jwk(data: Any) -> Key | None:
    if not isinstance(data, Mapping) or data.get("use") == "enc" or data.get("kty") == "oct" or "d" in data:
        return None
    try:
        return Key(jwt.PyJWK(dict(data)).key, data.get("kid"), data.get("alg"))
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None


def read_pem(pem: str) -> Key:
    """A public key as PEM.

    :raises ValueError: it is none.
    """
    if "-----BEGIN" not in pem:
        raise ValueError("public_key is no PEM public key; it takes the key itself: of a file, Path(…).read_text()")
    try:
        return Key(load_pem_public_key(pem.encode()))
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("public_key is no PEM public key") from None


def matching(keys: Iterable[Key], kid: str | None, algorithm: str) -> list[Any]:
    """The keys that may have signed a token."""
    return [
        key.key
        for key in keys
        if key.algorithm in (None, algorithm) and (kid is None or key.kid is None or key.kid == kid)
    ]


class StaticKeys:
    """Keys that never change."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = keys

    async def find(self, kid: str | None, algorithm: str) -> Sequence[Any]:
        return matching(self._keys, kid, algorithm)


class RemoteKeys:
    """The keys behind a URL: fetched at their first use, when old, and when a token names one that is unknown."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._keys: list[Key] = []
        self._fetched: float | None = None
        self._tried: float | None = None
        self._lock = anyio.Lock()

    async def find(self, kid: str | None, algorithm: str) -> Sequence[Any]:
        # Who finds a fetch under way does not wait for it, as long as the keys there are may count.
        if not self._younger_than(FRESH) and not (self._lock.locked() and self._younger_than(STALE)):
            await self._refresh()
        if not self._younger_than(STALE):
            raise KeysUnavailableError
        found = matching(self._keys, kid, algorithm)
        if not found:
            await self._refresh()
            found = matching(self._keys, kid, algorithm)
        return found

    def _younger_than(self, seconds: float) -> bool:
        return self._fetched is not None and monotonic() - self._fetched < seconds

    async def _refresh(self) -> None:
        """Fetch the keys, once for all that ask meanwhile, and not again right after."""
        async with self._lock:
            if self._tried is not None and monotonic() - self._tried < MIN_REFRESH:
                return
            try:
                self._keys = read_jwks(await _fetch(self._url))
                self._fetched = monotonic()
            except (httpx2.HTTPError, ValueError, OSError, RecursionError) as error:
                logger.warning("the keys at %s can't be fetched: %s", self._url, type(error).__name__)
            # From its end, however it went, as all who waited would else fetch one after another; a fetch that was
            # cancelled with its request is none.
            self._tried = monotonic()


async def _fetch(url: str) -> Any:
    body = b""
    with anyio.fail_after(TIMEOUT):
        async with httpx2.AsyncClient(timeout=TIMEOUT) as client, client.stream("GET", url) as response:
            if response.status_code != 200:
                raise ValueError("its status is not 200")
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > LARGEST:
                    raise ValueError("it is too large")
    return json.loads(body)
