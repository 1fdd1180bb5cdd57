"""`agents`: model loops that are tools (docs/agents.md)."""

from __future__ import annotations

from typing import Any

from frontmcp import Plugin, hookimpl
from plugins_builtin.agents import specs


class Agents(Plugin):
    """Brings the hooks of agents."""

    name = "agents"

    @hookimpl
    def register_hookspecs(self, manager: Any) -> None:
        manager.add_hookspecs(specs)
