"""The way of a question to the client, in every protocol version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from frontmcp.call import Answer, Call, Question
from frontmcp.errors import (
    CapabilityNotSupportedError,
    ElicitationNotSupportedError,
    RootsNotSupportedError,
    SamplingNotSupportedError,
)

NOT_SUPPORTED: Final[Mapping[str, type[CapabilityNotSupportedError]]] = {
    "elicitation": ElicitationNotSupportedError,
    "sampling": SamplingNotSupportedError,
    "roots": RootsNotSupportedError,
}


async def ask(call: Call, question: Question) -> Answer:
    """Ask the client in the way of its protocol version.

    :raises CapabilityNotSupportedError: it can't be asked that; nothing was suspended.
    :raises ClientAnswerError: it answered with an error, or with something else than was asked for.
    """
    request = call.request
    if request.asking is not None:
        return await request.asking.ask(call, question)
    if request.peer is None or not request.peer.can_ask or not request.offers(question.requires):
        raise not_supported(question)
    return await request.peer.ask(question)


def not_supported(question: Question) -> CapabilityNotSupportedError:
    """The error for a question that the client can't be asked: it names the capability."""
    [(name, parts)] = question.requires.items()
    capability = ".".join([name, *(part for part in parts if part != "form")])
    return NOT_SUPPORTED[name](f"Client does not support {capability}")
