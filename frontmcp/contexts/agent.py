"""`AgentContext`: the base class of class agents, and the ``ctx`` parameter of function agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pydantic_core
from mcp_types import ContentBlock

from frontmcp.content import to_blocks
from frontmcp.contexts.base import Context
from frontmcp.contexts.sync import awaited, from_thread

ASKED_IN = ("query", "message", "prompt", "input")
"""Input that is the question itself, where it has text."""


class AgentContext(Context):
    """An agent's view of its call. Subclass it, and define ``execute`` or leave it; or take it as a parameter."""

    @awaited
    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the model, call the tools it wants, and so on until it answers.

        :param args: nothing, or what the model is asked about: text, a picture or a list of both, a model, a mapping.
        :param kwargs: else the input, by name: ``await super().execute(**input)``.
        :returns: JSON data that fits ``output_schema=``; without one what `parse_agent_response` makes of the answer.
        """
        return await self.call.entry.loop.run(self, args[0] if args else kwargs)

    def execute_sync(self, *args: Any, **kwargs: Any) -> Any:
        """The loop of `execute`, inside a sync body."""
        return from_thread(lambda: AgentContext.execute(self, *args, **kwargs))

    def build_user_message(self, input: Any) -> str | Sequence[ContentBlock]:
        """What the model is asked: text as it is, an `Image` and the like, or a list of them and texts, as blocks of
        content; else a field named like a question, else the input as JSON.
        """
        if isinstance(input, str):
            return input
        if (blocks := to_blocks(input, str)) is not None:
            return blocks
        fields: Any = input if isinstance(input, Mapping) else getattr(input, "__dict__", {})
        asked = next((fields[name] for name in ASKED_IN if isinstance(fields.get(name), str) and fields[name]), None)
        return asked or (pydantic_core.to_json(input).decode() if fields else "Begin.")

    def parse_agent_response(self, content: str) -> Any:
        """What the model's answer stands for: a JSON object or list as it is, else ``{"response": text}``."""
        if content.startswith(("{", "[")):
            try:
                return pydantic_core.from_json(content, allow_inf_nan=False)
            except (ValueError, TypeError):
                pass
        return {"response": content}
