"""What users write: ``llm``, ``execution`` and ``swarm`` of an agent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from frontmcp.interfaces import ModelConfig


def _key(value: Any) -> Any:
    """A key as it is, or from the environment: ``{"env": "NAME"}``."""
    if not isinstance(value, dict):
        return value
    name = value.get("env")
    if set(value) != {"env"} or not isinstance(name, str):
        raise PydanticCustomError("api_key", 'takes the key, or {{"env": "NAME"}}')
    if not os.environ.get(name):
        raise PydanticCustomError("api_key", "the environment variable {name} is not set", {"name": name})
    return os.environ[name]


class Llm(BaseModel):
    """The model of an agent: an ``adapter``, or a ``provider``, with what only that one reads in ``model_extra``."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())

    adapter: Any = Field(default=None, repr=False)
    provider: str | None = None
    model: str | None = None
    api_key: Annotated[SecretStr | None, BeforeValidator(_key)] = None
    base_url: str | None = Field(default=None, repr=False)
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, gt=0)
    stop: Sequence[str] = ()

    @model_validator(mode="after")
    def _one_of_two(self) -> Llm:
        if (self.adapter is None) == (self.provider is None):
            raise PydanticCustomError("llm", 'takes {{"adapter": …}} or {{"provider": …}}, one of the two')
        if self.adapter is None:
            return self
        if not callable(getattr(self.adapter, "completion", None)):
            raise PydanticCustomError("llm", "the adapter has no method completion")
        if unknown := sorted(self.model_extra or ()) + [name for name in FOR_PROVIDERS if getattr(self, name)]:
            raise PydanticCustomError(
                "llm", "{names}: an adapter that is given knows its model itself", {"names": ", ".join(unknown)}
            )
        return self

    @property
    def config(self) -> ModelConfig:
        """What plugins are asked for an adapter with."""
        assert self.provider is not None
        return ModelConfig(self.provider, self.model, self.api_key, self.base_url, dict(self.model_extra or {}))


FOR_PROVIDERS: Final = ("model", "api_key", "base_url")


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
