"""Every question from every noun: on each road it is asked once, and what was done before it is not done again."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from frontmcp import (
    Accepted,
    App,
    Cancelled,
    Declined,
    FrontMcp,
    Prompt,
    PromptContext,
    Resource,
    ResourceContext,
    Tool,
    ToolContext,
)

ROADS = {"era": ["2026-07-28", "2025-11-25"], "transport": ["memory", "stdio", "http"]}
NOUNS = ["tool", "resource", "prompt"]
QUESTIONS = ["form", "page", "model", "roots"]

DONE: list[str] = []


class Name(BaseModel):
    name: str


def outcome(answer: Accepted[Any] | Declined | Cancelled) -> str:
    return f"accepted {answer.data!r}" if isinstance(answer, Accepted) else type(answer).__name__.lower()


async def asked(ctx: Any, question: str) -> str:
    if question == "form":
        return outcome(await ctx.elicit("Who?", Name))
    if question == "page":
        return outcome(await ctx.elicit_url("Pay", "https://pay.example/85"))
    if question == "model":
        return f"{(await ctx.sample('Capital?')).text}"
    return ", ".join(str(root.uri) for root in await ctx.list_roots())


@Tool(description="A side effect")
async def post(what: str) -> str:
    DONE.append(what)
    return what


async def body(ctx: Any, question: str) -> str:
    await ctx.call_tool("post", {"what": "before"})
    answer = await asked(ctx, question)
    await ctx.call_tool("post", {"what": "after"})
    return answer


class AskTool(ToolContext):
    async def execute(self, question: str) -> str:
        return await body(self, question)


@pytest.fixture
def server() -> FrontMcp:
    DONE.clear()
    tool = Tool(name="ask", description="Ask")(AskTool)
    definitions: dict[str, Any] = {"tools": [post, tool], "resources": [], "prompts": []}
    for question in QUESTIONS:
        definitions["resources"].append(_resource(question))
        definitions["prompts"].append(_prompt(question))
    return FrontMcp("desk", apps=[App(id="desk", **definitions)])


def _resource(question: str) -> Any:
    @Resource(f"ask://{question}", name=f"ask_{question}")
    async def execute(ctx: ResourceContext) -> str:
        return await body(ctx, question)

    return execute


def _prompt(question: str) -> Any:
    @Prompt(name=f"ask_{question}")
    async def execute(ctx: PromptContext) -> str:
        return await body(ctx, question)

    return execute


async def answer(mcp: Any, noun: str, question: str) -> str:
    if noun == "tool":
        text: str = (await mcp.tools.call("ask", {"question": question})).assert_ok().text()
    elif noun == "resource":
        text = (await mcp.resources.read(f"ask://{question}")).text()
    else:
        text = (await mcp.prompts.get(f"ask_{question}")).text()
    return text


def listen(mcp: Any, heard: list[str], reply: Any = "accept") -> None:
    """Answer every question, and note it."""

    def form(message: str, form: Any) -> Any:
        heard.append(message)
        return {"name": "Nour"} if reply == "accept" else reply

    def page(message: str, url: str) -> Any:
        heard.append(url)
        return reply

    def model(messages: Any, params: Any) -> str:
        heard.append(messages[0].content.text)
        return "Paris"

    def roots() -> Any:
        heard.append("roots")
        return ["file:///work"]

    mcp.on_elicitation(form)
    mcp.on_elicit_url(page)
    mcp.on_sampling(model)
    mcp.on_roots(roots)


ANSWERS = {
    "form": ("Who?", "accepted Name(name='Nour')"),
    "page": ("https://pay.example/85", "accepted None"),
    "model": ("Capital?", "Paris"),
    "roots": ("roots", "file:///work"),
}


@pytest.mark.mcp(**ROADS)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("noun", NOUNS)
async def test_it_is_asked_once_and_nothing_is_done_twice(mcp: Any, noun: str, question: str) -> None:
    heard: list[str] = []
    listen(mcp, heard)
    told, answered = ANSWERS[question]
    assert await answer(mcp, noun, question) == answered
    assert (heard, DONE) == ([told], ["before", "after"])


@pytest.mark.mcp(era=ROADS["era"], transport="memory")
@pytest.mark.parametrize("reply", ["decline", "cancel"])
@pytest.mark.parametrize("question", ["form", "page"])
@pytest.mark.parametrize("noun", NOUNS)
async def test_who_declines_or_cancels_is_a_value(mcp: Any, noun: str, question: str, reply: str) -> None:
    listen(mcp, [], reply)
    assert await answer(mcp, noun, question) == {"decline": "declined", "cancel": "cancelled"}[reply]


@pytest.mark.mcp(era=ROADS["era"], transport="memory")
@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("form", "ELICITATION_NOT_SUPPORTED"),
        ("page", "ELICITATION_NOT_SUPPORTED"),
        ("model", "SAMPLING_NOT_SUPPORTED"),
        ("roots", "ROOTS_NOT_SUPPORTED"),
    ],
)
@pytest.mark.parametrize("noun", ["resource", "prompt"])
async def test_a_client_that_can_not_be_asked_is_told_so(mcp: Any, noun: str, question: str, code: str) -> None:
    with pytest.raises(MCPError) as refused:
        await answer(mcp, noun, question)
    assert refused.value.error.data["code"] == code
    assert DONE == ["before"]
