"""What a client is told of a request that failed: a result that the model reads, or an error of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError

from frontmcp.authentication import Challenge
from frontmcp.call import Call
from frontmcp.errors import (
    FrontMcpError,
    MissingCapabilityError,
    ResourceNotFoundError,
    log_error,
    new_error_id,
    ours,
    public_text,
    sendable,
    to_error_data,
    to_result,
)
from frontmcp.transports.answers import open_answer, refusal
from frontmcp.transports.sdk import CallRequest
from frontmcp.transports.served import Served

OLDER_CODES: Final[Mapping[type[Exception], int]] = {
    ResourceNotFoundError: -32002,
    MissingCapabilityError: types.INVALID_REQUEST,
}
"""What has another code up to 2025-11-25."""


class Failures:
    """What the clients of one server are told of errors; what is not public is masked in production."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def answer(self, error: Exception, asked: CallRequest, call: Call | None) -> types.CallToolResult:
        """The result of a failed tool call.

        :raises MCPError: it is answered by an error of the protocol, or refused over HTTP.
        """
        challenge = getattr(error, "challenge", None)
        http = open_answer(asked.ctx.request) if isinstance(challenge, Challenge) and _is_unbegun(call) else None
        needs_error = asked.is_modern and isinstance(error, MissingCapabilityError)
        if asked.kind == "tool" and http is None and not needs_error:
            return to_result(ours(error), production=self._served.production, fields=_fields(call))
        failure = self.protocol_error(error, call, older=not asked.is_modern)
        if http is not None:
            http.refuse(refusal(cast("Challenge", challenge), failure.error, asked.ctx.request_id))
        raise failure from None

    def protocol_error(self, error: Exception, call: Call | None = None, *, older: bool = False) -> MCPError:
        """The error of the protocol that an error is told as.

        :param older: to a client up to 2025-11-25.
        """
        if isinstance(error, MCPError):
            return error
        data = to_error_data(ours(error), production=self._served.production, fields=_fields(call))
        if older:
            data.code = OLDER_CODES.get(type(error), data.code)
        return MCPError.from_error_data(data)

    def refusal(self, error: Exception) -> MCPError:
        """The error of the protocol for a request that is refused whatever it wants."""
        return error if isinstance(error, MCPError) else MCPError(types.INVALID_REQUEST, self._text(ours(error)))

    def _text(self, error: FrontMcpError) -> str:
        error_id = new_error_id()
        log_error(error, error_id)
        return sendable(public_text(error, error_id, production=self._served.production))


def _fields(call: Call | None) -> Mapping[str, str] | None:
    return call.log_fields if call is not None else None


def _is_unbegun(call: Call | None) -> bool:
    """Whether a call ended before anything of it ran, so that what it raised is about itself."""
    return call is not None and not call.runs
