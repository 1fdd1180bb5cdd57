"""`Caller`: who calls."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final


@dataclass(frozen=True, slots=True)
class User:
    """The person or service behind a caller."""

    sub: str
    name: str | None = None
    email: str | None = None


@final
@dataclass(frozen=True)
class Caller:
    """Who is calling: an explicit, immutable value on every call, never shared through a session.

    :param sub: the identity, unique for its issuer.
    :param roles: what `has_role` looks at; likewise ``permissions`` and ``scopes``.
    :param claims: everything else that is known, as the token had it.
    :param token: the bearer token; never shown in a repr, never logged.
    :param is_anonymous: nobody proved who they are.
    """

    sub: str
    roles: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    name: str | None = None
    email: str | None = None
    token: str | None = field(default=None, repr=False, kw_only=True)
    is_anonymous: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("roles", "permissions", "scopes"):
            if not isinstance(value := getattr(self, name), tuple):
                object.__setattr__(self, name, tuple(value))

    @classmethod
    def anonymous(cls) -> Caller:
        """A caller of whom nothing is known, told apart from any other by its ``anon:`` id."""
        # A version 4 UUID, written without the detour over an object of its own: one is made for every request.
        digits = os.urandom(16).hex()
        sub = f"anon:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
        return cls(sub, is_anonymous=True)

    @cached_property
    def user(self) -> User:
        """Who that is: ``sub``, ``name`` and ``email`` by themselves."""
        return User(self.sub, self.name, self.email)

    @property
    def issuer(self) -> str | None:
        """Who says so: the claim ``iss``; None when there is none."""
        issuer = self.claims.get("iss")
        return issuer if isinstance(issuer, str) else None

    @property
    def key(self) -> str:
        """The identity that state is bound to: issuer and sub; anonymous callers count as one."""
        if self.is_anonymous:
            return "anonymous"
        # What separates the two is quoted in the first, so that no two pairs are one key.
        issuer = (self.issuer or "").replace("%", "%25").replace("|", "%7C")
        return f"{issuer}|{self.sub}"

    def has_role(self, *names: str) -> bool:
        """Whether the caller has at least one of the roles."""
        return not set(names).isdisjoint(self.roles)

    def has_permission(self, *names: str) -> bool:
        """Whether the caller has at least one of the permissions."""
        return not set(names).isdisjoint(self.permissions)

    def has_scope(self, *names: str) -> bool:
        """Whether the caller has at least one of the scopes."""
        return not set(names).isdisjoint(self.scopes)
