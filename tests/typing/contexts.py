"""What users write inside a tool, as a type checker sees it."""

from __future__ import annotations

import logging
from typing import Any, assert_type

from mcp_types import Root
from pydantic import BaseModel

from frontmcp import (
    AbortController,
    AbortSignal,
    Accepted,
    Call,
    Caller,
    CallToolResult,
    Cancelled,
    Declined,
    FlowControl,
    FrontMcpError,
    JsonSchema,
    RequestContext,
    Tool,
    ToolContext,
)
from frontmcp.errors import MissingCapabilityError
from frontmcp.interfaces import SamplingResult


class Form(BaseModel):
    reason: str


@Tool
class Everything(ToolContext):
    async def execute(self, id: str) -> str:
        assert_type(self.name, str)
        assert_type(self.auth, Caller)
        assert_type(self.context, RequestContext)
        assert_type(self.signal, AbortSignal)
        assert_type(self.call, Call)
        self.logger.info("started")
        assert isinstance(self.logger, logging.LoggerAdapter)
        if self.auth.has_role("admin", "owner") and self.auth.user.name is not None:
            self.context.set("who", self.auth.user.name)
        await self.progress(1, total=2, message="half")
        await self.notify({"any": "json"}, level="warning")
        sent = await self.call_tool("email", {"to": id}, signal=AbortSignal.timeout(0.1), progress_token="p")
        assert_type(sent, CallToolResult)
        made: Any = await self.once("token", self.make)
        return f"{made}{sent.structured_content}"

    async def make(self) -> str:
        return "made"


@Tool
class Asking(ToolContext):
    async def execute(self) -> str:
        answer = await self.elicit("Why?", Form)
        assert_type(answer, Accepted[Form] | Declined | Cancelled)
        if isinstance(answer, Accepted):
            return answer.data.reason
        if isinstance(answer, Declined):
            self.respond("nothing")
        return "later"


@Tool
class AskingTheClient(ToolContext):
    async def execute(self) -> str:
        raw = await self.elicit("Why?", JsonSchema({"type": "object", "properties": {}}), key="why")
        assert_type(raw, Accepted[dict[str, Any]] | Declined | Cancelled)
        assert_type(await self.elicit_url("There", "https://pay.example"), Accepted[None] | Declined | Cancelled)
        said = await self.sample(["Hi"], max_tokens=10, model_preferences="claude")
        assert_type(said, SamplingResult)
        assert_type(await self.list_roots(), list[Root])
        if not self.context.offers({"sampling": {"tools": {}}}):
            raise MissingCapabilityError({"sampling": {"tools": {}}})
        return said.text


@Tool
class Blocking(ToolContext):
    def execute(self) -> int:
        self.progress_sync(1)
        self.notify_sync("note")
        result = self.call_tool_sync("other", {"a": 1})
        assert_type(result, CallToolResult)
        answer = self.elicit_sync("Why?", Form)
        return len(answer.data.reason) if isinstance(answer, Accepted) else 0


@Tool
class Handling(ToolContext):
    async def execute(self) -> str:
        try:
            await self.call_tool("other")
        except FlowControl as error:
            assert_type(error.original_error, BaseException | None)
            reason = str(error.original_error)
        except FrontMcpError as error:
            assert_type(error.code, str)
            self.fail(error)
        else:
            reason = ""
        return reason


async def budget() -> None:
    controller = AbortController()
    both = AbortSignal.any(controller.signal, AbortSignal.timeout(5))
    remove = both.add_callback(lambda: print("stop"))
    assert_type(await both.wait(timeout=1), bool)
    controller.abort(TimeoutError("enough"))
    both.raise_if_aborted()
    remove()
