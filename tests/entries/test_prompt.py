"""What a prompt's value becomes, how its arguments are read, and what is told when they are not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import date
from typing import Any, Literal

import pytest
from mcp_types import (
    AudioContent,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

from frontmcp import (
    App,
    Audio,
    File,
    FrontMcp,
    Image,
    InvalidInputError,
    InvalidOutputError,
    PromptArgument,
    PromptContext,
    PublicMcpError,
    create_direct,
)
from frontmcp.direct import Direct
from frontmcp.errors import MissingPromptArgumentError, PromptExecutionError, PromptNotFoundError


def user(content: Any) -> PromptMessage:
    return PromptMessage(role="user", content=TextContent(text=content) if isinstance(content, str) else content)


def assistant(content: Any) -> PromptMessage:
    return PromptMessage(role="assistant", content=TextContent(text=content))


IMAGE = ImageContent(data="eA==", mime_type="image/png")
SOUND = AudioContent(data="eA==", mime_type="audio/wav")
LINK = ResourceLink(name="hours", uri="desk://hours")
EMBEDDED = EmbeddedResource(resource=TextResourceContents(uri="file:///x.txt", mime_type="text/plain", text="x"))

RESULTS: list[tuple[Any, list[PromptMessage]]] = [
    ("hello", [user("hello")]),
    ("", [user("")]),
    (None, []),
    ([], []),
    (user("x"), [user("x")]),
    ([assistant("x"), "y"], [assistant("x"), user("y")]),
    (("x", "y"), [user("x"), user("y")]),
    (Image(data=b"x", format="png"), [user(IMAGE)]),
    (Audio(data=b"x"), [user(SOUND)]),
    (File(data=b"x", name="x.txt"), [user(EMBEDDED)]),
    (LINK, [user(LINK)]),
    (
        [IMAGE, TextContent(text="what is it?"), LINK, EMBEDDED],
        [user(IMAGE), user("what is it?"), user(LINK), user(EMBEDDED)],
    ),
    ({"role": "assistant", "content": "x"}, [assistant("x")]),
    ([{"role": "user", "content": Image(data=b"x", format="png")}], [user(IMAGE)]),
    ({"role": "system", "content": "x"}, [user('{"role":"system","content":"x"}')]),
    ({"id": "T-1"}, [user('{"id":"T-1"}')]),
    ([{"id": "T-1"}], [user('{"id":"T-1"}')]),
    (7, [user("7")]),
    (GetPromptResult(messages=[assistant("x")]), [assistant("x")]),
]


async def got(value: Any, **keywords: Any) -> GetPromptResult:
    server = FrontMcp("desk", environment="test")
    server.prompt(name="it", sync="inline", **keywords)(lambda: value)
    async with create_direct(server) as direct:
        return await direct.get_prompt("it")


@pytest.mark.parametrize(
    ("value", "messages"), RESULTS, ids=lambda each: re.sub(" at 0x[0-9a-f]+", "", repr(each))[:40]
)
async def test_a_value_becomes_messages(value: Any, messages: list[PromptMessage]) -> None:
    assert (await got(value)).messages == messages


async def test_the_description_is_the_definitions_unless_the_body_has_one() -> None:
    assert (await got("x", description="D")).description == "D"
    assert (await got(GetPromptResult(messages=[]), description="D")).description == "D"
    assert (await got(GetPromptResult(messages=[], description="mine"), description="D")).description == "mine"
    assert (await got("x")).description is None


@pytest.mark.parametrize("value", [object(), {"a": float("inf")}, "\ud800", user("\ud800"), [1, object()]])
async def test_what_can_not_be_sent_fails_while_it_can_still_be_answered(value: Any) -> None:
    with pytest.raises(InvalidOutputError, match=r"^Prompt output validation failed"):
        await got(value)


class Filter(BaseModel):
    tag: str


app = App(id="desk")


@app.prompt
def typed(
    id: int,
    day: date | None = None,
    tone: Literal["short", "long"] = "short",
    tags: list[str] | None = None,
    where: Filter | None = None,
    loud: bool = False,
) -> str:
    return repr((id, day, tone, tags, where, loud))


@app.prompt(arguments=[PromptArgument("id", required=True), PromptArgument("note")])
async def listed(id: str = "unset", note: str = "none") -> str:
    return f"{id} {note}"


@app.prompt(arguments=[PromptArgument("a", required=True), PromptArgument("b")])
class AnyArguments(PromptContext):
    async def execute(self, **arguments: Any) -> str:
        return repr(arguments)


@app.prompt(name="fails")
async def failing(how: str) -> str:
    if how == "public":
        raise PublicMcpError("no", "NO")
    raise ValueError("no words")


@pytest.fixture
async def direct() -> AsyncIterator[Direct]:
    async with create_direct(FrontMcp("desk", apps=[app], environment="test")) as direct:
        yield direct


async def text(direct: Direct, name: str, arguments: dict[str, Any] | None = None) -> str:
    content = (await direct.get_prompt(name, arguments)).messages[0].content
    assert isinstance(content, TextContent)
    return content.text


class TestArguments:
    async def test_text_is_read_as_the_signature_says(self, direct: Direct) -> None:
        assert await text(direct, "typed", {"id": "7"}) == "(7, None, 'short', None, None, False)"
        given = {
            "id": "7", "day": "2026-11-30", "tone": "long", "tags": '["a"]', "where": '{"tag": "b"}', "loud": "true",
        }  # fmt: skip
        read = "(7, datetime.date(2026, 11, 30), 'long', ['a'], Filter(tag='b'), True)"
        assert await text(direct, "typed", given) == read

    async def test_values_are_taken_as_they_are(self, direct: Direct) -> None:
        given = {"id": 7, "tags": ["a"], "where": {"tag": "b"}}
        assert await text(direct, "typed", given) == "(7, None, 'short', ['a'], Filter(tag='b'), False)"

    @pytest.mark.parametrize(
        "given", [{"tags": "[1"}, {"tags": "a"}, {"where": "[]"}, {"tone": "s3cret"}, {"id": "s3cret"}]
    )
    async def test_what_does_not_fit_is_told_without_the_value(self, direct: Direct, given: dict[str, str]) -> None:
        with pytest.raises(InvalidInputError) as caught:
            await direct.get_prompt("typed", {"id": "7", **given})
        assert str(caught.value) == "Invalid prompt arguments"
        assert [issue["path"][0] for issue in caught.value.validation_errors] == list(given)
        assert "s3cret" not in "".join([caught.value.text, *caught.value.__notes__])

    @pytest.mark.parametrize(("name", "argument"), [("typed", "id"), ("listed", "id"), ("any_arguments", "a")])
    async def test_a_missing_one_is_named(self, direct: Direct, name: str, argument: str) -> None:
        for arguments in (None, {}, {"other": "x"}):
            with pytest.raises(MissingPromptArgumentError) as caught:
                await direct.get_prompt(name, arguments)
            assert str(caught.value) == f"Missing required argument: {argument}"
            assert caught.value.code == "MISSING_PROMPT_ARGUMENT"

    async def test_unknown_ones_are_dropped(self, direct: Direct) -> None:
        assert await text(direct, "listed", {"id": "a", "other": "b"}) == "a none"

    async def test_a_body_may_take_any(self, direct: Direct) -> None:
        assert await text(direct, "any_arguments", {"a": "1", "c": "2"}) == "{'a': '1', 'b': None, 'c': '2'}"


async def test_an_unknown_prompt(direct: Direct) -> None:
    with pytest.raises(PromptNotFoundError, match=r"^Prompt not found: nope$"):
        await direct.get_prompt("nope")


async def test_errors_of_the_body(direct: Direct) -> None:
    with pytest.raises(PublicMcpError, match=r"^no$"):
        await direct.get_prompt("fails", {"how": "public"})
    with pytest.raises(PromptExecutionError, match=r"^Prompt execution failed: no words$") as caught:
        await direct.get_prompt("fails", {"how": "other"})
    assert caught.value.code == "PROMPT_EXECUTION_FAILED"
    assert isinstance(caught.value.original_error, ValueError)


async def test_one_name_in_two_apps_is_listed_qualified() -> None:
    first, second = App(id="first"), App(id="second")
    first.prompt(name="same")(lambda: "first")
    second.prompt(name="same")(lambda: "second")
    async with create_direct(FrontMcp("desk", apps=[first, second])) as direct:
        assert [each.name for each in await direct.list_prompts()] == ["first.same", "second.same"]
        found = [await text(direct, name) for name in ("same", "second.same", "second:same", "first.same")]
        assert found == ["first", "second", "second", "first"]
