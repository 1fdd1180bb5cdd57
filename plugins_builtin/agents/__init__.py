"""`agents`: model loops that are tools (docs/agents.md).

The loop is loaded with the first agent; a server without one does not wait for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from frontmcp import Option, Plugin, hookimpl
from plugins_builtin.agents import specs

if TYPE_CHECKING:
    from frontmcp.interfaces import ModelAdapter, ModelConfig

CLIENTS: Final = ("sampling", "client")
"""Providers that are the client itself."""


def _load(module: str) -> Any:
    """A module of this package, loaded when an agent first needs it."""
    return import_module(f"{__name__}.{module}")


def _option(name: str, model: str) -> Option:
    return Option(name, f"{__name__}.options:{model}", kinds=("agent",))


class Agents(Plugin):
    """Runs the loops of agents, with the adapters that plugins make of ``llm={"provider": …}``."""

    name = "agents"
    kinds = ("agent",)
    options = (_option("llm", "Llm"), _option("execution", "Execution"), _option("swarm", "Swarm"))

    def __init__(self) -> None:
        self._manager: Any = None
        self._engine: Any = None

    @hookimpl
    def register_hookspecs(self, manager: Any) -> None:
        manager.add_hookspecs(specs)
        self._manager = manager

    @hookimpl(trylast=True)
    def model_adapter(self, config: ModelConfig) -> ModelAdapter | None:
        if config.provider not in CLIENTS:
            return None
        adapter: ModelAdapter = _load("sampling").SamplingModel(config)
        return adapter

    @hookimpl
    def settled(self, server: Any) -> None:
        agents = server.entries("agent")
        if agents and self._engine is None:
            self._engine = _load("engine").Engine(self._manager)
        if self._engine is not None:
            self._engine.settle(agents)

    @hookimpl
    async def server_stopping(self, server: Any) -> None:
        if self._engine is not None:
            await self._engine.aclose()
