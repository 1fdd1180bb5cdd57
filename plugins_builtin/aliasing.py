"""`aliasing`: every spelling that finds a tool beside its exact names (spec/call-tool.md, "Tool … not found").

``desk.get_ticket`` for ``desk:get_ticket``, and ``-`` for ``_`` in the tool's part of a name. An exact name always
wins; a spelling that fits several tools is the one registered first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from frontmcp import Call, Plugin, ToolEntry, hookimpl


class Aliasing(Plugin):
    """Calls find a tool by every spelling of its name."""

    name = "aliasing"

    def __init__(self) -> None:
        self._spellings = Spellings(())

    @hookimpl
    def settled(self, server: Any) -> None:
        self._spellings = Spellings(server.tools())

    @hookimpl
    def resolve_tool(self, name: str, call: Call) -> ToolEntry | None:
        if call.scope is None:
            return self._spellings.find(name)
        return Spellings(entry for entry in call.scope.values() if isinstance(entry, ToolEntry)).find(name)


class Spellings:
    """Tools by every spelling, in the order they were registered."""

    def __init__(self, tools: Iterable[Any]) -> None:
        entries = list(dict.fromkeys(tools))
        self._exact: dict[str, ToolEntry] = {}
        for exact in ("name", "id", "listed_name"):
            for entry in entries:
                self._exact.setdefault(getattr(entry, exact), entry)
        self._bare: dict[str, tuple[int, ToolEntry]] = {}
        self._qualified: dict[tuple[str, str], tuple[int, ToolEntry]] = {}
        for numbered in enumerate(entries):
            entry = numbered[1]
            self._bare.setdefault(normal(entry.name), numbered)
            self._qualified.setdefault((entry.app_id, normal(entry.name)), numbered)

    def find(self, name: str) -> ToolEntry | None:
        """The tool of a spelling, which is its name, or its app's id, a colon or a dot, and its name."""
        if name in self._exact:
            return self._exact[name]
        found = [self._bare.get(normal(name))]
        for separator in ":.":
            app_id, _, tool = name.partition(separator)
            found.append(self._qualified.get((app_id, normal(tool))))
        return min((each for each in found if each is not None), default=(0, None))[1]


def normal(name: str) -> str:
    """The form that all spellings of a tool's own name share."""
    return name.replace("-", "_")
