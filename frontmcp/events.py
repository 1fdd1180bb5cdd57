"""How deep events are nested: who handles one may emit others, and start what emits them later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

MOST_EVENTS: Final = 16
"""How many events may lead to one another."""

_depth: ContextVar[int] = ContextVar("frontmcp.events", default=0)


def event_depth() -> int:
    """How many events led to what runs now, one to the other; 0 where none did."""
    return _depth.get()


@contextmanager
def at_event_depth(depth: int) -> Iterator[None]:
    """What runs inside is that deep."""
    token = _depth.set(depth)
    try:
        yield
    finally:
        _depth.reset(token)
