"""`channels`: events from outside, told to bodies that may call tools, and to subscribed clients (docs/channels.md).

A channel is an entry of kind ``channel``: an event is a call of it, as an anonymous caller, through the whole road.
What it returns is kept for, and announced to, the clients of the resource ``channel://<name>``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from frontmcp import Call, ConfigurationError, Plugin, hookimpl


class Channels(Plugin):
    """Runs channels; the engine loads with the first of them."""

    name = "channels"
    kinds = ("channel",)

    def __init__(self) -> None:
        self._switchboard: Any = None

    @hookimpl
    def provide_entries(self, server: Any) -> Any:
        entries = server.entries("channel")
        if not entries:
            return None
        self._switchboard = import_module(f"{__name__}.switchboard").Switchboard(server, entries)
        if problems := self._switchboard.problems:
            raise ConfigurationError(problems)
        return self._switchboard.provided()

    @hookimpl
    def provide_routes(self, server: Any) -> Any:
        return None if self._switchboard is None else self._switchboard.routes()

    @hookimpl(kinds="agent")
    async def did_execute(self, call: Call) -> None:
        server = call.server
        if self._switchboard is not None and server.background.is_running:
            # Beside the call: who asked the agent does not wait for those who hear of it.
            server.emit_beside("agent.completed", {"agent": call.entry.definition.name, "result": call.output})

    @hookimpl
    async def on_emit(self, event: str, payload: Any) -> None:
        if self._switchboard is not None:
            await self._switchboard.emitted(event, payload)
