"""Who shares a bucket: the part of a limit's key that a call decides.

A dimension that a call lacks falls to the next one that says who it is: session to user, user to ip where the caller
is anonymous, since an anonymous caller gets a new session by asking. A call without an address is counted with all of
its like, and that is said once.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import Final

from frontmcp import Call, InvalidInputError
from frontmcp.errors import InternalMcpError
from plugins_builtin.guards.addresses import bucket
from plugins_builtin.guards.options import PartitionBy

logger = logging.getLogger("frontmcp.guards")

UNKNOWN: Final = "unknown"
LONGEST: Final = 128
"""Longer values are hashed: callers choose some of them, and a store keeps them. A hash is longer than this, so that no
value is that of another."""


def partition(call: Call, by: PartitionBy) -> str:
    """The partition of a call.

    :raises InternalMcpError: a function gave something else than text or None.
    """
    if isinstance(by, str):
        return DIMENSIONS[by](call)
    return _custom(call, by)


def _custom(call: Call, function: Callable[[Call], str | None]) -> str:
    try:
        value = function(call)
    except InvalidInputError:
        # It reads the input, and this call's is invalid; it counts all the same.
        value = None
    if value is None:
        return _user(call)
    if not isinstance(value, str):
        raise InternalMcpError(f"partition_by gave {type(value).__name__} where it should give text or None")
    return f"custom:{_short(value)}"


def _global(call: Call) -> str:
    return "global"


def _session(call: Call) -> str:
    session_id = call.request.session_id
    if call.caller.is_anonymous or session_id is None:
        return _user(call)
    return f"session:{_short(session_id)}"


def _user(call: Call) -> str:
    return _ip(call) if call.caller.is_anonymous else f"user:{_short(call.caller.key)}"


def _ip(call: Call) -> str:
    address = bucket(call.request.client_ip)
    return UNKNOWN if address is None else f"ip:{address}"


def _short(value: str) -> str:
    if len(value) <= LONGEST:
        return value
    return f"sha512:{hashlib.sha512(value.encode('utf-8', 'backslashreplace')).hexdigest()}"


DIMENSIONS: Final[Mapping[str, Callable[[Call], str]]] = {
    "global": _global, "ip": _ip, "session": _session, "user": _user,
}  # fmt: skip
