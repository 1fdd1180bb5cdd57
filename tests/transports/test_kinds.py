"""Resources, prompts, completion, lists and changes as clients of both eras see them, over every road."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, PromptReference, ResourceTemplateReference
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from frontmcp import (
    Accepted,
    FrontMcp,
    Image,
    Prompt,
    PromptContext,
    PublicMcpError,
    Resource,
    ResourceContext,
    ResourceTemplate,
    Tool,
    ToolContext,
)
from frontmcp.testing import Road, connect
from frontmcp.transports import changes

ERAS = ["2026-07-28", "2025-11-25"]
MODERN = "2026-07-28"
OLDER = "2025-11-25"
pytestmark = pytest.mark.mcp(era=ERAS, transport=["memory", "stdio", "http"])

RESOURCE_NOT_FOUND = -32002


class Sure(BaseModel):
    sure: bool


@pytest.fixture
def server() -> FrontMcp:
    server = FrontMcp("desk", pagination=2)

    @server.resource("desk://hours", mime_type="text/plain")
    def hours() -> str:
        return "9 to 5"

    @server.resource("desk://logo")
    def logo() -> Image:
        return Image(data=b"\x00\xff", format="png")

    @server.resource("desk://broken")
    async def broken() -> str:
        raise ValueError("s3cret")

    @server.resource("desk://refused")
    async def refused() -> str:
        raise PublicMcpError("not today", "CLOSED", data={"opens": "monday"})

    @server.resource("desk://odd")
    async def odd() -> object:
        return object()

    @server.resource("secret://x", visibility="internal")
    async def secret() -> str:
        return ""

    @server.resource("tickets://{id}")
    async def ticket(id: int) -> dict[str, int]:
        return {"id": id}

    @server.resource("ask://{what}")
    async def asking(ctx: ResourceContext, what: str) -> Any:
        answer = await ctx.elicit(f"Read {what}?", Sure)
        return answer.data.sure if isinstance(answer, Accepted) else type(answer).__name__

    @server.prompt
    async def note(ctx: PromptContext, id: int, tone: Literal["short", "long"] = "short") -> list[Any]:
        return [f"{tone} note on {id}", Image(data=b"x", format="png"), {"role": "assistant", "content": "Sure."}]

    @server.prompt
    async def failing() -> str:
        raise ValueError("s3cret")

    @server.prompt
    async def ask_prompt(ctx: PromptContext) -> str:
        read = await ctx.read_resource("ask://letter")
        counted = (await ctx.call_tool("count")).structured_content
        answer = await ctx.elicit("Send it?", Sure)
        return f"{read.contents[0].text} {counted} {answer}"  # type: ignore[union-attr]

    counts: list[int] = []

    @server.tool(description="Count")
    async def count() -> dict[str, int]:
        counts.append(1)
        return {"times": len(counts)}

    return server


class TestReading:
    async def test_text_json_and_bytes(self, mcp: Any) -> None:
        hours = await mcp.resources.read("desk://hours")
        assert (hours.text(), hours.mime_type()) == ("9 to 5", "text/plain")
        logo = await mcp.resources.read("desk://logo")
        assert (logo.bytes(), logo.mime_type(), logo.text()) == (b"\x00\xff", "image/png", "")
        ticket = await mcp.resources.read("tickets://7")
        assert (ticket.json(), ticket.mime_type()) == ({"id": 7}, "application/json")

    @pytest.mark.parametrize("uri", ["nope://x", "secret://x", "tickets://..", "nope://" + "x" * 10_000])
    async def test_not_found_has_the_form_of_the_era(self, mcp: Any, uri: str) -> None:
        with pytest.raises(MCPError) as caught:
            await mcp.resources.read(uri)
        error = caught.value.error
        modern = mcp.road.era in MODERN_PROTOCOL_VERSIONS
        assert error.code == (INVALID_PARAMS if modern else RESOURCE_NOT_FOUND)
        assert error.message.startswith("Resource not found: ")
        assert uri.startswith(error.data["uri"].removesuffix("…"))
        assert error.data["code"] == "RESOURCE_NOT_FOUND"
        assert error.data["errorId"].startswith("err_")

    @pytest.mark.parametrize(
        ("uri", "code", "name", "text"),
        [
            ("desk://broken", INTERNAL_ERROR, "RESOURCE_READ_ERROR", 'Resource "desk://broken" read failed: s3cret'),
            ("desk://refused", INTERNAL_ERROR, "CLOSED", "not today"),
            ("desk://odd", INTERNAL_ERROR, "INVALID_OUTPUT", "Resource output validation failed"),
            ("tickets://x", INVALID_PARAMS, "INVALID_INPUT", "Invalid resource URI\nDetails: "),
        ],
    )
    async def test_other_failures(self, mcp: Any, uri: str, code: int, name: str, text: str) -> None:
        with pytest.raises(MCPError) as caught:
            await mcp.resources.read(uri)
        error = caught.value.error
        assert (error.code, error.data["code"]) == (code, name)
        assert error.message.startswith(text)

    async def test_what_a_public_error_says_for_programs_is_sent(self, mcp: Any) -> None:
        with pytest.raises(MCPError) as caught:
            await mcp.resources.read("desk://refused")
        assert caught.value.error.data["opens"] == "monday"


class TestPrompts:
    async def test_messages(self, mcp: Any) -> None:
        note = await mcp.prompts.get("note", {"id": "7", "tone": "long"})
        assert note.text() == "long note on 7\nSure."
        assert [each.role for each in note.messages] == ["user", "user", "assistant"]

    @pytest.mark.parametrize(
        ("name", "arguments", "code", "error_code", "text"),
        [
            ("nope", None, INVALID_PARAMS, "PROMPT_NOT_FOUND", "Prompt not found: nope"),
            ("note", None, INVALID_PARAMS, "MISSING_PROMPT_ARGUMENT", "Missing required argument: id"),
            ("note", {"id": "s3cret"}, INVALID_PARAMS, "INVALID_INPUT", "Invalid prompt arguments\nDetails: "),
            ("failing", {}, INTERNAL_ERROR, "PROMPT_EXECUTION_FAILED", "Prompt execution failed: s3cret"),
        ],
    )
    async def test_failures(self, mcp: Any, name: str, arguments: Any, code: int, error_code: str, text: str) -> None:
        with pytest.raises(MCPError) as caught:
            await mcp.prompts.get(name, arguments)
        error = caught.value.error
        assert (error.code, error.data["code"]) == (code, error_code)
        assert error.message.startswith(text)


class TestLists:
    async def test_all_pages_in_order(self, mcp: Any) -> None:
        uris = [each.uri for each in await mcp.resources.list()]
        assert uris == ["desk://broken", "desk://hours", "desk://logo", "desk://odd", "desk://refused"]
        assert [each.uri_template for each in await mcp.resources.templates()] == ["ask://{what}", "tickets://{id}"]
        assert [each.name for each in await mcp.prompts.list()] == ["ask_prompt", "failing", "note"]

    async def test_cursors_are_sealed_for_their_list(self, mcp: Any) -> None:
        sdk = await mcp.connect()
        cursor = (await sdk.list_resources()).next_cursor
        assert "desk" not in cursor
        assert (await sdk.list_resources(cursor=cursor)).resources[0].uri == "desk://logo"
        for wrong in (sdk.list_prompts(cursor=cursor), sdk.list_tools(cursor=cursor), sdk.list_resources(cursor="x")):
            with pytest.raises(MCPError, match="Invalid cursor") as caught:
                await wrong
            assert caught.value.code == INVALID_PARAMS

    async def test_arguments_are_listed(self, mcp: Any) -> None:
        note = next(each for each in await mcp.prompts.list() if each.name == "note")
        assert [(each.name, each.required) for each in note.arguments] == [("id", True), ("tone", False)]


class TestCapabilities:
    async def test_what_is_served_is_offered(self, mcp: Any) -> None:
        offered = (await mcp.connect()).server_capabilities
        assert offered.resources.subscribe is True
        assert offered.resources.list_changed is True
        assert offered.prompts.list_changed is True
        assert offered.completions is not None

    @pytest.mark.parametrize("kind", ["tool", "resource", "template", "prompt"])
    async def test_and_nothing_else(self, kind: str, mcp_road: Road) -> None:
        server = FrontMcp("desk")
        if kind == "tool":
            server.tool(name="it", description="x")(lambda: "")
        elif kind == "prompt":
            server.prompt(name="it")(lambda: "")
        else:
            server.resource("a://b" if kind == "resource" else "a://{b}", name="it")(lambda: "")
        async with connect(server, mcp_road) as client:
            offered = (await client.connect()).server_capabilities
        assert (offered.resources is not None) == (kind in ("resource", "template"))
        assert (offered.prompts is not None) == (kind == "prompt")
        assert offered.completions is None


class TestCompletion:
    async def test_values(self, mcp: Any) -> None:
        completion = await mcp.complete("note", "tone", "s")
        assert (completion.values, completion.total, completion.has_more) == (["short"], 1, False)
        assert (await mcp.complete("tickets://{id}", "id")).values == []

    async def test_unknown_references(self, mcp: Any) -> None:
        sdk = await mcp.connect()
        for ref in (PromptReference(name="nope"), ResourceTemplateReference(uri="nope://{x}")):
            with pytest.raises(MCPError) as caught:
                await sdk.complete(ref, {"name": "x", "value": ""})
            assert caught.value.code == INVALID_PARAMS


class TestQuestions:
    @pytest.mark.parametrize(
        ("reply", "text"), [({"sure": True}, "true"), ("decline", "Declined"), ("cancel", "Cancelled")]
    )
    async def test_a_resource_asks(self, mcp: Any, reply: Any, text: str) -> None:
        mcp.on_elicitation(lambda message, form: reply)
        assert (await mcp.resources.read("ask://it")).text() == text

    async def test_a_prompt_asks_from_the_depth_and_does_nothing_twice(self, mcp: Any) -> None:
        asked: list[str] = []

        @mcp.on_elicitation  # type: ignore[untyped-decorator]
        def reply(message: str, form: Any) -> Any:
            asked.append(message)
            return {"sure": True}

        text = (await mcp.prompts.get("ask_prompt")).text()
        assert text == "true {'times': 1} Accepted(data=Sure(sure=True))"
        assert asked == ["Read letter?", "Send it?"]

    async def test_where_nobody_can_be_asked(self, mcp: Any) -> None:
        with pytest.raises(MCPError) as caught:
            await mcp.resources.read("ask://it")
        assert caught.value.error.data["code"] == "ELICITATION_NOT_SUPPORTED"


@asynccontextmanager
async def hearing(mcp: Any) -> AsyncIterator[None]:
    """The client hears of changes of lists."""
    sdk = await mcp.connect()
    if mcp.road.era in MODERN_PROTOCOL_VERSIONS:
        async with sdk.listen(tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True):
            yield
    else:
        await mcp.tools.list()
        # The stream of notifications is opened beside the first requests.
        await anyio.sleep(0.2)
        yield


async def heard(mcp: Any, count: int) -> list[str]:
    with anyio.fail_after(5):
        while len(mcp.notifications.changed()) < count:
            await anyio.sleep(0.01)
    changed: list[str] = mcp.notifications.changed()
    return changed


class TestChanges:
    async def test_lists_that_change(self, mcp: Any, server: FrontMcp) -> None:
        async with hearing(mcp):
            resource = Resourceful()
            await server.add_resource(resource.one)
            await server.add_resource(resource.many)
            await server.add_prompt(resource.prompt)
            await server.add_tool(resource.tool)
            assert (await mcp.resources.read("new://one")).text() == "one"
            assert (await mcp.resources.read("new://many/x")).text() == "x"
            assert (await mcp.prompts.get("prompt")).text() == "prompt"
            assert "new://one" in [each.uri for each in await mcp.resources.list()]
            await server.remove_resource("new://one")
            await server.remove_resource("new://many/{id}")
            await server.remove_prompt("prompt")
            changed = await heard(mcp, 7)
        assert changed == ["resources", "resources", "prompts", "tools", "resources", "resources", "prompts"]
        assert "new://one" not in [each.uri for each in await mcp.resources.list()]
        with pytest.raises(MCPError):
            await mcp.resources.read("new://many/x")

    async def test_a_resource_that_is_updated(self, mcp: Any, server: FrontMcp) -> None:
        await mcp.tools.list()
        async with mcp.resources.subscribe("tickets://7") as updates:
            if mcp.road.era not in MODERN_PROTOCOL_VERSIONS:
                await anyio.sleep(0.2)
            await server.resource_updated("tickets://8")
            await server.resource_updated("tickets://7")
            assert await updates.wait() == "tickets://7"
        await mcp.resources.read("tickets://7")
        await server.resource_updated("tickets://7")
        await mcp.resources.read("tickets://7")
        assert mcp.notifications.updated() == ["tickets://7"]

    async def test_nobody_hears_of_what_they_may_not_read(self, mcp: Any, server: FrontMcp) -> None:
        sdk = await mcp.connect()
        if mcp.road.era in MODERN_PROTOCOL_VERSIONS:
            async with sdk.listen(resource_subscriptions=["secret://x", "nope://x", "tickets://7"]) as subscription:
                assert subscription.honored.resource_subscriptions == ["tickets://7"]
            return
        for uri in ("secret://x", "nope://x"):
            with pytest.raises(MCPError) as caught:
                async with mcp.resources.subscribe(uri):
                    pass
            assert caught.value.code == RESOURCE_NOT_FOUND


class Resourceful:
    def __init__(self) -> None:
        @Resource("new://one")
        async def one() -> str:
            return "one"

        @ResourceTemplate("new://many/{id}")
        async def many(id: str) -> str:
            return id

        @Prompt
        async def prompt() -> str:
            return "prompt"

        @Tool(description="x")
        async def tool(ctx: ToolContext) -> str:
            return "tool"

        self.one, self.many, self.prompt, self.tool = one, many, prompt, tool


class TestOneRoad:
    """What does not differ between transports."""

    pytestmark = pytest.mark.mcp(era=OLDER, transport="memory")

    async def test_subscriptions_are_bounded(self, mcp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(changes, "MOST_SUBSCRIPTIONS", 2)
        async with mcp.resources.subscribe("tickets://1"), mcp.resources.subscribe("tickets://2"):
            async with mcp.resources.subscribe("tickets://2"):
                pass
            async with mcp.resources.subscribe("tickets://3"):
                with pytest.raises(MCPError, match="may subscribe to 2 resources"):
                    async with mcp.resources.subscribe("tickets://4"):
                        pass

    async def test_they_end_with_the_session(self, mcp: Any, server: FrontMcp) -> None:
        async with mcp.resources.subscribe("tickets://1"):
            assert server.wire.changes._subscribers
        assert not server.wire.changes._subscribers
        subscription = mcp.resources.subscribe("tickets://1")
        await subscription.__aenter__()
        await mcp.disconnect()
        with anyio.fail_after(5):
            while server.wire.changes.sessions:
                await anyio.sleep(0.01)
        assert not server.wire.changes._subscribers


class TestProduction:
    pytestmark = pytest.mark.mcp(era=ERAS, transport="memory")

    @pytest.fixture
    def server(self, server: FrontMcp, monkeypatch: pytest.MonkeyPatch) -> FrontMcp:
        monkeypatch.setenv("FRONTMCP_ENV", "production")
        return server

    async def test_what_is_not_public_is_masked(self, mcp: Any) -> None:
        for attempt in (mcp.resources.read("desk://broken"), mcp.prompts.get("failing")):
            with pytest.raises(MCPError) as caught:
                await attempt
            error = caught.value.error
            assert "s3cret" not in json.dumps([error.message, error.data])
            assert error.message.endswith(error.data["errorId"])
        with pytest.raises(MCPError, match=r"^not today$"):
            await mcp.resources.read("desk://refused")


class TestCaching:
    pytestmark = pytest.mark.mcp(era=MODERN, transport="memory")

    async def test_nothing_is_kept_by_default(self, mcp: Any) -> None:
        sdk = await mcp.connect()
        for result in (await sdk.list_resources(), await sdk.list_prompts(), await sdk.read_resource("desk://hours")):
            assert (result.ttl_ms, result.cache_scope) == (0, "private")

    async def test_lists_are_public_by_choice_where_all_see_the_same(self, mcp_road: Road) -> None:
        server = FrontMcp("desk", list_cache={"ttl": 2, "scope": "public"})
        server.prompt(name="it")(lambda: "")
        server.resource("a://b", name="it")(lambda: "")
        server.resource("a://c", name="other", visibility="hidden")(lambda: "")
        async with connect(server, mcp_road) as client:
            sdk = await client.connect()
            prompts, resources = await sdk.list_prompts(), await sdk.list_resources()
        assert (prompts.ttl_ms, prompts.cache_scope) == (2000, "public")
        assert (resources.ttl_ms, resources.cache_scope) == (2000, "private")

    @pytest.mark.parametrize("kind", ["tools", "resources", "resource_templates", "prompts"])
    @pytest.mark.parametrize("depends", [False, True])
    async def test_a_list_that_depends_on_the_caller_is_private(self, kind: str, depends: bool, mcp_road: Road) -> None:
        server = FrontMcp("desk", list_cache={"ttl": 2, "scope": "public"})
        options: dict[str, Any] = {"authorities": {"roles": {"any": ["admin"]}}} if depends else {}
        define: dict[str, Any] = {
            "tools": lambda name, **options: server.tool(name=name, description="x", **options),
            "resources": lambda name, **options: server.resource(f"{name}://x", name=name, **options),
            "resource_templates": lambda name, **options: server.resource(f"{name}://{{x}}", name=name, **options),
            "prompts": lambda name, **options: server.prompt(name=name, **options),
        }
        define[kind]("open")(lambda: "")
        define[kind]("other", **options)(lambda: "")
        async with connect(server, mcp_road) as client:
            listed = await getattr(await client.connect(), f"list_{kind}")()
        assert [each.name for each in getattr(listed, kind)] == (["open"] if depends else ["open", "other"])
        assert listed.cache_scope == ("private" if depends else "public")


class TestAvailability:
    pytestmark = pytest.mark.mcp(era=ERAS, transport="memory")

    @pytest.fixture
    def server(self) -> FrontMcp:
        server = FrontMcp("desk")
        for name, surfaces in (("here", ["mcp"]), ("elsewhere", ["job"])):
            options: dict[str, Any] = {"available_when": {"surface": surfaces}}
            server.resource(f"{name}://x", name=f"{name}_x", **options)(lambda: "x")
            server.resource(f"{name}://of/{{x}}", name=f"{name}_of", **options)(lambda x: x)
            server.prompt(name=name, **options)(lambda tone="": "x").complete("tone")(lambda: ["short"])
        return server

    async def test_what_is_not_available_is_neither_listed_nor_found(self, mcp: Any) -> None:
        assert [each.uri for each in await mcp.resources.list()] == ["here://x"]
        assert [each.uri_template for each in await mcp.resources.templates()] == ["here://of/{x}"]
        assert [each.name for each in await mcp.prompts.list()] == ["here"]
        assert (await mcp.resources.read("here://of/y")).text() == "y"
        assert (await mcp.complete("here", "tone")).values == ["short"]
        for attempt in (
            mcp.resources.read("elsewhere://x"),
            mcp.resources.read("elsewhere://of/y"),
            mcp.prompts.get("elsewhere"),
            mcp.complete("elsewhere", "tone"),
        ):
            with pytest.raises(MCPError, match="not found"):
                await attempt
