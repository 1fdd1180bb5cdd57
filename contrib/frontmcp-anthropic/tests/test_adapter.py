"""The adapter against what the API of Anthropic is documented to send, at the HTTP layer."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import anyio
import anyio.abc
import httpx2
import pytest
from anthropic.types.tool_result_block_param import Content
from frontmcp_anthropic import Anthropic
from frontmcp_anthropic.adapter import AnthropicAdapter
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
    ModelUnavailableError,
    Usage,
)
from frontmcp.testing import HttpModelBackend, ModelAdapterKit
from frontmcp.testing.models import SECRET, TOOLS, Failure, question

STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
THOUGHT = {"type": "thinking", "thinking": "T-1 is down for all.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrk"}


def blocks_of(completion: Completion) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": completion.content}] if completion.content else []
    return [*text, *map(use_of, completion.tool_calls)]


def use_of(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def answer_of(completion: Completion, *more: Mapping[str, Any]) -> dict[str, Any]:
    """What the provider sends for a completion.

    :param more: blocks that stand before it.
    """
    usage = completion.usage or Usage()
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [*more, *blocks_of(completion)],
        "stop_reason": STOPS[completion.finish_reason],
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.prompt_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": usage.completion_tokens,
        },
    }


def events_of(completion: Completion, *more: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the provider streams for a completion: text by words, input of tools in two pieces."""
    answer = answer_of(completion, *more)
    start = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(answer["content"]):
        empty, deltas = pieces_of(block)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": answer["usage"]})
    return [*events, {"type": "message_stop"}]


def pieces_of(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        words = re.findall(r"\S+\s*", block["text"])
        return {**block, "text": ""}, [{"type": "text_delta", "text": word} for word in words]
    if block["type"] == "thinking":
        return {**block, "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    given = block["input"]
    written = given if isinstance(given, str) else json.dumps(dict(given)) if given else ""
    parts = (written[:4], written[4:])
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def streamed(events: list[dict[str, Any]]) -> httpx2.Response:
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=text)


def error(status: int, type: str = "api_error", message: str = "It failed", **headers: str) -> httpx2.Response:
    body = {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_1"}
    return httpx2.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


FAILURES: Mapping[Failure, Callable[[], httpx2.Response]] = {
    "rate limited": lambda: error(429, "rate_limit_error", retry_after="7"),
    "unavailable": lambda: error(529, "overloaded_error"),
    "bad key": lambda: error(401, "authentication_error", f"invalid x-api-key {SECRET}"),
    "bad request": lambda: error(400, "invalid_request_error", "What of T-1? is too long"),
    "garbage": lambda: httpx2.Response(200, text="<html>"),
}


class Backend(HttpModelBackend):
    """Stands in for the API."""

    failures = FAILURES

    def answer(self, completion: Completion, *more: Mapping[str, Any]) -> None:
        self.respond = lambda body: (
            streamed(events_of(completion, *more))
            if body.get("stream")
            else httpx2.Response(200, json=answer_of(completion, *more))
        )


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
async def http_client(backend: Backend) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(backend)) as client:
        yield client


@pytest.fixture
def adapter(http_client: httpx2.AsyncClient) -> AnthropicAdapter:
    return AnthropicAdapter("claude-sonnet-5", api_key=SECRET, http_client=http_client, max_retries=0)


class TestAnthropicAdapter(ModelAdapterKit):
    pass


class TestRequest:
    async def test_it_is_what_the_api_expects(self, adapter: AnthropicAdapter, backend: Backend) -> None:
        backend.answer(Completion("High."))
        messages = [
            ChatMessage("user", "What of T-1?"),
            ChatMessage("system", "Answer in English."),
            ChatMessage(
                "assistant", "Let me see.", [ToolCall("c1", "get_ticket", {"id": "T-1"}), ToolCall("c2", "now")]
            ),
            ChatMessage("tool", "open", tool_call_id="c1", name="get_ticket"),
            ChatMessage("tool", "no clock", tool_call_id="c2", name="now", is_error=True),
            ChatMessage("user", "And?"),
        ]
        await adapter.completion(ModelPrompt("Be brief.", messages), TOOLS, ModelOptions(tool_choice="required"))
        request = backend.requests[-1]
        assert SECRET in (request.headers.get("x-api-key") or request.headers["authorization"])
        assert str(request.url) == "https://api.anthropic.com/v1/messages"
        assert backend.body == {
            "model": "claude-sonnet-5",
            "max_tokens": 8192,
            "system": "Be brief.\n\nAnswer in English.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "What of T-1?"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Let me see."},
                        {"type": "tool_use", "id": "c1", "name": "get_ticket", "input": {"id": "T-1"}},
                        {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "open"},
                        {"type": "tool_result", "tool_use_id": "c2", "content": "no clock", "is_error": True},
                        {"type": "text", "text": "And?"},
                    ],
                },
            ],
            "tools": [
                {"name": "get_ticket", "description": "Get one ticket", "input_schema": dict(TOOLS[0].parameters)},
                {"name": "now", "input_schema": {"type": "object", "properties": {}}},
            ],
            "tool_choice": {"type": "any"},
        }

    @pytest.mark.parametrize("media", [["image", "pdf"], []])
    async def test_what_is_no_text_stands_in_the_result(
        self, http_client: httpx2.AsyncClient, backend: Backend, media: list[str]
    ) -> None:
        backend.answer(Completion("High."))
        adapter = AnthropicAdapter("m", api_key="k", http_client=http_client, media=media)
        photo, icon = ChatMedia("image/jpeg", "cGhvdG8="), ChatMedia("image/x-icon", "aWNvbg==")
        hum, bill = ChatMedia("audio/mpeg", "aHVt"), ChatMedia("application/pdf", "JVBERg==", "bill.pdf")
        messages = [
            ChatMessage.of("user", ["What is it?", photo]),
            ChatMessage("assistant", None, [ToolCall("c1", "look")]),
            ChatMessage.of("tool", ["a", photo, "", icon, hum, bill], tool_call_id="c1", name="look"),
        ]
        await adapter.completion(ModelPrompt(None, messages), TOOLS)

        def text(said: object) -> dict[str, Any]:
            return {"type": "text", "text": str(said)}

        source = {"type": "base64", "media_type": "image/jpeg", "data": "cGhvdG8="}
        image = {"type": "image", "source": source} if media else text(photo)
        source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
        document = {"type": "document", "source": source} if media else text(bill)
        asked, _, told = backend.body["messages"]
        assert asked["content"] == [text("What is it?"), image]
        content = [text("a"), image, text(icon), text(hum), document]
        assert told["content"] == [{"type": "tool_result", "tool_use_id": "c1", "content": content}]
        for block in content:
            assert TypeAdapter(Content).validate_python(block) == block

    async def test_options_of_the_agent_hold_unless_a_request_has_its_own(
        self, http_client: httpx2.AsyncClient, backend: Backend
    ) -> None:
        backend.answer(Completion("High."))
        adapter = AnthropicAdapter(
            "m", api_key=SECRET, http_client=http_client, temperature=0.5, max_tokens=9, parameters={"top_k": 3}
        )
        await adapter.completion(question())
        assert (backend.body["temperature"], backend.body["max_tokens"], backend.body["top_k"]) == (0.5, 9, 3)
        await adapter.completion(question(), None, ModelOptions(temperature=0, max_tokens=3))
        assert (backend.body["temperature"], backend.body["max_tokens"]) == (0, 3)

    async def test_the_provider_is_given_the_schema_of_the_answer_where_it_is_told_to(
        self, http_client: httpx2.AsyncClient, backend: Backend
    ) -> None:
        backend.answer(Completion("{}"))
        options = ModelOptions(output_schema={"type": "object"})
        adapter = AnthropicAdapter("m", api_key="k", http_client=http_client, structured=True)
        await adapter.completion(question(), None, options)
        assert backend.body["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}

    @pytest.mark.parametrize("streaming", [False, True])
    async def test_what_the_model_thought_goes_back_as_it_came(
        self, adapter: AnthropicAdapter, backend: Backend, streaming: bool
    ) -> None:
        backend.answer(Completion(None, [ToolCall("c1", "now")], "tool_calls"), THOUGHT)
        if streaming:
            first: Any = [piece async for piece in adapter.stream(question(), TOOLS)][-1]
        else:
            first = await adapter.completion(question(), TOOLS)
        assert first.content is None
        backend.answer(Completion("High."))
        messages = [
            *question().messages,
            ChatMessage("assistant", first.content, first.tool_calls, provider_data=first.provider_data),
            ChatMessage("tool", "noon", tool_call_id="c1", name="now"),
        ]
        await adapter.completion(ModelPrompt(None, messages), TOOLS)
        assert backend.body["messages"][1]["content"][0] == THOUGHT

    async def test_broken_arguments_are_sent_back_as_none(self, adapter: AnthropicAdapter, backend: Backend) -> None:
        backend.answer(Completion("High."))
        messages = [
            *question().messages,
            ChatMessage("assistant", None, [ToolCall("c1", "now", '{"a"')]),
            ChatMessage("tool", "broken", tool_call_id="c1", name="now", is_error=True),
        ]
        await adapter.completion(ModelPrompt(None, messages), TOOLS)
        assert backend.body["messages"][1]["content"] == [{"type": "tool_use", "id": "c1", "name": "now", "input": {}}]


class TestAnswers:
    async def test_tokens_from_the_cache_are_counted(self, adapter: AnthropicAdapter, backend: Backend) -> None:
        usage = {
            "input_tokens": 2,
            "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 100,
            "output_tokens": 5,
        }
        backend.respond = lambda body: httpx2.Response(200, json={**answer_of(Completion("High.")), "usage": usage})
        assert (await adapter.completion(question())).usage == Usage(112, 5)

    @pytest.mark.parametrize("body", [{}, {"content": None}, {"content": [{"type": "text"}]}, []])
    async def test_an_answer_without_sense_is_an_error(
        self, adapter: AnthropicAdapter, backend: Backend, body: Any
    ) -> None:
        backend.respond = lambda _: httpx2.Response(200, json=body)
        with pytest.raises(ModelError, match="makes no sense"):
            await adapter.completion(question())

    @pytest.mark.parametrize(("given", "read"), [([1], "[1]"), (7, "7"), ("text", "text"), ({"a": 1}, {"a": 1})])
    async def test_input_that_is_no_object_comes_as_text(
        self, adapter: AnthropicAdapter, backend: Backend, given: Any, read: Any
    ) -> None:
        backend.answer(Completion(None, [ToolCall("c1", "get_ticket", given)], "tool_calls"))
        assert (await adapter.completion(question(), TOOLS)).tool_calls[0].arguments == read


class TestFailures:
    @pytest.mark.parametrize(
        ("response", "expected", "said"),
        [
            (lambda: error(403, "permission_error"), ModelAccessError, r"\(403, permission_error\)"),
            (lambda: error(404, "not_found_error"), ModelRequestError, r"\(404, not_found_error\)"),
            (lambda: error(400, "What of T-1?"), ModelRequestError, r"\(400\)"),
            (lambda: error(413, "request_too_large"), ModelRequestError, r"\(413, request_too_large\)"),
            (lambda: error(429), ModelRateLimitError, "Try again later"),
            (lambda: error(500), ModelUnavailableError, "does not answer"),
            (lambda: httpx2.Response(502, text="<html>bad gateway</html>"), ModelUnavailableError, "does not answer"),
        ],
    )
    async def test_each_status_is_the_error_for_it(
        self, adapter: AnthropicAdapter, backend: Backend, response: Any, expected: type[ModelError], said: str
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
            error(529, "overloaded_error", retry_after_ms="1500"),
            httpx2.Response(200, json=answer_of(Completion("High."))),
        ]
        backend.respond = lambda body: responses.pop(0)
        adapter = AnthropicAdapter("m", api_key="k", http_client=http_client)
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
            adapter = AnthropicAdapter("m", api_key="k", base_url=url)
            async with anyio.create_task_group() as group:
                group.start_soon(listener.serve, busy)
                with anyio.fail_after(10), pytest.raises(ModelRateLimitError) as raised:
                    await adapter.completion(question())
                group.cancel_scope.cancel()
            await adapter.aclose()
        assert raised.value.retry_after == 60
        assert len(asked) == 1

    async def test_a_server_that_is_not_there(self) -> None:
        adapter = AnthropicAdapter("m", api_key="k", base_url="http://127.0.0.1:1", max_retries=0)
        with pytest.raises(ModelUnavailableError):
            await adapter.completion(question())
        await adapter.aclose()


class TestStreams:
    async def test_broken_input_comes_as_it_was_written(self, adapter: AnthropicAdapter, backend: Backend) -> None:
        for written in ('{"id": "T-', "[1]", "null", "7"):
            backend.answer(Completion(None, [ToolCall("c1", "get_ticket", written)], "length"))
            last = [piece async for piece in adapter.stream(question(), TOOLS)][-1]
            assert isinstance(last, Completion)
            assert (last.tool_calls[0].arguments, last.finish_reason) == (written, "length")

    async def test_one_that_breaks_off_is_no_answer(self, adapter: AnthropicAdapter, backend: Backend) -> None:
        backend.respond = lambda body: streamed(events_of(Completion("High: nobody"))[:-3])
        with pytest.raises(ModelUnavailableError):
            [piece async for piece in adapter.stream(question())]

    async def test_an_error_on_the_way_is_one(self, adapter: AnthropicAdapter, backend: Backend) -> None:
        failing = {"type": "error", "error": {"type": "overloaded_error", "message": "What of T-1?"}}
        backend.respond = lambda body: streamed([*events_of(Completion("High"))[:4], failing])
        with pytest.raises(ModelUnavailableError) as raised:
            [piece async for piece in adapter.stream(question())]
        assert "T-1" not in str(raised.value)


class TestPlugin:
    def config(self, **fields: Any) -> ModelConfig:
        return ModelConfig(**{"provider": "anthropic", "model": "m", "api_key": SecretStr(SECRET), **fields})

    def test_it_answers_for_its_provider_only(self) -> None:
        plugin = Anthropic()
        assert plugin.model_adapter(self.config(provider="other")) is None
        assert repr(plugin.model_adapter(self.config(extra={"timeout": 3}))) == "<AnthropicAdapter m>"

    def test_everything_wrong_is_told_at_once_without_the_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        with pytest.raises(ConfigurationError) as raised:
            Anthropic().model_adapter(self.config(model=None, api_key=None, extra={"tempature": 1, "timeout": -1}))
        assert [problem.split()[0] for problem in raised.value.problems] == [
            '"model"', "there", "timeout:", "tempature:",
        ]  # fmt: skip
        with pytest.raises(ConfigurationError) as raised:
            Anthropic().model_adapter(self.config(extra={"timeout": SECRET}))
        assert SECRET not in str(raised.value)

    def test_the_key_may_come_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        assert Anthropic().model_adapter(self.config(api_key=None)) is not None
