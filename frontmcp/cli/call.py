"""``frontmcp call``: one call of one tool, as a client on the surface ``cli``."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import anyio
from mcp_types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from frontmcp.call import Answer, Caller, Message, ProgressUpdate, Question, RequestContext
from frontmcp.cli.failures import Failure, UsageFailure, failing_with_place, place_of
from frontmcp.cli.output import say
from frontmcp.cli.reports import body_place
from frontmcp.errors import (
    ElicitationNotSupportedError,
    FrontMcpError,
    InvalidInputError,
    InvalidOutputError,
    ToolExecutionError,
    ToolNotFoundError,
    nearest,
    to_result,
)
from frontmcp.pipeline.failures import CALL_NOTE
from frontmcp.server import FrontMcp

Output: TypeAlias = Literal["text", "json"]

JSON_TYPES: Mapping[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number", "integer"),
    list: ("array",),
    dict: ("object",),
    type(None): ("null",),
}


CAN_NOT_ASK: Final = (
    "asks its user a question, and from the command line nobody can be asked: "
    "call it from an MCP client, or in a test with mcp.on_elicitation"
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the command line asks for; made by `read_call`.

    :ivar texts: arguments as they were typed, by key.
    :ivar given: all arguments, from ``--json``, instead.
    """

    tool: str
    texts: Mapping[str, str]
    given: Mapping[str, Any] | None = None

    def arguments(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments for a tool with an input schema."""
        if self.given is not None:
            return dict(self.given)
        return {key: read_value(text, _property(schema, key)) for key, text in self.texts.items()}

    def unknown(self, schema: Mapping[str, Any]) -> list[str]:
        """Arguments that the tool has no field for, in words: without one they would be dropped in silence."""
        if schema.get("additionalProperties") or "patternProperties" in schema:
            return []
        known = list(schema.get("properties", ()))
        return [f'{self.tool} has no argument "{key}"{nearest(key, known)}' for key in self.texts if key not in known]


def read_call(tool: str, words: Sequence[str], json_text: str | None) -> ToolCall:
    """Read ``key=value`` words, or ``--json``.

    :raises UsageFailure: a word is no ``key=value``, ``--json`` no JSON object, or there are both.
    """
    if json_text is not None:
        if words:
            raise UsageFailure("give the arguments as key=value or as --json, not both")
        return ToolCall(tool, {}, _json_object(json_text))
    texts: dict[str, str] = {}
    for word in words:
        key, separator, text = word.partition("=")
        if not separator or not key:
            raise UsageFailure(f'"{word}" is no argument: write key=value, or --json with an object')
        if key in texts:
            raise UsageFailure(f'"{key}" is given twice; a list is written {key}=\'["…", "…"]\'')
        texts[key] = text
    return ToolCall(tool, texts)


def _json_object(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UsageFailure(f"--json is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise UsageFailure('--json must be an object, like {"id": "T-1"}')
    return data


def _property(schema: Mapping[str, Any], key: str) -> Any:
    found = schema.get("properties", {}).get(key, {})
    while isinstance(found, dict) and str(found.get("$ref", "")).startswith("#/$defs/"):
        found = schema.get("$defs", {}).get(found["$ref"].removeprefix("#/$defs/"), {})
    return found


def read_value(text: str, schema: Any) -> Any:
    """A value of the command line: JSON where it is such and the schema wants what it is, else the text itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    wanted = wanted_types(schema)
    return value if not wanted or not wanted.isdisjoint(JSON_TYPES.get(type(value), ())) else text


def wanted_types(schema: Any) -> frozenset[str]:
    """The JSON types that a property takes; empty where it takes any."""
    if not isinstance(schema, dict):
        return frozenset()
    if "type" in schema:
        return frozenset([schema["type"]] if isinstance(schema["type"], str) else schema["type"])
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if values:
        return frozenset(name for value in values for name in JSON_TYPES.get(type(value), ("string",)))
    branches = [wanted_types(branch) for key in ("anyOf", "oneOf") for branch in schema.get(key, ())]
    return frozenset().union(*branches) if all(branches) else frozenset()


class Terminal:
    """The client, for a call from the command line: progress is a bar and messages are lines, both on stderr."""

    can_ask = False

    def __init__(self, title: str) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        self._bar = Progress(*columns, console=console, transient=console.is_terminal)
        self._task = self._bar.add_task(title, total=None, visible=False)

    async def progress(self, update: ProgressUpdate) -> None:
        self._bar.start()
        named = {"description": update.message} if update.message is not None else {}
        self._bar.update(self._task, completed=update.progress, total=update.total, visible=True, **named)  # type: ignore[arg-type]

    async def notify(self, message: Message) -> None:
        text = message.data if isinstance(message.data, str) else json.dumps(message.data, default=str)
        self._bar.console.print(f"{message.level}: {text}", markup=False, highlight=False)

    async def close_stream(self) -> None:
        """There is none."""

    async def ask(self, question: Question) -> Answer:
        raise NotImplementedError("nobody can be asked from the command line")

    async def elicited(self, elicitation_id: str) -> None:
        """Nothing: nobody was sent anywhere."""

    def close(self) -> None:
        if self._bar.live.is_started:
            self._bar.stop()


async def call_tool(server: FrontMcp, wanted: ToolCall, caller: Caller) -> CallToolResult:
    """Call a tool as a client would, on the surface ``cli``.

    :raises FrontMcpError: what went wrong.
    """
    async with server.running():
        schema = _input_schema(server, wanted.tool, caller)
        if schema is not None:
            for warning in wanted.unknown(schema):
                say(f"warning: {warning}")
        request, terminal = RequestContext(caller, "cli"), Terminal(wanted.tool)
        request.peer = terminal
        call = server.pipeline.client_call(request, wanted.tool, wanted.arguments(schema or {}), surface="cli")
        try:
            result: CallToolResult = await server.pipeline.run(call)
        finally:
            terminal.close()
    return result


def _input_schema(server: FrontMcp, name: str, caller: Caller) -> Mapping[str, Any] | None:
    """The schema of the tool that a call of this name will find; None when there is none, as the call will say."""
    probe = server.pipeline.client_call(RequestContext(caller, "cli"), name, {}, surface="cli")
    try:
        server.pipeline.find(probe)
    except ToolNotFoundError:
        return None
    schema: Mapping[str, Any] = probe.entry.input.schema
    return schema


@dataclass(frozen=True, slots=True)
class Answered:
    """What a call came to: a result, or what it raised."""

    result: CallToolResult | None = None
    error: FrontMcpError | None = None

    @property
    def failed(self) -> bool:
        return self.result is None or bool(self.result.is_error)


async def answer(server: FrontMcp, wanted: ToolCall, caller: Caller) -> Answered:
    """`call_tool`, whatever it comes to."""
    try:
        return Answered(await call_tool(server, wanted, caller))
    except FrontMcpError as error:
        return Answered(error=error)


def as_json(answered: Answered) -> str:
    """The whole result, as a client of the protocol gets it."""
    result = answered.result
    if result is None:
        assert answered.error is not None
        result = _without_log(answered.error)
    return result.model_dump_json(by_alias=True, exclude_none=True, indent=2)


def _without_log(error: FrontMcpError) -> CallToolResult:
    log = logging.getLogger("frontmcp.errors")
    was_disabled, log.disabled = log.disabled, True
    try:
        return to_result(error, production=False)
    finally:
        log.disabled = was_disabled


def as_text(result: CallToolResult) -> str:
    """The text of a result; what is no text in one line each."""
    return "\n".join(_block_text(block) for block in result.content)


def _block_text(block: Any) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return f"[{block.type} {block.mime_type}, {len(block.data) * 3 // 4} bytes]"
        case ResourceLink():
            return f"[resource {block.uri}]"
        case EmbeddedResource():
            return getattr(block.resource, "text", f"[resource {block.resource.uri}]")
        case _:
            return f"[{block.type}]"


def failure(server: FrontMcp, wanted: ToolCall, answered: Answered, folder: Path) -> Failure:
    """One line that says why a call failed, and where."""
    error = answered.error
    if error is None:
        assert answered.result is not None
        return Failure(as_text(answered.result) or f'tool "{wanted.tool}" answered with an error')
    if isinstance(error, ToolNotFoundError) and str(error) == str(ToolNotFoundError(wanted.tool)):
        names = [tool.name for tool in server.tools() if tool.options.get("visibility") in (None, "public")]
        if server.find(wanted.tool) is not None:
            return Failure(f"{error}: no client sees it (frontmcp list --all shows what there is)")
        return Failure(f"{error}{nearest(wanted.tool, names)} (frontmcp list shows what there is)")
    if isinstance(error, ElicitationNotSupportedError):
        return Failure(f'tool "{wanted.tool}" {CAN_NOT_ASK} ({error.code})')
    if isinstance(error, InvalidInputError):
        said = ": ".join(filter(None, [str(error), _issues(error)]))
        return Failure(f"{said}{_inner_call(error)} ({error.code})")
    if isinstance(error, InvalidOutputError):
        said = f"{': '.join([str(error), *_other_notes(error)])}{_inner_call(error)}"
        entry = server.find(_last_called(error) or wanted.tool)
        name, place = (entry.name, body_place(entry)) if entry is not None else (wanted.tool, None)
        return Failure(f'tool "{name}": {said} ({", ".join(filter(None, [error.code, place]))})')
    return Failure(f"{error} ({', '.join(filter(None, [error.code, _place(error, folder)]))})")


def _issues(error: InvalidInputError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, issue['path'])) or 'arguments'}: {issue['message']}" for issue in error.validation_errors
    )


def _inner_call(error: BaseException) -> str:
    """The path to the call that it is about, where that is not the one that was asked for."""
    path = _path(error)
    return f", {CALL_NOTE}{path}" if " → " in path else ""


def _last_called(error: BaseException) -> str:
    return _path(error).rpartition(" → ")[2]


def _path(error: BaseException) -> str:
    """The path to the call in which it was raised; empty where that is not known."""
    notes = (note.partition(": ")[0] for note in _notes(error) if note.startswith(CALL_NOTE))
    return next(notes, "").removeprefix(CALL_NOTE)


def _other_notes(error: BaseException) -> list[str]:
    return [note for note in _notes(error) if not note.startswith(CALL_NOTE)]


def _notes(error: BaseException) -> Sequence[str]:
    return getattr(error, "__notes__", ())


def _place(error: FrontMcpError, folder: Path) -> str | None:
    """Where a bug was raised; an error that is meant for clients needs no place."""
    if error.public:
        return None
    cause = error.original_error if isinstance(error, ToolExecutionError) else error.__cause__
    return place_of(cause, folder) if cause is not None else None


def perform(server: FrontMcp, wanted: ToolCall, caller: Caller, output: Output, folder: Path) -> tuple[str, int]:
    """Make the call; what to print, and the exit code.

    :param folder: where the user's code is.
    :raises Failure: the call failed, and its output is text.
    """
    with failing_with_place(folder):
        answered = anyio.run(answer, server, wanted, caller)
    if output == "json":
        return as_json(answered), int(answered.failed)
    if answered.result is None or answered.failed:
        raise failure(server, wanted, answered, folder)
    return as_text(answered.result), 0
