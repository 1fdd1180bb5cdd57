"""The loop: ask the model, call the tools it wants, tell it what they gave, until it answers."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel
import pydantic_core

from frontmcp import (
    AbortSignal,
    Call,
    CallToolResult,
    FlowControl,
    FrontMcpError,
    InvalidOutputError,
    ToolNotFoundError,
)
from frontmcp.errors import sendable
from frontmcp.interfaces import (
    ChatMedia,
    ChatMessage,
    Completion,
    ModelAdapter,
    ModelError,
    ModelOptions,
    ModelPrompt,
    ModelTurn,
    StreamingModelAdapter,
    ToolCall,
    Usage,
)
from plugins_builtin.agents.errors import (
    AgentCutOffError,
    AgentLoopExceededError,
    AgentRefusedError,
    AgentTimeoutError,
    AgentTokensExceededError,
)
from plugins_builtin.agents.offer import Offer, Offers, swarm_of
from plugins_builtin.agents.options import Execution
from plugins_builtin.agents.reports import Reports
from plugins_builtin.agents.telling import (
    instructions,
    mend,
    parts_of,
    read_answer,
    read_arguments,
    to_json,
    told_failure,
    told_of,
)

logger = logging.getLogger("frontmcp.agents")

T = TypeVar("T")
Hook = Callable[..., Awaitable[Any]] | None

NO_ANSWER: Final[Any] = object()


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of asking a model once: what is kept where a call may be run again for a question.

    :ivar withheld: tools that a hook kept from the model in this turn, and that it thus can't call.
    """

    completion: Completion
    withheld: Sequence[str] = ()

    def dump(self) -> str:
        """As JSON."""
        try:
            return to_json(self)
        except pydantic_core.PydanticSerializationError:
            # Halves of characters, in what a model made of names and arguments, are for ASCII to carry.
            return json.dumps(pydantic_core.to_jsonable_python(self))

    @classmethod
    def restore(cls, kept: str) -> Answered:
        """What was kept as JSON."""
        data = json.loads(kept)
        completion, usage = data["completion"], data["completion"]["usage"]
        calls = [ToolCall(**call) for call in completion["tool_calls"] or ()]
        restored = {**completion, "tool_calls": calls, "usage": Usage(**usage) if usage is not None else None}
        return cls(Completion(**restored), data["withheld"])


class Loop:
    """The `AgentLoop` of one agent, made when the registry settles.

    :param will: its `will_complete` hooks, compiled; None without one. ``did`` alike.
    """

    def __init__(self, entry: Any, adapter: ModelAdapter, will: Hook, did: Hook) -> None:
        self.entry = entry
        self.adapter = adapter
        self.will = will
        self.did = did
        self.name: str = entry.definition.name
        self.llm = entry.options["llm"]
        self.execution: Execution = entry.options.get("execution") or Execution()
        self.answer = entry.definition.answer
        self.offers = Offers(entry, self.execution, swarm_of(entry))
        self.schema = None if self.answer is None else _bare_schema(self.answer)
        self.system = instructions(entry.definition.system_instructions, self.schema)

    async def run(self, context: Any, given: Any) -> Any:
        """Ask the model until it answers.

        :raises AgentLoopExceededError: it has been asked as often as it may be; likewise for tokens and time.
        :raises AgentRefusedError: it refused; `AgentCutOffError` where its answer was cut off.
        :raises InvalidOutputError: its answer does not match the output schema, not even when it was told so.
        :raises ModelError: it could not be asked.
        """
        reports = Reports(context, self.execution)
        run = Run(self, context, given, await self.offers.to(context.call), reports)
        try:
            answer = await self._in_time(run, context.call)
        except Exception as error:
            await reports.ended(error)
            raise
        await reports.ended()
        return answer

    async def _in_time(self, run: Run, call: Call) -> Any:
        with anyio.move_on_after(self.execution.timeout / 1000):
            # The client's own signal comes with a cancellation; a budget of the call's does not.
            if call.signal is call.request.signal:
                return await run.answer()
            return await _unless_aborted(call.signal, run.answer)
        raise AgentTimeoutError(self.name, self.execution.timeout)


class Run:
    """One run of a loop."""

    def __init__(self, loop: Loop, context: Any, given: Any, offer: Offer, reports: Reports) -> None:
        self._loop = loop
        self._context = context
        self._call = context.call
        self._offer = offer
        self._reports = reports
        self._usage = Usage()
        self._mended = False
        asked = context.build_user_message(given)
        question = ChatMessage.of("user", [asked] if isinstance(asked, str) else parts_of(asked))
        self._messages = [question]
        self._key = _key(context, question) if self._call.request.asking is not None else None

    async def answer(self) -> Any:
        """What the model answers in the end."""
        most = self._loop.execution.max_iterations
        for number in range(1, most + 1):
            # Neither a model that answers from memory nor tools that shield themselves may notice a cancellation.
            await anyio.lowlevel.checkpoint_if_cancelled()
            answered = await self._turn(number)
            completion = answered.completion
            self._check(completion)
            if completion.tool_calls:
                self._messages.append(_said(completion))
                self._messages += await self._call_tools(completion.tool_calls, answered.withheld)
                continue
            try:
                return self._read(completion.content or "")
            except InvalidOutputError as error:
                if self._mended or number == most or self._has_used_up:
                    raise
                self._mended = True
                self._messages += [_said(completion), ChatMessage("user", mend(error, self._loop.schema))]
        raise AgentLoopExceededError(self._loop.name, most)

    @property
    def _has_used_up(self) -> bool:
        """Whether the model may be asked no more for the tokens it took."""
        most = self._loop.execution.max_total_tokens
        return most is not None and self._usage.total_tokens >= most

    def _check(self, completion: Completion) -> None:
        """Whether the loop can go on with a completion."""
        name = self._loop.name
        if completion.usage is not None:
            self._usage += completion.usage
        if completion.finish_reason == "content_filter":
            raise AgentRefusedError(name)
        if completion.finish_reason == "length":
            raise AgentCutOffError(name)
        if completion.tool_calls and self._has_used_up:
            raise AgentTokensExceededError(name, self._loop.execution.max_total_tokens or 0)

    def _read(self, content: str) -> Any:
        """The result that an answer stands for.

        :raises InvalidOutputError: it does not match the output schema.
        """
        if self._loop.answer is None:
            return self._context.parse_agent_response(content)
        return self._loop.answer.check(read_answer(content))

    # The model

    async def _turn(self, number: int) -> Answered:
        """Ask the model once, also where the client's retry runs the call again (architecture §7)."""
        if self._key is None:
            return await self._ask(number)
        made: Answered | None = None

        async def ask() -> str:
            nonlocal made
            made = await self._ask(number)
            return made.dump()

        kept = await self._context.once(f"{self._key} turn {number}", ask)
        return made or Answered.restore(kept)

    async def _ask(self, number: int) -> Answered:
        loop = self._loop
        await self._reports.asking(number)
        turn = ModelTurn(
            number,
            ModelPrompt(loop.system, list(self._messages)),
            list(self._offer.tools),
            ModelOptions(loop.llm.temperature, loop.llm.max_tokens, loop.llm.stop, None, loop.schema, self._call),
            self._usage,
        )
        withheld: list[str] = []
        if loop.will is not None:
            await self._through("will_complete", loop.will(self._call, turn))
            left = {tool.name for tool in turn.tools}
            withheld = [tool.name for tool in self._offer.tools if tool.name not in left]
        turn.completion = await self._complete(turn)
        if loop.did is not None:
            await self._through("did_complete", loop.did(self._call, turn))
        completion = _sound(turn.completion, "A did_complete hook")
        await self._reports.answered(completion)
        return Answered(completion, withheld)

    async def _through(self, hook: str, running: Awaitable[Any]) -> None:
        await self._call.server.pipeline.through(self._call, hook, running)

    async def _complete(self, turn: ModelTurn) -> Completion:
        adapter = self._loop.adapter
        try:
            completion = await self._asked(adapter, turn)
        except ModelError as error:
            logger.warning(
                "%s: %s failed: %s",
                self._call.entry.definition.place,
                self._loop.llm.shown,
                ", ".join(filter(None, [error.code, error.reason])),
                extra=dict(self._call.log_fields),
            )
            raise
        completion = _sound(completion, f"The adapter {type(adapter).__name__}")
        if completion.content and not completion.content.isascii():
            # Half of a character, where text was cut off, could be neither sent nor kept.
            completion = replace(completion, content=sendable(completion.content))
        return completion

    async def _asked(self, adapter: ModelAdapter, turn: ModelTurn) -> Any:
        asked = turn.prompt, turn.tools or None, turn.options
        if self._loop.execution.enable_streaming and isinstance(adapter, StreamingModelAdapter):
            return await self._streamed(adapter.stream(*asked))
        return await adapter.completion(*asked)

    async def _streamed(self, stream: Any) -> Any:
        async with aclosing(stream):
            async for piece in stream:
                if isinstance(piece, Completion):
                    await self._reports.rest()
                    return piece
                await self._reports.piece(piece.content)
        return None

    # Its tools

    async def _call_tools(self, wanted: Sequence[ToolCall], withheld: Sequence[str]) -> list[ChatMessage]:
        """What the tools gave, in the order of the calls."""
        numbered = list(enumerate(wanted, 1))
        if len(wanted) == 1 or not self._loop.execution.parallel_tool_calls:
            return [await self._told(number, len(wanted), each, withheld) for number, each in numbered]
        told: dict[int, ChatMessage] = {}

        async def tell(number: int, each: ToolCall) -> None:
            told[number] = await self._told(number, len(wanted), each, withheld)

        async with anyio.create_task_group() as group:
            for number, each in numbered:
                group.start_soon(tell, number, each)
        return [told[number] for number, _ in numbered]

    async def _told(self, number: int, of: int, wanted: ToolCall, withheld: Sequence[str]) -> ChatMessage:
        """What the model is told of a tool it called; a failure is told too, and the loop goes on."""
        await self._reports.calling(number, of, wanted.name)
        try:
            parts, is_error = told_of(await self._result(wanted, withheld)), False
        except (FlowControl, FrontMcpError) as error:
            why, is_error = told_failure(error, wanted.name, self._call), True
            parts = [json.dumps({"error": why}, ensure_ascii=False)]
            await self._reports.failed(wanted.name, why)
        return ChatMessage.of("tool", parts, tool_call_id=wanted.id, name=wanted.name, is_error=is_error)

    async def _result(self, wanted: ToolCall, withheld: Sequence[str]) -> CallToolResult:
        """Call a tool along the whole road, as the caller of the agent."""
        server, by_name = self._call.server, self._offer.by_name
        offered = by_name.get(wanted.name)
        call = server.plugin_calls.new_call(
            wanted.name if offered is None else offered.entry,
            read_arguments(wanted.arguments),
            origin="agent",
            surface="agent",
            parent=self._call,
            # What it was not offered is looked for among its own, so that the road says what is wrong with it.
            scope=self._loop.entry.members if offered is None or offered.own else None,
        )
        if withheld and _target(call) in [by_name[name].entry for name in withheld]:
            raise ToolNotFoundError(wanted.name)
        result: CallToolResult = await server.pipeline.start(call)
        return result


def _target(call: Call) -> Any:
    """What is called, by whatever spelling; None where there is no such tool, which the road tells."""
    try:
        return call.entry or call.server.pipeline.resolve(call)
    except ToolNotFoundError:
        return None


async def _unless_aborted(signal: AbortSignal, work: Callable[[], Awaitable[T]]) -> T:
    """Do some work, and give it up when the signal is aborted: then its reason is raised."""
    outcome: Any = NO_ANSWER
    failure: Exception | None = None

    async def watch() -> None:
        await signal.wait()
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            outcome = await work()
        except Exception as error:
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if outcome is NO_ANSWER:
        signal.raise_if_aborted()
    result: T = outcome
    return result


def _sound(completion: Any, who: str) -> Completion:
    """A completion, if it is one.

    :raises ModelError: it is something else, or has what no provider should send.
    """
    if not isinstance(completion, Completion):
        raise ModelError(f"{who} answered with something that is no Completion")
    if not isinstance(completion.content, str | None) or not all(map(_is_call, completion.tool_calls or ())):
        raise ModelError(f"{who} answered with a Completion whose content or tool calls are no such thing")
    return completion


def _is_call(call: Any) -> bool:
    return isinstance(call, ToolCall) and isinstance(call.name, str) and isinstance(call.arguments, str | Mapping)


def _said(completion: Completion) -> ChatMessage:
    return ChatMessage("assistant", completion.content, completion.tool_calls, provider_data=completion.provider_data)


def _bare_schema(answer: Any) -> Any:
    return answer.schema["properties"]["result"] if answer.wraps_null else answer.schema


def _key(context: Any, question: ChatMessage) -> str:
    """Names one run of the loop among those of its call: by what is asked, so that their order does not matter."""
    call = context.call
    media = [part.data for part in question.parts if isinstance(part, ChatMedia)]
    digest = hashlib.sha256("\n".join([question.content or "", *media]).encode()).hexdigest()[:16]
    runs: dict[str, int] = context.__dict__.setdefault("_model_runs", {})
    runs[digest] = runs.get(digest, 0) + 1
    return f"model {digest} {runs[digest]}, execution {call.runs}.{call.executions},"
