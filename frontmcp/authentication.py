"""What an `authenticate` hook is given, and how it, and a policy, ask for more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from frontmcp.errors import PublicMcpError


class AuthenticationRequest(NamedTuple):
    """What an `authenticate` hook is given."""

    transport: str
    headers: Mapping[str, str]
    client_ip: str | None

    @property
    def token(self) -> str | None:
        """The bearer token, if the request has one."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" and token else None


class Challenge(NamedTuple):
    """How a client gets in: the attribute ``challenge`` of what `check_authorities` raises to refuse a client's call.

    Over HTTP the refusal is then one in HTTP, unless a part of the answer was sent already.

    :param status: of HTTP, 401 or 403.
    :param header: ``WWW-Authenticate``.
    """

    status: int
    header: str


class AuthenticationError(PublicMcpError):
    """Nobody is let in like this: over HTTP a real 401 or 403, before the request's body is read.

    :param status: the HTTP status.
    :param challenge: the ``WWW-Authenticate`` header, which says how to get in.
    """

    code = "UNAUTHENTICATED"

    def __init__(self, message: str, code: str | None = None, *, status: int = 401, challenge: str = "Bearer") -> None:
        super().__init__(message, code)
        self.status = status
        self.challenge = challenge
