"""What there is to be called, from where, and what clients are told and asked: the words that all else uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeAlias, get_args

Kind: TypeAlias = Literal["tool", "resource", "resource_template", "prompt", "agent", "job", "workflow", "channel"]
Origin: TypeAlias = Literal["client", "tool", "resource", "prompt", "agent", "job", "channel"]
Sought: TypeAlias = Literal["tool", "resource", "prompt", "job", "workflow", "channel"]
Surface: TypeAlias = Literal["mcp", "agent", "job", "http-trigger", "cli"]
Asked: TypeAlias = Literal["elicitation/create", "sampling/createMessage", "roots/list"]
Level: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
CallNext: TypeAlias = Callable[[], Awaitable[Any]]
"""The rest of a stage, as a wrapper hook sees it: ``await call_next()``."""

LEVELS: Final[tuple[str, ...]] = get_args(Level)
"""The levels of messages, the least first."""

EVERYTHING: Final = "everything"
"""The change of which nobody knows what it was: every list, and every resource that clients subscribed to."""
