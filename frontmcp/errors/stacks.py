"""Tracebacks as people read them: with their own frames, and without the road that led there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from traceback import FrameSummary, StackSummary, TracebackException
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]

OURS: Final = (PACKAGE, PACKAGE.with_name("plugins_builtin"))

CARRIERS: Final = frozenset({"anyio", "asyncio", "concurrent", "outcome", "trio"})
"""Packages that carry a call from our code to the user's."""


def user_stack(error: BaseException) -> str:
    """The traceback of an error and of what led to it, without our frames and those of what carries calls for us.

    An error that never left our own code keeps all of its frames.
    """
    told = TracebackException.from_exception(error)
    for each in _walk(told):
        kept = list(_users(each.stack))
        if kept or each.__cause__ is not None:
            # None leaves out the heading as well.
            each.stack = StackSummary.from_list(kept) if kept else None  # type: ignore[assignment]
    return "".join(told.format())


def _walk(told: TracebackException) -> Iterator[TracebackException]:
    yield told
    for linked in (told.__cause__, told.__context__, *(told.exceptions or ())):
        if linked is not None:
            yield from _walk(linked)


def _users(frames: StackSummary) -> Iterator[FrameSummary]:
    on_the_road = False
    for frame in frames:
        on_the_road = is_ours(frame.filename) or (on_the_road and not CARRIERS.isdisjoint(Path(frame.filename).parts))
        if not on_the_road:
            yield frame


def is_ours(filename: str | Path) -> bool:
    """Whether a file is of the core or of a built-in plugin."""
    return any(Path(filename).is_relative_to(package) for package in OURS)


def tell_users_stack(record: logging.LogRecord) -> bool:
    """A filter for loggers: whatever formats the record shows `user_stack` as its traceback."""
    if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
        record.exc_text = user_stack(record.exc_info[1]).rstrip("\n")
    return True
