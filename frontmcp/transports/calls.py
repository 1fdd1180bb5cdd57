"""``tools/call``, ``resources/read`` and ``prompts/get``: the requests that a call answers."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from frontmcp.call import Call
from frontmcp.transports.failures import Failures
from frontmcp.transports.requests import Requests
from frontmcp.transports.sdk import CallRequest, Ctx
from frontmcp.transports.served import Served
from frontmcp.transports.suspending import Suspending


class Calls:
    """Answers by calls, which from 2026-07-28 on may leave their request."""

    def __init__(self, served: Served, requests: Requests, failures: Failures, suspending: Suspending) -> None:
        self._pipeline = served.pipeline
        self._requests = requests
        self._failures = failures
        self._suspending = suspending

    async def call_tool(self, ctx: Ctx, params: types.CallToolRequestParams) -> Any:
        """``tools/call``: every failure is a result the model can read; nothing escapes."""
        return await self._answer(CallRequest(ctx, params, "tool", params.name, params.arguments))

    async def read_resource(self, ctx: Ctx, params: types.ReadResourceRequestParams) -> Any:
        """``resources/read``: every failure is an error of the protocol."""
        return await self._answer(CallRequest(ctx, params, "resource", params.uri, {"uri": params.uri}))

    async def get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> Any:
        """``prompts/get``: every failure is an error of the protocol."""
        return await self._answer(CallRequest(ctx, params, "prompt", params.name, params.arguments))

    async def _answer(self, asked: CallRequest) -> Any:
        call: Call | None = None
        try:
            context = self._requests.context if asked.kind == "tool" else self._requests.admitted
            request = await context(asked.ctx)
            if asked.is_modern and (
                asked.params.request_state is not None or self._suspending.may_leave(request.client_capabilities)
            ):
                return await self._suspending.answer(request, asked)
            call = asked.call(self._pipeline, request)
            result = await self._pipeline.run(call)
        except MCPError:
            raise
        except Exception as error:
            return self._failures.answer(error, asked, call)
        return result if asked.is_modern or asked.kind != "tool" else _for_older_clients(call, result)


def _for_older_clients(call: Call, result: types.CallToolResult) -> types.CallToolResult:
    """Up to 2025-11-25 structured content is an object: what is none travels as ``{"result": …}``."""
    output = call.entry.output
    data = result.structured_content
    if data is None or (isinstance(data, dict) and (output is None or output.is_object)):
        return result
    return result.model_copy(update={"structured_content": {"result": data}})
