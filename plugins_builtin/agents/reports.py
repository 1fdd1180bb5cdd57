"""What the client is told while a loop runs: log messages, and progress."""

from __future__ import annotations

import time
from typing import Any

from frontmcp.errors import shorten
from frontmcp.interfaces import Completion
from plugins_builtin.agents.options import Execution

TURNS = 80
"""How much of 100 the turns of a loop are; the rest is its answer."""


class Reports:
    """Tells the client of one loop, as much as ``execution`` says.

    :param context: the `AgentContext` of the call.
    """

    def __init__(self, context: Any, execution: Execution) -> None:
        self._context = context
        self._execution = execution
        self._turn = 0
        self._text = ""
        self._written = 0
        self._told = time.monotonic()

    async def asking(self, turn: int) -> None:
        """The model is asked."""
        self._turn = turn
        await self._progress(f"Starting LLM call (iteration {turn}/{self._execution.max_iterations})")

    async def answered(self, completion: Completion) -> None:
        """The model answered."""
        if (usage := completion.usage) is not None:
            tokens = f" ({usage.prompt_tokens}P + {usage.completion_tokens}C tokens)"
            await self._progress(f"LLM response received{tokens}")

    async def calling(self, number: int, of: int, tool: str) -> None:
        """A tool is called: one of several in this turn."""
        await self._progress(f"Executing tool {number}/{of}: {shorten(tool)}")
        if self._execution.enable_notifications:
            await self._context.notify(f"Calling tool: {shorten(tool)}")

    async def failed(self, tool: str, why: str) -> None:
        """A tool failed, as the model is told."""
        if self._execution.enable_notifications:
            await self._context.notify(f"Tool {shorten(tool)} failed: {why}", "error")

    async def piece(self, text: str) -> None:
        """A piece of an answer came; told with those before it since the last that was told."""
        self._text += text
        if (time.monotonic() - self._told) * 1000 >= self._execution.notification_interval:
            await self.rest()

    async def rest(self) -> None:
        """Tell what came and was not told yet."""
        text, self._text = self._text, ""
        self._told = time.monotonic()
        self._written += len(text)
        if not text:
            return
        if self._execution.enable_auto_progress:
            await self._progress(text)
        else:
            await self._context.progress(self._written, None, text)

    async def ended(self, failure: Exception | None = None) -> None:
        """The loop ended."""
        if self._execution.enable_auto_progress:
            said = "Agent completed" if failure is None else f"Agent failed: {type(failure).__name__}"
            await self._context.progress(100, 100, said)

    async def _progress(self, message: str) -> None:
        if self._execution.enable_auto_progress:
            done = TURNS * (self._turn - 1) / self._execution.max_iterations
            await self._context.progress(done, 100, message)
