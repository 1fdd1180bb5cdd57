"""From a caller's claims to what policies look at."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from frontmcp import Caller
from plugins_builtin.authorities.values import lookup

OWN_KEYS = ("roles", "permissions", "scopes", "user_id", "sub", "name", "email")


class Identity:
    """Who is judged: a caller, seen through a ``claims_mapping``. What that maps comes from the claims alone."""

    def __init__(self, caller: Caller, mapping: Mapping[str, str]) -> None:
        self._given = caller
        self._mapping = mapping

    def names(self, kind: str) -> tuple[str, ...]:
        """The caller's ``roles``, ``permissions`` or ``scopes``."""
        path = self._mapping.get(kind, kind)
        found = lookup(self._given.claims, path) if kind in self._mapping else None
        if found is None and path == kind:
            held: tuple[str, ...] = getattr(self._given, kind)
            return held
        return names_from(found)

    @cached_property
    def caller(self) -> Caller:
        """The caller with what the claims give."""
        if not self._mapping:
            return self._given
        found = self._found
        changes: dict[str, Any] = {
            key: self.names(key) for key in ("roles", "permissions", "scopes") if key in self._mapping
        }
        changes.update((key, found[key]) for key in ("name", "email") if isinstance(found.get(key), str))
        if not {"user_id", "sub"}.isdisjoint(found):
            sub = found.get("user_id", found.get("sub"))
            changes["sub"] = sub if isinstance(sub, str) else ""
        return replace(self._given, **changes)

    @property
    def more(self) -> dict[str, Any]:
        """Further keys of the mapping, for ``user.<key>``."""
        return {key: value for key, value in self._found.items() if key not in OWN_KEYS}

    @cached_property
    def _found(self) -> dict[str, Any]:
        claims = claims_of(self._given)
        return {key: lookup(claims, path) for key, path in self._mapping.items()}


def names_from(value: Any) -> tuple[str, ...]:
    """A list of names: a list's strings, or the words of a text."""
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list | tuple) else ()


def claims_of(caller: Caller) -> dict[str, Any]:
    """The claims, and under them what is known of the caller without any."""
    own: dict[str, Any] = {"sub": caller.sub, "name": caller.name, "email": caller.email}
    own.update({key: list(getattr(caller, key)) for key in ("roles", "permissions", "scopes")})
    return {**{key: value for key, value in own.items() if value}, **caller.claims}


async def resolved(caller: Caller, resolver: Callable[[Caller], Any]) -> Identity:
    """The caller by a ``claims_resolver``, whose word replaces everything else."""
    said = resolver(caller)
    if inspect.isawaitable(said):
        said = await said
    if not isinstance(said, Mapping):
        raise TypeError("claims_resolver must return a mapping with roles, permissions and claims")
    roles, permissions = (names_from(said.get(key)) for key in ("roles", "permissions"))
    claims = dict(said.get("claims", {}))
    return Identity(replace(caller, roles=roles, permissions=permissions, claims=claims), {})
