"""`OpenAIAdapter`: a `ModelAdapter` on the official SDK, by the Chat Completions API that many others speak too."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import httpx2
import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from frontmcp import Completion, ToolCall
from frontmcp.interfaces import (
    ChatMedia,
    ChatMessage,
    CompletionDelta,
    FinishReason,
    ModelConfig,
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
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
Medium: TypeAlias = Literal["image", "audio", "pdf"]
IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
SOUNDS: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
PDF: Final = "application/pdf"


class OpenAIOptions(ProviderOptions):
    """What ``llm={"provider": "openai", …}`` may have besides.

    :ivar media: what the model is shown as it is, of what is no text; of anything else it is told type and size.
    """

    media: Sequence[Medium] = ("image",)


class OpenAIAdapter(ProviderAdapter):
    """Asks a model of OpenAI, or of a server that speaks its API at ``base_url``, which may need no key."""

    provider = "openai"
    key_variable = "OPENAI_API_KEY"
    example = "gpt-5"
    options_type = OpenAIOptions

    @classmethod
    def needs_key(cls, config: ModelConfig) -> bool:
        return config.base_url is None

    def connect(self, *, api_key: str | None = None, http_client: Any = None, **settings: Any) -> AsyncOpenAI:
        ours = http_client or openai.DefaultAsyncHttpxClient(event_hooks={"response": [heed_long_waits]})
        return AsyncOpenAI(api_key=api_key or "none", http_client=ours, **settings)

    async def completion(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> Completion:
        """Ask once (`frontmcp.interfaces.ModelAdapter.completion`)."""
        with self.our_errors():
            request = self._request(prompt, tools, options or ModelOptions())
            return _completion(await self.client.chat.completions.create(**request))

    async def stream(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> AsyncIterator[CompletionDelta | Completion]:
        """The same, piece by piece (`frontmcp.interfaces.StreamingModelAdapter.stream`)."""
        request = self._request(prompt, tools, options or ModelOptions())
        whole = _Whole()
        with self.our_errors():
            create = self.client.chat.completions.create
            async with await create(**request, stream=True, stream_options={"include_usage": True}) as chunks:
                async for chunk in chunks:
                    if text := whole.add(chunk):
                        yield CompletionDelta(text)
            yield whole.completion()

    def error_of(self, error: Exception) -> ModelError:
        if isinstance(error, openai.APIStatusError):
            return error_of_status(error.status_code, error.response.headers, error.code)
        if isinstance(error, (openai.APIConnectionError, httpx2.TransportError)):
            return ModelUnavailableError(reason=type(error.__cause__ or error).__name__)
        if isinstance(error, openai.APIError) and error.code != "invalid_prompt":
            # An error in the middle of a stream has no status.
            return ModelUnavailableError()
        return super().error_of(error)

    def _request(self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None, options: ModelOptions) -> dict[str, Any]:
        ours: OpenAIOptions = self.options
        given: dict[str, Any] = {
            "temperature": options.temperature if options.temperature is not None else ours.temperature,
            # OpenAI's own models know the newer name only, other servers often the older one only.
            "max_tokens" if self.base_url else "max_completion_tokens": options.max_tokens or ours.max_tokens,
            "stop": list(options.stop) or None,
            "tools": [_tool(tool) for tool in tools or ()] or None,
            "tool_choice": options.tool_choice if tools else None,
            "response_format": _format(options.output_schema) if options.output_schema and ours.structured else None,
            "extra_body": dict(ours.parameters) or None,
        }
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages = [*system, *_messages(prompt.messages, ours.media)]
        return {"model": self.model, "messages": messages, **{k: v for k, v in given.items() if v is not None}}


def _tool(tool: ModelTool) -> dict[str, Any]:
    function = {"name": tool.name, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function | ({"description": tool.description} if tool.description else {})}


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema), "strict": False}}


def _messages(messages: Sequence[ChatMessage], media: Sequence[Medium]) -> Iterator[dict[str, Any]]:
    """The conversation. Tools may say nothing but text: what else those of a turn gave is said by the user after it."""
    shown: list[dict[str, Any]] = []
    for message in messages:
        if shown and message.role != "tool":
            yield {"role": "user", "content": shown}
            shown = []
        yield _message(message, media)
        if message.role == "tool":
            shown += _shown(message, media)
    if shown:
        yield {"role": "user", "content": shown}


def _shown(message: ChatMessage, media: Sequence[Medium]) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if isinstance(part, ChatMedia) and (shown := _medium(part, media)) is not None:
            yield _text(f"{part} of {message.name}, call {message.tool_call_id}:")
            yield shown


def _medium(part: ChatMedia, media: Sequence[Medium]) -> dict[str, Any] | None:
    """A piece that is no text, where the model is to be shown such, and the API has words for it."""
    url = f"data:{part.mime_type};base64,{part.data}"
    if part.mime_type in IMAGES and "image" in media:
        return {"type": "image_url", "image_url": {"url": url}}
    if part.mime_type in SOUNDS and "audio" in media:
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": SOUNDS[part.mime_type]}}
    if part.mime_type == PDF and "pdf" in media:
        return {"type": "file", "file": {"filename": part.name or "file.pdf", "file_data": url}}
    return None


def _part(part: str | ChatMedia, media: Sequence[Medium]) -> dict[str, Any]:
    shown = _medium(part, media) if isinstance(part, ChatMedia) else None
    return shown or _text(str(part))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _message(message: ChatMessage, media: Sequence[Medium]) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content or ""}
    if message.parts:
        return {"role": message.role, "content": [_part(part, media) for part in message.parts]}
    if not message.tool_calls:
        return {"role": message.role, "content": message.content or ""}
    return {"role": message.role, "content": message.content, "tool_calls": list(map(_call, message.tool_calls))}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(dict(call.arguments))
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _completion(answer: Any) -> Completion:
    if not isinstance(answer, ChatCompletion) or not answer.choices:
        raise ModelError(NO_SENSE)
    choice = answer.choices[0]
    message = choice.message
    calls = [
        _tool_call(index, call.id, call.function.name, call.function.arguments)
        for index, call in enumerate(message.tool_calls or ())
        if call.type == "function"
    ]
    return _ended(message.content, message.refusal, calls, choice.finish_reason, _usage(answer.usage))


def _tool_call(index: int, id: str | None, name: str, arguments: Any) -> ToolCall:
    # Not every server that speaks this API gives ids, and some give arguments as data.
    given = arguments if isinstance(arguments, str | dict) else json.dumps(arguments)
    return ToolCall(id or f"call_{index}", name, given if arguments else {})


def _ended(
    content: str | None, refusal: str | None, calls: Sequence[ToolCall], finish: str | None, usage: Usage | None
) -> Completion:
    reason = FINISH.get(finish or "", "stop")
    if refusal:
        content, reason = refusal, "content_filter"
    elif calls and reason == "stop":
        reason = "tool_calls"
    return Completion(content, calls, reason, usage)


def _usage(usage: Any) -> Usage | None:
    return None if usage is None else Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0)


class _Whole:
    """A completion that comes in pieces."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None
        self._usage: Usage | None = None

    def add(self, chunk: ChatCompletionChunk) -> str:
        """Take a piece in; gives its text."""
        self._usage = _usage(chunk.usage) or self._usage
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        self._finish = choice.finish_reason or self._finish
        self._refusal.append(choice.delta.refusal or "")
        for piece in choice.delta.tool_calls or ():
            call = self._calls.setdefault(self._index(piece), {"id": "", "name": "", "arguments": ""})
            call["id"] = piece.id or call["id"]
            if piece.function is not None:
                call["name"] += piece.function.name or ""
                call["arguments"] += piece.function.arguments or ""
        text = choice.delta.content or ""
        self._content.append(text)
        return text

    def _index(self, piece: Any) -> int:
        """Which call a piece is of. Not every server numbers them: there a name begins the next."""
        if piece.index is not None:
            return int(piece.index)
        begins = piece.function is not None and bool(piece.function.name)
        return len(self._calls) if begins else max(len(self._calls) - 1, 0)

    def completion(self) -> Completion:
        """The whole.

        :raises ModelUnavailableError: it broke off.
        """
        if self._finish is None:
            raise ModelUnavailableError
        calls = [_tool_call(index, **call) for index, call in sorted(self._calls.items())]
        return _ended("".join(self._content) or None, "".join(self._refusal), calls, self._finish, self._usage)
