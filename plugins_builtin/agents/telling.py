"""What a model is told, of its task and of the tools it called, and what its words mean as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

import pydantic_core
from mcp_types import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from frontmcp import (
    Call,
    CallToolResult,
    FlowControl,
    FrontMcpError,
    InvalidInputError,
    InvalidOutputError,
    ToolExecutionError,
)
from frontmcp.errors import to_result
from frontmcp.interfaces import ChatMedia

NO_JSON: Final[Any] = object()


def read_arguments(written: Mapping[str, Any] | str) -> dict[str, Any]:
    """The arguments of a tool call.

    :raises InvalidInputError: what the model wrote is no JSON object.
    """
    if not isinstance(written, str):
        return dict(written)
    read = _from_json(written or "{}")
    if not isinstance(read, dict):
        issue = {"path": [], "message": "The arguments are no JSON object", "type": "json_invalid"}
        raise InvalidInputError(validation_errors=[issue])
    return read


def instructions(own: str | None, schema: Any) -> str | None:
    """What a model is told before all else: what its agent says, and what its answer must be."""
    if schema is None:
        return own
    return f"{own}\n\n{_answer_in(schema)}" if own else _answer_in(schema)


def mend(error: InvalidOutputError, schema: Any) -> str:
    """What a model is told of an answer that does not fit."""
    where = f" at {error.path}" if error.path else ""
    return f"That answer does not fit{where}. {_answer_in(schema)}"


def _answer_in(schema: Any) -> str:
    return f"Answer with nothing but JSON that fits this JSON Schema: {to_json(schema)}"


def told_of(result: CallToolResult) -> list[str | ChatMedia]:
    """What a model is told of a result: its data as JSON, else its text; and what is no text."""
    parts = parts_of(result.content)
    if result.structured_content is None:
        return parts or ["null"]
    data = to_json(result.structured_content)
    return [data, *(part for part in parts if isinstance(part, ChatMedia))]


def parts_of(content: Iterable[ContentBlock]) -> list[str | ChatMedia]:
    """Content in a model's words: the text of what has some, a name for what lies elsewhere."""
    return [each.text if isinstance(each, TextContent) else _part(each) for each in content]


def _part(block: ContentBlock) -> str | ChatMedia:
    if isinstance(block, ImageContent | AudioContent):
        return ChatMedia(block.mime_type, block.data)
    if isinstance(block, ResourceLink):
        return f"[{block.name}: {block.uri}]"
    assert isinstance(block, EmbeddedResource)
    if isinstance(held := block.resource, TextResourceContents):
        return held.text
    return ChatMedia(held.mime_type or "application/octet-stream", held.blob, unquote(held.uri.rpartition("/")[2]))


def told_failure(error: FlowControl | FrontMcpError, tool: str, call: Call) -> str:
    """What a model reads of a failure: what a client would, masked where it is masked for clients."""
    if isinstance(error, FlowControl):
        original = error.original_error
        error = original if isinstance(original, FrontMcpError) else ToolExecutionError(tool, original)
    result = to_result(error, production=call.server.production, fields=call.log_fields)
    return "\n".join(map(str, parts_of(result.content)))


def read_answer(text: str) -> Any:
    """The JSON that an answer is, also where a model puts it in a fence; the text itself where it is none."""
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```"):
        bare = bare[3:-3].removeprefix("json").strip()
    read = _from_json(bare)
    return text if read is NO_JSON else read


def to_json(data: Any) -> str:
    """Data as JSON, without spaces."""
    return pydantic_core.to_json(data).decode()


def _from_json(text: Any) -> Any:
    try:
        return pydantic_core.from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):
        return NO_JSON
