"""`aliasing`: every spelling that finds a tool beside its exact names (spec/call-tool.md, "Tool … not found").

``desk.get_ticket`` for ``desk:get_ticket``, and ``-`` for ``_`` in the tool's part of a name.
"""

from __future__ import annotations

from typing import Any

from frontmcp import Call, Plugin, ToolEntry, hookimpl


def normal(name: str) -> str:
    return name.replace("-", "_")


class Aliasing(Plugin):
    name = "aliasing"

    def __init__(self) -> None:
        self._spellings: dict[str, ToolEntry] = {}

    @hookimpl
    def settled(self, server: Any) -> None:
        """One dict of all spellings; an ambiguous one goes to the tool registered first."""
        self._spellings = spellings(server.tools())

    @hookimpl
    def resolve_tool(self, name: str, call: Call) -> ToolEntry | None:
        table = self._spellings
        if call.scope is not None:
            table = spellings(list(dict.fromkeys(call.scope.values())))
        for candidate in (name, *_normalised(name)):
            if (entry := table.get(candidate)) is not None:
                return entry
        return None


def _normalised(name: str) -> list[str]:
    """The name with ``-`` read as ``_`` in the tool's part: after an app id, or all of it."""
    forms = [normal(name)]
    for separator in ":.":
        app, found, tool = name.partition(separator)
        if found:
            forms.append(f"{app}{separator}{normal(tool)}")
    return forms


def spellings(entries: list[Any]) -> dict[str, ToolEntry]:
    found: dict[str, ToolEntry] = {}
    exact = [(name, entry) for entry in entries for name in (entry.name, entry.id, entry.listed_name)]
    loose = [
        (name, entry)
        for entry in entries
        for name in (normal(entry.name), f"{entry.app_id}:{normal(entry.name)}", f"{entry.app_id}.{normal(entry.name)}")
    ]
    for name, entry in exact + loose:
        found.setdefault(name, entry)
    return found
