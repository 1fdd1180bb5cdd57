"""What a language model answers: `Completion`, and the `ToolCall` in it.

Apart from `llm`, so that who only writes agents does not load what speaks to models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants called.

    :param id: pairs it with its result; unique in its completion.
    :param name: as the tool was offered.
    :param arguments: an object; or its JSON as the model wrote it, which is read, and held against the model, by who
        asked: an adapter neither parses nor refuses it.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tokens a completion took, as the provider counts them; cached ones included."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    :param content: its text; None or empty when there is none.
    :param tool_calls: the tools it wants called, in its order.
    :param finish_reason: ``"stop"``: it said all; ``"tool_calls"``: it waits for tools; ``"length"``: it was cut off,
        by ``max_tokens`` or because the model can't take more; ``"content_filter"``: it, or its provider, refused.
    :param usage: None when the provider does not say.
    :param provider_data: JSON that the adapter wants back with this message, in `ChatMessage.provider_data`, when the
        conversation goes on: signatures of reasoning, and the like. Nobody else reads it.
    """

    content: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage | None = None
    provider_data: Mapping[str, Any] | None = None
