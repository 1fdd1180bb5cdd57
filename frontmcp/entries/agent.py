"""`AgentEntry`: an agent, which is called and listed as a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import Tool as WireTool
from mcp_types import ToolAnnotations

from frontmcp.definitions.agent import Agent
from frontmcp.entries.tool import ToolEntry

if TYPE_CHECKING:
    from frontmcp.interfaces import AgentLoop


class AgentEntry(ToolEntry):
    """An agent that can be called.

    :ivar loop: runs its loop; set, when the registry settles, by the plugin that claims agents.
    """

    kind = "agent"
    kinds = ("agent", "tool")
    definition: Agent
    loop: AgentLoop

    def listed(self, name: str, *, modern: bool) -> WireTool:
        tool, definition = super().listed(name, modern=modern), self.definition
        if tool.annotations is None:
            title = definition.title or definition.name
            tool.annotations = ToolAnnotations(title=title, read_only_hint=False, open_world_hint=True)
        return tool
