"""The error of a caller who may not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types import INVALID_REQUEST

from frontmcp import PublicMcpError

if TYPE_CHECKING:
    from frontmcp.interfaces import Challenge


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a policy refused.

    :ivar kind: the field of the policy: ``"roles"``, ``"attributes"``, …
    :ivar path: where in it, like ``"roles.any"``.
    :ivar text: for people; what the caller sent as input never stands in it, nor in the values.
    :ivar missing: names the caller should have, all of them or, for ``any``, one.
    :ivar expected: the value that was expected.
    :ivar actual: the value that was found.
    :ivar profiles: the profiles it came through, outermost first.
    """

    kind: str
    path: str
    text: str
    missing: tuple[str, ...] = ()
    expected: Any = None
    actual: Any = None
    profiles: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The denial for programs, without what it does not have."""
        data: dict[str, Any] = {"kind": self.kind, "path": self.path}
        names = {"missing": list(self.missing), "profiles": list(self.profiles)}
        data.update((key, value) for key, value in names.items() if value)
        values = {"expected": self.expected, "actual": self.actual}
        data.update((key, value) for key, value in values.items() if value is not None)
        return data


class AuthorityDeniedError(PublicMcpError):
    """The caller may not call this entry.

    :param what: the entry, as in ``Tool "desk:purge_closed"``.
    :param denial: why.
    :param required_scopes: the scopes that could have helped, from ``scope_mapping``.
    :ivar challenge: how a client over HTTP gets a token with them.
    """

    code = "AUTHORITY_DENIED"
    rpc_code = INVALID_REQUEST
    challenge: Challenge | None = None

    def __init__(self, what: str, denial: Denial, required_scopes: Sequence[str] = ()) -> None:
        data: dict[str, Any] = {"denial": denial.to_json()}
        if required_scopes:
            data["requiredScopes"] = list(required_scopes)
        super().__init__(f"Access denied to {what}: {denial.text}", data=data)
        self.denial = denial
        self.required_scopes = tuple(required_scopes)
