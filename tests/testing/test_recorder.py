"""The hook recorder: what was called, in order, with what."""

from __future__ import annotations

from typing import Any

import pytest

from frontmcp import App, FrontMcp, PublicMcpError, Tool, ToolContext, create_direct
from frontmcp.testing import HookRecorder


@Tool(description="Inner")
class Inner(ToolContext):
    async def execute(self, number: int) -> int:
        await self.progress(1, 2, "half")
        await self.notify("hello", "warning")
        if number < 0:
            raise PublicMcpError("less than nothing", "NEGATIVE")
        return number + 1


@Tool(description="Outer")
class Outer(ToolContext):
    async def execute(self, number: int) -> dict[str, Any]:
        return {"inner": (await self.call_tool("inner", {"number": number})).structured_content}


@pytest.fixture
def server() -> FrontMcp:
    return FrontMcp("desk", apps=[App(id="desk", tools=[Inner, Outer])])


async def test_hooks_are_written_down_in_order_with_entry_and_depth(mcp: Any, hooks: HookRecorder) -> None:
    (await mcp.tools.call("outer", {"number": 1})).assert_ok()
    assert [(each.hook, each.entry, each.depth) for each in hooks.calls()] == [
        ("entry_visible", "outer", 0),
        ("check_authorities", "outer", 0),
        ("guard_call", "outer", 0),
        ("will_execute", "outer", 0),
        ("around_execute", "outer", 0),
        ("entry_visible", "inner", 1),
        ("check_authorities", "inner", 1),
        ("guard_call", "inner", 1),
        ("will_execute", "inner", 1),
        ("around_execute", "inner", 1),
        ("on_progress", "inner", 1),
        ("on_notify", "inner", 1),
        ("did_execute", "inner", 1),
        ("format_result", "inner", 1),
        ("did_execute", "outer", 0),
        ("format_result", "outer", 0),
    ]


async def test_one_hook_can_be_asked_for(hooks: HookRecorder, mcp: Any) -> None:
    (await mcp.tools.call("outer", {"number": 1})).assert_ok()
    assert [(each.entry, each.call.input) for each in hooks.calls("will_execute")] == [
        ("outer", {"number": 1}),
        ("inner", {"number": 1}),
    ]
    hooks.clear()
    assert hooks.calls() == []


async def test_what_hooks_were_given_and_what_wrappers_gave(mcp: Any, hooks: HookRecorder) -> None:
    (await mcp.tools.call("desk.inner", {"number": 1})).assert_ok()
    [found] = hooks.calls("resolve_tool")
    assert (found.entry, found.arguments["name"]) == (None, "desk.inner")
    [around] = hooks.calls("around_execute")
    assert around.outcome == 2
    [guard] = hooks.calls("guard_call")
    assert guard.outcome.structured_content == 2
    [update] = hooks.calls("on_progress")
    assert (update.arguments["update"].progress, update.arguments["update"].message) == (1, "half")
    [message] = hooks.calls("on_notify")
    assert (message.arguments["message"].data, message.arguments["message"].level) == ("hello", "warning")
    [value] = hooks.calls("format_result")
    assert value.arguments["value"] == 2


async def test_errors(mcp: Any, hooks: HookRecorder) -> None:
    (await mcp.tools.call("outer", {"number": -1})).assert_error("NEGATIVE")
    assert [(each.entry, each.arguments["error"].code) for each in hooks.calls("on_error")] == [
        ("inner", "NEGATIVE"),
        ("outer", "NEGATIVE"),
    ]
    assert [type(each.outcome) for each in hooks.calls("around_execute")] == [PublicMcpError, PublicMcpError]
    assert len(hooks.calls("did_execute")) == 0


async def test_lists_are_left_out_unless_asked_for(mcp: Any, hooks: HookRecorder) -> None:
    await mcp.tools.list()
    assert hooks.calls() == []
    assert [each.entry for each in hooks.calls("entry_visible", listing=True)] == ["inner", "outer"]


async def test_it_needs_no_client(server: FrontMcp, hooks: HookRecorder) -> None:
    async with create_direct(server) as direct:
        await direct.call_tool("inner", {"number": 1})
    assert len(hooks.calls("will_execute")) == 1


def test_without_it_no_plan_has_a_step_of_it(server: FrontMcp) -> None:
    server.check()
    assert not [step for step in server.find("inner").plan.steps if "testing" in str(step)]
