"""What a child process writes, as the SDK's client reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

BROKEN_ANSWER: Final = re.compile(
    r'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,18})\s*,\s*"(?:result|error)"'
)
"""How an answer begins, where the rest of it is no JSON."""


class Reading:
    """A stream of messages that tells when it ends: nothing else notices that a child process has gone.

    A line that is meant as an answer, and can't be read, fails its request: the SDK's client leaves it waiting.
    """

    def __init__(self, stream: Any, closed: Callable[[], None]) -> None:
        self._stream = stream
        self._closed = closed

    async def __aenter__(self) -> Reading:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stream.aclose()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Reading:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await self._stream.__anext__()
        except StopAsyncIteration:
            self._closed()
            raise
        return (_unreadable(item) or item) if isinstance(item, ValidationError) else item


def _unreadable(error: ValidationError) -> SessionMessage | None:
    """The error for the request that a line was to answer; None where it answers none, such as stray output."""
    for message in _messages(error):
        number = message.get("id")
        if "method" not in message and type(number) in (int, str):
            wrong = types.ErrorData(code=types.PARSE_ERROR, message="The answer can't be read")
            return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=number, error=wrong))
    return None


def _messages(error: ValidationError) -> Iterator[Mapping[str, Any]]:
    """A line as far as it can be read."""
    for issue in error.errors(include_url=False):
        given = issue["input"]
        if isinstance(given, str) and not issue["loc"]:
            given = _leniently(given)
        if isinstance(given, Mapping):
            yield given


def _leniently(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        begins = BROKEN_ANSWER.match(line)
        return {"id": int(begins[1])} if begins else None
