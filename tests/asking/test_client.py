"""What else the client is asked: its model, its roots, its user by a URL; and how the questions of a round are told."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    ModelPreferences,
    SamplingMessage,
    TextContent,
    ToolChoice,
    ToolUseContent,
)
from mcp_types import Tool as SdkTool
from pydantic import BaseModel, Field

from frontmcp import (
    Accepted,
    App,
    Cancelled,
    Declined,
    FrontMcp,
    JsonSchema,
    PromptContext,
    ResourceContext,
    Tool,
    ToolContext,
    create_direct,
)
from frontmcp.asking import INLINE_BYTES
from frontmcp.errors import (
    CapabilityNotSupportedError,
    ClientAnswerError,
    ElicitationInvalidError,
    MissingCapabilityError,
    RootsNotSupportedError,
    SamplingNotSupportedError,
)

ERAS = ["2026-07-28", "2025-11-25"]
MODERN, OLDER = ERAS
ROADS = {"era": ERAS, "transport": ["memory", "stdio", "http"]}

JOURNAL: list[str] = []

WEATHER = SdkTool(name="weather", input_schema={"type": "object", "properties": {"city": {"type": "string"}}})


MODEL: dict[str, Any] = {"sampling": {}}


class Name(BaseModel):
    name: str


def outcome(answer: Accepted[Any] | Declined | Cancelled) -> str:
    return repr(answer.data) if isinstance(answer, Accepted) else type(answer).__name__.lower()


@Tool(description="Ask the client's model")
class Capital(ToolContext):
    async def execute(self, of: str) -> dict[str, Any]:
        JOURNAL.append(f"attempt {self.call.attempt}")
        said = await self.sample(f"What is the capital of {of}?", max_tokens=100, key="capital")
        return {"text": said.text, "model": said.model, "role": said.role}


@Tool(description="Ask the client's model, in a thread")
def capital_sync(ctx: ToolContext, of: str) -> dict[str, Any]:
    return {"text": ctx.sample_sync(f"What is the capital of {of}?").text}


@Tool(description="Ask the client's model with everything there is")
async def talk(ctx: ToolContext) -> dict[str, Any]:
    said = await ctx.sample(
        ["Hi", SamplingMessage(role="assistant", content=TextContent(text="Hello")), "How are you?"],
        max_tokens=7,
        system_prompt="Be brief",
        temperature=0.5,
        stop_sequences=["."],
        model_preferences=["claude", "gpt"],
    )
    again = await ctx.sample("Bye", model_preferences=ModelPreferences(cost_priority=1))
    return {"said": said.text, "again": again.text}


@Tool(description="Let the client's model call a tool")
async def forecast(ctx: ToolContext) -> dict[str, Any]:
    asked: list[str | SamplingMessage] = ["Will it rain in Graz?"]
    said = await ctx.sample(asked, tools=[WEATHER], tool_choice=ToolChoice(mode="auto"))
    [use] = [block for block in said.content_as_list if isinstance(block, ToolUseContent)]
    return {"calls": use.name, "input": use.input, "stop": said.stop_reason, "text": said.text}


@Tool(description="List the client's roots")
async def where(ctx: ToolContext) -> dict[str, Any]:
    JOURNAL.append("where")
    return {"roots": [[str(root.uri), root.name] for root in await ctx.list_roots()]}


@Tool(description="List the client's roots, in a thread")
def where_sync(ctx: ToolContext) -> dict[str, Any]:
    return {"roots": [str(root.uri) for root in ctx.list_roots_sync()]}


@Tool(description="Send the user to a page, and wait until they are done there")
class Pay(ToolContext):
    async def execute(self) -> dict[str, Any]:
        return {"answer": outcome(await self.elicit_url("Pay 85 there", "https://pay.example/85", until=self.paid))}

    async def paid(self) -> None:
        JOURNAL.append("paid")


@Tool(description="Send the user to a page, from a thread")
def pay_sync(ctx: ToolContext) -> dict[str, Any]:
    return {"answer": outcome(ctx.elicit_url_sync("Pay 85 there", "https://pay.example/85"))}


@Tool(description="Go on without whatever the client lacks")
class Modest(ToolContext):
    async def execute(self) -> dict[str, Any]:
        JOURNAL.append("ran")
        lacking = []
        for ask in (
            lambda: self.elicit("Who?", Name),
            lambda: self.elicit_url("Who?", "https://who.example"),
            lambda: self.sample("Who?"),
            lambda: self.sample("Who?", tools=[WEATHER]),
            self.list_roots,
        ):
            try:
                await ask()  # type: ignore[operator]
            except CapabilityNotSupportedError as error:
                lacking.append([error.code, str(error)])
        return {"lacking": lacking}


@Tool(description="Three questions of three kinds at once")
class Three(ToolContext):
    async def execute(self) -> dict[str, Any]:
        JOURNAL.append(f"attempt {self.call.attempt}")
        letter = (await self.call_tool("post", {"what": "letter"})).structured_content
        got: dict[str, Any] = {"letter": letter}

        async def name() -> None:
            got["name"] = outcome(await self.elicit("What is your name?", Name, key="user_name"))

        async def greeting() -> None:
            got["greeting"] = (await self.sample("Greet", max_tokens=50, key="greeting")).text

        async def roots() -> None:
            got["roots"] = [str(root.uri) for root in await self.list_roots(key="client_roots")]

        async with anyio.create_task_group() as group:
            for ask in (name, greeting, roots):
                group.start_soon(ask)
        got["parcel"] = (await self.call_tool("post", {"what": "parcel"})).structured_content
        return got


@Tool(description="Two questions at once, of which the client can't be asked one")
class HalfOffered(ToolContext):
    async def execute(self, first: Literal["form", "model"]) -> dict[str, Any]:
        async def form() -> None:
            await self.elicit("What is your name?", Name)

        async def model() -> None:
            await self.sample("Greet")

        async with anyio.create_task_group() as group:
            for ask in (form, model) if first == "form" else (model, form):
                group.start_soon(ask)
        return {}


@Tool(description="Wait for the client's model, and say when that ends")
class Wait(ToolContext):
    async def execute(self) -> str:
        try:
            return (await self.sample("Hi")).text
        finally:
            JOURNAL.append("left")


@Tool(description="Count how often it runs")
async def post(what: str) -> dict[str, Any]:
    JOURNAL.append(f"post {what}")
    return {"times": JOURNAL.count(f"post {what}")}


@Tool(description="Pass a call on, so that the question is asked three levels down")
class Nest(ToolContext):
    async def execute(self, tool: str, levels: int) -> dict[str, Any]:
        await self.call_tool("post", {"what": f"level {levels}"})
        if levels == 0:
            return (await self.call_tool(tool)).structured_content  # type: ignore[return-value]
        return (await self.call_tool("nest", {"tool": tool, "levels": levels - 1})).structured_content  # type: ignore[return-value]


@Tool(description="One question after another, each with a key of its own")
class Rounds(ToolContext):
    async def execute(self) -> dict[str, Any]:
        first = await self.elicit("Step 1", Name, key="step1")
        second = await self.elicit("Step 2", Name, key="step2")
        return {"answers": [outcome(first), outcome(second)]}


@Tool(description="The same key twice, in one round and in the next")
class SameKey(ToolContext):
    async def execute(self) -> dict[str, Any]:
        answers: dict[str, str] = {}

        async def ask(who: str) -> None:
            answers[who] = outcome(await self.elicit(f"And {who}?", Name, key="name"))

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "you")
            group.start_soon(ask, "they")
        await ask("we")
        return answers


@Tool(description="A question whose text changes")
class Price(ToolContext):
    async def execute(self) -> dict[str, Any]:
        price = 85 + self.call.attempt
        return {"answer": outcome(await self.elicit(f"It costs {price}. Buy?", Name, key="price")), "price": price}


@Tool(description="What only a client with a model can be given")
class NeedsModel(ToolContext):
    async def execute(self, deep: bool = False) -> dict[str, Any]:
        if deep:
            return (await self.call_tool("needs_model")).structured_content  # type: ignore[return-value]
        if not self.context.offers(MODEL):
            raise MissingCapabilityError(MODEL)
        return {"text": (await self.sample("Hi")).text}


@Tool(description="Go on without an answer")
class Refused(ToolContext):
    async def execute(self, what: Literal["sample", "roots"]) -> dict[str, Any]:
        try:
            await (self.sample("Hi") if what == "sample" else self.list_roots())
        except ClientAnswerError as error:
            return {"refused": str(error)}
        return {"refused": None}


class Level(Enum):
    low = "low"
    high = "high"


class Choices(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    verified: bool = True
    level: Level = Level.low
    untitled: Literal["a", "b"] = "a"
    titled: Annotated[str, Field(json_schema_extra={"oneOf": [{"const": "a", "title": "A"}]})] = "a"
    legacy: Annotated[Literal["a", "b"], Field(json_schema_extra={"enumNames": ["A", "B"]})] = "a"
    several: list[Literal["a", "b"]] = Field(default=["a"], min_length=1)
    titled_several: Annotated[list[str], Field(json_schema_extra={"items": {"anyOf": [{"const": "a", "title": "A"}]}})]


RAW = JsonSchema({
    "type": "object",
    "properties": {
        "untitled": {"type": "string", "enum": ["a", "b"]},
        "titled": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
        "legacy": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
        "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "titled_several": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        "age": {"type": "integer", "default": 30, "minimum": 0},
    },
    "required": ["age"],
})  # fmt: skip


@Tool(description="A form of choices")
async def choose(ctx: ToolContext) -> dict[str, Any]:
    answer = await ctx.elicit("Choose", Choices)
    return {"answer": answer.data.model_dump(mode="json") if isinstance(answer, Accepted) else None}


@Tool(description="A form as JSON Schema")
async def choose_raw(ctx: ToolContext) -> dict[str, Any]:
    try:
        answer = await ctx.elicit("Choose", RAW)
    except ElicitationInvalidError as error:
        return {"invalid": str(error)}
    return {"answer": answer.data if isinstance(answer, Accepted) else outcome(answer)}


NOT_FLAT = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}


@Tool(description="What is no form, or no URL")
async def ask_badly(ctx: ToolContext, what: Literal["nested", "array", "url"]) -> str:
    try:
        if what == "url":
            await ctx.elicit_url("There", "javascript:alert(1)")
        else:
            await ctx.elicit("?", JsonSchema(NOT_FLAT if what == "nested" else {"type": "array"}))
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "asked"


TOOLS: list[Any] = [
    Capital, capital_sync, talk, forecast, where, where_sync, Pay, pay_sync, Modest, Three, post, Nest, Rounds, SameKey,
    Price, NeedsModel, Refused, HalfOffered, Wait, choose, choose_raw, ask_badly,
]  # fmt: skip


@pytest.fixture
def server() -> FrontMcp:
    JOURNAL.clear()
    server = FrontMcp("desk", apps=[App(id="desk", tools=TOOLS)])

    @server.resource("desk://capital")
    async def capital(ctx: ResourceContext) -> str:
        return (await ctx.sample("Capital?")).text

    @server.resource("desk://model")
    async def model(ctx: ResourceContext) -> str:
        raise MissingCapabilityError(MODEL)

    @server.prompt
    async def roots(ctx: PromptContext) -> str:
        """Where it is."""
        return ", ".join(str(root.uri) for root in await ctx.list_roots())

    return server


def attempts() -> list[str]:
    return [line for line in JOURNAL if line.startswith("attempt")]


def answer_all(mcp: Any) -> None:
    mcp.on_elicitation(lambda message, form: {"name": "Alice"})
    mcp.on_sampling(lambda messages, params: "Hello!")
    mcp.on_roots(lambda: ["file:///work"])


@pytest.mark.mcp(**ROADS)
class TestOnEveryRoad:
    async def test_the_client_s_model_answers(self, mcp: Any) -> None:
        mcp.on_sampling(lambda messages, params: "Paris")
        result = await mcp.tools.call("capital", {"of": "France"})
        assert result.json() == {"text": "Paris", "model": "scripted", "role": "assistant"}
        assert len(attempts()) == (2 if mcp.road.era == MODERN else 1)
        assert (await mcp.tools.call("capital_sync", {"of": "France"})).json() == {"text": "Paris"}

    async def test_it_is_given_everything(self, mcp: Any) -> None:
        seen: list[Any] = []

        @mcp.on_sampling  # type: ignore[untyped-decorator]
        async def reply(messages: Any, params: Any) -> CreateMessageResult:
            seen.append(params)
            said = [f"{each.role}: {each.content.text}" for each in messages]
            return CreateMessageResult(role="assistant", content=TextContent(text=" | ".join(said)), model="m")

        result = await mcp.tools.call("talk")
        assert result.json() == {"said": "user: Hi | assistant: Hello | user: How are you?", "again": "user: Bye"}
        first, last = seen[0], seen[-1]
        assert (first.max_tokens, first.system_prompt, first.temperature) == (7, "Be brief", 0.5)
        assert (first.stop_sequences, first.tools) == (["."], None)
        assert [hint.name for hint in first.model_preferences.hints] == ["claude", "gpt"]
        assert (last.max_tokens, last.model_preferences.cost_priority) == (512, 1)

    async def test_it_calls_tools(self, mcp: Any) -> None:
        @mcp.on_sampling  # type: ignore[untyped-decorator]
        def refuse(messages: Any, params: Any) -> str:
            raise AssertionError("it was asked though it knows no tools")

        (await mcp.tools.call("forecast")).assert_error("SAMPLING_NOT_SUPPORTED")

        def reply(messages: Any, params: Any) -> CreateMessageResultWithTools:
            assert [tool.name for tool in params.tools] == ["weather"]
            assert params.tool_choice.mode == "auto"
            use = ToolUseContent(id="1", name="weather", input={"city": "Graz"})
            content = [TextContent(text="Let me see."), use]
            return CreateMessageResultWithTools(role="assistant", content=content, model="m", stop_reason="toolUse")

        mcp.on_sampling(reply, tools=True)
        called = {"calls": "weather", "input": {"city": "Graz"}, "stop": "toolUse", "text": "Let me see."}
        assert (await mcp.tools.call("forecast")).json() == called

    async def test_the_client_lists_its_roots(self, mcp: Any) -> None:
        mcp.on_roots(lambda: ["file:///work", "file:///home/nour"])
        result = await mcp.tools.call("where")
        assert result.json() == {"roots": [["file:///work", None], ["file:///home/nour", None]]}
        assert (await mcp.tools.call("where_sync")).json() == {"roots": ["file:///work", "file:///home/nour"]}

    async def test_resources_and_prompts_ask_too(self, mcp: Any) -> None:
        answer_all(mcp)
        assert (await mcp.resources.read("desk://capital")).text() == "Hello!"
        assert (await mcp.prompts.get("roots")).text() == "file:///work"

    @pytest.mark.parametrize(
        ("reply", "answer", "after"),
        [("accept", "None", ["paid"]), ("decline", "declined", []), ("cancel", "cancelled", [])],
    )
    async def test_the_user_is_sent_to_a_url(self, mcp: Any, reply: Any, answer: str, after: list[str]) -> None:
        seen: list[Any] = []

        @mcp.on_elicit_url  # type: ignore[untyped-decorator]
        def open_it(message: str, url: str) -> Any:
            seen.append((message, url))
            return reply

        assert (await mcp.tools.call("pay")).json() == {"answer": answer}
        assert seen == [("Pay 85 there", "https://pay.example/85")]
        assert after == JOURNAL
        told = len(after) if mcp.road.era == OLDER else 0
        assert len(mcp.notifications.elicited()) == told
        assert (await mcp.tools.call("pay_sync")).json() == {"answer": answer}

    async def test_what_the_client_lacks_is_told_before_anything_is_suspended(self, mcp: Any) -> None:
        result = await mcp.tools.call("modest")
        assert result.json()["lacking"] == [
            ["ELICITATION_NOT_SUPPORTED", "Client does not support elicitation"],
            ["ELICITATION_NOT_SUPPORTED", "Client does not support elicitation.url"],
            ["SAMPLING_NOT_SUPPORTED", "Client does not support sampling"],
            ["SAMPLING_NOT_SUPPORTED", "Client does not support sampling.tools"],
            ["ROOTS_NOT_SUPPORTED", "Client does not support roots"],
        ]
        assert JOURNAL == ["ran"]
        (await mcp.tools.call("where")).assert_error("ROOTS_NOT_SUPPORTED")

    async def test_a_client_is_asked_only_what_it_offers(self, mcp: Any) -> None:
        mcp.on_sampling(lambda messages, params: "Hello!")
        lacking = [code for code, _ in (await mcp.tools.call("modest")).json()["lacking"]]
        assert lacking == ["ELICITATION_NOT_SUPPORTED"] * 2 + ["SAMPLING_NOT_SUPPORTED", "ROOTS_NOT_SUPPORTED"]

    @pytest.mark.parametrize("first", ["form", "model"])
    async def test_who_lacks_one_of_two_is_asked_nothing(self, mcp: Any, first: str) -> None:
        asked: list[str] = []

        @mcp.on_elicitation  # type: ignore[untyped-decorator]
        def reply(message: str, form: dict[str, Any]) -> str:
            asked.append(message)
            return "decline"

        (await mcp.tools.call("half_offered", {"first": first})).assert_error("SAMPLING_NOT_SUPPORTED")
        assert asked == [] or mcp.road.era == OLDER

    async def test_three_kinds_at_once_are_one_round_and_nothing_is_done_twice(self, mcp: Any) -> None:
        answer_all(mcp)
        once = {"times": 1}
        assert (await mcp.tools.call("three")).json() == {
            "letter": once, "parcel": once, "name": "Name(name='Alice')", "greeting": "Hello!", "roots": ["file:///work"],
        }  # fmt: skip
        assert len(attempts()) == (2 if mcp.road.era == MODERN else 1)
        assert [line for line in JOURNAL if line.startswith("post")] == ["post letter", "post parcel"]

    async def test_they_are_asked_from_depth_three(self, mcp: Any) -> None:
        answer_all(mcp)
        result = (await mcp.tools.call("nest", {"tool": "three", "levels": 2})).json()
        assert (result["greeting"], result["roots"]) == ("Hello!", ["file:///work"])
        posted = [line for line in JOURNAL if line.startswith("post")]
        assert posted == ["post level 2", "post level 1", "post level 0", "post letter", "post parcel"]

    async def test_a_form_of_choices_reaches_the_user_whole(self, mcp: Any) -> None:
        seen: list[Any] = []

        @mcp.on_elicitation  # type: ignore[untyped-decorator]
        def reply(message: str, form: dict[str, Any]) -> dict[str, Any]:
            seen.append(form)
            return {"titled_several": ["a"], "level": "high", "several": ["b"]}

        answer = (await mcp.tools.call("choose")).json()["answer"]
        assert answer == {
            "name": "John Doe", "age": 30, "score": 95.5, "verified": True, "level": "high", "untitled": "a",
            "titled": "a", "legacy": "a", "several": ["b"], "titled_several": ["a"],
        }  # fmt: skip
        properties = seen[0]["properties"]
        for each in properties.values():
            each.pop("title")
        assert properties == {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "verified": {"type": "boolean", "default": True},
            "level": {"type": "string", "enum": ["low", "high"], "default": "low"},
            "untitled": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "titled": {"type": "string", "oneOf": [{"const": "a", "title": "A"}], "default": "a"},
            "legacy": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "a"},
            "several": {
                "type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "default": ["a"],
            },
            "titled_several": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        }  # fmt: skip

    async def test_a_form_may_be_json_schema(self, mcp: Any) -> None:
        seen: list[Any] = []
        replies = iter([{"age": 3, "several": ["a", "b"]}, {"age": -77, "legacy": "z", "other": 1}, "decline"])

        @mcp.on_elicitation  # type: ignore[untyped-decorator]
        def reply(message: str, form: dict[str, Any]) -> Any:
            seen.append(form)
            return next(replies)

        assert (await mcp.tools.call("choose_raw")).json() == {"answer": {"age": 3, "several": ["a", "b"]}}
        assert (await mcp.tools.call("choose_raw")).json() == {
            "invalid": "The answer does not fit the form at age, legacy"
        }
        assert (await mcp.tools.call("choose_raw")).json() == {"answer": "declined"}
        assert seen[0] == RAW.schema

    async def test_what_is_no_form_and_no_url_is_refused(self, mcp: Any) -> None:
        answer_all(mcp)
        texts = [(await mcp.tools.call("ask_badly", {"what": what})).text() for what in ("nested", "array", "url")]
        assert [text.partition(":")[0] for text in texts] == ["TypeError", "TypeError", "ValueError"]
        assert "'a'" in texts[0]

    async def test_a_capability_may_be_required(self, mcp: Any) -> None:
        for arguments in ({}, {"deep": True}):
            if mcp.road.era == MODERN:
                with pytest.raises(MCPError) as refused:
                    await mcp.tools.call("needs_model", arguments)
                assert refused.value.error.code == -32021
                assert refused.value.error.data["requiredCapabilities"] == {"sampling": {}}
            else:
                (await mcp.tools.call("needs_model", arguments)).assert_error("MISSING_CAPABILITY")
        with pytest.raises(MCPError) as refused:
            await mcp.resources.read("desk://model")
        assert refused.value.error.code == (-32021 if mcp.road.era == MODERN else INVALID_REQUEST)
        answer_all(mcp)
        assert (await mcp.tools.call("needs_model")).json() == {"text": "Hello!"}


@pytest.mark.mcp(era=ERAS, transport=["memory", "stdio"])
class TestOnTrio(TestOnEveryRoad):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "trio"


async def test_in_process_there_is_no_client_to_ask(server: FrontMcp) -> None:
    async with create_direct(server) as direct:
        with pytest.raises(SamplingNotSupportedError):
            await direct.call_tool("capital", {"of": "France"})
        with pytest.raises(RootsNotSupportedError):
            await direct.call_tool("where")
        with pytest.raises(MissingCapabilityError):
            await direct.call_tool("needs_model")


async def call_by_hand(mcp: Any, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
    """One round: an `InputRequiredResult` is not answered."""
    sdk = await mcp.connect()
    return await sdk.session.call_tool(name, arguments or {}, allow_input_required=True, **more)


def accept(**content: Any) -> ElicitResult:
    return ElicitResult(action="accept", content=content)


SAID = CreateMessageResult(role="assistant", content=TextContent(text="Hello!"), model="m")
ROOTS = ListRootsResult.model_validate({"roots": [{"uri": "file:///work"}]})


@pytest.mark.mcp(era=MODERN, transport=["memory", "http"])
class TestTheQuestionsOfARound:
    @pytest.fixture(autouse=True)
    def can_be_asked(self, mcp: Any) -> None:
        answer_all(mcp)

    async def test_they_have_the_keys_they_were_given(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "three")
        assert isinstance(asked, InputRequiredResult)
        requests = asked.input_requests or {}
        assert {key: each.method for key, each in requests.items()} == {
            "user_name": "elicitation/create", "greeting": "sampling/createMessage", "client_roots": "roots/list",
        }  # fmt: skip
        assert isinstance(asked.request_state, str)
        responses = {"user_name": accept(name="Alice"), "greeting": SAID, "client_roots": ROOTS, "stray": SAID}
        done = await call_by_hand(mcp, "three", input_responses=responses, request_state=asked.request_state)
        assert done.structured_content["greeting"] == "Hello!"

    async def test_what_is_still_missing_is_asked_again(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "three")
        some = {"greeting": SAID, "wrong": accept(name="Alice")}
        again = await call_by_hand(mcp, "three", input_responses=some, request_state=asked.request_state)
        assert set(again.input_requests) == {"user_name", "client_roots"}
        assert again.request_state != asked.request_state
        rest = {"user_name": accept(name="Alice"), "client_roots": ROOTS}
        done = await call_by_hand(mcp, "three", input_responses=rest, request_state=again.request_state)
        assert done.structured_content["greeting"] == "Hello!"
        assert JOURNAL.count("post letter") == 1

    async def test_an_answer_of_another_kind_is_none(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "three")
        crossed = {"user_name": SAID, "greeting": ROOTS, "client_roots": accept(name="Alice")}
        result = await call_by_hand(mcp, "three", input_responses=crossed, request_state=asked.request_state)
        assert result.is_error
        assert result.meta["code"] == "CLIENT_ANSWER_ERROR"

    async def test_each_round_has_its_own(self, mcp: Any) -> None:
        first = await call_by_hand(mcp, "rounds")
        assert set(first.input_requests) == {"step1"}
        retry = {"input_responses": {"step1": accept(name="A")}, "request_state": first.request_state}
        second = await call_by_hand(mcp, "rounds", **retry)
        assert set(second.input_requests) == {"step2"}
        assert second.request_state != first.request_state
        retry = {"input_responses": {"step2": accept(name="B")}, "request_state": second.request_state}
        done = await call_by_hand(mcp, "rounds", **retry)
        assert done.structured_content == {"answers": ["Name(name='A')", "Name(name='B')"]}

    async def test_a_key_that_two_have_is_made_different(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "same_key")
        assert len(asked.input_requests) == 2
        assert "name" in asked.input_requests
        mcp.on_elicitation(lambda message, form: {"name": message})
        result = await mcp.tools.call("same_key")
        assert result.json() == {who: f"Name(name='And {who}?')" for who in ("you", "they", "we")}

    async def test_an_answer_is_for_the_text_that_was_asked(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "price")
        agreed = {"price": accept(name="yes")}
        again = await call_by_hand(mcp, "price", input_responses=agreed, request_state=asked.request_state)
        assert again.input_requests["price"].params.message == "It costs 86. Buy?"

    async def test_a_state_that_was_changed_is_refused(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "rounds")
        retry = {"input_responses": {"step1": accept(name="A")}, "request_state": asked.request_state + "-TAMPERED"}
        with pytest.raises(MCPError) as refused:
            await call_by_hand(mcp, "rounds", **retry)
        assert refused.value.error.code == INVALID_PARAMS

    async def test_large_answers_stay_on_the_server(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "three")
        large = SAID.model_copy(update={"content": TextContent(text="x" * (INLINE_BYTES + 1))})
        again = await call_by_hand(mcp, "three", input_responses={"greeting": large}, request_state=asked.request_state)
        assert len(again.request_state) < INLINE_BYTES
        rest = {"user_name": accept(name="Alice"), "client_roots": ROOTS}
        done = await call_by_hand(mcp, "three", input_responses=rest, request_state=again.request_state)
        assert len(done.structured_content["greeting"]) == INLINE_BYTES + 1


async def post_by_hand(mcp: Any, name: str, capabilities: dict[str, Any], **params: Any) -> httpx2.Response:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name}
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    sent = {"name": name, "arguments": {}, "_meta": meta, **params}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": sent}
    async with httpx2.AsyncClient() as http:
        return await http.post(mcp.url, json=body, headers={**headers, "accept": "application/json, text/event-stream"})


@pytest.mark.mcp(era=MODERN, transport="http")
class TestOverHttp:
    async def test_a_missing_capability_is_a_400(self, mcp: Any) -> None:
        response = await post_by_hand(mcp, "needs_model", {"elicitation": {}})
        assert response.status_code == 400
        error = response.json()["error"]
        assert (error["code"], error["data"]["requiredCapabilities"]) == (-32021, {"sampling": {}})

    async def test_a_bad_answer_is_an_error_and_none_is_asked_for_again(self, mcp: Any) -> None:
        asked = (await post_by_hand(mcp, "rounds", {"elicitation": {}})).json()["result"]
        assert (asked["resultType"], list(asked["inputRequests"])) == ("input_required", ["step1"])
        retry = {"requestState": asked["requestState"]}
        bad = await post_by_hand(mcp, "rounds", {"elicitation": {}}, inputResponses={"step1": 12345}, **retry)
        assert bad.json()["error"]["code"] == INVALID_PARAMS
        none = await post_by_hand(mcp, "rounds", {"elicitation": {}}, inputResponses=None, **retry)
        assert list(none.json()["result"]["inputRequests"]) == ["step1"]

    @pytest.mark.parametrize(
        ("capabilities", "method", "mode"),
        [
            ({"elicitation": {}}, "elicitation/create", "form"),
            ({"elicitation": {"form": {}}, "sampling": {}}, "elicitation/create", "form"),
            ({"elicitation": {"url": {}}}, "elicitation/create", "url"),
            ({"sampling": {}, "roots": {}}, "sampling/createMessage", None),
            ({"roots": {}}, "roots/list", None),
        ],
    )
    async def test_the_client_is_asked_what_it_declared(
        self, mcp: Any, capabilities: dict[str, Any], method: str, mode: str | None
    ) -> None:
        response = await post_by_hand(mcp, "modest", capabilities)
        [question] = response.json()["result"]["inputRequests"].values()
        assert (question["method"], question.get("params", {}).get("mode")) == (method, mode)


@pytest.mark.mcp(era=OLDER, transport=["memory", "stdio", "http"])
class TestOlderClients:
    @pytest.mark.parametrize(("what", "method"), [("sample", "sampling/createMessage"), ("roots", "roots/list")])
    async def test_an_error_of_the_client_can_be_caught(self, mcp: Any, what: str, method: str) -> None:
        def refuse(*given: Any) -> Any:
            raise PermissionError("the user said no")

        mcp.on_sampling(refuse)
        mcp.on_roots(refuse)
        sdk = await mcp.connect()
        result = await sdk.call_tool("refused", {"what": what})
        assert result.structured_content == {"refused": f"The client answered {method} with an error (-32603)"}

    @pytest.mark.mcp(era=OLDER, transport=["memory", "stdio"])
    async def test_a_call_can_be_cancelled_while_the_model_thinks(self, mcp: Any) -> None:
        asked = anyio.Event()

        async def think(messages: Any, params: Any) -> str:
            asked.set()
            await anyio.sleep_forever()
            return ""

        mcp.on_sampling(think)
        async with anyio.create_task_group() as group:
            group.start_soon(mcp.tools.call, "wait")
            with anyio.fail_after(5):
                await asked.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            while "left" not in JOURNAL:
                await anyio.sleep(0.01)
        mcp.on_sampling(lambda messages, params: "Paris")
        assert (await mcp.tools.call("capital", {"of": "France"})).json()["text"] == "Paris"


@pytest.mark.mcp(era=OLDER, transport="http")
class TestWithoutASession:
    @pytest.fixture
    def server(self) -> FrontMcp:
        JOURNAL.clear()
        return FrontMcp("desk", tools=TOOLS, http={"stateless": True})

    async def test_the_client_can_not_be_asked(self, mcp: Any) -> None:
        answer_all(mcp)
        codes = [code for code, _ in (await mcp.tools.call("modest")).json()["lacking"]]
        assert codes == [*["ELICITATION_NOT_SUPPORTED"] * 2, *["SAMPLING_NOT_SUPPORTED"] * 2, "ROOTS_NOT_SUPPORTED"]
