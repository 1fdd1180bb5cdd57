"""`ToolEntry`: what a tool's value becomes, and how it is listed."""

from __future__ import annotations

from typing import Any, ClassVar

from mcp_types import CallToolResult, ContentBlock, TextContent
from mcp_types import Tool as WireTool

from frontmcp.call import Call, Kind
from frontmcp.content import annotates_content, to_blocks
from frontmcp.definitions.tool import Tool
from frontmcp.entries.base import Entry, check_sendable, listed_meta, text_of, text_of_data
from frontmcp.errors import FrontMcpError, InvalidOutputError, ToolExecutionError
from frontmcp.providers import Providers
from frontmcp.schema import MISMATCH, json_text, jsonable
from frontmcp.threads import Threads


class ToolEntry(Entry):
    """A tool that can be called."""

    kind: ClassVar[Kind] = "tool"
    kinds: ClassVar[tuple[Kind, ...]] = ("tool",)
    list_name = "tools"
    result_type = CallToolResult
    definition: Tool

    def __init__(self, definition: Tool, app_id: str, *, threads: Threads, providers: Providers) -> None:
        super().__init__(definition, app_id, threads=threads, providers=providers)
        self.input = definition.input
        self.output = definition.output
        self._returns_content = annotates_content(definition.body.returns)

    def format(self, call: Call, value: Any) -> CallToolResult:
        """The result for a raw value (api.md, "Result of a value").

        :raises InvalidOutputError: it does not match the output schema, or is no JSON.
        """
        if isinstance(value, CallToolResult):
            self.check(value)
            return value
        output = self.output
        if output is None:
            return self._plain_result(value)
        data = output.check(value)
        return CallToolResult(content=_text(data), structured_content={"result": data} if output.wraps_null else data)

    def _plain_result(self, value: Any) -> CallToolResult:
        """The result of a tool that does not say what it returns."""
        if (blocks := to_blocks(value, text_of)) is not None:
            check_sendable(blocks)
            return CallToolResult(content=blocks)
        if self._returns_content and isinstance(value, list | tuple) and not value:
            return CallToolResult(content=[])
        data = jsonable(value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else value)
        return CallToolResult(content=_text(data), structured_content=data if isinstance(data, dict) else None)

    def check(self, result: CallToolResult) -> None:
        """Check a result that was not made by `format`; an error result has nothing to match.

        :raises InvalidOutputError: its structured content is no JSON, or does not match the output schema.
        """
        check_sendable([result.content, result.meta])
        if result.is_error:
            return
        data, output = result.structured_content, self.output
        if output is not None and output.wraps_null:
            if not isinstance(data, dict) or set(data) != {"result"}:
                raise InvalidOutputError(MISMATCH, "result")
            data = data["result"]
        data = jsonable(data)
        json_text(data)
        if output is not None:
            output.verify(data)

    def failed(self, call: Call, error: BaseException | None) -> FrontMcpError:
        return ToolExecutionError(self.name, error)

    def ensure_success(self, result: CallToolResult) -> None:
        if result.is_error:
            raise ToolExecutionError.from_result(self.name, result)

    def listed(self, name: str, *, modern: bool) -> WireTool:
        """As listed; the results of older clients are objects."""
        output, definition = self.output, self.definition
        return WireTool(
            name=name,
            title=definition.title,
            description=definition.description,
            input_schema=self.input.schema,
            output_schema=None if output is None else output.schema if modern else output.object_schema,
            annotations=definition.annotations,
            icons=definition.icons or None,
            _meta=listed_meta(definition),
        )


def _text(data: Any) -> list[ContentBlock]:
    """The text that stands for JSON data: a string as it is, nothing for null."""
    if data is None:
        return []
    return [TextContent(text=text_of_data(data))]
