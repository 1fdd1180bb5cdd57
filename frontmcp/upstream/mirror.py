"""What another server lists, as definitions of ours."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, TypeAlias

import mcp_types as types

from frontmcp.call import Call
from frontmcp.contexts.tool import ToolContext
from frontmcp.definitions.tool import Tool
from frontmcp.definitions.upstream import UpstreamOptions
from frontmcp.errors import ConfigurationError
from frontmcp.schema import JsonSchema, Output, output_as_listed

CallTool: TypeAlias = Callable[[Call, types.Tool, dict[str, Any]], Coroutine[Any, Any, types.CallToolResult]]


class ForeignTool(Tool):
    """A tool of another server.

    :ivar listed: as that server lists it.
    :ivar app_id: the app that serves it.
    """

    listed: types.Tool
    app_id: str

    @property
    def source(self) -> str:
        return f'a tool of the server behind app "{self.app_id}"'

    @cached_property
    def output(self) -> Output | None:
        """What results are checked against, which travel as they came: nothing of them is wrapped here."""
        given = self.output_schema
        return output_as_listed(given) if isinstance(given, JsonSchema) else super().output


def mirror_tools(
    tools: Iterable[types.Tool], options: UpstreamOptions, app_id: str, call_tool: CallTool, problems: list[str]
) -> Iterator[ForeignTool]:
    """Definitions of those tools that are wanted.

    :param call_tool: calls one.
    :param problems: is told of what can't be served.
    """
    for tool in tools:
        if not _matches(tool.name, options.include) or _matches(tool.name, options.exclude):
            continue
        try:
            yield _mirrored(tool, options, app_id, call_tool)
        except (ConfigurationError, TypeError) as error:
            problems.append(f'app "{app_id}": tool {tool.name!r} can\'t be served: {error}; exclude= leaves it out')


def unmatched_rules(options: UpstreamOptions, tools: Iterable[types.Tool], app_id: str) -> Iterator[str]:
    """Patterns of ``tools=`` that match nothing, in words: what they were to protect has another name."""
    names = [tool.name for tool in tools]
    for pattern in options.tools:
        if not any(fnmatchcase(name, pattern) for name in names):
            yield f'app "{app_id}": tools={{"{pattern}": …}} matches no tool of its server'


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _mirrored(tool: types.Tool, options: UpstreamOptions, app_id: str, call_tool: CallTool) -> ForeignTool:
    keywords: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description or "",
        "input_schema": JsonSchema(tool.input_schema),
        "output_schema": JsonSchema(tool.output_schema) if tool.output_schema is not None else None,
        "annotations": tool.annotations,
        "icons": tool.icons or (),
        "meta": tool.meta,
        **options.options,
    }
    for pattern, more in options.tools.items():
        if fnmatchcase(tool.name, pattern):
            keywords |= more
    made: Any = ForeignTool(**keywords)
    made.listed, made.app_id = tool, app_id
    made.bind(_body(tool, call_tool), None)
    made.build()
    definition: ForeignTool = made
    return definition


def _body(tool: types.Tool, call_tool: CallTool) -> type[ToolContext]:
    class Foreign(ToolContext):
        async def execute(self, /, **arguments: Any) -> Any:
            return await call_tool(self.call, tool, arguments)

    return Foreign
