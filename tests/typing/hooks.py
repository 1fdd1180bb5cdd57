"""What users write around tools, as a type checker sees it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from frontmcp import (
    Around,
    Call,
    CallNext,
    CallToolResult,
    Did,
    FrontMcp,
    Option,
    Plugin,
    PublicMcpError,
    Tool,
    ToolContext,
    ToolEntry,
    Will,
    hookimpl,
)
from frontmcp.interfaces import ProgressUpdate


class Audit(Plugin):
    name = "acme.audit"
    requires = ("visibility",)
    options = (Option("audit", bool, kinds=("tool",)), Option("audit_log", Path, server=True))

    @Will("execute")
    async def before(self, call: Call) -> None:
        call.input["seen"] = True

    @Around("execute", priority=-10, kinds=("tool", "resource"), tools="billing_*")
    async def timed(self, call: Call, call_next: CallNext) -> Any:
        return await call_next()

    @Did("execute", tools=["a", "b"])
    def after(self, call: Call) -> None:
        call.output = None

    @hookimpl(tryfirst=True)
    def resolve_tool(self, name: str, call: Call) -> ToolEntry | str | None:
        return None

    @hookimpl(option="audit")
    async def check_authorities(self, call: Call) -> None:
        if not call.caller.has_role("auditor"):
            raise PublicMcpError("No.", "NO")

    @hookimpl
    def entry_visible(self, call: Call, entry: ToolEntry) -> bool:
        return not call.listing

    @hookimpl
    async def guard_call(self, call: Call, call_next: CallNext) -> CallToolResult:
        result: CallToolResult = await call_next()
        return result

    @hookimpl
    async def on_progress(self, call: Call, update: ProgressUpdate) -> None:
        update.message = None


class Late(Plugin):
    @hookimpl
    def declare_options(self) -> Sequence[Option]:
        return [Option("late", int)]


@Will("execute")
async def everywhere(call: Call) -> None:
    call.respond("instead")


@Tool(audit=True)
class Hooked(ToolContext):
    @Will("execute")
    async def before(self, call: Call) -> None: ...

    @Around("execute")
    async def around(self, call: Call, call_next: CallNext) -> Any:
        return await call_next()

    async def execute(self) -> str:
        return self.name


server = FrontMcp("s", tools=[Hooked], plugins=[Audit, Late(), everywhere, "no:progress"], plugin_order=["acme.audit"])
