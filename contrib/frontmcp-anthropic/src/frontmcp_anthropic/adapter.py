"""`AnthropicAdapter`: a `ModelAdapter` on the official SDK, by the Messages API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import anthropic
import httpx2
from anthropic import AsyncAnthropic
from anthropic.types import Message
from pydantic import Field

from frontmcp import Completion, ToolCall
from frontmcp.interfaces import (
    ChatMedia,
    ChatMessage,
    CompletionDelta,
    FinishReason,
    ModelError,
    ModelOptions,
    ModelPrompt,
    ModelTool,
    ModelUnavailableError,
    Usage,
    error_of_status,
)
from frontmcp.interfaces.models import NO_SENSE, ProviderAdapter, ProviderOptions, heed_long_waits

FINISH: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
CHOICES: Final = {"auto": "auto", "required": "any", "none": "none"}
Medium: TypeAlias = Literal["image", "pdf"]
IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF: Final = "application/pdf"
REASONING: Final = ("thinking", "redacted_thinking")


class AnthropicOptions(ProviderOptions):
    """What ``llm={"provider": "anthropic", …}`` may have besides.

    :ivar max_tokens: unless a request has its own; this provider wants to be told.
    :ivar structured: off, since not every model and schema can.
    :ivar media: what the model is shown as it is, of what is no text; of anything else it is told type and size.
    """

    max_tokens: int = Field(8192, gt=0)
    structured: bool = False
    media: Sequence[Medium] = ("image", "pdf")


class AnthropicAdapter(ProviderAdapter):
    """Asks a model of Anthropic."""

    provider = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    example = "claude-sonnet-5"
    options_type = AnthropicOptions

    def connect(self, *, http_client: Any = None, **settings: Any) -> AsyncAnthropic:
        ours = http_client or anthropic.DefaultAsyncHttpxClient(event_hooks={"response": [heed_long_waits]})
        return AsyncAnthropic(http_client=ours, **settings)

    async def completion(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> Completion:
        """Ask once (`frontmcp.interfaces.ModelAdapter.completion`)."""
        request = self._request(prompt, tools, options or ModelOptions())
        with self.our_errors():
            answer = await self.client.messages.create(**request)
            if not isinstance(answer, Message):
                raise ModelError(NO_SENSE)
            blocks = [block.model_dump(mode="json", exclude_none=True, warnings=False) for block in answer.content]
            return _completion(blocks, answer.stop_reason, _usage(answer.usage))

    async def stream(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> AsyncIterator[CompletionDelta | Completion]:
        """The same, piece by piece (`frontmcp.interfaces.StreamingModelAdapter.stream`)."""
        request = self._request(prompt, tools, options or ModelOptions())
        whole = _Whole()
        with self.our_errors():
            async with await self.client.messages.create(**request, stream=True) as events:
                async for event in events:
                    if text := whole.add(event):
                        yield CompletionDelta(text)
            yield whole.completion()

    def error_of(self, error: Exception) -> ModelError:
        if isinstance(error, anthropic.APIStatusError):
            if error.status_code < 400:
                # The stream of an answer that had begun tells of an error.
                return ModelUnavailableError()
            return error_of_status(error.status_code, error.response.headers, _type(error.body))
        if isinstance(error, (anthropic.APIConnectionError, httpx2.TransportError)):
            return ModelUnavailableError(reason=type(error.__cause__ or error).__name__)
        return super().error_of(error)

    def _request(self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None, options: ModelOptions) -> dict[str, Any]:
        ours: AnthropicOptions = self.options
        temperature = options.temperature if options.temperature is not None else ours.temperature
        given: dict[str, Any] = {
            "system": prompt.instructions,
            "stop_sequences": list(options.stop),
            "tools": [_tool(tool) for tool in tools or ()],
            "tool_choice": {"type": CHOICES[options.tool_choice]} if tools and options.tool_choice else None,
            "output_config": _format(options.output_schema) if options.output_schema and ours.structured else None,
            # The SDK no longer knows it, since newer models refuse it; older ones take it.
            "extra_body": {**({} if temperature is None else {"temperature": temperature}), **ours.parameters},
        }
        return {
            "model": self.model,
            "max_tokens": options.max_tokens or ours.max_tokens,
            "messages": _messages(prompt.messages, ours.media),
            **{name: value for name, value in given.items() if value not in (None, "", [], {})},
        }


def _tool(tool: ModelTool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, "input_schema": dict(tool.parameters), **described}


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": dict(schema)}}


def _messages(messages: Sequence[ChatMessage], media: Sequence[Medium]) -> list[dict[str, Any]]:
    """A conversation in which the roles take turns: what tools gave is said by the user, all of it in one message."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system" or not (blocks := _blocks(message, media)):
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    return found


def _blocks(message: ChatMessage, media: Sequence[Medium]) -> list[dict[str, Any]]:
    if message.provider_data is not None:
        return list(message.provider_data["content"])
    said = [_part(part, media) for part in message.parts or [message.content or ""] if part]
    if message.role == "tool":
        content = said if message.parts else message.content or ""
        result = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content}
        return [{**result, "is_error": True} if message.is_error else result]
    return [*said, *map(_use, message.tool_calls)]


def _part(part: str | ChatMedia, media: Sequence[Medium]) -> dict[str, Any]:
    if isinstance(part, ChatMedia):
        source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
        if part.mime_type in IMAGES and "image" in media:
            return {"type": "image", "source": source}
        if part.mime_type == PDF and "pdf" in media:
            return {"type": "document", "source": source}
    return {"type": "text", "text": str(part)}


def _use(call: ToolCall) -> dict[str, Any]:
    # Arguments that are broken JSON can't be sent as they were written: the model sees that they were lost.
    read = _read(call.arguments) if isinstance(call.arguments, str) else dict(call.arguments)
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": {} if isinstance(read, str) else read}


def _read(text: str) -> dict[str, Any] | str:
    """A JSON object as data; text that is none as it is."""
    try:
        read = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text
    return read if isinstance(read, dict) else text


def _completion(blocks: Sequence[Mapping[str, Any]], stop: str | None, usage: Usage | None) -> Completion:
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [_tool_call(block) for block in blocks if block["type"] == "tool_use"]
    reasons = any(block["type"] in REASONING for block in blocks)
    # What the model thought is signed, and must come back as it was.
    kept = {"content": [dict(block) for block in blocks]} if reasons else None
    return Completion(text or None, calls, FINISH.get(stop or "", "stop"), usage, kept)


def _tool_call(block: Mapping[str, Any]) -> ToolCall:
    """A tool call; what is no object is for who reads its arguments to judge."""
    given = block["input"]
    return ToolCall(block["id"], block["name"], given if isinstance(given, str | dict) else json.dumps(given))


def _usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    return Usage((usage.input_tokens or 0) + cached, usage.output_tokens or 0)


class _Whole:
    """A completion that comes in pieces."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._written: dict[int, str] = {}
        self._stop: str | None = None
        self._usage = Usage()

    def add(self, event: Any) -> str:
        """Take an event in; gives its text."""
        if event.type == "message_start":
            self._usage = _usage(event.message.usage) or Usage()
        elif event.type == "message_delta":
            self._stop = event.delta.stop_reason
            self._usage = Usage(self._usage.prompt_tokens, event.usage.output_tokens or 0)
        elif event.type == "content_block_start":
            self._blocks[event.index] = event.content_block.model_dump(mode="json", exclude_none=True, warnings=False)
        elif event.type == "content_block_delta":
            return self._add_piece(event.index, event.delta)
        return ""

    def _add_piece(self, index: int, delta: Any) -> str:
        block = self._blocks[index]
        if delta.type == "input_json_delta":
            self._written[index] = self._written.get(index, "") + delta.partial_json
        elif delta.type == "text_delta":
            block["text"] += delta.text
            return str(delta.text)
        elif delta.type == "thinking_delta":
            block["thinking"] += delta.thinking
        elif delta.type == "signature_delta":
            block["signature"] = delta.signature
        return ""

    def completion(self) -> Completion:
        """The whole.

        :raises ModelUnavailableError: it broke off.
        """
        if self._stop is None:
            raise ModelUnavailableError
        for index, written in self._written.items():
            self._blocks[index]["input"] = _read(written)
        return _completion([block for _, block in sorted(self._blocks.items())], self._stop, self._usage)


def _type(body: Any) -> Any:
    error = body.get("error") if isinstance(body, dict) else None
    return error.get("type") if isinstance(error, dict) else None
