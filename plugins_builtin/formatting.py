"""`formatting`: a tool's value becomes its result, as the core reads it (api.md, "Result of a value")."""

from __future__ import annotations

from typing import Any

from frontmcp import Call, CallToolResult, Plugin, hookimpl


class Formatting(Plugin):
    """Makes the protocol's result of what a body returned."""

    name = "formatting"

    @hookimpl
    def format_result(self, call: Call, value: Any) -> CallToolResult:
        result: CallToolResult = call.format(value)
        return result
