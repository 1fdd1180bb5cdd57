"""What every adapter of a language model must do, as tests."""

from __future__ import annotations

import json
import logging
from contextlib import aclosing
from typing import Any, Literal, Protocol, TypeAlias

import anyio
import pydantic_core
import pytest

from frontmcp.llm import (
    ChatMedia,
    ChatMessage,
    Completion,
    CompletionDelta,
    ModelAccessError,
    ModelAdapter,
    ModelError,
    ModelOptions,
    ModelPrompt,
    ModelRateLimitError,
    ModelRequestError,
    ModelTool,
    ModelUnavailableError,
    StreamingModelAdapter,
    ToolCall,
    Usage,
)

PATIENCE = 20.0
"""Seconds until a test that hangs fails."""

Failure: TypeAlias = Literal["rate limited", "unavailable", "timeout", "bad key", "bad request", "garbage"]

FAILURES: dict[Failure, type[ModelError]] = {
    "rate limited": ModelRateLimitError,
    "unavailable": ModelUnavailableError,
    "timeout": ModelUnavailableError,
    "bad key": ModelAccessError,
    "bad request": ModelRequestError,
    "garbage": ModelError,
}
"""What a provider may do, and what an adapter then raises."""

SECRET = "sk-kit-5ecre7"
"""The key that an adapter under test is given."""


class ModelBackend(Protocol):
    """Stands in for the provider behind an adapter under test, best at the HTTP layer."""

    def answer(self, completion: Completion) -> None:
        """Answer every request from now on with what the provider sends for this."""
        ...

    def fail(self, failure: Failure) -> None:
        """Fail every request from now on; where the provider says when to come back, after 7 seconds."""
        ...

    def hang(self) -> None:
        """Never answer from now on."""
        ...

    def sent(self) -> str:
        """The last request, whole, as text in which what was sent can be found."""
        ...


class ModelAdapterKit:
    """Tests of a `ModelAdapter`: ``class TestMine(ModelAdapterKit)`` with fixtures ``adapter`` and ``backend``.

    The adapter has the key `SECRET`, waits not at all between retries, and talks to the backend.
    """

    async def test_it_is_an_adapter(self, adapter: ModelAdapter) -> None:
        assert isinstance(adapter, ModelAdapter)
        assert SECRET not in repr(adapter)

    async def test_text_is_an_answer(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion("High: nobody can work.", usage=Usage(12, 5)))
        completion = await adapter.completion(question())
        assert completion.content == "High: nobody can work."
        assert list(completion.tool_calls) == []
        assert completion.finish_reason == "stop"
        assert completion.usage == Usage(12, 5)

    async def test_an_empty_answer_is_one(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion(None))
        completion = await adapter.completion(question())
        assert not completion.content
        assert list(completion.tool_calls) == []
        assert completion.finish_reason == "stop"

    async def test_a_cut_off_answer_is_no_error(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion("High: nob", finish_reason="length"))
        completion = await adapter.completion(question())
        assert (completion.content, completion.finish_reason) == ("High: nob", "length")

    async def test_a_refusal_is_no_error(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion(None, finish_reason="content_filter"))
        assert (await adapter.completion(question())).finish_reason == "content_filter"

    async def test_calls_of_tools_come_in_order(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        calls = [ToolCall("c1", "get_ticket", {"id": "T-1", "deep": {"list": [1, None]}}), ToolCall("c2", "now", {})]
        backend.answer(Completion("Let me see.", calls, "tool_calls"))
        completion = await adapter.completion(question(), TOOLS)
        assert completion.content == "Let me see."
        assert completion.finish_reason == "tool_calls"
        assert [(call.id, call.name, read_arguments(call)) for call in completion.tool_calls] == [
            ("c1", "get_ticket", {"id": "T-1", "deep": {"list": [1, None]}}),
            ("c2", "now", {}),
        ]

    async def test_broken_arguments_come_as_they_were_written(
        self, adapter: ModelAdapter, backend: ModelBackend
    ) -> None:
        """A provider that sends objects can't send such; its backend answers with the text as it can."""
        backend.answer(Completion(None, [ToolCall("c1", "get_ticket", '{"id": "T-')], "tool_calls"))
        (call,) = (await adapter.completion(question(), TOOLS)).tool_calls
        assert call.arguments == '{"id": "T-'

    async def test_the_whole_question_is_sent(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion("High."))
        options = ModelOptions(temperature=0.25, max_tokens=321, stop=["END-7"])
        await adapter.completion(ModelPrompt("You triage tickets.", conversation()), TOOLS, options)
        sent = backend.sent()
        for part in ("You triage tickets.", "What of T-1?", "get_ticket", "Get one ticket", "c1", "c2", "broken-pipe"):
            assert part in sent
        for part in ("0.25", "321", "END-7"):
            assert part in sent

    async def test_what_is_no_text_is_shown_or_told(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        """Whoever said it: as it is, or in words with its type and size where the adapter can't send such."""
        backend.answer(Completion("High."))
        for mime_type in ("image/png", "image/x-icon", "audio/wav", "audio/ogg", "application/pdf", "application/zip"):
            shown, heard = ChatMedia(mime_type, "c2hvd24A"), ChatMedia(mime_type, "aGVhcmQtMTEA")
            messages = [
                ChatMessage.of("user", ["What of T-1?", shown]),
                ChatMessage("assistant", None, [ToolCall("c1", "get_ticket", {"id": "T-1"}), ToolCall("c2", "now")]),
                ChatMessage.of("tool", ["before-it", heard, "after-it"], tool_call_id="c1", name="get_ticket"),
                ChatMessage("tool", "noon", tool_call_id="c2", name="now"),
            ]
            await adapter.completion(ModelPrompt(None, messages), TOOLS)
            sent = backend.sent()
            for media in (shown, heard):
                assert media.data in sent or str(media) in sent, media
            for part in ("What of T-1?", "before-it", "after-it", "noon"):
                assert part in sent

    async def test_no_tools_are_none(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion("High."))
        for tools in (None, ()):
            await adapter.completion(question(), tools, ModelOptions())
            assert "get_ticket" not in backend.sent()

    async def test_what_it_answered_can_be_sent_back(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion(None, [ToolCall("c9", "get_ticket", {"id": "T-1"})], "tool_calls"))
        first = await adapter.completion(question(), TOOLS)
        assert pydantic_core.from_json(pydantic_core.to_json(first.provider_data)) == first.provider_data
        backend.answer(Completion("High."))
        messages = [
            *question().messages,
            ChatMessage("assistant", first.content, first.tool_calls, provider_data=first.provider_data),
            ChatMessage("tool", '{"status":"open"}', tool_call_id="c9", name="get_ticket"),
        ]
        assert (await adapter.completion(ModelPrompt(None, messages), TOOLS)).content == "High."
        assert "c9" in backend.sent()

    async def test_each_failure_is_the_error_for_it(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        for failure, expected in FAILURES.items():
            backend.fail(failure)
            error = await failed(adapter)
            assert isinstance(error, expected), (failure, error)
            assert SECRET not in f"{error!r} {error}"
            assert "What of T-1?" not in str(error)

    async def test_its_key_is_not_logged(
        self, adapter: ModelAdapter, backend: ModelBackend, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.DEBUG):
            backend.answer(Completion("High."))
            await adapter.completion(question())
            for failure in FAILURES:
                backend.fail(failure)
                await failed(adapter)
        assert SECRET not in caplog.text

    async def test_it_says_when_to_come_back(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.fail("rate limited")
        error = await failed(adapter)
        assert isinstance(error, ModelRateLimitError)
        assert error.retry_after == 7

    async def test_it_goes_on_after_a_failure(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.fail("unavailable")
        await failed(adapter)
        backend.answer(Completion("High."))
        assert (await adapter.completion(question())).content == "High."

    async def test_a_request_can_be_cancelled(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.hang()
        with anyio.fail_after(PATIENCE):
            with anyio.move_on_after(0.05) as scope:
                await adapter.completion(question())
            assert scope.cancelled_caught
            backend.answer(Completion("High."))
            assert (await adapter.completion(question())).content == "High."

    async def test_many_ask_at_once(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion("High."))
        answers: list[str | None] = []

        async def ask() -> None:
            answers.append((await adapter.completion(question())).content)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(ask)
        assert answers == ["High."] * 10

    async def test_it_may_be_used_again_after_closing(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        backend.answer(Completion("High."))
        await adapter.completion(question())
        if (close := getattr(adapter, "aclose", None)) is not None:
            await close()
        assert (await adapter.completion(question())).content == "High."

    async def test_a_stream_ends_with_the_whole(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        if not isinstance(adapter, StreamingModelAdapter):
            return
        calls = [ToolCall("c1", "get_ticket", {"id": "T-1"}), ToolCall("c2", "now", {})]
        for whole in (Completion("High: nobody can work.", usage=Usage(12, 5)), Completion(None, calls, "tool_calls")):
            backend.answer(whole)
            *pieces, last = [piece async for piece in adapter.stream(question(), TOOLS)]
            assert isinstance(last, Completion)
            assert all(isinstance(piece, CompletionDelta) for piece in pieces)
            text = "".join(piece.content for piece in pieces if isinstance(piece, CompletionDelta))
            assert text.strip() == (whole.content or "")
            assert (last.content or None, last.finish_reason) == (whole.content, whole.finish_reason)
            assert [(call.id, call.name, read_arguments(call)) for call in last.tool_calls] == [
                (call.id, call.name, call.arguments) for call in whole.tool_calls
            ]
            if whole.usage is not None:
                assert last.usage == whole.usage

    async def test_a_stream_fails_as_a_request_does(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        if not isinstance(adapter, StreamingModelAdapter):
            return
        for failure in ("rate limited", "unavailable", "timeout", "bad key", "bad request"):
            backend.fail(failure)
            error: BaseException | None = None
            try:
                async for _ in adapter.stream(question()):
                    pass
            except ModelError as raised:
                error = raised
            assert isinstance(error, FAILURES[failure]), (failure, error)

    async def test_a_stream_can_be_left(self, adapter: ModelAdapter, backend: ModelBackend) -> None:
        if not isinstance(adapter, StreamingModelAdapter):
            return
        backend.answer(Completion("High: nobody can work."))
        with anyio.fail_after(PATIENCE):
            stream: Any = adapter.stream(question())
            async with aclosing(stream):
                async for _ in stream:
                    break
            backend.hang()
            with anyio.move_on_after(0.05) as scope:
                async for _ in adapter.stream(question()):
                    pass
            assert scope.cancelled_caught
            backend.answer(Completion("High."))
            assert (await adapter.completion(question())).content == "High."


TOOLS = (
    ModelTool(
        "get_ticket",
        "Get one ticket",
        {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    ),
    ModelTool("now"),
)


def question() -> ModelPrompt:
    """A short question."""
    return ModelPrompt("You triage tickets.", [ChatMessage("user", "What of T-1?")])


def conversation() -> list[ChatMessage]:
    """A conversation in which two tools were called, of which one failed."""
    return [
        ChatMessage("user", "What of T-1?"),
        ChatMessage("assistant", "Let me see.", [ToolCall("c1", "get_ticket", {"id": "T-1"}), ToolCall("c2", "now")]),
        ChatMessage("tool", '{"status":"open"}', tool_call_id="c1", name="get_ticket"),
        ChatMessage("tool", '{"error":"broken-pipe"}', tool_call_id="c2", name="now", is_error=True),
    ]


def read_arguments(call: ToolCall) -> Any:
    """The arguments of a call as an object."""
    return json.loads(call.arguments or "{}") if isinstance(call.arguments, str) else dict(call.arguments)


async def failed(adapter: ModelAdapter) -> ModelError:
    """The error of a request that must fail."""
    with anyio.fail_after(PATIENCE):
        try:
            await adapter.completion(question())
        except ModelError as error:
            return error
    raise AssertionError("the request did not fail")
