"""Work that is done once in a client's call, however often its body runs."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import anyio
import pydantic_core

from frontmcp.call import Call


async def once(call: Call, key: str, function: Callable[[], Any]) -> Any:
    """The result of ``function``, which runs once in a client's call, however often its body runs.

    :raises TypeError: the result is no JSON, so that it could not be kept.
    """
    if call.request.asking is not None:
        return await call.request.asking.once(call, key, function)
    if call.done_once is None:
        call.done_once = Once()
    return await call.done_once.result(key, function)


class Once:
    """Runs a function once for each key, and remembers its result as JSON data: the same in every attempt.

    :ivar results: by key.
    """

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}
        self._running: dict[str, anyio.Lock] = {}

    async def result(self, key: str, function: Callable[[], Any]) -> Any:
        """The remembered result, else that of ``function``.

        :raises TypeError: it is no JSON.
        """
        async with self._running.setdefault(key, anyio.Lock()):
            if key not in self.results:
                self.results[key] = _as_json(await _run(function))
        return copy.deepcopy(self.results[key])


async def _run(function: Callable[[], Any]) -> Any:
    result = function()
    return await result if inspect.isawaitable(result) else result


def _as_json(result: Any) -> Any:
    try:
        return pydantic_core.to_jsonable_python(result)
    except (pydantic_core.PydanticSerializationError, ValueError) as error:
        raise TypeError(f"what once() runs must return JSON, which can be kept: {error}") from None
