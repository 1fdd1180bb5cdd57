"""The hook that the guards bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frontmcp import hookspec

if TYPE_CHECKING:
    from frontmcp.interfaces import GuardStore


@hookspec(kind="first")
def guard_store(config: Any) -> GuardStore | None:
    """Where calls are counted and slots are held.

    :param config: ``throttle={"store": …}``, as it was given; None for the default in memory.
    :returns: the store; None when ``config`` is for somebody else.
    """
