"""What a language model is asked and what it answers, in no provider's words: `ModelAdapter`, its data and errors."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr, ValidationError

from frontmcp.call import Call
from frontmcp.completion import Completion as Completion
from frontmcp.completion import FinishReason as FinishReason
from frontmcp.completion import ToolCall as ToolCall
from frontmcp.completion import Usage as Usage
from frontmcp.errors import InternalMcpError, nearest

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]
ToolChoice: TypeAlias = Literal["auto", "required", "none"]


@dataclass(frozen=True, slots=True)
class CompletionDelta:
    """A piece of a completion on its way.

    :param content: the text that came since the piece before.
    """

    content: str = ""


@dataclass(frozen=True, slots=True)
class ChatMedia:
    """What a message has that is no text: a picture, a sound, a file.

    As text, for models that can't take it, it is a word with its type and size: ``[image/png, 3141 bytes]``.

    :param mime_type: such as ``"image/png"``.
    :param data: base64, as the protocol has it.
    :param name: of a file.
    """

    mime_type: str
    data: str = field(repr=False)
    name: str | None = None

    def __str__(self) -> str:
        size = len(self.data) * 3 // 4 - self.data.count("=", -2)
        named = f"{self.name}, " if self.name else ""
        return f"[{named}{self.mime_type}, {size} bytes]"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation.

    :param content: its text, all of it, with a word for what is none; None for an assistant that only calls tools.
    :param parts: the same piece by piece, where some of it is no text, of a user or a tool: an adapter that can show
        its model such a piece does so, and sends any other as ``str(piece)``; one that knows none sends the content.
    :param tool_calls: of an assistant.
    :param tool_call_id: of a ``tool`` message: the call whose result it is; results stand in the order of the calls.
    :param name: of a ``tool`` message: the tool.
    :param is_error: of a ``tool`` message: the tool failed, and the content says why.
    :param provider_data: of an assistant: what its `Completion` had.
    """

    role: Role
    content: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool = False
    provider_data: Mapping[str, Any] | None = None
    parts: Sequence[str | ChatMedia] = ()

    @classmethod
    def of(cls, role: Role, parts: Sequence[str | ChatMedia], **fields: Any) -> ChatMessage:
        """A message of some pieces, each on lines of its own in its text.

        :param fields: others of the message.
        """
        if any(isinstance(part, ChatMedia) for part in parts):
            fields["parts"] = parts
        return cls(role, "\n".join(map(str, parts)), **fields)


@dataclass(slots=True)
class ModelPrompt:
    """What a model is asked.

    :ivar system: its instructions.
    :ivar messages: the conversation so far; the last is a user's or a tool's.
    """

    system: str | None = None
    messages: list[ChatMessage] = field(default_factory=list)

    @property
    def instructions(self) -> str:
        """All instructions, those of ``system`` messages too, for providers that have one place for them."""
        said = (message.content for message in self.messages if message.role == "system")
        return "\n\n".join(text for text in (self.system, *said) if text)


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool that a model is offered.

    :param name: 1 to 64 of ``A-Z a-z 0-9 _ -``.
    :param parameters: the JSON Schema of its arguments, an object.
    """

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


@dataclass(slots=True)
class ModelOptions:
    """How a model is to answer. None leaves it to the adapter, and then to the provider.

    :ivar max_tokens: of this completion.
    :ivar stop: texts at which it ends.
    :ivar tool_choice: whether it may, must or must not call tools.
    :ivar output_schema: the JSON Schema of the text it is to answer in the end. An adapter that can have the provider
        enforce it does so; any other ignores it: who asks checks the answer.
    :ivar call: on whose behalf the model is asked, for adapters that act for its caller.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    stop: Sequence[str] = ()
    tool_choice: ToolChoice | None = None
    output_schema: Mapping[str, Any] | None = None
    call: Call | None = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class ModelTurn:
    """One turn of an agent's loop, as `will_complete` and `did_complete` hooks see it.

    :ivar number: counts from 1.
    :ivar prompt: what is asked; what a hook changes holds for this turn.
    :ivar tools: what the model is offered; likewise.
    :ivar options: how it is to answer; likewise.
    :ivar usage: of the turns before.
    :ivar completion: what the model answered; None in `will_complete`. The loop goes on with what
        `did_complete` leaves.
    """

    number: int
    prompt: ModelPrompt
    tools: list[ModelTool]
    options: ModelOptions
    usage: Usage
    completion: Completion | None = None


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model an agent wants: ``llm={"provider": …, …}``, as the hook ``model_adapter`` gets it.

    :param provider: such as ``"openai"``.
    :param api_key: None leaves it to the adapter, whose SDK looks into the environment. Never shown.
    :param extra: what else was given: for the adapter, which refuses what it does not know.
    """

    provider: str
    model: str | None = None
    api_key: SecretStr | None = None
    base_url: str | None = field(default=None, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def key(self, variable: str) -> str | None:
        """The key that was given, else that of a variable of the environment."""
        return self.api_key.get_secret_value() if self.api_key is not None else os.environ.get(variable)

    def problems(self, options: type[BaseModel]) -> list[str]:
        """What is wrong with ``base_url``, and with ``extra`` as an adapter's options, without the values."""
        problems = []
        if self.base_url is not None and not _is_url(self.base_url):
            problems.append('"base_url" must be a URL that begins with http:// or https://')
        try:
            options(**self.extra)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            for each in found:
                what = "there is no such key" if each["type"] == "extra_forbidden" else each["msg"]
                problems.append(_wrong(each["loc"], what, options))
        return problems


def _wrong(path: Sequence[int | str], what: str, options: type[BaseModel]) -> str:
    name, known = ".".join(map(str, path)), ["model", "api_key", "base_url", *options.model_fields]
    hint = "" if name.partition(".")[0] in known else nearest(name, known) or f"; there are {', '.join(known)}"
    return f"{name}: {what}{hint}"


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


class ModelError(InternalMcpError):
    """A language model could not be asked, or its answer makes no sense.

    The message is written by the adapter, and says nothing that was asked, and nothing secret.

    :ivar reason: for the log: the status of an HTTP answer, or the class of what the connection failed with.
    """

    code = "MODEL_ERROR"
    reason: str | None = None


class ModelAccessError(ModelError):
    """The provider of a model does not let us in: the key is missing or wrong, or may not use this model."""

    code = "MODEL_ACCESS_DENIED"


class ModelRequestError(ModelError):
    """The provider of a model refuses a request as it is: it is too long, or asks for what the model can't do."""

    code = "MODEL_REQUEST_INVALID"


class ModelUnavailableError(ModelError):
    """A model does not answer: no connection, no answer in time, or a failure at its provider's.

    :param reason: as of `ModelError`.
    """

    code = "MODEL_UNAVAILABLE"
    public = True

    def __init__(
        self, message: str = "The model does not answer. Try again later", *, reason: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason


class ModelRateLimitError(ModelError):
    """The provider of a model takes no more requests for now.

    :param retry_after: seconds until it does; None when unknown.
    """

    code = "MODEL_RATE_LIMITED"
    public = True

    def __init__(self, retry_after: float | None = None) -> None:
        hint = f". Retry after {math.ceil(retry_after)} seconds" if retry_after is not None else ". Try again later"
        super().__init__(
            f"The model takes no more requests{hint}",
            data={"retryAfter": math.ceil(retry_after)} if retry_after is not None else None,
        )
        self.retry_after = retry_after


@runtime_checkable
class ModelAdapter(Protocol):
    """Asks a language model. Answered through the hook ``model_adapter(config)`` of the plugin ``agents``.

    One adapter serves any number of requests at once, of different callers, and keeps nothing between them. It opens
    connections at the first request, not before, and keeps its key out of its ``repr``, of errors and of logs.

    ``async def aclose(self)`` is optional: the server stops; the adapter may be used again afterwards, also in another
    event loop. So is `StreamingModelAdapter.stream`.
    """

    async def completion(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> Completion:
        """Ask once, and wait for the whole answer. Cancelling it gives up the request.

        An answer that is cut off, refused, empty, or whose tool calls are broken is a `Completion` and no error.

        :param tools: None when there are none.
        :raises ModelRateLimitError: too many requests, or the quota is used up, also after retries.
        :raises ModelUnavailableError: no answer: no connection, a timeout, a failure at the provider's.
        :raises ModelAccessError: the key is missing or wrong, or may not use this model.
        :raises ModelRequestError: the provider refuses the request as it is: too long, an unknown model or option.
        :raises ModelError: anything else, such as an answer that makes no sense.
        """
        ...


@runtime_checkable
class StreamingModelAdapter(ModelAdapter, Protocol):
    """An adapter that also gives an answer piece by piece."""

    def stream(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> AsyncIterator[CompletionDelta | Completion]:
        """The same as `completion`: pieces of its text as they come, and last, once, all of it.

        An async generator; closing or cancelling it gives up the request.
        """
        ...


def error_of_status(status: int, headers: Mapping[str, str], reason: object = None) -> ModelError:
    """The error for an HTTP answer that tells of one, for adapters.

    :param headers: of the answer; ``retry-after`` (seconds, or a date) and ``retry-after-ms`` are read.
    :param reason: the provider's own code for it, such as ``"context_length_exceeded"``; anything but such a word is
        left out, since a message of the provider's may repeat what was asked.
    """
    said = f"{status}, {reason}" if isinstance(reason, str) and _WORD.fullmatch(reason) else str(status)
    error = _error_of_status(status, headers, said)
    error.reason = said
    return error


def _error_of_status(status: int, headers: Mapping[str, str], said: str) -> ModelError:
    if status == 429:
        return ModelRateLimitError(retry_after(headers))
    if status in (401, 403):
        return ModelAccessError(f"The provider of the model does not let us in ({said}): check the key and the model")
    if status == 408 or status >= 500:
        return ModelUnavailableError()
    return ModelRequestError(f"The provider of the model refuses the request ({said})")


_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds after which the headers of an answer say to come back; None where they don't."""
    for name, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except ValueError:
        return None
