"""What keeps the layers apart: a call knows its `Entry`, its `Runner` and, through the request, its `Peer`, without
knowing the registry, the pipeline or a transport.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from frontmcp.abort import AbortSignal
from frontmcp.call.client import Answer, Message, ProgressUpdate, Question
from frontmcp.call.kinds import Kind

if TYPE_CHECKING:
    from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult

    from frontmcp.call.call import Call


class Entry(Protocol):
    """Something that can be called, as a call and its hooks see it."""

    kind: Kind
    name: str
    app_id: str
    options: dict[str, Any]

    @property
    def id(self) -> str:
        """The canonical id, ``<app id>:<name>``."""
        ...

    def validate(self, arguments: Mapping[str, Any]) -> Any:
        """Typed input from arguments; raises `InvalidInputError`."""
        ...

    def format(self, call: Call, value: Any) -> Any:
        """The protocol's result for a raw value; raises `InvalidOutputError`."""
        ...


class Orphan(Protocol):
    """A thread that runs on though nobody waits for its result."""

    def when_ended(self, callback: Callable[[], object]) -> None:
        """Run ``callback`` when the thread has ended, in that thread; at once when it has."""
        ...


class Attempt(Protocol):
    """An attempt of a run, as the job that it runs sees it."""

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def number(self) -> int:
        """Which attempt it is, from 1."""
        ...

    def log(self, message: str) -> None:
        """Add a line to the run's log; from any thread, without waiting."""
        ...


class Peer(Protocol):
    """The client, as a call sees it."""

    async def progress(self, update: ProgressUpdate) -> None:
        """Send a progress update on the request's own stream."""
        ...

    async def notify(self, message: Message) -> None:
        """Send a log message, where the client asked for its level."""
        ...

    async def close_stream(self) -> None:
        """Close the stream of the request, where the client can fetch later what it then misses."""
        ...

    @property
    def can_ask(self) -> bool:
        """Whether there is a way to ask the client anything (protocol versions up to 2025-11-25)."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Ask the client and wait for the answer (protocol versions up to 2025-11-25).

        :raises ClientAnswerError: it answered with an error, or with something else than was asked for.
        """
        ...

    async def elicited(self, elicitation_id: str) -> None:
        """Tell the client that what a user was sent to a URL for is done (2025-11-25)."""
        ...


class Asking(Protocol):
    """Asks by suspending the request (protocol version 2026-07-28 on); see `frontmcp.asking`."""

    async def ask(self, call: Call, question: Question) -> Answer:
        """The answer, or no return: the request is suspended until the client brings it."""
        ...

    async def leave(self, answer: Callable[[str], Awaitable[Mapping[str, Any]]]) -> NoReturn:
        """Leave the request: its body is unwound, and the client gets what ``answer`` gives.

        :param answer: given the state with which `PluginCalls.resumed_call` goes on elsewhere.
        """
        ...

    def inner(self, call: Call, runner: Any) -> Coroutine[Any, Any, Any]:
        """The kept outcome of an inner call that finished in an earlier attempt, else that of running it."""
        ...

    async def once(self, call: Call, key: str, function: Callable[[], Any]) -> Any:
        """The kept result of ``function``, else its own."""
        ...


class Runner(Protocol):
    """Runs calls on behalf of a call: what a context's methods lead to."""

    @property
    def server(self) -> Any: ...

    def start(self, call: Call) -> Coroutine[Any, Any, Any]: ...

    def call_tool(
        self,
        parent: Call,
        name: str,
        arguments: Mapping[str, Any] | None,
        *,
        signal: AbortSignal | None,
        progress_token: str | int | None,
    ) -> Coroutine[Any, Any, CallToolResult]: ...

    def read_resource(self, parent: Call, uri: str) -> Coroutine[Any, Any, ReadResourceResult]: ...

    def get_prompt(
        self, parent: Call, name: str, arguments: Mapping[str, Any] | None
    ) -> Coroutine[Any, Any, GetPromptResult]: ...

    def progress(self, call: Call, update: ProgressUpdate) -> Coroutine[Any, Any, None]: ...

    def notify(self, call: Call, message: Message) -> Coroutine[Any, Any, None]: ...

    def ask(self, call: Call, question: Question) -> Coroutine[Any, Any, Answer]: ...

    def once(self, call: Call, key: str, function: Callable[[], Any]) -> Coroutine[Any, Any, Any]: ...

    def provide(self, call: Call, type_: type[Any]) -> Any: ...
