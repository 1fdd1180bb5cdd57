"""What another server asks of its client, as questions to ours: forms, URLs, models, roots."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import mcp_types as types

from frontmcp.call import Answer, Question, RequestContext

Asks: TypeAlias = types.ElicitRequest | types.CreateMessageRequest | types.ListRootsRequest

CAPABILITIES: Final = ("elicitation", "sampling", "roots")

RESULTS: Final[Mapping[str, Any]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


def offered(request: RequestContext) -> frozenset[str]:
    """The capabilities of our client that another server may count on."""
    if request.asking is None and (request.peer is None or not request.peer.can_ask):
        return frozenset()
    return frozenset(name for name in CAPABILITIES if getattr(request.client_capabilities, name, None) is not None)


def question_of(request: Asks, *, modern: bool) -> Question:
    """The question that a server's request is to our client.

    :param modern: the client speaks 2026-07-28 or later, where a URL has no id of its own.
    """
    data = request.model_dump(mode="json", by_alias=True, exclude_none=True)
    params = {key: value for key, value in (data.get("params") or {}).items() if key not in ("_meta", "elicitationId")}
    if _is_url(request) and not modern:
        # Nobody will hear of it: what tells that it is done comes after the call.
        params["elicitationId"] = uuid.uuid4().hex
    return Question(request.method, params, _required(request))


def _is_url(request: Asks) -> bool:
    return isinstance(request, types.ElicitRequest) and isinstance(request.params, types.ElicitRequestURLParams)


def _required(request: Asks) -> Mapping[str, Any]:
    if isinstance(request, types.ElicitRequest):
        return {"elicitation": {"url" if _is_url(request) else "form": {}}}
    if isinstance(request, types.CreateMessageRequest):
        return {"sampling": {"tools": {}} if request.params.tools else {}}
    return {"roots": {}}


def read_answer(request: Asks, answer: Answer) -> Any:
    """Our client's answer, as the result of the server's request.

    :raises ValidationError: it is none.
    """
    result: Any = RESULTS[request.method]
    if isinstance(request, types.CreateMessageRequest) and request.params.tools:
        result = types.CreateMessageResultWithTools
    return result.model_validate(answer.data, by_name=False)
