"""Calls that may leave their request, from 2026-07-28 on: to ask the client, whose retry goes on, or for good."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
import pydantic_core
from mcp.shared.exceptions import MCPError

from frontmcp.asking import State, Suspended, Suspension, spend
from frontmcp.call import Call, Caller, RequestContext, Sought
from frontmcp.transports.failures import Failures
from frontmcp.transports.questions import answer_of, request_of
from frontmcp.transports.sdk import CallRequest
from frontmcp.transports.served import Served

logger = logging.getLogger("frontmcp.wire")

RESULT_TYPES: Final[Mapping[Sought, type[types.Result]]] = {
    "tool": types.CallToolResult,
    "resource": types.ReadResourceResult,
    "prompt": types.GetPromptResult,
}


class Suspending:
    """Answers requests whose call may leave them, and the retries that bring answers.

    :param extensions: the extensions that the server knows.
    """

    def __init__(self, served: Served, failures: Failures, extensions: Mapping[str, Any]) -> None:
        self._served = served
        self._pipeline = served.pipeline
        self._failures = failures
        self._extensions = extensions

    def may_leave(self, capabilities: types.ClientCapabilities | None) -> bool:
        """Whether a call may leave its request: to ask, or for an extension that both sides know."""
        if capabilities is None:
            return False
        if not (capabilities.elicitation is None and capabilities.sampling is None and capabilities.roots is None):
            return True
        declared = capabilities.extensions
        return declared is not None and not self._extensions.keys().isdisjoint(declared)

    async def answer(self, request: RequestContext, asked: CallRequest) -> Any:
        """The answer to a request, or what the client needs for its retry; a state is spent once."""
        state = _state(request.caller, asked.params.request_state)
        if state is None:
            return await self._attempt(request, asked, None)

        async def produce() -> bytes:
            try:
                answer: Any = await self._attempt(request, asked, state)
            except MCPError as error:
                answer = {"error": error.error}
            return pydantic_core.to_json(answer, by_alias=True)

        return _result_of(await spend(self._served.state_store, state, produce), asked.kind)

    async def _attempt(self, request: RequestContext, asked: CallRequest, state: State | None) -> Any:
        answers = {key: answer_of(response) for key, response in (asked.params.input_responses or {}).items()}
        suspension = Suspension(self._served.state_store, request.caller, state, answers)
        request.asking = suspension
        call = asked.call(self._pipeline, request, suspension.attempt)
        try:
            outcome: Any = await suspension.run(lambda: self._pipeline.run(call))
        except Exception as error:
            return self._failures.answer(error, asked, call)
        if not isinstance(outcome, Suspended):
            return outcome
        if outcome.answer is not None:
            return await self._left(outcome, asked, call)
        requests = {key: request_of(question) for key, question in outcome.questions.items()}
        return types.InputRequiredResult(input_requests=requests, request_state=outcome.state.dump())

    async def _left(self, outcome: Suspended, asked: CallRequest, call: Call) -> Any:
        """The answer to a request that its call has left for good."""
        assert outcome.answer is not None
        try:
            return await outcome.answer(outcome.state.dump())
        except Exception as error:
            return self._failures.answer(error, asked, call)


def _state(caller: Caller, text: str | None) -> State | None:
    if text is None:
        return None
    try:
        state = State.load(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise MCPError(types.INVALID_PARAMS, "Invalid or expired requestState") from None
    if not state.belongs_to(caller):
        logger.warning("a requestState of another caller was refused")
        raise MCPError(types.INVALID_PARAMS, "Invalid or expired requestState")
    return state


def _result_of(answer: bytes, kind: Sought) -> Any:
    data = json.loads(answer)
    if "error" in data:
        raise MCPError.from_error_data(types.ErrorData.model_validate(data["error"]))
    kind_of_result = data.get("resultType", "complete")
    if kind_of_result not in ("complete", "input_required"):
        return data
    model = types.InputRequiredResult if kind_of_result == "input_required" else RESULT_TYPES[kind]
    return model.model_validate(data)
