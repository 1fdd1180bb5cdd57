"""What the client of an agent meets: questions in both eras, progress, messages, and its own model."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp_types import CreateMessageResultWithTools, TextContent, ToolResultContent, ToolUseContent
from pydantic import BaseModel

from frontmcp import (
    Accepted,
    Agent,
    AgentContext,
    Around,
    Audio,
    Call,
    CallNext,
    Completion,
    File,
    FrontMcp,
    Image,
    Plugin,
    PublicMcpError,
    Tool,
    ToolCall,
    ToolContext,
    hookimpl,
)
from frontmcp.interfaces import ChatMedia, ModelTurn, ModelUnavailableError, Usage
from frontmcp.testing import ERAS, ModelRequest, Road, ScriptedModel, calling

MODERN = "2026-07-28"


@pytest.fixture(params=["2025-11-25", MODERN])
def era(request: pytest.FixtureRequest) -> str:
    assert request.param in ERAS
    version: str = request.param
    return version


@pytest.fixture
def transport() -> str:
    return "memory"


@pytest.fixture
def mcp_road(era: str, transport: Any) -> Road:
    return Road(era, transport)


everywhere = pytest.mark.parametrize("transport", ["memory", "http"])


class Sure(BaseModel):
    sure: bool


JOURNAL: list[str] = []


@Tool
async def look(id: str) -> str:
    """Look at a ticket."""
    JOURNAL.append(f"look {id}")
    return f"{id} is open"


@Tool
async def delete(ctx: ToolContext, id: str) -> str:
    """Delete a ticket, if the user is sure."""
    answer = await ctx.elicit(f"Delete {id}?", Sure)
    JOURNAL.append(f"delete {id}")
    return f"{id} is deleted" if isinstance(answer, Accepted) and answer.data.sure else f"{id} is kept"


class Counting(Plugin):
    name = "counting"

    def __init__(self) -> None:
        self.turns: list[int] = []

    @hookimpl
    async def did_complete(self, call: Call, turn: ModelTurn) -> None:
        self.turns.append(turn.number)
        assert turn.completion is not None
        if turn.completion.content == "draft":
            turn.completion = Completion("changed by a hook", usage=Usage(1, 1))


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(
        calling("look", id="T-1"),
        [calling("look", id="T-2"), calling("delete", id="T-1"), calling("delete", id="T-2")],
        calling("look", id="T-3"),
        lambda request: "draft",
    )


@pytest.fixture
def counting() -> Counting:
    return Counting()


def agent(model: Any, *tools: Any, name: str = "helper", **keywords: Any) -> type[AgentContext]:
    @Agent(name=name, llm={"adapter": model}, tools=tools, input_schema={"query": str}, **keywords)
    class Helper(AgentContext):
        pass

    return Helper


@pytest.fixture
def server(request: pytest.FixtureRequest) -> FrontMcp:
    return request.getfixturevalue(getattr(request.function, "serves", "asking"))


@pytest.fixture
def asking(model: ScriptedModel, counting: Counting) -> FrontMcp:
    JOURNAL.clear()
    return FrontMcp("desk", agents=[agent(model, look, delete)], plugins=[counting])


def serving(name: str) -> Any:
    def mark(function: Any) -> Any:
        function.serves = name
        return function

    return mark


@everywhere
async def test_what_a_tool_asks_reaches_the_client_and_the_model_is_not_asked_twice(
    mcp: Any, model: ScriptedModel, counting: Counting
) -> None:
    asked: list[str] = []

    @mcp.on_elicitation
    def reply(message: str, form: Any) -> dict[str, Any]:
        asked.append(message)
        return {"sure": message == "Delete T-1?"}

    result = await mcp.tools.call("invoke_helper", {"query": "Clean up"})
    assert result.json() == {"response": "changed by a hook"}
    assert sorted(asked) == ["Delete T-1?", "Delete T-2?"]
    assert [len(request.prompt.messages) for request in model.requests] == [1, 3, 7, 9]
    assert model.requests[2].results == ["T-2 is open", "T-1 is deleted", "T-2 is kept"]
    assert sorted(JOURNAL) == ["delete T-1", "delete T-2", "look T-1", "look T-2", "look T-3"]
    assert counting.turns == [1, 2, 3, 4]


BIG = Image(data=bytes(range(256)) * 2_000, format="png")
"""Larger than what a client is given to keep."""


@Tool
async def scan() -> list[Any]:
    JOURNAL.append("scan")
    return ["The scan:", BIG]


@pytest.fixture
def nested() -> FrontMcp:
    JOURNAL.clear()
    inner = agent(ScriptedModel(calling("delete", id="T-1"), lambda request: request.results[0]), delete, name="inner")

    def reply(request: ModelRequest) -> str:
        seen = [part for message in request.prompt.messages for part in message.parts if isinstance(part, ChatMedia)]
        return f"{request.results[0]['response']}, {[len(part.data) for part in seen]}"

    model = ScriptedModel(calling("scan"), calling("invoke_inner", query="Delete T-1"), reply)
    return FrontMcp("desk", agents=[agent(model, scan, agents=[inner])])


@everywhere
@serving("nested")
async def test_what_the_tool_of_an_inner_agent_asks_reaches_the_client_and_big_pictures_are_kept(mcp: Any) -> None:
    asked: list[str] = []

    @mcp.on_elicitation
    def reply(message: str, form: Any) -> dict[str, Any]:
        asked.append(message)
        return {"sure": True}

    result = await mcp.tools.call("invoke_helper", {"query": "?"})
    assert result.json() == {"response": f"T-1 is deleted, {[len(BIG.to_content().data)]}"}
    assert asked == ["Delete T-1?"]
    assert JOURNAL == ["scan", "delete T-1"]


async def test_where_nobody_can_be_asked_the_model_is_told(mcp: Any, model: ScriptedModel) -> None:
    result = await mcp.tools.call("invoke_helper", {"query": "Clean up"})
    assert result.json() == {"response": "changed by a hook"}
    assert [str(each)[:40] for each in model.requests[2].results] == [
        "T-2 is open",
        "{'error': 'Client does not support elici",
        "{'error': 'Client does not support elici",
    ]


HALF = "\ud83d"
"""Half of a surrogate pair, as models write when who sends their words cuts them into pieces."""


@pytest.fixture
def halves() -> FrontMcp:
    JOURNAL.clear()
    model = ScriptedModel(
        Completion(
            f"Hm {HALF}", [ToolCall("1", HALF), ToolCall("2", "look", {"id": HALF}), calling("delete", id="T-1")]
        ),
        lambda request: f"{request.prompt.messages[1].content} {HALF}",
    )
    return FrontMcp("desk", agents=[agent(model, look, delete)])


@everywhere
@serving("halves")
async def test_a_model_may_write_half_a_character(mcp: Any) -> None:
    mcp.on_elicitation(lambda message, form: {"sure": True})
    result = await mcp.tools.call("invoke_helper", {"query": "Clean up"})
    assert result.json() == {"response": r"Hm \ud83d \ud83d"}
    assert JOURNAL.count("delete T-1") == 1


@pytest.fixture
def twice() -> FrontMcp:
    JOURNAL.clear()
    model = ScriptedModel(lambda request: calling("delete", id=request.last.content), "done", repeat=True)

    def reply(request: ModelRequest) -> Any:
        JOURNAL.append(f"{request.last.role} {request.prompt.messages[0].content}")
        return calling("delete", id=request.last.content) if request.last.role == "user" else request.last.content

    model = ScriptedModel(reply, repeat=True)

    @Agent(name="twice", llm={"adapter": model}, tools=[delete])
    class Twice(AgentContext):
        async def execute(self, ids: list[str]) -> dict[str, str]:
            answers: dict[str, str] = {}

            async def run(id: str) -> None:
                answers[id] = (await super(Twice, self).execute(id))["response"]

            async with anyio.create_task_group() as group:
                for id in ids:
                    group.start_soon(run, id)
            return dict(sorted(answers.items()))

    return FrontMcp("desk", agents=[Twice])


@serving("twice")
async def test_loops_that_run_at_once_in_one_call_keep_their_own_completions(mcp: Any) -> None:
    mcp.on_elicitation(lambda message, form: {"sure": message == "Delete T-1?"})
    result = await mcp.tools.call("invoke_twice", {"ids": ["T-1", "T-2"]})
    assert result.json() == {"T-1": "T-1 is deleted", "T-2": "T-2 is kept"}
    asked = [line for line in JOURNAL if not line.startswith("delete")]
    assert sorted(asked) == ["tool T-1", "tool T-2", "user T-1", "user T-2"]


class Again(Plugin):
    """Runs an agent again that failed."""

    name = "again"

    @Around("execute", kinds="agent")
    async def again(self, call: Call, call_next: CallNext) -> Any:
        try:
            return await call_next()
        except PublicMcpError:
            return await call_next()


@pytest.fixture
def retried() -> FrontMcp:
    JOURNAL.clear()

    def reply(name: str, value: Any) -> Any:
        def answer(request: ModelRequest) -> Any:
            JOURNAL.append(f"asked {name}")
            return value

        return answer

    refusal = Completion(finish_reason="content_filter")
    wants = Completion(None, [ToolCall("c", "delete", {"id": "T-1"})])
    model = ScriptedModel(reply("1", wants), reply("2", refusal), reply("3", wants), reply("4", "done"))

    @Tool
    async def outer(ctx: ToolContext) -> Any:
        return (await ctx.call_tool("invoke_helper", {"query": "?"})).structured_content

    return FrontMcp("desk", tools=[outer], agents=[agent(model, delete)], plugins=[Again])


@serving("retried")
async def test_an_inner_agent_that_is_run_again_asks_anew_and_what_was_answered_is_kept(mcp: Any) -> None:
    mcp.on_elicitation(lambda message, form: {"sure": True})
    result = await mcp.tools.call("outer")
    assert result.json() == {"response": "done"}
    asked = [line for line in JOURNAL if line.startswith("asked")]
    assert asked == ["asked 1", "asked 2", "asked 3", "asked 4"]


class Slow:
    """A model that never answers, and notes when it is given up."""

    def __init__(self) -> None:
        self.asked, self.given_up = anyio.Event(), anyio.Event()

    async def completion(self, prompt: Any, tools: Any = None, options: Any = None) -> Completion:
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.given_up.set()
        return Completion()


@pytest.fixture
async def slow() -> Slow:
    return Slow()


@pytest.fixture
def hanging(slow: Slow) -> FrontMcp:
    return FrontMcp("desk", agents=[agent(slow)])


@everywhere
@serving("hanging")
async def test_a_client_that_cancels_ends_the_request_of_the_model(slow: Slow, mcp: Any) -> None:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(mcp.tools.call, "invoke_helper", {"query": "?"})
            await slow.asked.wait()
            group.cancel_scope.cancel()
        await slow.given_up.wait()


# Messages and progress


@pytest.fixture
def chatty() -> FrontMcp:
    @Tool
    async def fails() -> None:
        raise ConnectionError("db-7 refused")

    first = Completion(None, [ToolCall("1", "look", {"id": "T-1"}), ToolCall("2", "fails")], usage=Usage(30, 4))
    model = ScriptedModel(first, Completion("done", usage=Usage(50, 5)))
    execution = {"enable_auto_progress": True, "max_iterations": 4, "parallel_tool_calls": False}
    return FrontMcp("desk", agents=[agent(model, look, fails, execution=execution)], environment="test")


@serving("chatty")
async def test_the_client_is_told_what_is_done(mcp: Any) -> None:
    await mcp.tools.call("invoke_helper", {"query": "?"})
    assert [(each.level, each.data) for each in mcp.notifications.logs()] == [
        ("info", "Calling tool: look"),
        ("info", "Calling tool: fails"),
        ("error", 'Tool fails failed: Tool "fails" execution failed: db-7 refused'),
    ]
    told = [(each.progress, each.total, each.message) for each in mcp.notifications.progress()]
    assert [message for _, _, message in told] == [
        "Starting LLM call (iteration 1/4)",
        "LLM response received (30P + 4C tokens)",
        "Executing tool 1/2: look",
        "Executing tool 2/2: fails",
        "Starting LLM call (iteration 2/4)",
        "LLM response received (50P + 5C tokens)",
        "Agent completed",
    ]
    assert [round(progress) for progress, _, _ in told] == [0, 0, 0, 0, 20, 20, 100]
    assert {total for _, total, _ in told} == {100}


@pytest.fixture
def quiet() -> FrontMcp:
    model = ScriptedModel(calling("look", id="T-1"), "done")
    return FrontMcp("desk", agents=[agent(model, look, execution={"enable_notifications": False})])


@serving("quiet")
async def test_a_client_need_not_be_told(mcp: Any) -> None:
    await mcp.tools.call("invoke_helper", {"query": "?"})
    assert mcp.notifications.logs() == []
    assert mcp.notifications.progress() == []


@pytest.fixture
def failing() -> FrontMcp:
    down, slow = ScriptedModel(ModelUnavailableError()), ScriptedModel(lambda request: anyio.sleep_forever())
    return FrontMcp(
        "desk",
        agents=[
            agent(down, name="down", execution={"enable_auto_progress": True}),
            agent(slow, name="slow", execution={"enable_auto_progress": True, "timeout": 50}),
        ],
    )


@serving("failing")
async def test_the_client_is_told_that_it_failed(mcp: Any) -> None:
    for name, code, error in (
        ("invoke_down", "MODEL_UNAVAILABLE", "ModelUnavailableError"),
        ("invoke_slow", "AGENT_TIMEOUT", "AgentTimeoutError"),
    ):
        (await mcp.tools.call(name, {"query": "?"})).assert_error(code)
        assert mcp.notifications.progress()[-1].message == f"Agent failed: {error}"


def streamed(**execution: Any) -> FrontMcp:
    model = ScriptedModel(calling("look", id="T-1"), "one two three")
    return FrontMcp("desk", agents=[agent(model, look, execution={"enable_streaming": True, **execution})])


@pytest.fixture
def streaming() -> FrontMcp:
    return streamed(notification_interval=0)


@serving("streaming")
async def test_pieces_of_an_answer_are_progress(mcp: Any) -> None:
    result = await mcp.tools.call("invoke_helper", {"query": "?"})
    assert result.json() == {"response": "one two three"}
    told = [(each.progress, each.message) for each in mcp.notifications.progress()]
    assert told == [(4, "one "), (8, "two "), (14, "three ")]


@pytest.fixture
def streaming_among_turns() -> FrontMcp:
    return streamed(notification_interval=0, enable_auto_progress=True)


@serving("streaming_among_turns")
async def test_pieces_stand_among_the_turns(mcp: Any) -> None:
    await mcp.tools.call("invoke_helper", {"query": "?"})
    told = mcp.notifications.progress()
    assert [each.message for each in told][-4:] == ["one ", "two ", "three ", "Agent completed"]
    values = [each.progress for each in told]
    assert values == sorted(set(values))


@pytest.fixture
def slowly() -> FrontMcp:
    model = ScriptedModel("one two three")
    execution = {"enable_streaming": True, "notification_interval": 60_000}
    return FrontMcp("desk", agents=[agent(model, execution=execution)])


@serving("slowly")
async def test_pieces_that_come_fast_are_told_together(mcp: Any) -> None:
    await mcp.tools.call("invoke_helper", {"query": "?"})
    assert [each.message for each in mcp.notifications.progress()] == ["one two three "]


# The client's own model


@pytest.fixture
def sampling() -> FrontMcp:
    JOURNAL.clear()

    @Agent(
        name="helper",
        llm={"provider": "sampling", "model": "haiku", "max_tokens": 99, "temperature": 0.5, "stop": ["X"]},
        tools=[look, delete],
        input_schema={"query": str},
        system_instructions="You help.",
    )
    class Helper(AgentContext):
        pass

    return FrontMcp("desk", agents=[Helper])


def said(*content: Any, reason: str = "endTurn") -> CreateMessageResultWithTools:
    return CreateMessageResultWithTools(role="assistant", content=list(content), model="m", stop_reason=reason)


@everywhere
@serving("sampling")
async def test_the_clients_model_answers_and_calls_tools(mcp: Any) -> None:
    seen: list[tuple[Any, Any]] = []
    mcp.on_elicitation(lambda message, form: {"sure": True})

    def reply(messages: Any, params: Any) -> Any:
        seen.append((messages, params))
        if len(messages) == 1:
            calls = [
                ToolUseContent(id="c1", name="look", input={"id": "T-1"}),
                ToolUseContent(id="c2", name="delete", input={"id": "T-1"}),
            ]
            return said(TextContent(text="Let me see."), *calls, reason="toolUse")
        return said(TextContent(text="It is gone."))

    mcp.on_sampling(reply, tools=True)
    result = await mcp.tools.call("invoke_helper", {"query": "Delete T-1"})
    assert result.json() == {"response": "It is gone."}
    assert len(seen) == 2
    messages, params = seen[1]
    assert (params.system_prompt, params.max_tokens, params.temperature) == ("You help.", 99, 0.5)
    assert [hint.name for hint in params.model_preferences.hints] == ["haiku"]
    assert [tool.name for tool in params.tools] == ["look", "delete"]
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    results = [each for each in messages[2].content if isinstance(each, ToolResultContent)]
    assert [(each.tool_use_id, each.content[0].text) for each in results] == [
        ("c1", "T-1 is open"),
        ("c2", "T-1 is deleted"),
    ]
    assert JOURNAL == ["look T-1", "delete T-1"]


@pytest.fixture
def looking() -> FrontMcp:
    @Tool
    async def photo() -> list[Any]:
        return ["see", Image(data=b"pixels", format="png"), Audio(data=b"hum"), File(data=b"PK", name="a.zip")]

    @Agent(name="helper", llm={"provider": "sampling"}, tools=[photo], input_schema={})
    class Helper(AgentContext):
        async def execute(self) -> Any:
            return await super().execute(["What is on it?", Image(data=b"pixels", format="png")])

    return FrontMcp("desk", agents=[Helper])


@serving("looking")
async def test_the_clients_model_sees_pictures_and_hears_sounds(mcp: Any) -> None:
    seen: list[Any] = []

    def reply(messages: Any, params: Any) -> Any:
        seen[:] = [block for message in messages for block in message.content_as_list]
        if len(seen) == 2:
            return said(ToolUseContent(id="c1", name="photo", input={}), reason="toolUse")
        return said(TextContent(text="A cat."))

    mcp.on_sampling(reply, tools=True)
    assert (await mcp.tools.call("invoke_helper")).json() == {"response": "A cat."}
    question, picture, _, result = seen
    assert (question.text, picture.type, picture.data) == ("What is on it?", "image", "cGl4ZWxz")
    text, image, audio, other = result.content
    assert (text.text, image.mime_type, audio.data) == ("see", "image/png", "aHVt")
    assert other.text == "[a.zip, application/zip, 2 bytes]"


@serving("sampling")
@pytest.mark.parametrize(
    ("reason", "code"), [("maxTokens", "AGENT_CUT_OFF"), ("refusal", "AGENT_REFUSED"), ("stopSequence", None)]
)
async def test_why_the_clients_model_stopped_matters(mcp: Any, reason: str, code: str | None) -> None:
    mcp.on_sampling(lambda messages, params: said(TextContent(text="High"), reason=reason), tools=True)
    result = await mcp.tools.call("invoke_helper", {"query": "?"})
    assert result.code == code


@serving("sampling")
async def test_a_client_without_a_model_is_told_so(mcp: Any) -> None:
    (await mcp.tools.call("invoke_helper", {"query": "?"})).assert_error("SAMPLING_NOT_SUPPORTED")


@serving("sampling")
async def test_a_client_whose_model_takes_no_tools_is_told_so(mcp: Any) -> None:
    mcp.on_sampling(lambda messages, params: "hello")
    (await mcp.tools.call("invoke_helper", {"query": "?"})).assert_error("SAMPLING_NOT_SUPPORTED")
