"""Agents of frontmcp servers on the models of Anthropic."""

from __future__ import annotations

from importlib import import_module

from frontmcp import Plugin, hookimpl
from frontmcp.interfaces import ModelAdapter, ModelConfig

__all__ = ("Anthropic",)


class Anthropic(Plugin):
    """Makes the adapter of ``llm={"provider": "anthropic", "model": …}``; the SDK loads with the first."""

    name = "anthropic"
    requires = ("agents",)

    @hookimpl
    def model_adapter(self, config: ModelConfig) -> ModelAdapter | None:
        if config.provider != "anthropic":
            return None
        adapter: ModelAdapter = import_module("frontmcp_anthropic.adapter").AnthropicAdapter.of(config)
        return adapter
