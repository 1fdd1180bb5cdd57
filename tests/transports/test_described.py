"""How a server and what it serves are described to clients, in every protocol version."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import pytest
from mcp_types import Annotations, Icon, ToolAnnotations

from frontmcp import FrontMcp, Prompt, Resource, ResourceTemplate, Tool, ToolContext
from frontmcp.testing import Road, connect

ERAS = ["2026-07-28", "2025-11-25", "2025-06-18"]
ICON = Icon(src="https://desk.example/icon.png", mime_type="image/png", sizes=["48x48"])
SAME: dict[str, Any] = {
    "title": "A title",
    "description": "A description",
    "icons": [ICON],
    "meta": {"com.example/own": {"a": 1}},
}
HINTS = Annotations(audience=["user"], priority=0.5)


@Tool(annotations=ToolAnnotations(read_only_hint=True), **SAME)
async def tool() -> None: ...


@Resource("desk://hours", mime_type="text/plain", size=6, annotations=HINTS, **SAME)
async def resource() -> str:
    return "9 to 5"


@ResourceTemplate("desk://{id}", mime_type="text/plain", annotations=HINTS, **SAME)
async def template(id: str) -> str:
    return id


@Prompt(**SAME)
async def prompt() -> str:
    return "Hello"


@Prompt
async def completed(tone: str) -> str:
    return tone


@Prompt.of(completed).complete("tone")
def tones() -> list[str]:
    return ["short"]


@Tool
async def traced(ctx: ToolContext, deep: bool = True) -> dict[str, str]:
    """Says what it knows of the client's trace, from a call below its own."""
    if deep:
        found: dict[str, str] = (await ctx.call_tool("traced", {"deep": False})).structured_content
        return found
    return dict(ctx.context.trace_context)


class TestDescriptions:
    pytestmark = pytest.mark.mcp(era=ERAS, transport=["memory", "http"])

    @pytest.fixture
    def server(self) -> FrontMcp:
        info = {
            "name": "desk",
            "version": "2.0.0",
            "title": "The desk",
            "website_url": "https://desk.example",
            "icons": [ICON],
        }
        return FrontMcp(
            info=info,
            instructions="Ask for a ticket first.",
            tools=[tool],
            resources=[resource, template],
            prompts=[prompt],
        )

    async def test_all_that_is_said_of_an_entry_is_listed(self, mcp: Any) -> None:
        lists = [mcp.tools.list(), mcp.resources.list(), mcp.resources.templates(), mcp.prompts.list()]
        for each in [(await listed)[0] for listed in lists]:
            assert (each.title, each.description) == ("A title", "A description")
            assert each.meta == {"com.example/own": {"a": 1}}
            assert each.icons == [ICON]

    async def test_hints_are_listed(self, mcp: Any) -> None:
        assert (await mcp.tools.list())[0].annotations == ToolAnnotations(read_only_hint=True)
        [listed] = await mcp.resources.list()
        assert (listed.annotations, listed.mime_type, listed.size) == (HINTS, "text/plain", 6)
        [listed] = await mcp.resources.templates()
        assert (listed.annotations, listed.mime_type) == (HINTS, "text/plain")

    async def test_the_server_introduces_itself(self, mcp: Any) -> None:
        client = await mcp.connect()
        info = client.server_info
        assert client.instructions == "Ask for a ticket first."
        assert (info.name, info.version, info.title) == ("desk", "2.0.0", "The desk")
        assert (info.website_url, info.icons) == ("https://desk.example", [ICON])


SERVED = {"tools": tool, "resources": resource, "templates": template, "prompts": prompt, "completions": completed}


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_offered_is_what_is_served(era: str) -> None:
    for kinds in chain.from_iterable(combinations(SERVED, count) for count in range(len(SERVED) + 1)):
        server = FrontMcp(
            "desk",
            tools=[SERVED[kind] for kind in kinds if kind == "tools"],
            resources=[SERVED[kind] for kind in kinds if kind in ("resources", "templates")],
            prompts=[SERVED[kind] for kind in kinds if kind in ("prompts", "completions")],
            autoload_plugins=False,
        )
        async with connect(server, Road(era)) as mcp:
            offered = (await mcp.connect()).server_capabilities
            served = {
                "resources": [*await mcp.resources.list(), *await mcp.resources.templates()],
                "prompts": await mcp.prompts.list(),
                "completions": [each for each in kinds if each == "completions"],
            }
        assert {name for name in served if getattr(offered, name) is not None} == {
            name for name, found in served.items() if found
        }, kinds
        assert offered.tools is not None and offered.logging is not None
        for name in ("tools", "resources", "prompts"):
            assert getattr(offered, name) is None or getattr(offered, name).list_changed is True


TRACE = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
    "tracestate": "vendor=1",
    "baggage": "tenant=acme",
}


class TestTrace:
    pytestmark = pytest.mark.mcp(era=ERAS, transport=["memory", "stdio", "http"])

    @pytest.fixture
    def server(self) -> FrontMcp:
        return FrontMcp("desk", tools=[traced])

    async def test_the_trace_of_a_client_is_known_to_every_call_of_its_request(self, mcp: Any) -> None:
        client = await mcp.connect()
        result = await client.call_tool("traced", {}, meta={**TRACE, "com.example/own": 1})
        assert result.structured_content == TRACE
        assert (await client.call_tool("traced", {})).structured_content == {}

    async def test_what_is_no_text_is_no_trace(self, mcp: Any) -> None:
        client = await mcp.connect()
        result = await client.call_tool("traced", {}, meta={"traceparent": 7, "tracestate": "vendor=1"})
        assert result.structured_content == {"tracestate": "vendor=1"}
