"""Questions to a client, and its answers, as the protocol writes them in both eras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types

from frontmcp.call import Answer, Asked, Question

REQUESTS: Final[Mapping[Asked, type[Any]]] = {
    "elicitation/create": types.ElicitRequest,
    "sampling/createMessage": types.CreateMessageRequest,
    "roots/list": types.ListRootsRequest,
}
RESULTS: Final[Mapping[Asked, type[types.Result]]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResultWithTools,
    "roots/list": types.ListRootsResult,
}


def request_of(question: Question, trace: Mapping[str, str] | None = None) -> Any:
    """The protocol's request for a question.

    :param trace: what the request that it is asked for stands in, for a request of its own.
    """
    params = {**question.params, "_meta": dict(trace)} if trace else dict(question.params)
    return REQUESTS[question.method].model_validate({"method": question.method, "params": params})


def answer_of(result: types.Result) -> Answer:
    """The answer that a result is."""
    return Answer(result.model_dump(mode="json", by_alias=True, exclude_none=True))
