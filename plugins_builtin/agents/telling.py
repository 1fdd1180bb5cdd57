"""What a model is told of the tools it called, and what its words mean as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pydantic_core
from mcp_types import TextContent

from frontmcp import Call, CallToolResult, FlowControl, FrontMcpError, InvalidInputError, ToolExecutionError
from frontmcp.errors import to_result

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


def told_of(result: CallToolResult) -> str:
    """What a model reads of a result: its data as JSON, else its text, with a word for what is no text."""
    if result.structured_content is not None:
        return pydantic_core.to_json(result.structured_content).decode()
    if not result.content:
        return "null"
    return "\n".join(each.text if isinstance(each, TextContent) else f"[{each.type}]" for each in result.content)


def told_failure(error: FlowControl | FrontMcpError, tool: str, call: Call) -> str:
    """What a model reads of a failure: what a client would, masked where it is masked for clients."""
    if isinstance(error, FlowControl):
        original = error.original_error
        error = original if isinstance(original, FrontMcpError) else ToolExecutionError(tool, original)
    result = to_result(error, production=call.server.production, fields=call.log_fields)
    return told_of(CallToolResult(content=result.content))


def read_answer(text: str) -> Any:
    """The JSON that an answer is, also where a model puts it in a fence; the text itself where it is none."""
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```"):
        bare = bare[3:-3].removeprefix("json").strip()
    read = _from_json(bare)
    return text if read is NO_JSON else read


def _from_json(text: Any) -> Any:
    try:
        return pydantic_core.from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):
        return NO_JSON
