"""Questions to the client's user, and how a call is left and resumed for one (architecture §7).

Up to 2025-11-25 a question is a request on the call's own stream and the tool waits. From 2026-07-28 on the call is
suspended: the client gets the questions together with a sealed state, and its retry runs the outermost tool again.
What finished inside the call is kept in the state, so that it is not done twice.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import anyio
import anyio.lowlevel
import pydantic_core
from mcp.server.elicitation import render_elicitation_schema
from mcp_types import CallToolResult
from pydantic import BaseModel, ValidationError

from frontmcp import errors
from frontmcp.call import Accepted, Answer, Call, Cancelled, Caller, Declined, Question, T
from frontmcp.errors import (
    ElicitationInvalidError,
    ElicitationNotSupportedError,
    ElicitationStateTooLargeError,
    FlowControl,
    FrontMcpError,
    PublicMcpError,
    describe,
)
from frontmcp.interfaces import StateStore

logger = logging.getLogger("frontmcp.asking")

STATE_SECONDS: Final = 600.0
"""How long a state can be answered."""

INLINE_BYTES: Final = 32 * 1024
"""A kept record larger than this lives in the state store instead of the state."""


async def elicit(call: Call, message: str, model: type[T]) -> Accepted[T] | Declined | Cancelled:
    """Ask the client's user in the way of the protocol version.

    :raises ElicitationNotSupportedError: nobody can be asked; nothing was suspended.
    :raises ElicitationInvalidError: the answer does not fit the form.
    :raises TypeError: the model is no flat form.
    """
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"elicit takes a pydantic model as its form, not {model!r}")
    answer = await _ask(call, Question(message, render_elicitation_schema(model)))
    if answer.action == "decline":
        return Declined()
    if answer.action != "accept":
        return Cancelled()
    try:
        return Accepted(model.model_validate(answer.content or {}))
    except ValidationError as error:
        declared = model.model_fields
        paths = sorted({str(each["loc"][0]) for each in error.errors() if each["loc"] and each["loc"][0] in declared})
        where = f" at {', '.join(paths)}" if paths else ""
    raise ElicitationInvalidError(f"The answer does not fit the form{where}")


async def _ask(call: Call, question: Question) -> Answer:
    request = call.request
    if request.asking is not None:
        return await request.asking.ask(call, question)
    if request.peer is None or not request.peer.can_ask:
        raise ElicitationNotSupportedError
    return await request.peer.ask(question)


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(slots=True)
class Record:
    """An inner call that finished: what it was, and how it ended.

    :ivar caller: identifies the unfinished call it was made by.
    :ivar tool: its canonical id.
    :ivar arguments: the digest of its validated arguments.
    :ivar outcome: JSON: a result, or an error; or where the state store has it.
    """

    caller: str
    tool: str
    arguments: str
    outcome: dict[str, Any]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.caller, self.tool, self.arguments


@dataclass(slots=True)
class State:
    """What a suspended request carries to its retry, sealed by the wire.

    :ivar id: spent once.
    :ivar caller: whom it belongs to, `Caller.key`.
    :ivar attempt: how often the request was suspended before.
    :ivar answers: answers so far, by question key.
    :ivar asked: the question keys of this round.
    :ivar records: inner calls that finished.
    :ivar once: results of `once`, by key.
    """

    caller: str
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    attempt: int = 0
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    once: dict[str, Any] = field(default_factory=dict)

    def dump(self) -> str:
        return pydantic_core.to_json(self).decode()

    @classmethod
    def load(cls, text: str) -> State:
        """The state in a text that was `dump`ed and unsealed."""
        data = json.loads(text)
        records = [Record(**record) for record in data.pop("records")]
        return cls(**data, records=records)

    def belongs_to(self, caller: Caller) -> bool:
        return secrets.compare_digest(self.caller, caller.key)


@dataclass(frozen=True, slots=True)
class Suspended:
    """The request waits for its user.

    :ivar questions: what to ask, by key.
    :ivar state: comes back, sealed, with the answers.
    """

    questions: dict[str, Question]
    state: State


class _Runner(Protocol):
    def find(self, call: Call) -> Any: ...
    def run(self, call: Call) -> Coroutine[Any, Any, Any]: ...


class Suspension:
    """One attempt at a request that may be suspended; the `Asking` of its calls.

    :param store: keeps records too large for the state.
    :param state: what an earlier attempt left; None for the first.
    :param responses: the answers that came with the retry, by question key.
    """

    def __init__(
        self, store: StateStore, caller: Caller, state: State | None = None, responses: Mapping[str, Answer] | None = None
    ) -> None:
        self._store = store
        self._caller = caller
        self.attempt = 0 if state is None else state.attempt + 1
        self._answers: dict[str, Any] = {} if state is None else dict(state.answers)
        self._once: dict[str, Any] = {} if state is None else dict(state.once)
        self._kept: dict[tuple[str, str, str], list[Record]] = {}
        for record in () if state is None else state.records:
            self._kept.setdefault(record.key, []).append(record)
        for key in () if state is None else state.asked:
            if responses is not None and key in responses:
                answer = responses[key]
                self._answers[key] = {"action": answer.action, "content": answer.content}
        self._pending: dict[str, Question] = {}
        self._counts: dict[str, int] = {}
        self._open: dict[int, list[Record]] = {}
        self._scope = anyio.CancelScope()

    async def run(self, start: Callable[[], Awaitable[CallToolResult]]) -> CallToolResult | Suspended:
        """Run the outermost call.

        :returns: its result, or what it waits for.
        :raises ElicitationStateTooLargeError: what an inner call returned can't be kept; nothing is asked.
        """
        failure: Exception | None = None
        result: CallToolResult | None = None
        # Suspending cancels, so that it unwinds gathers and task groups and no body can swallow it.
        with self._scope:
            try:
                result = await start()
            except Exception as error:
                failure = error
        if self._pending:
            return Suspended(self._pending, await self._state())
        self._warn_of_unclaimed()
        if failure is not None:
            raise failure
        assert result is not None
        return result

    async def ask(self, call: Call, question: Question) -> Answer:
        """The user's answer, or no return: the request is suspended."""
        digest = _digest(self._key(call), question.message, question.form)
        count = self._counts[digest] = self._counts.get(digest, 0) + 1
        key = f"{digest}-{count}"
        if key in self._answers:
            return Answer(**self._answers[key])
        first = not self._pending
        self._pending[key] = question
        if first:
            # Siblings get the chance to reach their own question: all travel in one round.
            await anyio.lowlevel.checkpoint()
            self._scope.cancel("the client's user is asked")
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async def inner(self, call: Call, runner: _Runner) -> Any:
        """Run an inner call, unless it finished in an earlier attempt: then serve how it ended."""
        try:
            runner.find(call)
        except FrontMcpError:
            return await runner.run(call)
        key = (self._key(call.parent), call.entry.id, self._arguments(call))
        kept = self._kept.get(key)
        if kept:
            record = kept.pop(0)
            outcome = await self._outcome(record)
            call.kept = True
            await runner.run(call)
            self._finished(call, record)
            return _restored(outcome)
        self._open[id(call)] = []
        try:
            result = await runner.run(call)
        except (FlowControl, FrontMcpError) as error:
            self._finished(call, Record(*key, _dumped_error(error)))
            raise
        except BaseException:
            if not self._pending:
                self._open.pop(id(call), None)
            raise
        self._finished(call, Record(*key, {"result": result.model_dump(mode="json", by_alias=True)}))
        return result

    async def once(self, call: Call, key: str, function: Callable[[], Any]) -> Any:
        """The kept result of ``function``, else its own, kept from now on."""
        full = f"{self._key(call)}:{key}"
        if full not in self._once:
            result = function()
            if hasattr(result, "__await__"):
                result = await result
            try:
                self._once[full] = pydantic_core.to_jsonable_python(result)
            except (pydantic_core.PydanticSerializationError, ValueError) as error:
                raise TypeError(f"once({key!r}): its result must be JSON to be kept: {error}") from None
        return self._once[full]

    def _finished(self, call: Call, record: Record) -> None:
        """What a finished call kept inside goes: its own record stands for it."""
        self._open.pop(id(call), None)
        self._open.setdefault(id(call.parent), []).append(record)

    def _key(self, call: Call | None) -> str:
        """Identifies a call by its content: the tools and arguments from the outermost call to it."""
        if call is None or call.parent is None:
            return "client"
        if call.record is None:
            call.record = _digest(self._key(call.parent), call.entry.id, self._arguments(call))
        key: str = call.record
        return key

    def _arguments(self, call: Call) -> str:
        if call.validate() is not None:
            return _digest("invalid", dict(call.arguments))
        return _digest(pydantic_core.to_jsonable_python(call.input, fallback=repr))

    async def _state(self) -> State:
        unclaimed = [record for records in self._kept.values() for record in records]
        records = [record for records in self._open.values() for record in records] + unclaimed
        for record in records:
            await self._outsource(record)
        return State(
            self._caller.key,
            attempt=self.attempt,
            answers=self._answers,
            asked=list(self._pending),
            records=records,
            once=self._once,
        )

    async def _outsource(self, record: Record) -> None:
        if "stored" in record.outcome:
            return
        data = pydantic_core.to_json(record.outcome)
        if len(data) <= INLINE_BYTES:
            return
        name = f"record:{secrets.token_hex(16)}"
        try:
            await self._store.set(name, data, ttl=STATE_SECONDS)
        except Exception as error:
            raise ElicitationStateTooLargeError(
                f'The result of the inner call "{record.tool}" ({len(data)} bytes) can\'t be kept while the user is asked'
            ) from error
        record.outcome = {"stored": name}

    async def _outcome(self, record: Record) -> dict[str, Any]:
        if "stored" not in record.outcome:
            return record.outcome
        data = await self._store.get(record.outcome["stored"])
        if data is None:
            raise ElicitationStateTooLargeError(f'The kept result of the inner call "{record.tool}" is gone; call again')
        outcome: dict[str, Any] = json.loads(data)
        return outcome

    def _warn_of_unclaimed(self) -> None:
        for records in self._kept.values():
            for record in records:
                logger.warning(
                    "a kept result of %s was not asked for again: the body that called it is not deterministic",
                    record.tool,
                )


_ERROR_FIELDS = ("validation_errors", "path", "tool", "retry_after", "plugin", "hook")


def _dumped_error(error: BaseException) -> dict[str, Any]:
    """An error as JSON: enough to raise it again as it arrived."""
    if isinstance(error, FlowControl):
        original = error.original_error
        return {"flow": _dumped_error(original) if original is not None else None}
    fields = {name: getattr(error, name) for name in _ERROR_FIELDS if hasattr(error, name)}
    return {
        "error": type(error).__name__,
        "message": describe(error),
        "code": getattr(error, "code", None),
        "public": getattr(error, "public", False),
        "data": getattr(error, "data", None),
        "fields": pydantic_core.to_jsonable_python(fields, fallback=repr),
    }


def _restored(outcome: Mapping[str, Any]) -> CallToolResult:
    """The result that was kept; an error is raised again."""
    if "result" in outcome:
        return CallToolResult.model_validate(outcome["result"])
    if "flow" in outcome:
        raise FlowControl(_restored_error(outcome["flow"]) if outcome["flow"] is not None else None)
    raise _restored_error(outcome)


def _restored_error(dumped: Mapping[str, Any]) -> Exception:
    if dumped["code"] is None:
        return RuntimeError(dumped["message"])
    base = getattr(errors, dumped["error"], PublicMcpError if dumped["public"] else errors.InternalMcpError)
    error: FrontMcpError = base.__new__(base)
    Exception.__init__(error, dumped["message"])
    error.code, error.data = dumped["code"], dumped["data"]
    error.public = dumped["public"]
    for name, value in dumped["fields"].items():
        setattr(error, name, value)
    return error


class MemoryStateStore:
    """The `StateStore` of one process, bounded: the oldest values go first.

    :param max_bytes: how much all values together may weigh.
    """

    def __init__(self, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._values: dict[str, tuple[float, bytes]] = {}

    async def get(self, key: str) -> bytes | None:
        entry = self._values.get(key)
        if entry is None or entry[0] < anyio.current_time():
            return None
        return entry[1]

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        """Keep a value.

        :raises ValueError: it is larger than everything together may be.
        """
        if len(value) > self._max_bytes:
            raise ValueError(f"{len(value)} bytes are more than the store keeps")
        await self.delete(key)
        self._values[key] = (anyio.current_time() + ttl, value)
        self._bytes += len(value)
        self._evict()

    async def add(self, key: str, value: bytes, *, ttl: float) -> bool:
        if await self.get(key) is not None:
            return False
        await self.set(key, value, ttl=ttl)
        return True

    async def delete(self, key: str) -> None:
        entry = self._values.pop(key, None)
        if entry is not None:
            self._bytes -= len(entry[1])

    def _evict(self) -> None:
        now = anyio.current_time()
        while self._values:
            key, (expires, value) = next(iter(self._values.items()))
            if expires >= now and self._bytes <= self._max_bytes and len(self._values) <= 100_000:
                return
            del self._values[key]
            self._bytes -= len(value)


async def spend(store: StateStore, state: State, produce: Callable[[], Awaitable[bytes]]) -> bytes:
    """Produce the answer to a retry once; sent again within its life, a state gets the answer already given.

    :param produce: runs the attempt and gives the answer as JSON.
    """
    spent, answered = f"spent:{state.id}", f"answer:{state.id}"
    if not await store.add(spent, b"1", ttl=STATE_SECONDS):
        return await _given_answer(store, answered)
    try:
        answer = await produce()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await store.set(answered, b"", ttl=STATE_SECONDS)
        raise
    await store.set(answered, answer, ttl=STATE_SECONDS)
    return answer


async def _given_answer(store: StateStore, key: str) -> bytes:
    with anyio.move_on_after(STATE_SECONDS):
        while (answer := await store.get(key)) is None:
            await anyio.sleep(0.05)
        if answer:
            return answer
    raise PublicMcpError("The call this answer belongs to was cancelled; call the tool again", "REQUEST_CANCELLED")
