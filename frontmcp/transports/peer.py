"""The client of one request, as a call sees it: progress, log messages, questions (`frontmcp.call.Peer`)."""

from __future__ import annotations

import warnings
from typing import Final

import mcp_types as types
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from frontmcp.call import LEVELS, Answer, Message, ProgressUpdate, Question
from frontmcp.errors import ClientAnswerError, sendable, sendable_data
from frontmcp.transports.questions import RESULTS, answer_of, request_of
from frontmcp.transports.sdk import Ctx, connection_of, trace_of

LEVEL: Final = "frontmcp.level"
"""Where the state of an older session has the level from which it wants log messages."""


async def set_level(ctx: Ctx, params: types.SetLevelRequestParams) -> types.EmptyResult:
    """``logging/setLevel``, of older sessions."""
    connection_of(ctx).state[LEVEL] = params.level
    return types.EmptyResult()


class ClientPeer:
    """The client of one request."""

    __slots__ = ("_ctx", "_modern")

    def __init__(self, ctx: Ctx, *, modern: bool) -> None:
        self._ctx = ctx
        self._modern = modern

    async def progress(self, update: ProgressUpdate) -> None:
        message = sendable(update.message) if update.message is not None else None
        await self._ctx.session.report_progress(update.progress, update.total, message)

    async def notify(self, message: Message) -> None:
        if not self._modern and not self._wants(message.level):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await self._ctx.session.send_log_message(
                message.level, sendable_data(message.data), message.logger, related_request_id=self._ctx.request_id
            )

    async def close_stream(self) -> None:
        if self._ctx.close_sse_stream is not None:
            await self._ctx.close_sse_stream()

    def _wants(self, level: str) -> bool:
        wanted = connection_of(self._ctx).state.get(LEVEL, "debug")
        return LEVELS.index(level) >= LEVELS.index(wanted)

    @property
    def can_ask(self) -> bool:
        return not self._modern and self._ctx.session.can_send_request

    async def ask(self, question: Question) -> Answer:
        related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        wanted = request_of(question, trace_of(self._ctx))
        try:
            return answer_of(await self._ctx.session.send_request(wanted, RESULTS[question.method], metadata=related))
        except MCPError as error:
            told = f"The client answered {question.method} with an error ({error.error.code})"
            raise ClientAnswerError(told) from error
        except ValidationError:
            raise ClientAnswerError(f"The client's answer to {question.method} is none") from None

    async def elicited(self, elicitation_id: str) -> None:
        params = types.ElicitCompleteNotificationParams(elicitation_id=elicitation_id)
        await self._ctx.session.send_notification(
            types.ElicitCompleteNotification(params=params), related_request_id=self._ctx.request_id
        )
