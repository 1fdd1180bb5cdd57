"""One call of ours at another server: its rounds of questions, its progress, its log messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from pydantic import TypeAdapter, ValidationError

from frontmcp.asking import ask
from frontmcp.call import Call, Message, ProgressUpdate
from frontmcp.errors import ClientAnswerError, FrontMcpError
from frontmcp.upstream.errors import UpstreamError
from frontmcp.upstream.questions import question_of, read_answer

if TYPE_CHECKING:
    from frontmcp.upstream.connection import Connection

MOST_ROUNDS: Final = 10
"""How often a server may ask something before it answers."""

STATE_SECONDS: Final = 0.1
"""How long a server is left alone that asked nothing, but to be asked again."""

MOST_QUESTIONS: Final = 16
"""How many questions of one call of an older server may wait."""

Answers: TypeAlias = dict[str, Any]
Make: TypeAlias = Callable[[Answers | None, str | None], types.Request[Any, Any]]
"""A request, with the answers and the state of the round before."""


@dataclass(slots=True)
class _Asked:
    """A question of an older server, on its way to the task of the call."""

    request: Any
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: Any = None


class Exchange:
    """What one call asks of another server.

    :param app_id: names the server in errors.
    :param make: the request of each round.
    :param adapter: reads its answer.
    :param timeout: seconds for each request.
    """

    def __init__(self, call: Call, app_id: str, make: Make, adapter: TypeAdapter[Any], timeout: float | None) -> None:
        self._call = call
        self._app_id = app_id
        self._make = make
        self._adapter = adapter
        self._timeout = timeout
        self._questions: MemoryObjectSendStream[_Asked] | None = None

    async def run(self, connection: Connection) -> Any:
        """The server's answer.

        :raises MCPError: it is an error, or did not come.
        :raises FrontMcpError: the server asks what nobody here can answer.
        """
        await connection.settle()
        with connection.exchanging(self):
            return await (self._rounds(connection) if connection.is_modern else self._answering(connection))

    # From 2026-07-28 on

    async def _rounds(self, connection: Connection) -> Any:
        """Ask again with the client's answers, until there is a result."""
        answers: Answers | None = None
        state: str | None = None
        for number in range(MOST_ROUNDS + 1):
            answer = await self._round(connection, number, answers, state)
            if not isinstance(answer, types.InputRequiredResult):
                return answer
            state, answers = answer.request_state, None
            if answer.input_requests:
                answers = await self._answers(answer.input_requests)
            else:
                await anyio.sleep(STATE_SECONDS)
        raise UpstreamError(self._app_id, f"asked more than {MOST_ROUNDS} times")

    async def _round(self, connection: Connection, number: int, answers: Answers | None, state: str | None) -> Any:
        """One request; where our own client may be asked, and this body run again, it is made once."""

        async def send() -> Any:
            return await connection.send(self._make(answers, state), self._adapter, self, self._timeout)

        async def kept() -> Any:
            return (await send()).model_dump(mode="json", by_alias=True)

        if self._call.request.asking is None:
            return await send()
        data = await self._call.runner.once(self._call, f"frontmcp.upstream {number}", kept)
        return self._adapter.validate_python(data, by_name=False)

    async def _answers(self, requests: Mapping[str, Any]) -> Answers:
        answers: Answers = {}

        async def answer(key: str, request: Any) -> None:
            answers[key] = await self._answer(request)

        async with anyio.create_task_group() as group:
            for key, request in requests.items():
                group.start_soon(answer, key, request)
        return answers

    async def _answer(self, request: Any) -> Any:
        question = question_of(request, modern=self._call.request.asking is not None)
        answer = await ask(self._call, question)
        try:
            return read_answer(request, answer)
        except ValidationError:
            raise ClientAnswerError(f"The client's answer to {request.method} is none") from None

    # Up to 2025-11-25

    async def _answering(self, connection: Connection) -> Any:
        """Make the one request, and answer what the server asks meanwhile: in our own task, which may be left."""
        outcome: list[Callable[[], Any]] = []
        self._questions, to_answer = anyio.create_memory_object_stream[_Asked](MOST_QUESTIONS)

        async def request(ended: MemoryObjectSendStream[_Asked]) -> None:
            with ended:
                sent = connection.send(self._make(None, None), self._adapter, self, self._timeout)
                outcome.append(await _outcome(sent))

        with self._questions, to_answer:
            async with anyio.create_task_group() as group:
                group.start_soon(request, self._questions)
                async for asked in to_answer:
                    group.start_soon(self._reply, asked)
        return outcome[0]()

    async def _reply(self, asked: _Asked) -> None:
        try:
            asked.answer = await self._answer(asked.request)
        except FrontMcpError as error:
            message = str(error) if error.public else "The question could not be asked"
            asked.answer = types.ErrorData(code=types.INVALID_REQUEST, message=message)
        asked.answered.set()

    async def asked(self, request: Any) -> Any:
        """What an older server asks over the connection; waits until our own task has the answer."""
        asked = _Asked(request)
        try:
            assert self._questions is not None
            self._questions.send_nowait(asked)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.WouldBlock):
            return types.ErrorData(code=types.INVALID_REQUEST, message="Nobody can be asked")
        await asked.answered.wait()
        return asked.answer

    # What it says on the way

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Progress of the server is progress of the call."""
        await self._call.runner.progress(self._call, ProgressUpdate(progress, total, message))

    async def notify(self, params: types.LoggingMessageNotificationParams) -> None:
        """A log message of the server is one of the call."""
        await self._call.runner.notify(self._call, Message(params.data, params.level, params.logger))


async def _outcome(running: Awaitable[Any]) -> Callable[[], Any]:
    """What gives the result, or raises the error, in another task."""
    try:
        result = await running
    except Exception as error:
        return partial(_raise, error)
    return lambda: result


def _raise(error: Exception) -> Any:
    raise error
