"""The scripted model, which passes what every adapter must do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pydantic_core
import pytest

from frontmcp import Completion, ToolCall
from frontmcp.interfaces import (
    ChatMessage,
    ModelAccessError,
    ModelError,
    ModelPrompt,
    ModelRateLimitError,
    ModelRequestError,
    ModelUnavailableError,
    StreamingModelAdapter,
)
from frontmcp.testing import ModelAdapterKit, ModelRequest, ScriptedModel, calling

ERRORS: dict[str, Callable[[], ModelError]] = {
    "rate limited": lambda: ModelRateLimitError(7),
    "unavailable": ModelUnavailableError,
    "timeout": ModelUnavailableError,
    "bad key": lambda: ModelAccessError("The key is refused"),
    "bad request": lambda: ModelRequestError("The request is too long"),
    "garbage": lambda: ModelError("The answer makes no sense"),
}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Backend:
    def __init__(self) -> None:
        self.reply: Any = None
        self.model = ScriptedModel(self.next, repeat=True)

    def next(self, request: ModelRequest) -> Any:
        return self.reply() if callable(self.reply) else self.reply

    def answer(self, completion: Completion) -> None:
        self.reply = completion

    def fail(self, failure: str) -> None:
        self.reply = ERRORS[failure]

    def hang(self) -> None:
        self.reply = anyio.sleep_forever

    def sent(self) -> str:
        request = self.model.requests[-1]
        return pydantic_core.to_json([request.prompt, request.tools, request.options]).decode()


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def adapter(backend: Backend) -> ScriptedModel:
    return backend.model


class TestScriptedModel(ModelAdapterKit):
    pass


def ask(text: str = "?") -> ModelPrompt:
    return ModelPrompt(None, [ChatMessage("user", text)])


async def test_it_answers_one_reply_after_the_other() -> None:
    model = ScriptedModel("one", calling("look", name="x"), [calling("a"), calling("b")], Completion("four"))
    assert (await model.completion(ask())).content == "one"
    second = await model.completion(ask())
    assert list(second.tool_calls) == [ToolCall("call_2_1", "look", {"name": "x"})]
    assert second.finish_reason == "tool_calls"
    assert [call.id for call in (await model.completion(ask())).tool_calls] == ["call_3_1", "call_3_2"]
    assert (await model.completion(ask("last"))).content == "four"
    assert [request.last.content for request in model.requests] == ["?", "?", "?", "last"]


async def test_a_request_too_many_is_the_tests_mistake() -> None:
    model = ScriptedModel("one")
    await model.completion(ask())
    with pytest.raises(AssertionError, match="has 1 replies and was asked 2 times"):
        await model.completion(ask())


async def test_it_repeats_the_last_when_told() -> None:
    model = ScriptedModel("one", "two", repeat=True)
    assert [(await model.completion(ask())).content for _ in range(4)] == ["one", "two", "two", "two"]


async def test_a_function_sees_what_is_asked() -> None:
    async def echo(request: ModelRequest) -> str:
        return f"{request.last.content} {request.offered} {request.results}"

    replies: list[Callable[[ModelRequest], str | Awaitable[str]]] = [echo, lambda request: "sync"]
    model = ScriptedModel(*replies)
    results = [ChatMessage("tool", '{"a":1}', tool_call_id="1"), ChatMessage("tool", "plain", tool_call_id="2")]
    prompt = ModelPrompt(None, [*ask().messages, ChatMessage("assistant"), *results])
    assert (await model.completion(prompt)).content == "plain [] [{'a': 1}, 'plain']"
    assert (await model.completion(ask())).content == "sync"


async def test_it_raises_an_error_of_the_script() -> None:
    with pytest.raises(ModelRateLimitError, match="Retry after 3 seconds"):
        await ScriptedModel(ModelRateLimitError(2.5)).completion(ask())


def test_it_can_stream() -> None:
    assert isinstance(ScriptedModel(), StreamingModelAdapter)


async def test_it_remembers_the_prompt_as_it_was() -> None:
    prompt = ask()
    model = ScriptedModel("one")
    await model.completion(prompt)
    prompt.messages.append(ChatMessage("user", "later"))
    assert model.requests[0].last.content == "?"
