"""Gives every agent its loop, and the adapter of the model it wants."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Final

from frontmcp.errors import ConfigurationError, nearest
from frontmcp.interfaces import ModelAdapter, ModelConfig
from plugins_builtin.agents.loop import Loop
from plugins_builtin.agents.offer import names_of, swarm_of

logger = logging.getLogger("frontmcp.agents")

PACKAGES: Final = {"openai": "frontmcp-openai", "anthropic": "frontmcp-anthropic"}
"""What is to be installed for a provider."""


class Engine:
    """The loops of one server's agents.

    :param hooks: the server's.
    """

    def __init__(self, hooks: Any) -> None:
        self._hooks = hooks
        self._adapters: list[tuple[ModelConfig, ModelAdapter]] = []

    def settle(self, agents: Sequence[Any]) -> None:
        """Give each agent its loop.

        :raises ConfigurationError: one can't have one; lists every problem.
        """
        problems: list[str] = []
        for entry in agents:
            problems.extend(f"{entry.definition.place}: {told}" for told in _unknown_agents(entry, agents))
            try:
                adapter = self._adapter(entry.options["llm"])
            except ConfigurationError as error:
                problems.extend(f"{entry.definition.place}: llm: {told}" for told in error.problems)
                continue
            will, did = (self._hooks.chain(hook, entry) for hook in ("will_complete", "did_complete"))
            entry.loop = Loop(entry, adapter, will, did)
        if problems:
            raise ConfigurationError(problems)

    def _adapter(self, llm: Any) -> ModelAdapter:
        """The adapter that is given, or that a plugin makes; one for all that want the same."""
        if llm.adapter is not None:
            if llm.for_providers:
                raise ConfigurationError(f"{', '.join(llm.for_providers)}: an adapter that is given knows that itself")
            given: ModelAdapter = llm.adapter
            return given
        config: ModelConfig = llm.config
        for known, adapter in self._adapters:
            if known == config:
                return adapter
        made = self._hooks.call("model_adapter", config)
        if made is None:
            raise ConfigurationError(_nobody_makes(config.provider))
        if not isinstance(made, ModelAdapter):
            raise ConfigurationError("a model_adapter hook answered with something that is no ModelAdapter")
        self._adapters.append((config, made))
        return made

    async def aclose(self) -> None:
        """Close the adapters that plugins made; they may be used again."""
        for config, adapter in self._adapters:
            if (close := getattr(adapter, "aclose", None)) is None:
                continue
            try:
                await close()
            except Exception:
                logger.exception("the adapter for %s could not be closed", config.provider)


def _nobody_makes(provider: str) -> str:
    if (package := PACKAGES.get(provider)) is not None:
        return f'no plugin makes a model of the provider "{provider}": pip install {package}'
    hint = nearest(provider, PACKAGES) or '; install a plugin that does, or give {"adapter": …}'
    return f'no plugin makes a model of the provider "{provider}"{hint}'


def _unknown_agents(entry: Any, agents: Sequence[Any]) -> Iterator[str]:
    """What ``visible_agents`` names in vain, in words."""
    names = [name for each in agents if each.owner is entry.owner for name in names_of(each)]
    for name in swarm_of(entry).visible_agents or ():
        if name not in names:
            yield f'swarm: visible_agents: there is no agent "{name}"{nearest(name, names)}'
