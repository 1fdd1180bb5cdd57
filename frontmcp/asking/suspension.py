"""One attempt at a request that may be left for a question, and resumed."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol, TypeAlias

import anyio
import anyio.lowlevel
from pydantic import BaseModel

from frontmcp.asking.ask import not_supported
from frontmcp.asking.once import Once
from frontmcp.asking.state import Luggage, R, Record, RecordKey, State, dump_error, dump_result, restore
from frontmcp.call import Answer, Call, Caller, Question
from frontmcp.errors import FlowControl, FrontMcpError

if TYPE_CHECKING:
    from frontmcp.interfaces import StateStore

logger = logging.getLogger("frontmcp.asking")

SIBLING_TURNS: Final = 5
"""How often a question lets others run before it suspends: on asyncio a failure needs some to cancel a task."""

ANSWER: Final = "The client's answer"

SHIELD_SECONDS: Final = 0.2
"""How long a question waits to be cancelled; where a shield keeps that away, it leaves by raising."""


Answering: TypeAlias = Callable[[str], Awaitable[Mapping[str, Any]]]


class Suspended(NamedTuple):
    """The request waits for its client.

    :ivar questions: what to ask, by key.
    :ivar state: comes back, sealed, with the answers.
    :ivar answer: gives what the client gets instead of questions, where the request was left for good.
    """

    questions: dict[str, Question]
    state: State
    answer: Answering | None = None


class Left(BaseException):
    """Unwinds a body that is shielded from cancellation."""


class _Runner(Protocol):
    def find(self, call: Call) -> Any: ...
    def run(self, call: Call) -> Coroutine[Any, Any, Any]: ...


class Suspension:
    """One attempt at a request that may be suspended; the `Asking` of its calls.

    :param store: keeps what is too large for the state.
    :param state: what an earlier attempt left; None for the first.
    :param responses: the answers that came with the retry, by question key.
    """

    def __init__(
        self,
        store: StateStore,
        caller: Caller,
        state: State | None = None,
        responses: Mapping[str, Answer] | None = None,
    ) -> None:
        self.attempt = 0 if state is None else state.attempt + 1
        self._earlier = state if state is not None else State(caller.key)
        self._luggage = Luggage(store)
        self._answers = {**self._earlier.answers, **_answered(self._earlier.asked, responses or {})}
        self._early = dict(responses or {}) if state is None else {}
        self._kept: dict[RecordKey, list[Record]] = {}
        self._taken: dict[RecordKey, set[int]] = {}
        self._turns: dict[RecordKey, int] = {}
        for record in self._earlier.records:
            self._kept.setdefault(record.key, []).append(record)
            self._taken.setdefault(record.key, set()).add(record.turn)
        self._once = Once()
        self._counts: dict[str, int] = {}
        self._open: dict[int, list[Record]] = {}
        self._pending: dict[str, Question] = {}
        self._asked: dict[str, str] = {}
        self._waiting: set[int] = set()
        self._scope = anyio.CancelScope()
        self._answering: Answering | None = None

    async def run(self, start: Callable[[], Awaitable[R]]) -> R | Suspended:
        """Run the outermost call.

        :returns: its result, or what it waits for.
        :raises ElicitationStateTooLargeError: what an inner call returned can't be kept; nothing is asked.
        """
        failure: Exception | None = None
        result: R | None = None
        # Suspending cancels, so that it unwinds gathers and task groups and no body can swallow it.
        with self._scope:
            try:
                result = await start()
            except Exception as error:
                failure = error
            except BaseException as error:
                if not is_left(error):
                    raise
        # Without it what asked was cancelled by the body itself, which has ended in another way.
        if self._scope.cancel_called:
            return Suspended(self._pending, await self._state(), self._answering)
        self._warn_of_unclaimed()
        if failure is not None:
            raise failure
        assert result is not None
        return result

    async def ask(self, call: Call, question: Question) -> Answer:
        """The answer, or no return: the request is suspended.

        :raises CapabilityNotSupportedError: the client can't be asked that.
        """
        digest = _digest(_key(call), question.method, question.params, question.key)
        count = self._counts[digest] = self._counts.get(digest, 0) + 1
        name = f"{digest}-{count}"
        if question.key in self._early:
            # A client that knows what it will be asked may answer at once, by the name that the body gave the question.
            self._answers[name] = {"answer": self._early.pop(question.key).data}
        if name in self._answers:
            return Answer((await self._luggage.unpack(self._answers[name], ANSWER))["answer"])
        if not call.request.offers(question.requires):
            raise not_supported(question)
        key = question.key or name
        if key in self._asked:
            key = f"{key}-{name}"
        self._asked[key] = name
        return await self._put(call, key, question)

    async def _put(self, call: Call, key: str, question: Question) -> Answer:
        """Put a question to the client."""
        self._pending[key] = question
        self._waiting.update(map(id, _lineage(call)))
        # Siblings get the chance to reach their own question, for all travel in one round, or to fail and end this one.
        for _ in range(SIBLING_TURNS):
            await anyio.lowlevel.checkpoint()
        await self._unwind("the client is asked")

    async def leave(self, answer: Answering) -> NoReturn:
        """Leave the request for good; `run` gives `Suspended` with the way to answer it."""
        self._answering = answer
        await self._unwind("the call goes on elsewhere")

    async def _unwind(self, reason: str) -> NoReturn:
        self._scope.cancel(reason)
        with anyio.move_on_after(SHIELD_SECONDS):
            await anyio.sleep_forever()
        raise Left

    async def inner(self, call: Call, runner: _Runner) -> Any:
        """Run an inner call, unless it finished in an earlier attempt: then serve how it ended."""
        try:
            runner.find(call)
        except Exception:
            # Whatever it is, it happens again on the road, where it is told and classified.
            return await runner.run(call)
        key = (_key(call.parent), _target(call), _arguments(call))
        earlier = self._kept.get(key)
        if earlier:
            return await self._serve(call, runner, earlier.pop(0))
        turn = self._turn(key)
        call.record = (*key, turn)
        self._open[id(call)] = []
        try:
            result: BaseModel = await runner.run(call)
        except (FlowControl, FrontMcpError) as error:
            # What fails because it is being left has not ended: it runs again.
            if not self._scope.cancel_called:
                self._finished(call, Record(*key, turn, call.path, dump_error(error)))
            raise
        except BaseException:
            if not self._pending:
                self._open.pop(id(call), None)
            raise
        if id(call) not in self._waiting:
            self._finished(call, Record(*key, turn, call.path, dump_result(result)))
        return result

    async def _serve(self, call: Call, runner: _Runner, record: Record) -> BaseModel:
        """How a call ended before, if its caller may still make it."""
        outcome = await self._luggage.unpack(record.outcome, _called(record))
        call.kept = True
        await runner.run(call)
        self._finished(call, record)
        result: BaseModel = restore(outcome, call.entry.result_type)
        return result

    def _turn(self, key: RecordKey) -> int:
        """The next number that no call alike has, here or among those that finished before."""
        taken = self._taken.get(key, ())
        turn = self._turns.get(key, 0) + 1
        while turn in taken:
            turn += 1
        self._turns[key] = turn
        return turn

    def _finished(self, call: Call, record: Record) -> None:
        """Keep how a call ended; what was kept inside it goes, its own record stands for that."""
        self._open.pop(id(call), None)
        self._open.setdefault(id(call.parent), []).append(record)

    async def once(self, call: Call, key: str, function: Callable[[], Any]) -> Any:
        """The kept result of ``function``, else its own, kept from now on."""
        full = f"{_key(call)}:{key}"
        packed = self._earlier.once.get(full)
        if packed is not None and full not in self._once.results:
            self._once.results[full] = (await self._luggage.unpack(packed, _remembered(full)))["value"]
        return await self._once.result(full, function)

    async def _state(self) -> State:
        unclaimed = [record for records in self._kept.values() for record in records]
        records = [record for records in self._open.values() for record in records] + unclaimed
        for record in records:
            record.outcome = await self._luggage.pack(record.outcome, _called(record))
        once = {**{key: {"value": value} for key, value in self._once.results.items()}, **self._earlier.once}
        for key, value in once.items():
            once[key] = await self._luggage.pack(value, _remembered(key))
        answers = {name: await self._luggage.pack(answer, ANSWER) for name, answer in self._answers.items()}
        return State(
            self._earlier.caller,
            attempt=self.attempt,
            answers=answers,
            asked=self._asked,
            records=records,
            once=once,
        )

    def _warn_of_unclaimed(self) -> None:
        for records in self._kept.values():
            for record in records:
                logger.warning(
                    "a kept result of %s (%s) was not asked for again: the body that called it is not deterministic",
                    record.tool,
                    record.path,
                )


class Resumed(Suspension):
    """A call that left its request and goes on where nobody waits: it puts its questions, and waits for the answers.

    :param put: puts a question under a key, and waits for the result that answers it.
    """

    def __init__(
        self,
        store: StateStore,
        caller: Caller,
        state: State,
        put: Callable[[str, Question], Awaitable[Mapping[str, Any]]],
    ) -> None:
        super().__init__(store, caller, state)
        self._put_question = put

    async def _put(self, call: Call, key: str, question: Question) -> Answer:
        return Answer(await self._put_question(key, question))

    async def leave(self, answer: Answering) -> NoReturn:
        """:raises RuntimeError: it has left its request already."""
        raise RuntimeError("the call has left its request already")


def is_left(error: BaseException) -> bool:
    """Whether an error is a suspension on its way out, alone or among others."""
    return isinstance(error, Left) or (isinstance(error, BaseExceptionGroup) and error.subgroup(Left) is not None)


def _answered(asked: Mapping[str, str], responses: Mapping[str, Answer]) -> dict[str, Any]:
    return {name: {"answer": responses[key].data} for key, name in asked.items() if key in responses}


def _called(record: Record) -> str:
    return f'The result of the inner call "{record.tool}"'


def _remembered(key: str) -> str:
    return f'The result of once("{key.partition(":")[2]}")'


def _lineage(call: Call | None) -> Iterator[Call]:
    while call is not None:
        yield call
        call = call.parent


def _key(call: Call | None) -> str:
    """Identifies an unfinished call by its content: the tools and arguments from the outermost call to it."""
    if call is None or call.parent is None:
        return "client"
    if isinstance(call.record, tuple):
        call.record = _digest(*call.record)
    key: str = call.record
    return key


def _target(call: Call) -> str:
    """What is called: its canonical id, and its kind unless it is a tool."""
    entry = call.entry
    return entry.id if call.kind == "tool" else f"{entry.kind} {entry.id}"


def _arguments(call: Call) -> str:
    """What was asked, as it was sent: typed input may be shown in fewer words than tell it apart, such as a secret."""
    return _digest({str(name): value for name, value in call.arguments.items()})


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=_exact)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _exact(value: Any) -> Any:
    """A Python value among arguments as JSON that no other value has."""
    kind = type(value).__qualname__
    if hasattr(value, "get_secret_value"):
        return [kind, value.get_secret_value()]
    if isinstance(value, set | frozenset):
        return [kind, sorted(map(repr, value))]
    fields = getattr(value, "__dict__", None)
    return [kind, fields if fields else repr(value)]
