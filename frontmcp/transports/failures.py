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
from frontmcp.transports.answers import Answer, open_answer, refusal
from frontmcp.transports.sdk import CallRequest, Ctx
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
        needs_error = asked.is_modern and isinstance(error, MissingCapabilityError)
        if asked.kind == "tool" and not needs_error and _refusable(error, asked.ctx, call) is None:
            return to_result(ours(error), production=self._served.production, fields=_fields(call))
        raise self.refused(error, asked.ctx, call, older=not asked.is_modern) from None

    def refused(self, error: Exception, ctx: Ctx, call: Call | None, *, older: bool = False) -> MCPError:
        """`protocol_error`, which over HTTP is a refusal where the caller can get what the call lacks."""
        failure = self.protocol_error(error, call, older=older)
        if (http := _refusable(error, ctx, call)) is not None:
            http.refuse(refusal(cast("Challenge", getattr(error, "challenge", None)), failure.error, ctx.request_id))
        return failure

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


def _refusable(error: Exception, ctx: Ctx, call: Call | None) -> Answer | None:
    """The answer that can be a refusal: nothing of it was sent, nothing of the call ran, so it is about itself."""
    challenged = isinstance(getattr(error, "challenge", None), Challenge) and call is not None and not call.runs
    return open_answer(ctx.request) if challenged else None
