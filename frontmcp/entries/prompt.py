"""`PromptEntry`: what a prompt's value becomes, and how it is listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp_types import GetPromptResult, PromptMessage, TextContent

from frontmcp.call import Call
from frontmcp.content import is_content, to_block
from frontmcp.definitions.prompt import Prompt
from frontmcp.entries.base import check_sendable, listed_meta, text_of, validating
from frontmcp.entries.completion import CompletableEntry
from frontmcp.errors import (
    FrontMcpError,
    InvalidOutputError,
    MissingPromptArgumentError,
    PromptExecutionError,
)
from frontmcp.providers import Providers
from frontmcp.threads import Threads

ROLES: Final = ("user", "assistant")


class PromptEntry(CompletableEntry):
    """A prompt that can be got."""

    kind = "prompt"
    kinds = ("prompt",)
    sought = "prompt"
    list_name = "prompts"
    result_type = GetPromptResult
    definition: Prompt

    def __init__(self, definition: Prompt, app_id: str, *, threads: Threads, providers: Providers) -> None:
        super().__init__(definition, app_id, threads=threads, providers=providers)
        self._required = [each.name for each in definition.arguments if each.required]
        self._validated = validating(self.validate, "Invalid prompt arguments")
        self.validate = self._typed

    def _typed(self, arguments: Any) -> Any:
        missing = [name for name in self._required if isinstance(arguments, Mapping) and name not in arguments]
        if missing:
            raise MissingPromptArgumentError(missing[0])
        return self._validated(arguments)

    def format(self, call: Call, value: Any) -> GetPromptResult:
        """The result for a raw value: text, content, a message, or several of those.

        :raises InvalidOutputError: a part of it is no JSON.
        """
        try:
            result = value if isinstance(value, GetPromptResult) else GetPromptResult(messages=_messages(value))
            check_sendable(result)
        except InvalidOutputError as error:
            raise error.of("Prompt output") from error.__cause__
        if result.description is None and self.definition.description is not None:
            return result.model_copy(update={"description": self.definition.description})
        return result

    def check(self, result: GetPromptResult) -> None:
        try:
            check_sendable(result)
        except InvalidOutputError as error:
            raise error.of("Prompt output") from error.__cause__

    def failed(self, call: Call, error: BaseException | None) -> FrontMcpError:
        return PromptExecutionError(self.name, error)

    def listed(self, name: str, *, modern: bool) -> types.Prompt:
        definition = self.definition
        return types.Prompt(
            name=name,
            title=definition.title,
            description=definition.description,
            arguments=[
                types.PromptArgument(name=each.name, description=each.description, required=each.required)
                for each in definition.arguments
            ],
            icons=definition.icons or None,
            _meta=listed_meta(definition),
        )


def _messages(value: Any) -> list[PromptMessage]:
    if value is None:
        return []
    if isinstance(value, list | tuple) and not hasattr(value, "_asdict"):
        return [_message(each) for each in value]
    return [_message(value)]


def _message(value: Any) -> PromptMessage:
    """A message; what is none is said by the user."""
    if isinstance(value, PromptMessage):
        return value
    if isinstance(value, Mapping) and value.keys() == {"role", "content"} and value["role"] in ROLES:
        return PromptMessage(role=value["role"], content=_block(value["content"]))
    return PromptMessage(role="user", content=_block(value))


def _block(value: Any) -> Any:
    return to_block(value) if is_content(value) else TextContent(text=text_of(value))
