"""The requests that calls are to the server that lists what is called."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from frontmcp.call import HOPS, Call
from frontmcp.errors import ResourceNotFoundError
from frontmcp.upstream.errors import UpstreamLoopError
from frontmcp.upstream.exchange import Answers, Make

TOOL_RESULT: Final[TypeAdapter[Any]] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
RESOURCE_RESULT: Final[TypeAdapter[Any]] = TypeAdapter(types.ReadResourceResult | types.InputRequiredResult)
PROMPT_RESULT: Final[TypeAdapter[Any]] = TypeAdapter(types.GetPromptResult | types.InputRequiredResult)

RESOURCE_NOT_FOUND: Final = (-32002, types.INVALID_PARAMS)
"""What servers say of a resource that they do not have, up to 2025-11-25 and later."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a call asks of another server.

    :ivar make: the request of each round.
    :ivar adapter: reads its answer.
    :ivar is_safe: it may be made twice.
    """

    make: Make
    adapter: TypeAdapter[Any]
    is_safe: bool


def request_of(call: Call, listed: Any, arguments: dict[str, Any]) -> Request:
    """The request of a call.

    :param listed: what is called, as the server lists it.
    :param arguments: the validated input.
    """
    meta = _meta(call)
    if isinstance(listed, types.Tool):
        return Request(partial(_call_tool, listed.name, arguments, meta), TOOL_RESULT, _is_safe(listed))
    if isinstance(listed, types.Prompt):
        given = {name: str(value) for name, value in arguments.items() if value is not None}
        return Request(partial(_get_prompt, listed.name, given, meta), PROMPT_RESULT, is_safe=True)
    return Request(partial(_read_resource, call.name, meta), RESOURCE_RESULT, is_safe=True)


def _meta(call: Call) -> Any:
    """What goes along with whatever is asked on a call's behalf."""
    return {**call.request.trace_context, HOPS: call.request.hops + 1}


def _call_tool(
    name: str, arguments: dict[str, Any], meta: Any, answers: Answers | None, state: str | None
) -> types.CallToolRequest:
    params = types.CallToolRequestParams(
        name=name, arguments=arguments, input_responses=answers, request_state=state, _meta=meta
    )
    return types.CallToolRequest(params=params)


def _get_prompt(
    name: str, arguments: dict[str, str], meta: Any, answers: Answers | None, state: str | None
) -> types.GetPromptRequest:
    params = types.GetPromptRequestParams(
        name=name, arguments=arguments, input_responses=answers, request_state=state, _meta=meta
    )
    return types.GetPromptRequest(params=params)


def _read_resource(uri: str, meta: Any, answers: Answers | None, state: str | None) -> types.ReadResourceRequest:
    params = types.ReadResourceRequestParams(uri=uri, input_responses=answers, request_state=state, _meta=meta)
    return types.ReadResourceRequest(params=params)


def _is_safe(tool: types.Tool) -> bool:
    hints = tool.annotations
    return hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)


def passed_on(result: Any) -> Any:
    """A server's result as ours."""
    if result.meta is not None:
        # It tells who answered; to our clients that is us.
        result.meta.pop(types.SERVER_INFO_META_KEY, None)
        result.meta = result.meta or None
    if isinstance(result, types.ReadResourceResult):
        # The other server knows nothing of who may read it here.
        result.cache_scope = "private"
    return result


def known_error(call: Call, app_id: str, error: MCPError) -> Exception | None:
    """The error of ours that says the same, where there is one."""
    if call.kind == "resource" and error.code in RESOURCE_NOT_FOUND:
        return ResourceNotFoundError(call.name)
    if _says_loop(error.error.data):
        return UpstreamLoopError(app_id)
    return None


def is_loop(result: Any) -> bool:
    """Whether a server's result is that the request went round."""
    return isinstance(result, types.CallToolResult) and bool(result.is_error) and _says_loop(result.meta)


def _says_loop(details: Any) -> bool:
    return isinstance(details, dict) and details.get("code") == UpstreamLoopError.code


def completion_request(
    call: Call, listed: Any, argument: str, value: str, arguments: dict[str, str]
) -> tuple[Make, TypeAdapter[Any]]:
    """The request for values of an argument, and what reads its answer."""
    reference: Any = (
        types.PromptReference(name=listed.name)
        if isinstance(listed, types.Prompt)
        else types.ResourceTemplateReference(uri=listed.uri_template)
    )
    params = types.CompleteRequestParams(
        ref=reference,
        argument=types.CompletionArgument(name=argument, value=value),
        context=types.CompletionContext(arguments=arguments) if arguments else None,
        _meta=_meta(call),
    )
    return lambda answers, state: types.CompleteRequest(params=params), TypeAdapter(types.CompleteResult)
