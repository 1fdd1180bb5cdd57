"""What a client is told and asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, SupportsFloat, TypeVar

from mcp_types import CreateMessageResultWithTools, TextContent

from frontmcp.call.kinds import LEVELS, Asked, Level

T = TypeVar("T")

NUMBERS: Final = frozenset({int, float})


@dataclass(slots=True)
class ProgressUpdate:
    """One progress update on its way to the client; `on_progress` hooks may change it.

    :param progress: how far; grows with every update of a request.
    :param total: what ``progress`` ends at, when known.
    """

    progress: float
    total: float | None = None
    message: str | None = None

    def check(self) -> None:
        """Refuse what no client could be told.

        :raises TypeError: what is to be a number or a text is none.
        """
        _check_number("progress", self.progress)
        if self.total is not None:
            _check_number("total", self.total)
        if not isinstance(self.message, str | None):
            raise TypeError(f"progress: message must be text, not {type(self.message).__name__}")


def _check_number(name: str, value: Any) -> None:
    if type(value) not in NUMBERS and not isinstance(value, SupportsFloat):
        raise TypeError(f"progress: {name} must be a number, not {type(value).__name__}")


@dataclass(slots=True)
class Message:
    """One log message on its way to the client; `on_notify` hooks may change it.

    :param data: any JSON value.
    :param level: a syslog level, ``"info"`` by default.
    :param logger: who speaks: the entry's name.
    """

    data: Any
    level: Level = "info"
    logger: str | None = None

    def check(self) -> None:
        """Refuse what no client would understand.

        :raises ValueError: there is no such level.
        """
        if self.level not in LEVELS:
            raise ValueError(f"notify: there is no such level; use {', '.join(LEVELS)}")


class Question(NamedTuple):
    """What the client, or its user, is asked.

    :param method: of the protocol: ``elicitation/create``, ``sampling/createMessage`` or ``roots/list``.
    :param params: of the method, as JSON data.
    :param requires: the client capabilities that it takes, such as ``{"sampling": {}}``.
    :param key: names it among the questions of a round (2026-07-28); made up by default.
    """

    method: Asked
    params: Mapping[str, Any]
    requires: Mapping[str, Any]
    key: str | None = None


class Answer(NamedTuple):
    """What the client answered to a `Question`.

    :param data: the method's result, as JSON data that nobody has checked.
    """

    data: Mapping[str, Any]


# What reads it is made when a client's model is first asked: every other server would wait for it at its start.
class SamplingResult(CreateMessageResultWithTools, defer_build=True):
    """What the client's model said: ``role``, ``content``, ``model`` and ``stop_reason``."""

    @property
    def text(self) -> str:
        """The text in it; empty where there is none."""
        return "\n".join(block.text for block in self.content_as_list if isinstance(block, TextContent))


@dataclass(frozen=True, slots=True)
class Accepted(Generic[T]):
    """The user agreed; ``data`` is the validated form."""

    data: T


@dataclass(frozen=True, slots=True)
class Declined:
    """The user said no."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The user closed the question without an answer."""
