"""What engines, stores and adapters implement, and the data they exchange; for jobs see `frontmcp.interfaces.jobs`,
for adapters of models on an SDK `frontmcp.interfaces.models`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, runtime_checkable

from frontmcp.authentication import AuthenticationError as AuthenticationError
from frontmcp.authentication import AuthenticationRequest as AuthenticationRequest
from frontmcp.authentication import Challenge as Challenge
from frontmcp.background import Background as Background
from frontmcp.call import EVERYTHING as EVERYTHING
from frontmcp.call import Answer as Answer
from frontmcp.call import Message as Message
from frontmcp.call import Orphan as Orphan
from frontmcp.call import Peer as Peer
from frontmcp.call import ProgressUpdate as ProgressUpdate
from frontmcp.call import Question as Question
from frontmcp.call import SamplingResult as SamplingResult
from frontmcp.call import Undecided as Undecided
from frontmcp.events import MOST_EVENTS as MOST_EVENTS
from frontmcp.events import at_event_depth as at_event_depth
from frontmcp.events import event_depth as event_depth
from frontmcp.llm import ChatMedia as ChatMedia
from frontmcp.llm import ChatMessage as ChatMessage
from frontmcp.llm import Completion as Completion
from frontmcp.llm import CompletionDelta as CompletionDelta
from frontmcp.llm import FinishReason as FinishReason
from frontmcp.llm import ModelAccessError as ModelAccessError
from frontmcp.llm import ModelAdapter as ModelAdapter
from frontmcp.llm import ModelConfig as ModelConfig
from frontmcp.llm import ModelError as ModelError
from frontmcp.llm import ModelOptions as ModelOptions
from frontmcp.llm import ModelPrompt as ModelPrompt
from frontmcp.llm import ModelRateLimitError as ModelRateLimitError
from frontmcp.llm import ModelRequestError as ModelRequestError
from frontmcp.llm import ModelTool as ModelTool
from frontmcp.llm import ModelTurn as ModelTurn
from frontmcp.llm import ModelUnavailableError as ModelUnavailableError
from frontmcp.llm import StreamingModelAdapter as StreamingModelAdapter
from frontmcp.llm import ToolCall as ToolCall
from frontmcp.llm import ToolChoice as ToolChoice
from frontmcp.llm import Usage as Usage
from frontmcp.llm import error_of_status as error_of_status


class AgentLoop(Protocol):
    """Runs the model loop of one agent: what an agent's own `execute` ends in."""

    async def run(self, context: Any, given: Any) -> Any:
        """Ask the model until it answers.

        :param context: the `AgentContext` of the call.
        :param given: what the model is asked about.
        :returns: JSON data.
        """
        ...


@runtime_checkable
class StateStore(Protocol):
    """Keeps small secrets for a short time: kept results and spent states of questions.

    Answered through the hook ``state_store(config)``. Values are bytes, keys unguessable.
    """

    async def get(self, key: str) -> bytes | None:
        """The value, or None when it never was there or its time is over."""
        ...

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        """Keep a value for ``ttl`` seconds, in place of an older one."""
        ...

    async def add(self, key: str, value: bytes, *, ttl: float) -> bool:
        """Keep a value unless the key is taken; whether it was free. Atomic across processes."""
        ...

    async def delete(self, key: str) -> None:
        """Forget a value."""
        ...


@runtime_checkable
class ChangeBus(Protocol):
    """Tells the other processes of a server what changed, and hears it from them.

    Answered through the hook ``change_bus(config, server)``. A change is ``"tools"``, ``"resources"``, ``"prompts"``,
    ``"resource <uri>"`` or `EVERYTHING`.
    """

    async def publish(self, change: str) -> None:
        """Tell the others, without waiting for them. Never raises: what can't be told now is told later."""
        ...

    async def run(self, heard: Callable[[str], Awaitable[None]]) -> None:
        """Send and hear until cancelled, while the server runs.

        :param heard: called with what others published, never with what this bus did; with `EVERYTHING` when changes
            may have been missed.
        """
        ...


@runtime_checkable
class GuardSlot(Protocol):
    """A slot of a concurrency limit, held until it is given back, once."""

    async def release(self) -> None:
        """Give it back before the call is answered; also where the call is cancelled, so what this awaits is shielded.

        Never raises: what can't be given back now comes back by itself.
        """
        ...

    def release_later(self) -> None:
        """Give it back from any thread, when a thread that was abandoned has ended."""
        ...


@runtime_checkable
class GuardStore(Protocol):
    """Counts calls and hands out slots. A key always comes with the same limit and window.

    Answered through the hook ``guard_store(config)`` of the plugin ``guards``. What it raises counts as a failure of
    the store: the limit that asked refuses the call, or lets it pass, as it says.

    :ivar shared: whether what other processes count is in it too.
    """

    shared: bool

    async def hit(self, key: str, *, limit: int, window: float) -> float | None:
        """Count a call, unless ``limit`` of them were counted in the ``window`` seconds before.

        :returns: None when it was counted, else after how many seconds the next can be; then nothing was counted.
        """
        ...

    async def acquire(self, key: str, *, limit: int, timeout: float) -> GuardSlot | None:
        """One of ``limit`` slots, waited for up to ``timeout`` seconds; None when there was none.

        Who is cancelled while waiting holds nothing, and keeps nothing from others.
        """
        ...

    async def aclose(self) -> None:
        """The server stops; it may be used again afterwards."""
        ...
