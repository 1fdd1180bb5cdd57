"""What a context's `elicit` and `once` lead to, in every protocol version."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import anyio
import pydantic_core
from mcp.server.elicitation import render_elicitation_schema
from pydantic import BaseModel, ValidationError

from frontmcp.call import Accepted, Answer, Call, Cancelled, Declined, Question, T
from frontmcp.errors import ElicitationInvalidError, ElicitationNotSupportedError, sendable


async def elicit(call: Call, message: str, model: type[T]) -> Accepted[T] | Declined | Cancelled:
    """Ask the client's user in the way of the protocol version.

    :raises ElicitationNotSupportedError: nobody can be asked; nothing was suspended.
    :raises ElicitationInvalidError: the answer does not fit the form.
    :raises TypeError: the model is no flat form.
    """
    question = Question(sendable(message), _form(model))
    request = call.request
    if request.asking is not None:
        return _read(await request.asking.ask(call, question), model)
    if request.peer is None or not request.peer.can_ask:
        raise ElicitationNotSupportedError
    return _read(await request.peer.ask(question), model)


def _form(model: Any) -> dict[str, Any]:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"elicit takes a pydantic model as its form, not {model!r}")
    return render_elicitation_schema(model)


def _read(answer: Answer, model: type[T]) -> Accepted[T] | Declined | Cancelled:
    if answer.action == "decline":
        return Declined()
    if answer.action != "accept":
        return Cancelled()
    form: Any = model
    try:
        return Accepted(form.model_validate(answer.content if answer.content is not None else {}))
    except ValidationError as error:
        declared = form.model_fields
        paths = sorted({str(each["loc"][0]) for each in error.errors() if each["loc"] and each["loc"][0] in declared})
        where = f" at {', '.join(paths)}" if paths else ""
    raise ElicitationInvalidError(f"The answer does not fit the form{where}")


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
