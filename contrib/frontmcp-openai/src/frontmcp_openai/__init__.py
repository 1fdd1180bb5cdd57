"""Agents of frontmcp servers on the models of OpenAI, and of whoever speaks its Chat Completions API."""

from __future__ import annotations

from importlib import import_module

from frontmcp import Plugin, hookimpl
from frontmcp.interfaces import ModelAdapter, ModelConfig

__all__ = ("OpenAI",)


class OpenAI(Plugin):
    """Makes the adapter of ``llm={"provider": "openai", "model": …}``; the SDK loads with the first."""

    name = "openai"
    requires = ("agents",)

    @hookimpl
    def model_adapter(self, config: ModelConfig) -> ModelAdapter | None:
        if config.provider != "openai":
            return None
        adapter: ModelAdapter = import_module("frontmcp_openai.adapter").OpenAIAdapter.of(config)
        return adapter
