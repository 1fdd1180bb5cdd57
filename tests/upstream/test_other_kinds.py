"""`App.from_mcp`: resources, templates and prompts of another server, on the same road as its tools."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from frontmcp import (
    App,
    Call,
    ConfigurationError,
    FrontMcp,
    Plugin,
    PromptContext,
    PublicMcpError,
    ResourceContext,
    Tool,
    ToolContext,
    Will,
    create_direct,
)
from frontmcp.errors import ResourceNotFoundError
from frontmcp.testing import Road, connect

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


class Library:
    """A server of resources and prompts, and of no tools."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.server: Server[Any] = Server(
            "library",
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
        )

    async def list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        meta = {"acme/shelf": 3}
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri="lib://index", name="The index", mime_type="text/plain", size=5, _meta=meta),
                types.Resource(uri="lib://other", name="The index", title="Another"),
                # It moved to this page while the list was read.
                types.Resource(uri="lib://index", name="The index", title="Twice"),
            ]
        )

    async def list_templates(self, ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        book = types.ResourceTemplate(uri_template="lib://books/{id}", name="book", description="A book")
        return types.ListResourceTemplatesResult(resource_templates=[book])

    async def read(self, ctx: Any, params: Any) -> types.ReadResourceResult:
        self.seen.append(params.uri)
        if params.uri == "lib://books/none":
            raise MCPError(types.INVALID_PARAMS, "no such book on shelf 7")
        contents = types.TextResourceContents(uri=params.uri, text=f"text of {params.uri}")
        return types.ReadResourceResult(contents=[contents], ttl_ms=5000, cache_scope="public")

    async def list_prompts(self, ctx: Any, params: Any) -> types.ListPromptsResult:
        arguments = [types.PromptArgument(name="title", required=True), types.PromptArgument(name="tone")]
        return types.ListPromptsResult(prompts=[types.Prompt(name="review", title="Review", arguments=arguments)])

    async def get_prompt(self, ctx: Any, params: Any) -> Any:
        self.seen.append(params.name)
        if params.arguments["title"] == "?" and not params.input_responses:
            form = types.ElicitRequestFormParams(message="Which?", requested_schema=FORM)
            return types.InputRequiredResult(input_requests={"q": types.ElicitRequest(params=form)})
        text = types.TextContent(text=str(params.input_responses or params.arguments))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])

    async def complete(self, ctx: Any, params: Any) -> types.CompleteResult:
        name = getattr(params.ref, "name", None) or params.ref.uri
        return types.CompleteResult(completion=types.Completion(values=[f"{name} {params.argument.value}"]))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    backend: str = request.param
    return backend


@pytest.fixture
def library() -> Library:
    return Library()


def serving(library: Library, *tools: Any, plugins: Any = (), **keywords: Any) -> FrontMcp:
    return FrontMcp("new", tools=tools, plugins=plugins, apps=[App.from_mcp(library.server, **keywords)])


async def test_they_are_listed_as_their_server_lists_them(library: Library) -> None:
    async with create_direct(serving(library)) as direct:
        resources = {each.uri: each for each in await direct.list_resources()}
        [template] = await direct.list_resource_templates()
        [prompt] = await direct.list_prompts()
    index, other = resources["lib://index"], resources["lib://other"]
    assert (index.mime_type, index.size, index.meta) == ("text/plain", 5, {"acme/shelf": 3})
    assert (index.name, other.name, other.title) == ("The_index", "The_index-2", "Another")
    assert (template.uri_template, template.description) == ("lib://books/{id}", "A book")
    assert [(each.name, each.required) for each in prompt.arguments or ()] == [("title", True), ("tone", False)]
    assert prompt.title == "Review"


async def test_reads_and_prompts_are_passed_on(library: Library) -> None:
    async with create_direct(serving(library)) as direct:
        for uri in ("lib://index", "lib://books/7"):
            result = await direct.read_resource(uri)
            assert result.contents[0].text == f"text of {uri}"
            assert (result.ttl_ms, result.cache_scope) == (5000, "private")
        prompt = await direct.get_prompt("review", {"title": "Dune"})
        assert prompt.messages[0].content.text == "{'title': 'Dune'}"
        with pytest.raises(ResourceNotFoundError, match="lib://books/none"):
            await direct.read_resource("lib://books/none")


async def test_bodies_reach_them(library: Library) -> None:
    @Tool
    async def outer(ctx: ToolContext) -> str:
        read = await ctx.read_resource("lib://index")
        got = await ctx.get_prompt("review", {"title": "Dune", "tone": "dry"})
        return f"{read.contents[0].text}, {got.messages[0].content.text}"

    async with create_direct(serving(library, outer)) as direct:
        result = await direct.call_tool("outer")
    assert result.content[0].text == "text of lib://index, {'title': 'Dune', 'tone': 'dry'}"


async def test_options_hooks_and_choice_hold_for_them(library: Library) -> None:
    class Deny(Plugin):
        @Will("execute", kinds=("resource", "prompt"))
        def deny(self, call: Call) -> None:
            if call.entry.name == "The_index":
                raise PublicMcpError("closed", "CLOSED")

    server = serving(
        library,
        plugins=[Deny()],
        exclude="lib://other",
        options={"visibility": "hidden"},
        resources={"lib://books/*": {"visibility": "public"}},
        prompts={"rev*": {"visibility": "public", "description": "Better"}},
    )
    async with create_direct(server) as direct:
        assert await direct.list_resources() == []
        assert len(await direct.list_resource_templates()) == 1
        assert [each.description for each in await direct.list_prompts()] == ["Better"]
        with pytest.raises(PublicMcpError, match="closed"):
            await direct.read_resource("lib://index")
        with pytest.raises(ResourceNotFoundError):
            await direct.read_resource("lib://other")
    assert library.seen == []


@pytest.mark.parametrize("keyword", ["resources", "prompts"])
async def test_a_pattern_that_matches_nothing_stops_the_start(library: Library, keyword: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{keyword}=.*nope.*matches nothing"):
        async with create_direct(serving(library, **{keyword: {"nope*": {}}})):
            pass


async def test_arguments_and_variables_are_completed_there(library: Library) -> None:
    async with connect(serving(library)) as client:
        completion = await client.complete("review", "title", "Du")
        assert completion.values == ["review Du"]
        assert (await client.complete("lib://books/{id}", "id", "7")).values == ["lib://books/{id} 7"]


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_the_trace_goes_along_with_each(era: str) -> None:
    traced: list[Any] = []
    old = FrontMcp("old")

    @old.resource("lib://{id}")
    def book(ctx: ResourceContext, id: str) -> str:
        traced.append(ctx.context.trace_context)
        return ""

    @old.prompt
    def review(ctx: PromptContext, title: str) -> str:
        traced.append(ctx.context.trace_context)
        return ""

    @review.complete("title")
    def titles(ctx: PromptContext) -> list[str]:
        traced.append(ctx.context.trace_context)
        return []

    trace: Any = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", "baggage": "tenant=acme"}
    async with connect(FrontMcp("new", apps=[App.from_mcp(old)]), Road(era, "memory")) as client:
        raw = await client.connect()
        await raw.read_resource("lib://7", meta=trace)
        await raw.get_prompt("review", {"title": "Dune"}, meta=trace)
        reference = types.PromptReference(name="review")
        params = types.CompleteRequestParams(ref=reference, argument={"name": "title", "value": ""}, _meta=trace)
        await raw.session.send_request(types.CompleteRequest(params=params), types.CompleteResult)
    assert traced == [trace, trace, trace]


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_a_prompt_may_ask(library: Library, era: str) -> None:
    async with connect(serving(library), Road(era, "memory")) as client:
        client.on_elicitation(lambda message, form: {"name": "Dune"})
        assert "Dune" in (await client.prompts.get("review", {"title": "?"})).text()
    assert library.seen == ["review", "review"]
