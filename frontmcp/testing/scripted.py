"""`ScriptedModel`: a language model whose answers a test writes down."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from frontmcp.llm import (
    ChatMedia,
    ChatMessage,
    Completion,
    CompletionDelta,
    ModelOptions,
    ModelPrompt,
    ModelTool,
    ToolCall,
)

Reply: TypeAlias = "str | ToolCall | Sequence[ToolCall] | Completion | BaseException"
Script: TypeAlias = "Reply | Callable[[ModelRequest], Reply | Awaitable[Reply]]"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model was asked.

    :ivar tools: None where it was offered none.
    """

    prompt: ModelPrompt
    tools: Sequence[ModelTool] | None
    options: ModelOptions | None

    @property
    def last(self) -> ChatMessage:
        """The newest message."""
        return self.prompt.messages[-1]

    @property
    def results(self) -> list[Any]:
        """What the tools of the turn before gave, in the order of the calls: JSON read, other text as it is."""
        return [_read(message.content or "") for message in self._told]

    @property
    def media(self) -> list[ChatMedia]:
        """What of that is no text: pictures, sounds, files."""
        return [part for message in self._told for part in message.parts if isinstance(part, ChatMedia)]

    @property
    def _told(self) -> Sequence[ChatMessage]:
        messages = self.prompt.messages
        first = next((i + 1 for i in reversed(range(len(messages))) if messages[i].role != "tool"), 0)
        return messages[first:]

    @property
    def offered(self) -> list[str]:
        """The names of the tools it was offered."""
        return [tool.name for tool in self.tools or ()]


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def calling(tool: str, /, **arguments: Any) -> ToolCall:
    """A reply that calls a tool; several in a list call them at once. `ScriptedModel` gives it an id."""
    return ToolCall("", tool, arguments)


class ScriptedModel:
    """A `ModelAdapter` for tests: answers one reply after the other, and remembers what it was asked.

    ``ScriptedModel(calling("get_ticket", id="T-1"), "High.")`` calls a tool and then answers.

    :param script: each a text, a `calling` or several in a list, a whole `Completion`, an error to raise, or a function
        of the `ModelRequest`, sync or async, that gives one of those.
    :param repeat: the last of them is given again and again; else a request too many is an `AssertionError`.
    :ivar requests: what it was asked, in order.
    """

    def __init__(self, *script: Script, repeat: bool = False) -> None:
        self._script = list(script)
        self._repeat = repeat
        self.requests: list[ModelRequest] = []

    async def completion(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> Completion:
        request = ModelRequest(replace(prompt, messages=list(prompt.messages)), tools, options)
        self.requests.append(request)
        number = len(self.requests)
        if number > len(self._script) and not (self._repeat and self._script):
            raise AssertionError(f"ScriptedModel has {len(self._script)} replies and was asked {number} times")
        reply = self._script[min(number, len(self._script)) - 1]
        if not isinstance(reply, BaseException) and callable(reply):
            made = reply(request)
            reply = await made if inspect.isawaitable(made) else made
        return _completion(reply, number)

    async def stream(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> AsyncIterator[CompletionDelta | Completion]:
        """The same, word by word."""
        completion = await self.completion(prompt, tools, options)
        for word in (completion.content or "").split(" "):
            yield CompletionDelta(word if not word else f"{word} ")
        yield completion


def _completion(reply: Any, number: int) -> Completion:
    if isinstance(reply, BaseException):
        raise reply
    if isinstance(reply, Completion):
        return reply
    if isinstance(reply, str):
        return Completion(reply)
    calls: Iterable[ToolCall] = (reply,) if isinstance(reply, ToolCall) else reply
    named = [call if call.id else replace(call, id=f"call_{number}_{i}") for i, call in enumerate(calls, 1)]
    return Completion(tool_calls=named, finish_reason="tool_calls")
