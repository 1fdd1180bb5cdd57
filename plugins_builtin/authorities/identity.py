"""From a caller's claims to what policies look at."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from frontmcp import Caller
from plugins_builtin.authorities.values import lookup

OWN_KEYS = ("roles", "permissions", "scopes", "user_id", "sub", "name", "email")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is judged.

    :ivar caller: with the roles and permissions that the claims give.
    :ivar more: further keys of ``claims_mapping``, for ``user.<key>``.
    """

    caller: Caller
    more: Mapping[str, Any] = field(default_factory=dict)


def names_from(value: Any) -> tuple[str, ...]:
    """A list of names: a list's strings, or the words of a text."""
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list | tuple) else ()


def mapped(caller: Caller, mapping: Mapping[str, str]) -> Identity:
    """The caller by a ``claims_mapping``: what it maps comes from the claims alone."""
    claims = claims_of(caller)
    found = {key: lookup(claims, path) for key, path in mapping.items()}
    changes: dict[str, Any] = {
        key: names_from(found[key]) for key in ("roles", "permissions", "scopes") if key in found
    }
    for key in ("user_id", "sub"):
        if key in found:
            changes["sub"] = found[key] if isinstance(found[key], str) else ""
    changes.update((key, found[key]) for key in ("name", "email") if isinstance(found.get(key), str))
    more = {key: value for key, value in found.items() if key not in OWN_KEYS}
    return Identity(replace(caller, **changes) if changes else caller, more)


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
    return Identity(
        replace(
            caller,
            roles=names_from(said.get("roles", ())),
            permissions=names_from(said.get("permissions", ())),
            claims=dict(said.get("claims", {})),
        )
    )
