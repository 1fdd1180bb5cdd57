"""The adapter against what the API of OpenAI is documented to send, at the HTTP layer."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import anyio
import anyio.abc
import httpx2
import pytest
from frontmcp_openai import OpenAI
from frontmcp_openai.adapter import OpenAIAdapter
from openai.types.chat import ChatCompletionContentPartParam
from pydantic import SecretStr, TypeAdapter

from frontmcp import Completion, ConfigurationError, ToolCall
from frontmcp.interfaces import (
    ChatMedia,
    ChatMessage,
    ModelAccessError,
    ModelConfig,
    ModelError,
    ModelOptions,
    ModelPrompt,
    ModelRateLimitError,
    ModelRequestError,
    ModelTool,
    ModelUnavailableError,
    Usage,
)
from frontmcp.testing import HttpModelBackend, ModelAdapterKit
from frontmcp.testing.models import SECRET, TOOLS, Failure, question


def answer_of(completion: Completion) -> dict[str, Any]:
    """What the provider sends for a completion."""
    refused = completion.finish_reason == "content_filter"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused else completion.content,
        "refusal": "I can't help with that." if refused else None,
        "annotations": [],
    }
    if completion.tool_calls:
        message["tool_calls"] = [call_of(call) for call in completion.tool_calls]
    answer: dict[str, Any] = {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion",
        "created": 1741570283,
        "model": "gpt-5-2026-01-01",
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": "stop" if refused else completion.finish_reason,
            }
        ],
        "service_tier": "default",
        "system_fingerprint": "fp_fc9f1d7035",
    }
    if completion.usage is not None:
        answer["usage"] = usage_of(completion.usage)
    return answer


def usage_of(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    }


def call_of(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(dict(call.arguments))
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def chunks_of(completion: Completion) -> list[dict[str, Any]]:
    """What the provider streams for a completion: text by words, arguments of tools in two pieces."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", "refusal": None}]
    deltas += [{"content": piece} for piece in re.findall(r"\S+\s*", completion.content or "")]
    for index, call in enumerate(completion.tool_calls):
        whole = call_of(call)
        arguments = whole["function"]["arguments"]
        begin = {**whole, "index": index, "function": {**whole["function"], "arguments": ""}}
        pieces = [{"index": index, "function": {"arguments": part}} for part in (arguments[:4], arguments[4:])]
        deltas += [{"tool_calls": [piece]} for piece in (begin, *pieces)]
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5"}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": completion.finish_reason}]})
    if completion.usage is not None:
        chunks.append({**base, "choices": [], "usage": usage_of(completion.usage)})
    return chunks


def events(chunks: list[dict[str, Any]], *, done: bool = True) -> httpx2.Response:
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"] * done
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text="".join(lines))


def error(status: int, code: str | None = None, message: str = "It failed", **headers: str) -> httpx2.Response:
    body = {"error": {"message": message, "type": "some_error", "param": None, "code": code}}
    return httpx2.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


FAILURES: Mapping[Failure, Callable[[], httpx2.Response]] = {
    "rate limited": lambda: error(429, "rate_limit_exceeded", retry_after="7"),
    "unavailable": lambda: error(503, "server_error"),
    "bad key": lambda: error(401, "invalid_api_key", f"Incorrect API key provided: {SECRET}"),
    "bad request": lambda: error(400, "context_length_exceeded", "What of T-1? is too long"),
    "garbage": lambda: httpx2.Response(200, text="<html>"),
}


class Backend(HttpModelBackend):
    """Stands in for the API."""

    failures = FAILURES

    def answer(self, completion: Completion) -> None:
        self.respond = lambda body: (
            events(chunks_of(completion)) if body.get("stream") else httpx2.Response(200, json=answer_of(completion))
        )


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
async def http_client(backend: Backend) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(backend)) as client:
        yield client


@pytest.fixture
def adapter(http_client: httpx2.AsyncClient) -> OpenAIAdapter:
    return OpenAIAdapter("gpt-5", api_key=SECRET, http_client=http_client, max_retries=0)


class TestOpenAIAdapter(ModelAdapterKit):
    pass


class TestRequest:
    async def test_it_is_what_the_api_expects(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        backend.answer(Completion("High."))
        messages = [
            ChatMessage("user", "What of T-1?"),
            ChatMessage("assistant", None, [ToolCall("c1", "get_ticket", {"id": "T-1"})]),
            ChatMessage("tool", "open", tool_call_id="c1", name="get_ticket"),
        ]
        tools = [ModelTool("get_ticket", "Get one", {"type": "object"}), ModelTool("now")]
        await adapter.completion(ModelPrompt("Be brief.", messages), tools, ModelOptions(tool_choice="required"))
        assert backend.requests[-1].headers["authorization"] == f"Bearer {SECRET}"
        assert str(backend.requests[-1].url) == "https://api.openai.com/v1/chat/completions"
        assert backend.body == {
            "model": "gpt-5",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "What of T-1?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "get_ticket", "arguments": '{"id": "T-1"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "open"},
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "get_ticket", "parameters": {"type": "object"}, "description": "Get one"},
                },
                {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
            ],
            "tool_choice": "required",
        }

    @pytest.mark.parametrize("media", [["image"], ["image", "audio", "pdf"], []])
    async def test_what_tools_may_not_say_the_user_says_after_them(
        self, http_client: httpx2.AsyncClient, backend: Backend, media: list[str]
    ) -> None:
        backend.answer(Completion("High."))
        adapter = OpenAIAdapter("m", api_key="k", http_client=http_client, media=media)
        photo, icon = ChatMedia("image/jpeg", "cGhvdG8="), ChatMedia("image/x-icon", "aWNvbg==")
        hum, bill = ChatMedia("audio/mpeg", "aHVt"), ChatMedia("application/pdf", "JVBERg==", "bill.pdf")
        messages = [
            ChatMessage("user", "What of T-1?"),
            ChatMessage("assistant", None, [ToolCall("c1", "look"), ToolCall("c2", "now")]),
            ChatMessage.of("tool", ["a", photo, icon, hum, bill], tool_call_id="c1", name="look"),
            ChatMessage("tool", "noon", tool_call_id="c2", name="now"),
            ChatMessage("user", "And?"),
        ]
        await adapter.completion(ModelPrompt(None, messages), TOOLS)
        *_, first, second = [each for each in backend.body["messages"] if each["role"] == "tool"]
        assert first["content"] == "\n".join(["a", str(photo), str(icon), str(hum), str(bill)])
        assert second["content"] == "noon"
        image = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,cGhvdG8="}}
        audio = {"type": "input_audio", "input_audio": {"data": "aHVt", "format": "mp3"}}
        file = {"filename": "bill.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}
        parts = [
            part
            for kind, medium, shown in (
                ("image", photo, image),
                ("audio", hum, audio),
                ("pdf", bill, {"type": "file", "file": file}),
            )
            if kind in media
            for part in ({"type": "text", "text": f"{medium} of look, call c1:"}, shown)
        ]
        after = [{"role": "user", "content": parts}] if parts else []
        assert backend.body["messages"][4:] == [*after, {"role": "user", "content": "And?"}]
        for part in parts:
            assert TypeAdapter(ChatCompletionContentPartParam).validate_python(part) == part

    async def test_a_question_with_a_picture(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        backend.answer(Completion("High."))
        asked = ChatMessage.of(
            "user", ["What is it?", ChatMedia("image/png", "cGl4"), ChatMedia("image/x-icon", "aWNvbg==")]
        )
        await adapter.completion(ModelPrompt(None, [asked]))
        assert backend.body["messages"][0]["content"] == [
            {"type": "text", "text": "What is it?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cGl4"}},
            {"type": "text", "text": "[image/x-icon, 4 bytes]"},
        ]

    async def test_options_of_the_agent_hold_unless_a_request_has_its_own(
        self, http_client: httpx2.AsyncClient, backend: Backend
    ) -> None:
        backend.answer(Completion("High."))
        adapter = OpenAIAdapter(
            "gpt-5",
            api_key=SECRET,
            http_client=http_client,
            temperature=0.5,
            max_tokens=9,
            parameters={"reasoning_effort": "low"},
        )
        await adapter.completion(question())
        assert (backend.body["temperature"], backend.body["max_completion_tokens"]) == (0.5, 9)
        assert backend.body["reasoning_effort"] == "low"
        await adapter.completion(question(), None, ModelOptions(temperature=0, max_tokens=3))
        assert (backend.body["temperature"], backend.body["max_completion_tokens"]) == (0, 3)

    async def test_the_provider_is_given_the_schema_of_the_answer(
        self, http_client: httpx2.AsyncClient, backend: Backend
    ) -> None:
        backend.answer(Completion("{}"))
        schema = {"type": "object", "properties": {"urgency": {"type": "string"}}}
        options = ModelOptions(output_schema=schema)
        await OpenAIAdapter("m", api_key="k", http_client=http_client).completion(question(), None, options)
        assert backend.body["response_format"]["json_schema"]["schema"] == schema
        adapter = OpenAIAdapter("m", api_key="k", http_client=http_client, structured=False)
        await adapter.completion(question(), None, options)
        assert "response_format" not in backend.body

    async def test_another_server_that_speaks_the_api(self, http_client: httpx2.AsyncClient, backend: Backend) -> None:
        backend.answer(Completion("High."))
        adapter = OpenAIAdapter("llama", base_url="http://127.0.0.1:11434/v1", http_client=http_client, max_tokens=5)
        await adapter.completion(question())
        assert str(backend.requests[-1].url) == "http://127.0.0.1:11434/v1/chat/completions"
        assert backend.body["max_tokens"] == 5


class TestAnswers:
    async def test_what_a_refusal_says_is_kept(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        backend.answer(Completion(None, finish_reason="content_filter"))
        completion = await adapter.completion(question())
        assert completion.content == "I can't help with that."

    async def test_calls_without_ids_get_some(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        calls = [ToolCall("", "now"), ToolCall("", "get_ticket", {"id": "T-1"})]
        backend.answer(Completion(None, calls, "stop"))
        completion = await adapter.completion(question(), TOOLS)
        assert [call.id for call in completion.tool_calls] == ["call_0", "call_1"]
        assert completion.finish_reason == "tool_calls"

    @pytest.mark.parametrize(
        "body",
        [{}, {"choices": []}, {"choices": None}, {"choices": [{"index": 0}]}, {"choices": [{"message": None}]}, []],
    )
    async def test_an_answer_without_sense_is_an_error(
        self, adapter: OpenAIAdapter, backend: Backend, body: Any
    ) -> None:
        backend.respond = lambda _: httpx2.Response(200, json=body)
        with pytest.raises(ModelError, match="makes no sense"):
            await adapter.completion(question())

    @pytest.mark.parametrize(("given", "read"), [([1], "[1]"), (7, "7"), ("text", "text"), ({"a": 1}, {"a": 1})])
    async def test_arguments_that_are_no_object_come_as_text(
        self, adapter: OpenAIAdapter, backend: Backend, given: Any, read: Any
    ) -> None:
        answer = answer_of(Completion(None, [ToolCall("c1", "get_ticket", "")], "tool_calls"))
        answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = given
        backend.respond = lambda body: httpx2.Response(200, json=answer)
        assert (await adapter.completion(question(), TOOLS)).tool_calls[0].arguments == read


class TestFailures:
    @pytest.mark.parametrize(
        ("response", "expected", "said"),
        [
            (lambda: error(403, "model_not_allowed"), ModelAccessError, r"\(403, model_not_allowed\)"),
            (lambda: error(404, "model_not_found"), ModelRequestError, r"\(404, model_not_found\)"),
            (lambda: error(400, "it said: What of T-1?"), ModelRequestError, r"\(400\)"),
            (lambda: error(413), ModelRequestError, r"\(413\)"),
            (lambda: error(429, "insufficient_quota"), ModelRateLimitError, "Try again later"),
            (lambda: error(429, retry_after_ms="1500"), ModelRateLimitError, "Retry after 2 seconds"),
            (lambda: error(429, retry_after="soon"), ModelRateLimitError, "Try again later"),
            (lambda: error(500), ModelUnavailableError, "does not answer"),
            (lambda: error(408), ModelUnavailableError, "does not answer"),
            (lambda: httpx2.Response(502, text="<html>bad gateway</html>"), ModelUnavailableError, "does not answer"),
        ],
    )
    async def test_each_status_is_the_error_for_it(
        self, adapter: OpenAIAdapter, backend: Backend, response: Any, expected: type[ModelError], said: str
    ) -> None:
        backend.respond = lambda body: response()
        with pytest.raises(expected, match=said) as raised:
            await adapter.completion(question())
        assert "T-1" not in str(raised.value)

    async def test_a_busy_provider_is_asked_again_when_it_says(
        self, http_client: httpx2.AsyncClient, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited: list[float] = []

        async def sleep(seconds: float) -> None:
            waited.append(seconds)

        monkeypatch.setattr(anyio, "sleep", sleep)
        responses = [
            error(429, retry_after="7"),
            error(503, retry_after_ms="1500"),
            httpx2.Response(200, json=answer_of(Completion("High."))),
        ]
        backend.respond = lambda body: responses.pop(0)
        adapter = OpenAIAdapter("m", api_key="k", http_client=http_client)
        assert (await adapter.completion(question())).content == "High."
        assert len(backend.requests) == 3
        assert waited == [7, 1.5]

    async def test_one_that_is_busy_for_long_is_not_waited_for(self) -> None:
        asked: list[bytes] = []

        async def busy(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                asked.append(await stream.receive())
                await stream.send(
                    b"HTTP/1.1 429 No\r\nretry-after: 60\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                )

        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
            adapter = OpenAIAdapter("m", api_key="k", base_url=url)
            async with anyio.create_task_group() as group:
                group.start_soon(listener.serve, busy)
                with anyio.fail_after(10), pytest.raises(ModelRateLimitError) as raised:
                    await adapter.completion(question())
                group.cancel_scope.cancel()
            await adapter.aclose()
        assert raised.value.retry_after == 60
        assert len(asked) == 1

    async def test_a_server_that_is_not_there(self) -> None:
        adapter = OpenAIAdapter("m", base_url="http://127.0.0.1:1/v1", max_retries=0)
        with pytest.raises(ModelUnavailableError):
            await adapter.completion(question())
        await adapter.aclose()


class TestStreams:
    async def test_broken_arguments_come_as_they_were_written(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        for written in ('{"id": "T-', "[1]", "null", "7"):
            backend.answer(Completion(None, [ToolCall("c1", "get_ticket", written)], "length"))
            last = [piece async for piece in adapter.stream(question(), TOOLS)][-1]
            assert isinstance(last, Completion)
            assert (last.tool_calls[0].arguments, last.finish_reason) == (written, "length")

    async def test_calls_that_nobody_numbered_are_told_apart(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        calls = [ToolCall("c1", "get_ticket", '{"id": "T-1"}'), ToolCall("c2", "get_ticket", '{"id": "T-2"}')]
        chunks = chunks_of(Completion(None, calls, "tool_calls"))
        for chunk in chunks:
            for choice in chunk["choices"]:
                for piece in choice["delta"].get("tool_calls", ()):
                    del piece["index"]
        backend.respond = lambda body: events(chunks)
        last = [piece async for piece in adapter.stream(question(), TOOLS)][-1]
        assert isinstance(last, Completion)
        assert last.tool_calls == calls

    async def test_one_that_breaks_off_is_no_answer(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        backend.respond = lambda body: events(chunks_of(Completion("High: nobody"))[:-1], done=False)
        with pytest.raises(ModelUnavailableError):
            [piece async for piece in adapter.stream(question())]

    async def test_an_error_on_the_way_is_one(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        failing = {"error": {"message": "What of T-1?", "type": "server_error", "code": "server_error"}}
        backend.respond = lambda body: events([*chunks_of(Completion("High"))[:-1], failing])
        with pytest.raises(ModelUnavailableError) as raised:
            [piece async for piece in adapter.stream(question())]
        assert "T-1" not in str(raised.value)

    async def test_a_line_that_is_no_json_makes_no_sense(self, adapter: OpenAIAdapter, backend: Backend) -> None:
        headers = {"content-type": "text/event-stream"}
        backend.respond = lambda body: httpx2.Response(200, headers=headers, text="data: {oops\n\n")
        with pytest.raises(ModelError, match="makes no sense"):
            [piece async for piece in adapter.stream(question())]


class TestPlugin:
    def config(self, **fields: Any) -> ModelConfig:
        return ModelConfig(**{"provider": "openai", "model": "gpt-5", "api_key": SecretStr(SECRET), **fields})

    def test_it_answers_for_its_provider_only(self) -> None:
        plugin = OpenAI()
        assert plugin.model_adapter(self.config(provider="other")) is None
        adapter = plugin.model_adapter(self.config(extra={"timeout": 3}))
        assert repr(adapter) == "<OpenAIAdapter gpt-5>"

    def test_everything_wrong_is_told_at_once_without_the_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(ConfigurationError) as raised:
            OpenAI().model_adapter(self.config(model=None, api_key=None, extra={"tempature": 1, "timeout": -1}))
        assert [problem.split()[0] for problem in raised.value.problems] == [
            '"model"', "there", "timeout:", "tempature:",
        ]  # fmt: skip
        with pytest.raises(ConfigurationError) as raised:
            OpenAI().model_adapter(self.config(base_url="localhost:11434", extra={"modle": "gpt-5"}))
        assert raised.value.problems == [
            '"base_url" must be a URL that begins with http:// or https://',
            'modle: there is no such key; did you mean "model"?',
        ]
        with pytest.raises(ConfigurationError) as raised:
            OpenAIAdapter("gpt-5", media=["image", "video"])
        assert raised.value.problems == ["media.1: Input should be 'image', 'audio' or 'pdf'"]
        with pytest.raises(ConfigurationError, match='"base_url" must be a URL'):
            OpenAIAdapter("gpt-5", base_url="localhost:11434")
        with pytest.raises(ConfigurationError) as raised:
            OpenAI().model_adapter(self.config(extra={"timeout": SECRET}))
        assert SECRET not in str(raised.value)

    def test_the_key_may_come_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        assert OpenAI().model_adapter(self.config(api_key=None)) is not None

    def test_a_server_of_ones_own_needs_no_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        assert OpenAI().model_adapter(self.config(api_key=None, base_url="http://127.0.0.1:8080/v1")) is not None
