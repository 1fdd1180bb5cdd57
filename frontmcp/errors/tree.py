"""The error tree.

A *public* error shows its message to the client everywhere; any other is masked in production
behind an error id that stands in the server's log beside the traceback (architecture §6).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent

from frontmcp.errors.words import describe, shorten


class FrontMcpError(Exception):
    """An error with a code. Everything frontmcp raises derives from it, `FlowControl` apart.

    :param message: what went wrong, for a person.
    :param code: a constant for programs, like ``"TOOL_NOT_FOUND"``; the class's own by default.
    :param data: JSON-compatible details for programs.
    """

    code: str = "INTERNAL_ERROR"
    public: bool = False
    rpc_code: ClassVar[int] = INTERNAL_ERROR
    masked_text: ClassVar[str] = "Internal FrontMCP error. Please contact support with error ID: {error_id}"

    def __init__(self, message: str = "", code: str | None = None, *, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.data = dict(data) if data is not None else None

    @property
    def message(self) -> str:
        """What it says, for the log; clients get `text`, or a mask."""
        return str(self)

    @property
    def text(self) -> str:
        """What a client reads where the error is not masked."""
        return str(self)


class PublicMcpError(FrontMcpError):
    """An error whose message and code the client sees in production too.

    ``PublicMcpError("There's no ticket T-9.", "NO_TICKET")``
    """

    code = "PUBLIC_ERROR"
    public = True


class InternalMcpError(FrontMcpError):
    """An error that production masks behind an error id."""


class ToolNotFoundError(PublicMcpError):
    """No tool that the caller can reach has the name."""

    code = "TOOL_NOT_FOUND"
    rpc_code = INVALID_PARAMS

    def __init__(self, name: str) -> None:
        super().__init__(f'Tool "{shorten(name)}" not found')


class ResourceNotFoundError(PublicMcpError):
    """No resource that the caller can reach has the URI."""

    code = "RESOURCE_NOT_FOUND"
    rpc_code = INVALID_PARAMS

    def __init__(self, uri: str) -> None:
        super().__init__(f"Resource not found: {shorten(uri)}", data={"uri": shorten(uri, 2048)})


class PromptNotFoundError(PublicMcpError):
    """No prompt that the caller can reach has the name."""

    code = "PROMPT_NOT_FOUND"
    rpc_code = INVALID_PARAMS

    def __init__(self, name: str) -> None:
        super().__init__(f"Prompt not found: {shorten(name)}")


class InvalidInputError(PublicMcpError):
    """The arguments do not match the input schema.

    :param validation_errors: the issues, each with ``path`` (a list), ``message`` and ``type``;
        none of them carries a value the caller sent.
    """

    code = "INVALID_INPUT"
    rpc_code = INVALID_PARAMS

    def __init__(
        self, message: str = "Invalid tool input", validation_errors: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(message)
        self.validation_errors = [dict(issue) for issue in validation_errors]

    @property
    def text(self) -> str:
        if not self.validation_errors:
            return str(self)
        return f"{self}\nDetails: {json.dumps(self.validation_errors, indent=2)}"


class MissingPromptArgumentError(InvalidInputError):
    """A prompt was asked for without an argument that it requires."""

    code = "MISSING_PROMPT_ARGUMENT"

    def __init__(self, argument: str) -> None:
        super().__init__(f"Missing required argument: {argument}")


class InvalidOutputError(FrontMcpError):
    """What the tool returned does not match its output schema, or is no JSON.

    :param reason: such as ``"output does not match outputSchema"``.
    :param path: where, dotted; empty for the value itself.
    :param what: what was checked.
    """

    code = "INVALID_OUTPUT"
    masked_text = "Output validation failed. Please contact support."

    def __init__(self, reason: str = "", path: str = "", what: str = "Tool output") -> None:
        self.reason = reason
        self.path = shorten(path, 256)
        self.what = what
        where = f" at {self.path}" if path else ""
        super().__init__(f"{what} validation failed" + (f" ({reason}{where})" if reason else ""))

    def of(self, what: str) -> InvalidOutputError:
        """The same of something else than a tool."""
        return InvalidOutputError(self.reason, self.path, what)

    def made_by(self, hooks: str) -> InvalidOutputError:
        """The same of a value that hooks put in the place of the body's."""
        return InvalidOutputError(f"in the value that {hooks} gave: {self.reason}", self.path, self.what)


class ToolExecutionError(FrontMcpError):
    """The tool raised an error that is not public, or returned a result marked as an error.

    :param tool: the tool's name.
    :param original_error: what the tool raised.
    """

    code = "TOOL_EXECUTION_ERROR"

    def __init__(self, tool: str, original_error: BaseException | None = None) -> None:
        super().__init__(f'Tool "{tool}" execution failed: {describe(original_error)}')
        self.tool = tool
        self.original_error = original_error

    @classmethod
    def from_result(cls, tool: str, result: CallToolResult) -> ToolExecutionError:
        """The public error for a `CallToolResult` whose ``is_error`` the tool set itself: its bare text."""
        error = cls(tool)
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        error.args = (text or "Unknown error",)
        error.public = True
        return error


class ResourceReadError(FrontMcpError):
    """A resource raised an error that is not public.

    :param uri: what was read.
    :param original_error: what it raised.
    """

    code = "RESOURCE_READ_ERROR"

    def __init__(self, uri: str, original_error: BaseException | None = None) -> None:
        super().__init__(f'Resource "{shorten(uri)}" read failed: {describe(original_error)}')
        self.original_error = original_error


class PromptExecutionError(FrontMcpError):
    """A prompt raised an error that is not public.

    :param prompt: its name.
    :param original_error: what it raised.
    """

    code = "PROMPT_EXECUTION_FAILED"

    def __init__(self, prompt: str, original_error: BaseException | None = None) -> None:
        super().__init__(f"Prompt execution failed: {prompt if original_error is None else describe(original_error)}")
        self.prompt = prompt
        self.original_error = original_error


class ChannelNotFoundError(PublicMcpError):
    """No channel has the name."""

    code = "CHANNEL_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f'Channel "{shorten(name)}" not found')


class ChannelExecutionError(FrontMcpError):
    """A channel raised an error that is not public. Nobody but the log is told what it was.

    :param channel: its name.
    :param original_error: what it raised.
    """

    code = "CHANNEL_EXECUTION_ERROR"

    def __init__(self, channel: str, original_error: BaseException | None = None) -> None:
        detail = describe(original_error) if original_error is not None else "Unknown error"
        super().__init__(f'Channel "{channel}" execution failed: {detail}')
        self.channel = channel
        self.original_error = original_error


class JobNotFoundError(InvalidInputError):
    """No job that the caller can reach has the name.

    :param hint: what it may have been meant as, of those that the caller can reach.
    """

    def __init__(self, name: str, hint: str = "") -> None:
        super().__init__(f'Job "{shorten(name)}" not found{hint}')
        self.name = name


class WorkflowNotFoundError(InvalidInputError):
    """No workflow that the caller can reach has the name.

    :param hint: what it may have been meant as, of those that the caller can reach.
    """

    def __init__(self, name: str, hint: str = "") -> None:
        super().__init__(f'Workflow "{shorten(name)}" not found{hint}')
        self.name = name


class JobExecutionError(FrontMcpError):
    """A job, or a workflow's step, raised an error that is not public.

    :param noun: ``"Job"`` or ``"Workflow"``.
    :param name: its name.
    :param original_error: what it raised.
    """

    code = "JOB_EXECUTION_ERROR"

    def __init__(self, noun: str, name: str, original_error: BaseException | None = None) -> None:
        detail = describe(original_error) if original_error is not None else "Unknown error"
        super().__init__(f'{noun} "{name}" execution failed: {detail}')
        self.original_error = original_error


class RateLimitError(PublicMcpError):
    """A rate limit is used up.

    :param retry_after: whole seconds until the next call can pass; None when unknown.
    """

    code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, retry_after: int | None = None) -> None:
        hint = f". Retry after {retry_after} seconds" if retry_after is not None else ""
        super().__init__(f"Rate limit exceeded{hint}", data={"retryAfter": retry_after} if retry_after else None)
        self.retry_after = retry_after


class CallDepthError(PublicMcpError):
    """A chain of inner calls is longer than ``max_call_depth``."""

    code = "CALL_DEPTH_EXCEEDED"

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(f"Calls are nested deeper than {limit}: {path}")


class AccessDeniedError(PublicMcpError):
    """A policy refused the call for want of input that it could judge."""

    code = "ACCESS_DENIED"


class ServerBusyError(PublicMcpError):
    """Every worker thread is held by a sync call that nobody waits for any more."""

    code = "SERVER_BUSY"

    def __init__(self) -> None:
        super().__init__("Server is busy: every worker thread is held by an abandoned call")


class PluginError(InternalMcpError):
    """A plugin's hook raised an error that is not public.

    :param plugin: the plugin's name.
    :param hook: the hook's name.
    """

    def __init__(self, plugin: str, hook: str, error: BaseException) -> None:
        super().__init__(f'Plugin "{plugin}" failed in {hook}: {describe(error)}')
        self.plugin = plugin
        self.hook = hook


class ProviderError(InternalMcpError):
    """A dependency was asked for that nobody provides, or where it can't be made."""

    code = "PROVIDER_ERROR"


class ConfigurationError(FrontMcpError):
    """The server can't start as it is configured.

    :param problems: every problem found, each naming the thing, the place and the fix.
    """

    code = "CONFIGURATION_ERROR"

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(dict.fromkeys(problems))
        if len(self.problems) == 1:
            super().__init__(self.problems[0])
        else:
            listed = "\n".join(f"  - {problem}" for problem in self.problems)
            super().__init__(f"{len(self.problems)} problems:\n{listed}")


class FlowControl(Exception):
    """Carries what `self.fail(error)` was given out of a call.

    Its message is empty and it has no code: read ``original_error``, which its ``repr`` shows. It is an
    `Exception`, so a bare ``except Exception`` around `self.fail` swallows it.
    """

    def __init__(self, original_error: BaseException | None = None) -> None:
        super().__init__("")
        self.original_error = original_error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.original_error!r})"


class Response(FlowControl):
    """Ends a call with a value: what `self.respond(value)` and `call.respond(value)` raise."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def __repr__(self) -> str:
        return "Response(…)"


class NotAnException(Exception):
    """Stands for something a tool raised that is no `Exception`, such as `SystemExit`."""

    def __init__(self, raised: BaseException) -> None:
        name, detail = type(raised).__name__, describe(raised)
        super().__init__(name if detail == name else f"{name}: {detail}")
