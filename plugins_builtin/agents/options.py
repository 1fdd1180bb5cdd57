"""What users write: ``llm``, ``execution`` and ``swarm`` of an agent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, SecretStr, model_validator

from frontmcp import ConfigurationError
from frontmcp.interfaces import ModelConfig


@dataclass(frozen=True, slots=True)
class FromEnvironment:
    """A key that stands in the environment."""

    name: str

    def read(self) -> SecretStr:
        """The key.

        :raises ConfigurationError: the variable is not set.
        """
        if not (value := os.environ.get(self.name)):
            raise ConfigurationError(f"api_key: the environment variable {self.name} is not set")
        return SecretStr(value)


def _key(value: Any) -> SecretStr | FromEnvironment | None:
    if value is None or isinstance(value, SecretStr):
        return value
    if isinstance(value, str):
        return SecretStr(value)
    if isinstance(value, dict) and set(value) == {"env"} and isinstance(value["env"], str):
        return FromEnvironment(value["env"])
    raise ValueError('takes the key, or {"env": "NAME"}')


class Llm(BaseModel):
    """The model of an agent: an ``adapter``, or a ``provider``, with what only that one reads in ``model_extra``."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())

    adapter: Any = Field(default=None, repr=False)
    provider: str | None = None
    model: str | None = None
    api_key: Annotated[SecretStr | FromEnvironment | None, PlainValidator(_key)] = None
    base_url: str | None = Field(default=None, repr=False)
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, gt=0)
    stop: Sequence[str] = ()

    @model_validator(mode="after")
    def _one_of_two(self) -> Llm:
        if (self.adapter is None) == (self.provider is None):
            raise ValueError('takes {"adapter": …} or {"provider": …}, one of the two')
        if isinstance(self.adapter, type):
            raise ValueError("the adapter is a class: give an instance of it")
        if self.adapter is not None and not callable(getattr(self.adapter, "completion", None)):
            raise ValueError("the adapter has no method completion")
        return self

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What else is given may be as secret as the key."""
        extra = self.model_extra or {}
        return ((name, value) for name, value in super().__repr_args__() if name not in extra)

    @property
    def shown(self) -> str:
        """Provider and host, for the log; of a URL nothing else, since there may be a password in it."""
        if self.provider is None:
            return f"the adapter {type(self.adapter).__name__}"
        host = urlsplit(self.base_url).netloc.rpartition("@")[2] if self.base_url is not None else ""
        return f"the provider {self.provider}" + (f" at {host}" if host else "")

    @property
    def for_providers(self) -> list[str]:
        """What is given that only a provider's adapter could read."""
        given = ("model", "api_key", "base_url")
        return sorted([*(self.model_extra or ()), *(name for name in given if getattr(self, name) is not None)])

    @property
    def config(self) -> ModelConfig:
        """What plugins are asked for an adapter with.

        :raises ConfigurationError: the key is not where it is said to be.
        """
        assert self.provider is not None
        key = self.api_key.read() if isinstance(self.api_key, FromEnvironment) else self.api_key
        return ModelConfig(self.provider, self.model, key, self.base_url, dict(self.model_extra or {}))


class Execution(BaseModel):
    """How a loop runs.

    :param max_iterations: how often the model is asked at most.
    :param max_total_tokens: after how many, of all turns together, it is asked no more.
    :param timeout: milliseconds for the whole loop.
    :param parallel_tool_calls: whether the tools that the model wants in one turn run at once.
    :param inherit_parent_tools: also offer the model the tools that the caller could call where the agent stands.
    :param enable_streaming: take answers piece by piece, where the adapter can, and report them as progress.
    :param enable_notifications: tell the client which tools are called, and which fail.
    :param notification_interval: milliseconds between two pieces of an answer that are reported, at least.
    :param enable_auto_progress: report the turns as progress.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_iterations: int = Field(default=10, gt=0)
    max_total_tokens: int | None = Field(default=None, gt=0)
    timeout: int = Field(default=120_000, gt=0)
    parallel_tool_calls: bool = True
    inherit_parent_tools: bool = False
    enable_streaming: bool = False
    enable_notifications: bool = True
    notification_interval: int = Field(default=1000, ge=0)
    enable_auto_progress: bool = False


class Swarm(BaseModel):
    """Who sees whom.

    :param can_see_other_agents: the model is offered the agents that stand where this one does.
    :param visible_agents: only these of them.
    :param is_visible: the models of other agents are offered this one.
    :param max_call_depth: how many agents may be beneath this one in a chain of calls.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    can_see_other_agents: bool = False
    visible_agents: Sequence[str] | None = None
    is_visible: bool = True
    max_call_depth: int = Field(default=3, ge=0)
