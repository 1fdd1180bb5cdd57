"""`OpenAIAdapter`: a `ModelAdapter` on the official SDK, by the Chat Completions API that many others speak too."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, TypeAlias

import httpx2
import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel, ConfigDict, Field

from frontmcp import Completion, ConfigurationError, ToolCall
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
NO_SENSE: Final = "The answer of the model's provider makes no sense"


class OpenAIOptions(BaseModel):
    """What ``llm={"provider": "openai", …}`` may have besides.

    :ivar temperature: unless a request has its own; likewise ``max_tokens``.
    :ivar timeout: seconds that one attempt may take.
    :ivar max_retries: attempts after the first, when the provider is busy or away; ``retry-after`` is heeded.
    :ivar structured: let the provider enforce the schema of an agent's answer.
    :ivar media: what the model is shown as it is, of what is no text; of anything else it is told type and size.
    :ivar parameters: further fields of each request, as the provider documents them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    temperature: float | None = None
    max_tokens: int | None = Field(None, gt=0)
    timeout: float = Field(120, gt=0)
    max_retries: int = Field(2, ge=0)
    structured: bool = True
    media: Sequence[Medium] = ("image",)
    parameters: Mapping[str, Any] = Field(default_factory=dict)


class OpenAIAdapter:
    """Asks a model of OpenAI, or of a server that speaks its API at ``base_url``.

    :param model: such as ``"gpt-5"``.
    :param api_key: the environment's ``OPENAI_API_KEY`` when None; with a ``base_url`` there may be none.
    :param base_url: of another provider, or of a server of your own.
    :param http_client: for tests and proxies.
    :param options: those of `OpenAIOptions`.
    :raises ConfigurationError: ``base_url`` or an option is wrong.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        http_client: httpx2.AsyncClient | None = None,
        **options: Any,
    ) -> None:
        self.model = model
        if problems := ModelConfig("openai", base_url=base_url, extra=options).problems(OpenAIOptions):
            raise ConfigurationError(problems)
        self._options = OpenAIOptions(**options)
        self._api_key = api_key
        self._base_url = base_url
        self._http_client = http_client
        self._client: AsyncOpenAI | None = None

    @classmethod
    def of(cls, config: ModelConfig) -> OpenAIAdapter:
        """The adapter that an agent's ``llm=`` asks for.

        :raises ConfigurationError: the model or the key is missing, or an option is wrong; each is named.
        """
        problems = []
        if config.model is None:
            problems.append('"model" is missing, such as "gpt-5"')
        key = config.key("OPENAI_API_KEY")
        if not key and config.base_url is None:
            problems.append('there is no key: set OPENAI_API_KEY, or give "api_key"')
        problems += config.problems(OpenAIOptions)
        if problems or config.model is None:
            raise ConfigurationError(problems)
        return cls(config.model, api_key=key, base_url=config.base_url, **config.extra)

    def __repr__(self) -> str:
        return f"<OpenAIAdapter {self.model}>"

    async def completion(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> Completion:
        """Ask once (`frontmcp.interfaces.ModelAdapter.completion`)."""
        with _our_errors():
            request = self._request(prompt, tools, options or ModelOptions())
            return _completion(await self._connected().chat.completions.create(**request))

    async def stream(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> AsyncIterator[CompletionDelta | Completion]:
        """The same, piece by piece (`frontmcp.interfaces.StreamingModelAdapter.stream`)."""
        request = self._request(prompt, tools, options or ModelOptions())
        whole = _Whole()
        with _our_errors():
            create = self._connected().chat.completions.create
            async with await create(**request, stream=True, stream_options={"include_usage": True}) as chunks:
                async for chunk in chunks:
                    if text := whole.add(chunk):
                        yield CompletionDelta(text)
            yield whole.completion()

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None and self._http_client is None:
            await client.close()

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            self._client = AsyncOpenAI(
                api_key=self._api_key or "none",
                base_url=self._base_url,
                timeout=self._options.timeout,
                max_retries=self._options.max_retries,
                http_client=self._http_client,
            )
        return self._client

    def _request(self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None, options: ModelOptions) -> dict[str, Any]:
        ours = self._options
        given: dict[str, Any] = {
            "temperature": options.temperature if options.temperature is not None else ours.temperature,
            # OpenAI's own models know the newer name only, other servers often the older one only.
            "max_tokens" if self._base_url else "max_completion_tokens": options.max_tokens or ours.max_tokens,
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


@contextmanager
def _our_errors() -> Iterator[None]:
    """What the SDK and the connection raise, as the errors of an adapter: none of them repeats what was asked."""
    try:
        yield
    except ModelError:
        raise
    except openai.APIStatusError as error:
        raise error_of_status(error.status_code, error.response.headers, error.code) from None
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        raise ModelUnavailableError(reason=type(error.__cause__ or error).__name__) from None
    except openai.APIError as error:
        # An error in the middle of a stream has no status.
        raise (ModelUnavailableError() if error.code != "invalid_prompt" else ModelError(NO_SENSE)) from None
    except (openai.OpenAIError, ValueError, TypeError, AttributeError, KeyError):
        raise ModelError(NO_SENSE) from None
