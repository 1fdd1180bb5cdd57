"""The hooks that agents bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontmcp import Call, hookspec

if TYPE_CHECKING:
    from frontmcp.interfaces import ModelAdapter, ModelConfig, ModelTurn


@hookspec(kind="first")
def model_adapter(config: ModelConfig) -> ModelAdapter | None:
    """The adapter for a model that an agent wants, made once when the server is checked; agents that want the same
    share it. ``aclose``, where it has one, is awaited when the server stops.

    :param config: ``llm={"provider": …}`` of the agent.
    :returns: the adapter; None when the provider is somebody else's.
    :raises ConfigurationError: it can't be made like this, with the reason; never with the key.
    """


@hookspec
async def will_complete(call: Call, turn: ModelTurn) -> None:
    """A model is about to be asked. May change what is asked in this turn: ``turn.prompt``, ``turn.tools``,
    ``turn.options``.

    :param call: the agent's call.
    :param turn: what is asked.
    """


@hookspec
async def did_complete(call: Call, turn: ModelTurn) -> None:
    """A model answered. May change ``turn.completion``, with which the loop goes on. Not run when the model failed.

    :param call: the agent's call.
    :param turn: what was asked, and ``turn.completion``.
    """
