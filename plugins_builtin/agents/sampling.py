"""The client's own model as the model of an agent, where the client offers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from mcp_types import (
    AudioContent,
    ImageContent,
    SamplingMessage,
    SamplingMessageContentBlock,
    TextContent,
    Tool,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)

from frontmcp import Completion, InvalidInputError, ToolCall
from frontmcp.errors import ConfigurationError, SamplingNotSupportedError
from frontmcp.interfaces import (
    ChatMedia,
    ChatMessage,
    FinishReason,
    ModelConfig,
    ModelOptions,
    ModelPrompt,
    ModelTool,
)
from plugins_builtin.agents.telling import read_arguments

MAX_TOKENS: Final = 4096
"""What the client's model may write where nobody says: the protocol asks for a number."""

REASONS: Final[dict[str, FinishReason]] = {"maxTokens": "length", "toolUse": "tool_calls", "refusal": "content_filter"}
"""Why a client's model stopped, when it did not just end."""

MEDIA: Final = {"image": ImageContent, "audio": AudioContent}


class SamplingModel:
    """A `ModelAdapter` that asks the client of the call it is asked for, which may ask its user first.

    :param config: its ``model`` is what the client is asked to prefer.
    :raises ConfigurationError: it has more than that.
    """

    def __init__(self, config: ModelConfig) -> None:
        given = {"api_key": config.api_key, "base_url": config.base_url, **config.extra}
        if unknown := sorted(name for name, value in given.items() if value is not None):
            raise ConfigurationError(f"{', '.join(unknown)}: the client's model takes none of that, only a model")
        self._model = config.model

    async def completion(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> Completion:
        """Ask the client's model.

        :raises SamplingNotSupportedError: there is no client, or it offers no model, or none that takes tools.
        :raises ClientAnswerError: the client answered with an error, as where its user refuses.
        """
        options = options or ModelOptions()
        if options.call is None:
            raise SamplingNotSupportedError
        choice = ToolChoice(mode=options.tool_choice) if options.tool_choice is not None and tools else None
        answer = await options.call.context.sample(
            list(_messages(prompt.messages)),
            max_tokens=options.max_tokens or MAX_TOKENS,
            system_prompt=prompt.instructions or None,
            temperature=options.temperature,
            stop_sequences=list(options.stop) or None,
            model_preferences=self._model,
            tools=[_tool(each) for each in tools] if tools else None,
            tool_choice=choice,
        )
        calls = [each for each in answer.content_as_list if isinstance(each, ToolUseContent)]
        return Completion(
            answer.text or None,
            [ToolCall(each.id, each.name, each.input) for each in calls],
            REASONS.get(answer.stop_reason or "", "tool_calls" if calls else "stop"),
        )


def _messages(messages: Sequence[ChatMessage]) -> Iterator[SamplingMessage]:
    """The conversation in the protocol's words: results of one turn stand in one message of the user's."""
    results: list[SamplingMessageContentBlock] = []
    for message in messages:
        if message.role == "tool":
            results.append(_result(message))
            continue
        if results:
            yield SamplingMessage(role="user", content=results)
            results = []
        if message.role == "assistant":
            yield SamplingMessage(role="assistant", content=_said(message))
        elif message.role == "user":
            # One block for each message is what clients of any version take.
            yield from (SamplingMessage(role="user", content=block) for block in _blocks(message))
    if results:
        yield SamplingMessage(role="user", content=results)


def _said(message: ChatMessage) -> list[SamplingMessageContentBlock]:
    text: list[SamplingMessageContentBlock] = [TextContent(text=message.content)] if message.content else []
    calls = [ToolUseContent(id=each.id, name=each.name, input=_arguments(each)) for each in message.tool_calls]
    return [*text, *calls] or [TextContent(text="")]


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments as the protocol takes them, which has no words for broken ones."""
    try:
        return read_arguments(call.arguments)
    except InvalidInputError:
        return {}


def _result(message: ChatMessage) -> ToolResultContent:
    return ToolResultContent(
        tool_use_id=message.tool_call_id or "", content=list(_blocks(message)), is_error=message.is_error
    )


def _blocks(message: ChatMessage) -> Iterator[TextContent | ImageContent | AudioContent]:
    """A message in what the client's model may be shown: text, pictures and sounds."""
    for part in message.parts or [message.content or ""]:
        kind = part.mime_type.partition("/")[0] if isinstance(part, ChatMedia) else "text"
        if isinstance(part, ChatMedia) and kind in MEDIA:
            yield MEDIA[kind](data=part.data, mime_type=part.mime_type)
        else:
            yield TextContent(text=str(part))


def _tool(tool: ModelTool) -> Tool:
    return Tool(name=tool.name, description=tool.description, input_schema=dict(tool.parameters))
