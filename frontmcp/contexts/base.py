"""What every context can do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, MutableMapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeVar

from frontmcp.abort import AbortSignal
from frontmcp.arguments import missing_attribute
from frontmcp.call import Call, Caller, Level, Message, ProgressUpdate, RequestContext
from frontmcp.contexts.asking import AskingContext
from frontmcp.contexts.sync import awaited, from_thread, refuse_in_thread
from frontmcp.errors import FlowControl, Response

if TYPE_CHECKING:
    from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult

T = TypeVar("T")

INSTEAD: Final = {
    **{level: f'notify(message, level="{level}")' for level in ("debug", "info", "warning", "error")},
    "log": "notify(message, level=…), or logger for the server's own log",
    "report_progress": "progress(progress, total, message)",
    "set_state": "context.set(key, value)",
    "get_state": "context.get(key)",
    "delete_state": "context.delete(key)",
    "request_context": "context; what the lifespan yielded is get(Db)",
    "lifespan_context": "get(Db), where the lifespan yields {Db: db}",
    "request_id": "context.request_id",
    "session_id": "context.session_id",
    "client_id": "auth.user.sub",
    "session": "context.client_info and context.client_capabilities; notify, elicit and sample speak to the client",
    "fastmcp": "call.server",
}
"""What to write for what a context of FastMCP has."""


class _CallLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds the request's id, the caller and the path of calls to every record."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


class Context(AskingContext):
    """A body's view of its call. The pipeline makes a new one for every call."""

    _call: Call | None = None
    _body: ClassVar[str] = "execute"
    execute: Callable[..., Any]

    @property
    def call(self) -> Call:
        """The call that is being executed.

        :raises RuntimeError: outside a call.
        """
        if self._call is None:
            raise RuntimeError(f"{type(self).__name__} is not in a call: use create_direct or the mcp fixture")
        return self._call

    @property
    def name(self) -> str:
        """The entry's name."""
        name: str = self.call.entry.name
        return name

    @property
    def input(self) -> Any:
        """The validated input."""
        return self.call.input

    @property
    def auth(self) -> Caller:
        """Who is calling: in an inner call, the same as in the outer one."""
        return self.call.caller

    @property
    def context(self) -> RequestContext:
        """The client's request; the same object in inner calls."""
        return self.call.request

    @property
    def signal(self) -> AbortSignal:
        """Aborted when the client cancels or goes away, or when the call's own time is over."""
        return self.call.signal

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A stdlib logger under ``frontmcp.<kind>.<name>``, bound to the request, its caller and the path."""
        call = self.call
        return _CallLogger(logging.getLogger(f"frontmcp.{call.entry.kind}.{call.entry.name}"), call.log_fields)

    def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        signal: AbortSignal | None = None,
        progress_token: str | int | None = None,
    ) -> Coroutine[Any, Any, CallToolResult]:
        """Call another tool of the server, as the same caller, through the whole pipeline (spec/call-tool.md).

        :param name: the tool's name, or any spelling a client may use, hidden and internal tools included.
        :param arguments: validated against its input schema; ``{}`` by default.
        :param signal: a budget of its own for the call, besides the caller's signal.
        :param progress_token: readable there as ``self.call.progress_token``.
        :returns: the tool's result; never an error result.
        :raises FlowControl: the tool failed with `self.fail(error)`; see ``original_error``.
        :raises ToolExecutionError: it raised an error that is not public. Public errors arrive as they are.
        :raises ToolNotFoundError: no tool of that name can be reached from here.
        :raises InvalidInputError: the arguments do not match its input schema.
        :raises InvalidOutputError: its value does not match its output schema.
        """
        if self._in_thread:
            refuse_in_thread(self, "call_tool")
        call = self.call
        running: Any = call.runner.call_tool(call, name, arguments, signal=signal, progress_token=progress_token)
        # By this name Python warns when it was never awaited.
        running.__qualname__ = "Context.call_tool"
        return running  # type: ignore[no-any-return]

    def call_tool_sync(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        signal: AbortSignal | None = None,
        progress_token: str | int | None = None,
    ) -> CallToolResult:
        """`call_tool`, inside a sync body."""
        return from_thread(lambda: self.call_tool(name, arguments, signal=signal, progress_token=progress_token))

    @awaited
    async def read_resource(self, uri: str) -> ReadResourceResult:
        """Read a resource of the server, as the same caller, through the whole pipeline.

        :param uri: of a resource, or one that fits a template.
        :raises ResourceNotFoundError: there is none that can be reached from here.
        :raises ResourceReadError: it raised an error that is not public. Public errors arrive as they are.
        """
        call = self.call
        return await call.runner.read_resource(call, uri)

    def read_resource_sync(self, uri: str) -> ReadResourceResult:
        """`read_resource`, inside a sync body."""
        return from_thread(lambda: self.read_resource(uri))

    @awaited
    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        """Get a prompt of the server, as the same caller, through the whole pipeline.

        :param arguments: text, or what the prompt's parameters are annotated with.
        :raises PromptNotFoundError: there is none that can be reached from here.
        :raises InvalidInputError: an argument is missing, or does not fit.
        :raises PromptExecutionError: it raised an error that is not public. Public errors arrive as they are.
        """
        call = self.call
        return await call.runner.get_prompt(call, name, arguments)

    def get_prompt_sync(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        """`get_prompt`, inside a sync body."""
        return from_thread(lambda: self.get_prompt(name, arguments))

    def fail(self, error: BaseException | str) -> NoReturn:
        """End the call with an error. Never returns.

        It raises a `FlowControl`, which a bare ``except Exception`` around it would swallow.

        :param error: what the client gets: a `PublicMcpError` in its own words, another like a raised one.
        """
        raise FlowControl(error if isinstance(error, BaseException) else RuntimeError(error))

    def respond(self, value: Any) -> NoReturn:
        """End the call here with ``value``, formatted like a returned one. Never returns."""
        raise Response(value)

    @awaited
    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the client of the request; nothing happens where it did not ask for it.

        :param progress: how far; a value that would go backwards is raised just above the last one.
        :param total: what it ends at.
        :param message: what is being done.
        """
        call = self.call
        await call.runner.progress(call, ProgressUpdate(progress, total, message))

    def progress_sync(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """`progress`, inside a sync body."""
        from_thread(lambda: self.progress(progress, total, message))

    @awaited
    async def notify(self, message: Any, level: Level = "info") -> None:
        """Send a log message to the client of the request, where it asked for such.

        :param message: text, or any JSON value.
        :param level: ``debug | info | notice | warning | error | critical | alert | emergency``.
        """
        call = self.call
        await call.runner.notify(call, Message(message, level, call.entry.name))

    def notify_sync(self, message: Any, level: Level = "info") -> None:
        """`notify`, inside a sync body."""
        from_thread(lambda: self.notify(message, level))

    @awaited
    async def close_stream(self) -> None:
        """Close the HTTP stream of the request while the call goes on: its client comes back and fetches the rest.

        For long calls, which then hold no connection. Nothing happens but for a client of 2025-11-25 on a server with
        ``http={"event_store": True}``; 2026-07-28 has no such way.
        """
        peer = self.call.request.peer
        if peer is not None:
            await peer.close_stream()

    def close_stream_sync(self) -> None:
        """`close_stream`, inside a sync body."""
        from_thread(self.close_stream)

    @awaited
    async def once(self, key: str, function: Callable[[], Any]) -> Any:
        """The result of ``function``, run once per client call, also when a question makes the body run again.

        :param key: names the piece of work inside this call.
        :param function: sync or async, without arguments; its result must be JSON.
        """
        call = self.call
        return await call.runner.once(call, key, function)

    def get(self, type_: type[T]) -> T:
        """The instance a provider made for this type.

        :raises ProviderError: nothing provides it.
        """
        call = self.call
        instance: T = call.runner.provide(call, type_)
        return instance

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return missing_attribute(self, name, INSTEAD)
