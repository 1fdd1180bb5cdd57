"""From an error to what clients and the log are told: the one place (architecture §6)."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mcp_types import CallToolResult, ErrorData, TextContent

from frontmcp.errors.stacks import tell_users_stack, user_stack
from frontmcp.errors.tree import FrontMcpError, InternalMcpError
from frontmcp.errors.words import describe, sendable, sendable_data

logger = logging.getLogger("frontmcp.errors")
logger.addFilter(tell_users_stack)


def ours(error: Exception) -> FrontMcpError:
    """The error itself, or one of ours that stands for it."""
    if isinstance(error, FrontMcpError):
        return error
    internal = InternalMcpError(describe(error))
    internal.__cause__ = error
    return internal


def new_error_id() -> str:
    """An id that stands beside an error in the log, and for it where it is masked."""
    return f"err_{secrets.token_hex(8)}"


def to_result(error: FrontMcpError, *, production: bool, fields: Mapping[str, str] | None = None) -> CallToolResult:
    """The one table from an error to what the client of a tool sees; logs what it masks.

    :param error: as it left the outermost call.
    :param production: mask what is not public, and show no stack.
    :param fields: request id, caller and path, for the log.
    :returns: a result with ``is_error`` and ``_meta {errorId, code, timestamp, data?, stack?}``.
    """
    error_id = new_error_id()
    meta: dict[str, Any] = {"errorId": error_id, "code": error.code, "timestamp": datetime.now(UTC).isoformat()}
    if error.data and (error.public or not production):
        meta["data"] = sendable_data(error.data)
    if not production:
        meta["stack"] = sendable(user_stack(error))
    text = sendable(public_text(error, error_id, production=production))
    log_error(error, error_id, fields, stack_told=not production)
    return CallToolResult(content=[TextContent(text=text)], is_error=True, _meta=meta)


def to_error_data(error: FrontMcpError, *, production: bool, fields: Mapping[str, str] | None = None) -> ErrorData:
    """The same for what is answered with an error of the protocol: resources, prompts, completion.

    :returns: its code, its text, and ``data`` with ``code``, ``errorId`` and what the error says for programs.
    """
    error_id = new_error_id()
    text = sendable(public_text(error, error_id, production=production))
    log_error(error, error_id, fields)
    details = sendable_data(error.data or {}) if error.public or not production else {}
    return ErrorData(code=error.rpc_code, message=text, data={**details, "code": error.code, "errorId": error_id})


def public_text(error: FrontMcpError, error_id: str, *, production: bool) -> str:
    """The message a client may read: masked in production unless the error is public."""
    if production and not error.public:
        return error.masked_text.format(error_id=error_id)
    return error.text


def log_error(
    error: FrontMcpError, error_id: str, fields: Mapping[str, str] | None = None, *, stack_told: bool = False
) -> None:
    """Log an error under the id its client was given; with the traceback unless it is public.

    :param stack_told: the client was given the traceback too; the record says so.
    """
    extra = {"error_id": error_id, "stack_told": stack_told, **(fields or {})}
    if error.public:
        logger.info("%s %s", error_id, error.code, extra=extra)
    else:
        logger.error("%s %s: %s", error_id, error.code, describe(error), exc_info=error, extra=extra)
