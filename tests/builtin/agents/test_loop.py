"""The loop: every way in which a model may answer has an outcome."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import pytest
from mcp_types import ImageContent, ResourceLink, TextContent
from pydantic import BaseModel, field_validator

from frontmcp import (
    AbortController,
    AbortSignal,
    Agent,
    AgentContext,
    Around,
    Audio,
    Call,
    CallNext,
    CallToolResult,
    Completion,
    File,
    FrontMcp,
    Image,
    InvalidOutputError,
    JsonSchema,
    Plugin,
    PublicMcpError,
    Tool,
    ToolCall,
    ToolContext,
    ToolExecutionError,
    create_direct,
    hookimpl,
)
from frontmcp.interfaces import (
    ChatMedia,
    ChatMessage,
    ModelAccessError,
    ModelError,
    ModelPrompt,
    ModelRateLimitError,
    ModelTool,
    ModelTurn,
    ModelUnavailableError,
    Usage,
)
from frontmcp.testing import ModelRequest, ScriptedModel, calling


@Tool
async def get_ticket(id: str) -> dict[str, str]:
    """Get one ticket."""
    return {"id": id, "status": "open"}


@Tool
async def broken(id: str) -> str:
    raise ConnectionError("db-7.internal refused")


@Tool
async def no_ticket(ctx: ToolContext) -> str:
    ctx.fail(PublicMcpError("There's no ticket.", "NO_TICKET"))


def agent(model: Any, *tools: Any, **keywords: Any) -> type[AgentContext]:
    """A class agent named helper, whose input is a query."""
    keywords = {"name": "helper", "input_schema": {"query": str}, **keywords}

    @Agent(llm={"adapter": model}, tools=tools, **keywords)
    class Helper(AgentContext):
        pass

    return Helper


async def ask(model: Any, *tools: Any, query: str = "?", plugins: Any = (), production: bool = False, **keywords: Any):
    environment = "production" if production else "test"
    server = FrontMcp("desk", agents=[agent(model, *tools, **keywords)], plugins=plugins, environment=environment)
    async with create_direct(server) as direct:
        return await direct.call_tool("invoke_helper", {"query": query})


async def answer(*arguments: Any, **keywords: Any) -> Any:
    result = await ask(*arguments, **keywords)
    return result.structured_content


# What the model is asked


async def test_the_model_is_asked_and_its_answer_is_the_result() -> None:
    model = ScriptedModel("High.")
    assert await answer(model, query="T-1", system_instructions="You triage.") == {"response": "High."}
    (request,) = model.requests
    assert request.prompt.system == "You triage."
    assert [(each.role, each.content) for each in request.prompt.messages] == [("user", "T-1")]
    assert request.tools is None


async def test_it_is_offered_the_agents_tools_and_told_what_they_gave() -> None:
    model = ScriptedModel(calling("get_ticket", id="T-1"), "High.")
    assert await answer(model, get_ticket) == {"response": "High."}
    first, second = model.requests
    assert first.tools == [
        ModelTool(
            "get_ticket",
            "Get one ticket.",
            {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        )
    ]
    assert [each.role for each in second.prompt.messages] == ["user", "assistant", "tool"]
    assert second.prompt.messages[1].tool_calls == [ToolCall("call_1_1", "get_ticket", {"id": "T-1"})]
    assert (second.last.tool_call_id, second.last.name, second.last.is_error) == ("call_1_1", "get_ticket", False)
    assert second.results == [{"id": "T-1", "status": "open"}]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"query": "q", "other": 1}, "q"),
        ({"other": 1, "message": "m"}, "m"),
        ({"prompt": "", "input": "i"}, "i"),
        ({"a": 1, "b": [True]}, '{"a":1,"b":[true]}'),
        ({}, "Begin."),
    ],
)
async def test_the_question_is_a_field_named_so_else_the_input_as_json(given: dict[str, Any], asked: str) -> None:
    model = ScriptedModel("ok")

    helper = agent(model, input_schema=JsonSchema({"type": "object"}))
    async with create_direct(FrontMcp("desk", agents=[Agent.of(helper)])) as direct:
        await direct.call_tool("invoke_helper", given)
    assert model.requests[0].last.content == asked


async def test_options_of_the_model_come_with_every_request() -> None:
    model = ScriptedModel(calling("get_ticket", id="T-1"), "ok")

    @Agent(llm={"adapter": model, "temperature": 0.5, "max_tokens": 9, "stop": ["X"]}, tools=[get_ticket])
    class Helper(AgentContext):
        pass

    async with create_direct(FrontMcp("desk", agents=[Helper])) as direct:
        await direct.call_tool("invoke_helper")
    for request in model.requests:
        options = request.options
        assert options is not None
        assert (options.temperature, options.max_tokens, options.stop, options.output_schema) == (0.5, 9, ["X"], None)
        assert options.call is not None
        assert options.call.caller.sub == "direct"


async def test_provider_data_comes_back_with_its_message() -> None:
    first = Completion("Let me see.", [ToolCall("c", "get_ticket", {"id": "T-1"})], provider_data={"signature": "s"})
    model = ScriptedModel(first, "ok")
    await ask(model, get_ticket)
    said = model.requests[1].prompt.messages[1]
    assert (said.content, said.provider_data) == ("Let me see.", {"signature": "s"})


# Tools


async def test_tools_of_one_turn_run_at_once_and_results_stand_in_the_order_of_the_calls() -> None:
    arrived: list[str] = []
    together = anyio.Event()

    @Tool
    async def meet(name: str) -> str:
        arrived.append(name)
        if len(arrived) == 3:
            together.set()
        with anyio.fail_after(5):
            await together.wait()
        return name

    model = ScriptedModel([calling("meet", name=name) for name in "abc"], "ok")
    await ask(model, meet)
    assert [each.content for each in model.requests[1].prompt.messages[2:]] == ["a", "b", "c"]


async def test_one_after_the_other_where_they_are_not_to_run_at_once() -> None:
    running: list[str] = []
    seen: list[list[str]] = []

    @Tool
    async def work(name: str) -> None:
        running.append(name)
        await anyio.sleep(0.001)
        seen.append(list(running))
        running.remove(name)

    model = ScriptedModel([calling("work", name=name) for name in "abc"], "ok")
    await ask(model, work, execution={"parallel_tool_calls": False})
    assert seen == [["a"], ["b"], ["c"]]


async def test_a_failing_tool_is_told_and_the_loop_goes_on() -> None:
    model = ScriptedModel([calling("broken", id="1"), calling("no_ticket"), calling("get_ticket")], "Sorry.")
    assert await answer(model, broken, no_ticket, get_ticket) == {"response": "Sorry."}
    first, second, third = model.requests[1].results
    assert first == {"error": 'Tool "broken" execution failed: db-7.internal refused'}
    assert second == {"error": "There's no ticket."}
    assert third["error"].startswith("Invalid tool input\nDetails: [")
    assert [each.is_error for each in model.requests[1].prompt.messages[2:]] == [True] * 3


async def test_production_masks_for_the_model_what_it_masks_for_clients(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel([calling("broken", id="1"), calling("no_ticket")], "Sorry.")
    await ask(model, broken, no_ticket, production=True)
    first, second = model.requests[1].results
    assert first["error"].startswith("Internal FrontMCP error. Please contact support with error ID: err_")
    assert second == {"error": "There's no ticket."}
    assert first["error"].rpartition(" ")[2] in caplog.text


async def test_a_tool_that_does_not_exist_is_told() -> None:
    model = ScriptedModel(calling("invented", x=1), "Sorry.")
    assert await answer(model, get_ticket) == {"response": "Sorry."}
    assert model.requests[1].results == [{"error": 'Tool "invented" not found'}]


async def test_an_adapter_may_say_none_for_no_calls() -> None:
    assert await answer(ScriptedModel(Completion("High.", None))) == {"response": "High."}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "completion",
    [
        Completion(["High."]),  # type: ignore[arg-type]
        Completion(None, [ToolCall("c", None)]),  # type: ignore[arg-type]
        Completion(None, [ToolCall("c", "get_ticket", [1])]),  # type: ignore[arg-type]
        Completion(None, [{"name": "get_ticket"}]),  # type: ignore[list-item]
        None,
        "High.",
    ],
)
@pytest.mark.parametrize("who", ["adapter", "hook"])
async def test_what_is_no_completion_is_told_with_who_gave_it(completion: Any, who: str) -> None:
    class Replacing(Plugin):
        name = "replacing"

        @hookimpl
        async def did_complete(self, turn: ModelTurn) -> None:
            turn.completion = completion

    class Odd:
        async def completion(self, prompt: Any, tools: Any = None, options: Any = None) -> Any:
            return completion if who == "adapter" else Completion("High.")

    plugins = [Replacing] if who == "hook" else []
    error = await failure(Odd(), get_ticket, plugins=plugins)
    assert isinstance(error.__cause__, ModelError)
    said = {"adapter": "The adapter Odd answered with", "hook": "A did_complete hook answered with"}
    assert said[who] in str(error)


@pytest.mark.parametrize(
    "written", ['{"id": "T-', "[1]", "null", '"T-1"', "[" * 100_000, '{"id": "\\ud83d"}', '{"id": NaN}']
)
async def test_broken_arguments_are_told(written: str) -> None:
    model = ScriptedModel(Completion(None, [ToolCall("c", "get_ticket", written)], "tool_calls"), "Sorry.")
    assert await answer(model, get_ticket) == {"response": "Sorry."}
    (told,) = model.requests[1].results
    assert "The arguments are no JSON object" in told["error"]
    assert "T-" not in told["error"]


@pytest.mark.parametrize(("written", "result"), [('{"id": "T-1"}', "T-1"), ("", "default")])
async def test_arguments_may_come_as_text(written: str, result: str) -> None:
    @Tool
    async def echo(id: str = "default") -> str:
        return id

    model = ScriptedModel(Completion(None, [ToolCall("c", "echo", written)], "tool_calls"), "ok")
    await ask(model, echo)
    assert model.requests[1].results == [result]


async def test_what_tools_give_is_told_as_data_else_as_text() -> None:
    @Tool
    async def rows() -> list[int]:
        return [1, 2]

    @Tool
    async def text() -> str:
        return "plain"

    @Tool
    async def nothing() -> None: ...

    @Tool
    async def mixed() -> list[Any]:
        return ["see", Image(data=b"x", format="png")]

    @Tool
    async def marked() -> CallToolResult:
        return CallToolResult(content=[], structured_content={"a": "ü"})

    names = ["rows", "text", "nothing", "mixed", "marked"]
    model = ScriptedModel([calling(name) for name in names], "ok")
    await ask(model, rows, text, nothing, mixed, marked)
    told = [each.content for each in model.requests[1].prompt.messages[2:]]
    assert told == ["[1,2]", "plain", "null", "see\n[image/png, 1 bytes]", '{"a":"ü"}']


async def test_what_is_no_text_comes_as_it_is_where_it_stood() -> None:
    @Tool
    async def page() -> list[Any]:
        return ["above", Image(data=b"pixels", format="png"), "below", Audio(data=b"hum", format="wav")]

    @Tool
    async def files() -> list[Any]:
        text = File(data=b"a,b", mime_type="text/csv", name="t.csv")
        return [text, File(data=b"%PDF", mime_type="application/pdf", name="my bill.pdf")]

    @Tool
    async def link() -> ResourceLink:
        return ResourceLink(name="bill", uri="bills://7")

    @Tool
    async def marked() -> CallToolResult:
        picture = ImageContent(data="cGl4ZWxz", mime_type="image/jpeg")
        return CallToolResult(content=[TextContent(text="a: 1"), picture], structured_content={"a": 1})

    model = ScriptedModel([calling(name) for name in ("page", "files", "link", "marked")], "ok")
    await ask(model, page, files, link, marked)
    messages = model.requests[1].prompt.messages[2:]
    picture, hum = ChatMedia("image/png", "cGl4ZWxz"), ChatMedia("audio/wav", "aHVt")
    bill, photo = ChatMedia("application/pdf", "JVBERg==", "my bill.pdf"), ChatMedia("image/jpeg", "cGl4ZWxz")
    assert [list(each.parts) for each in messages] == [
        ["above", picture, "below", hum],
        ["a,b", bill],
        [],
        ['{"a":1}', photo],
    ]
    assert [each.content for each in messages] == [
        "above\n[image/png, 6 bytes]\nbelow\n[audio/wav, 3 bytes]",
        "a,b\n[my bill.pdf, application/pdf, 4 bytes]",
        "[bill: bills://7]",
        '{"a":1}\n[image/jpeg, 6 bytes]',
    ]
    assert model.requests[1].media == [picture, hum, bill, photo]


async def test_a_question_may_have_pictures() -> None:
    @Agent(llm={"adapter": (model := ScriptedModel("A cat.", "A dog."))}, input_schema={})
    class Look(AgentContext):
        async def execute(self) -> list[Any]:
            both = await super().execute(["What is on it?", Image(data=b"pixels", format="png")])
            return [both, await super().execute(Image(data=b"pixels", format="png"))]

    async with create_direct(FrontMcp("desk", agents=[Look])) as direct:
        await direct.call_tool("invoke_look")
    picture = ChatMedia("image/png", "cGl4ZWxz")
    asked = [request.last for request in model.requests]
    assert [list(each.parts) for each in asked] == [["What is on it?", picture], [picture]]
    assert asked[0].content == "What is on it?\n[image/png, 6 bytes]"


def test_media_are_not_shown_by_a_repr() -> None:
    message = ChatMessage.of("tool", [ChatMedia("image/png", "c2VjcmV0")])
    assert "c2VjcmV0" not in repr(message)


async def test_a_finish_reason_that_does_not_fit_the_calls_changes_nothing() -> None:
    calls = [ToolCall("c", "get_ticket", {"id": "T-1"})]
    model = ScriptedModel(Completion(None, calls, "stop"), Completion("ok", (), "tool_calls"))
    assert await answer(model, get_ticket) == {"response": "ok"}


async def test_names_are_such_as_every_provider_takes() -> None:
    async def first() -> str:
        return "1"

    async def second() -> str:
        return "2"

    tools = [Tool(name="a.b")(first), Tool(name="a_b")(second), Tool(name="x" * 100)(lambda: "3")]
    model = ScriptedModel([calling("a_b"), calling("a_b_2"), calling("x" * 64)], "ok")
    await ask(model, *tools)
    assert model.requests[0].offered == ["a_b", "a_b_2", "x" * 64]
    assert model.requests[1].prompt.messages[2].content == "1"
    assert model.requests[1].prompt.messages[3].content == "2"


# How it ends


@pytest.mark.parametrize("content", [None, ""])
async def test_an_empty_answer_is_an_empty_response(content: str | None) -> None:
    assert await answer(ScriptedModel(Completion(content))) == {"response": ""}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"priority": "high"}', {"priority": "high"}),
        ("{not json}", {"response": "{not json}"}),
        ('{"a": NaN}', {"response": '{"a": NaN}'}),
        ("[" * 10_000, {"response": "[" * 10_000}),
        ("7", {"response": "7"}),
        ("[" * 300 + "]" * 300, {"response": "[" * 300 + "]" * 300}),
        ('{"half": "\\ud83d"}', {"response": '{"half": "\\ud83d"}'}),
        ("half \ud83d", {"response": "half \\ud83d"}),
        ("Ünï 🎉", {"response": "Ünï 🎉"}),
    ],
)
async def test_a_json_object_is_the_result_itself(text: str, result: Any) -> None:
    assert await answer(ScriptedModel(text)) == result


async def failure(model: Any, *tools: Any, **keywords: Any) -> Any:
    with pytest.raises(Exception) as failed:
        await ask(model, *tools, **keywords)
    return failed.value


async def test_a_model_that_never_stops_is_stopped() -> None:
    model = ScriptedModel(calling("get_ticket", id="T-1"), repeat=True)
    error = await failure(model, get_ticket, execution={"max_iterations": 3}, production=True)
    assert str(error) == 'Agent "helper" exceeded maximum iterations (3)'
    assert (error.code, error.public) == ("AGENT_LOOP_EXCEEDED", True)
    assert len(model.requests) == 3


async def test_ten_turns_are_the_default() -> None:
    model = ScriptedModel(calling("get_ticket", id="T-1"), repeat=True)
    assert (await failure(model, get_ticket)).code == "AGENT_LOOP_EXCEEDED"
    assert len(model.requests) == 10


async def test_a_model_is_not_asked_when_its_tokens_are_used_up() -> None:
    called: list[str] = []

    @Tool
    async def look() -> None:
        called.append("look")

    hungry = Completion(None, [ToolCall("c", "look")], usage=Usage(60, 10))
    model = ScriptedModel(hungry, repeat=True)
    error = await failure(model, look, execution={"max_total_tokens": 100})
    assert called == ["look"], "nobody would read what it gives a second time"
    assert (error.code, str(error)) == ("AGENT_TOKENS_EXCEEDED", 'Agent "helper" exceeded maximum tokens (100)')
    assert len(model.requests) == 2
    assert await answer(ScriptedModel(Completion("ok", usage=Usage(99, 99))), execution={"max_total_tokens": 100})


async def test_nor_to_mend_its_answer() -> None:
    model = ScriptedModel(Completion("High!", usage=Usage(60, 40)), '{"priority": "low"}')
    error = await failure(model, output_schema=Triage, execution={"max_total_tokens": 100})
    assert error.code == "INVALID_OUTPUT"
    assert len(model.requests) == 1


async def test_a_loop_ends_when_its_time_is_over_and_the_request_with_it() -> None:
    given_up: list[bool] = []

    async def slow(request: ModelRequest) -> str:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            given_up.append(True)
            raise

    error = await failure(ScriptedModel(slow), execution={"timeout": 20})
    assert (error.code, str(error)) == ("AGENT_TIMEOUT", 'Agent "helper" timed out after 20ms')
    assert given_up == [True]


async def test_a_loop_ends_in_time_even_where_nothing_in_it_can_be_cancelled() -> None:
    @Tool
    async def shielded() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.05)

    model = ScriptedModel(calling("shielded"), repeat=True)
    execution = {"timeout": 1, "enable_notifications": False}
    assert (await failure(model, shielded, execution=execution)).code == "AGENT_TIMEOUT"
    assert len(model.requests) == 1


async def test_a_refusal_is_an_error() -> None:
    error = await failure(ScriptedModel(Completion("I can't help with that.", finish_reason="content_filter")))
    assert (error.code, error.public) == ("AGENT_REFUSED", True)
    assert str(error) == 'Agent "helper": the model refused to answer'


@pytest.mark.parametrize("calls", [[], [ToolCall("c", "get_ticket", '{"id": "T-')]])
async def test_an_answer_that_is_cut_off_is_an_error_and_its_calls_are_not_made(calls: list[ToolCall]) -> None:
    model = ScriptedModel(Completion("High: nob", calls, "length"))
    error = await failure(model, get_ticket)
    assert (error.code, str(error)) == ("AGENT_CUT_OFF", 'Agent "helper": the answer of the model was cut off')


async def test_a_model_that_can_not_be_asked_fails_the_agent() -> None:
    error = await failure(ScriptedModel(ModelRateLimitError(7)), production=True)
    assert (error.code, error.data) == ("MODEL_RATE_LIMITED", {"retryAfter": 7})
    assert (await failure(ScriptedModel(ModelUnavailableError()))).code == "MODEL_UNAVAILABLE"
    error = await failure(ScriptedModel(ModelAccessError("The provider refuses the key")))
    assert isinstance(error, ToolExecutionError)
    assert isinstance(error.original_error, ModelAccessError)


async def test_an_adapter_that_gives_something_else_is_blamed() -> None:
    class Wrong:
        async def completion(self, prompt: ModelPrompt, tools: Any = None, options: Any = None) -> Any:
            return "High."

    error = await failure(Wrong())
    assert isinstance(error.original_error, ModelError)
    assert "Wrong answered with something that is no Completion" in str(error)


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_an_aborted_signal_ends_the_loop_wherever_it_is(where: str) -> None:
    controller = AbortController()
    ended: list[str] = []

    async def hang(*_: Any) -> Any:
        controller.abort(TimeoutError("enough"))
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(where)

    async def wait_in_tool() -> None:
        await hang()

    model = ScriptedModel(hang if where == "model" else calling("wait_in_tool"), "never")
    server = FrontMcp("desk", agents=[agent(model, Tool(wait_in_tool))])
    async with create_direct(server) as direct:
        with anyio.fail_after(5), pytest.raises(ToolExecutionError, match="enough"):
            await direct.call_tool("invoke_helper", {"query": "?"}, signal=controller.signal)
    assert ended == [where]


async def test_a_budget_of_time_of_whoever_calls_ends_the_loop() -> None:
    async def hang(request: ModelRequest) -> str:
        await anyio.sleep_forever()
        return ""

    server = FrontMcp("desk", agents=[agent(ScriptedModel(hang))])
    async with create_direct(server) as direct:
        with anyio.fail_after(5), pytest.raises(ToolExecutionError, match="The time for this call is over"):
            await direct.call_tool("invoke_helper", {"query": "?"}, signal=AbortSignal.timeout(0.02))


async def test_a_budget_that_is_kept_changes_nothing() -> None:
    model = ScriptedModel(calling("get_ticket", id="T-1"), "ok", ModelUnavailableError())
    async with create_direct(FrontMcp("desk", agents=[agent(model, get_ticket)])) as direct:
        kept = await direct.call_tool("invoke_helper", {"query": "?"}, signal=AbortSignal.timeout(30))
        assert kept.structured_content == {"response": "ok"}
        with pytest.raises(ModelUnavailableError):
            await direct.call_tool("invoke_helper", {"query": "?"}, signal=AbortSignal.timeout(30))


async def test_a_client_that_cancels_ends_the_request_of_the_model() -> None:
    asked, ended = anyio.Event(), anyio.Event()

    async def hang(request: ModelRequest) -> str:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return ""

    server = FrontMcp("desk", agents=[agent(ScriptedModel(hang))])
    async with create_direct(server) as direct, anyio.create_task_group() as group:
        group.start_soon(direct.call_tool, "invoke_helper", {"query": "?"})
        with anyio.fail_after(5):
            await asked.wait()
            group.cancel_scope.cancel()
    assert ended.is_set()


async def test_a_limit_of_time_of_the_guards_ends_the_loop_too() -> None:
    ended: list[bool] = []

    async def hang(request: ModelRequest) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(True)
        return ""

    error = await failure(ScriptedModel(hang), timeout={"execute_ms": 20})
    assert (error.code, ended) == ("EXECUTION_TIMEOUT", [True])


async def test_many_ask_one_agent_at_once() -> None:
    def reply(request: ModelRequest) -> Any:
        asked = request.prompt.messages[0].content
        return calling("get_ticket", id=asked) if request.last.role == "user" else f"{asked} {request.results[0]['id']}"

    answers: dict[str, Any] = {}
    server = FrontMcp("desk", agents=[agent(ScriptedModel(reply, repeat=True), get_ticket)])
    async with create_direct(server) as direct:

        async def one(query: str) -> None:
            result = await direct.call_tool("invoke_helper", {"query": query})
            answers[query] = (result.structured_content or {})["response"]

        async with anyio.create_task_group() as group:
            for n in range(50):
                group.start_soon(one, f"T-{n}")
    assert answers == {f"T-{n}": f"T-{n} T-{n}" for n in range(50)}


# Structured answers


class Triage(BaseModel):
    priority: str
    why: str = ""

    @field_validator("priority")
    @classmethod
    def known(cls, value: str) -> str:
        if value not in ("high", "low"):
            raise ValueError("high or low")
        return value


async def test_a_structured_answer_is_checked_and_is_the_result() -> None:
    model = ScriptedModel('```json\n{"priority": "high", "extra": 1}\n```')
    assert await answer(model, output_schema=Triage, system_instructions="Triage.") == {"priority": "high", "why": ""}
    (request,) = model.requests
    assert request.options is not None
    assert request.options.output_schema is not None
    assert set(request.options.output_schema["properties"]) == {"priority", "why"}
    assert request.prompt.system is not None
    assert request.prompt.system.startswith("Triage.\n\nAnswer with nothing but JSON that fits this JSON Schema: {")


@pytest.mark.parametrize(
    ("wrong", "where"), [("High!", ""), ("", ""), ('{"priority": "urgent"}', " at priority"), ('{"why": "x"}', "")]
)
async def test_a_wrong_answer_may_be_mended_once(wrong: str, where: str) -> None:
    model = ScriptedModel(wrong, '{"priority": "low"}')
    assert await answer(model, output_schema=Triage) == {"priority": "low", "why": ""}
    said, told = model.requests[1].prompt.messages[-2:]
    assert (said.role, said.content) == ("assistant", wrong)
    assert (told.content or "").startswith(f"That answer does not fit{where}")


async def test_an_answer_that_is_wrong_twice_is_an_error() -> None:
    model = ScriptedModel('{"priority": 1}', '{"priority": "urgent"}', '{"priority": "low"}')
    error = await failure(model, output_schema=Triage)
    assert isinstance(error, InvalidOutputError)
    assert "urgent" not in str(error)
    assert len(model.requests) == 2


async def test_the_last_turn_leaves_no_chance_to_mend() -> None:
    error = await failure(ScriptedModel("High!"), output_schema=Triage, execution={"max_iterations": 1})
    assert error.code == "INVALID_OUTPUT"


@pytest.mark.parametrize(
    ("schema", "text", "result"),
    [
        (int, "7", 7),
        (str, "just text", "just text"),
        (int | None, "null", {"result": None}),
        ({"n": int}, '{"n": 1}', {"n": 1}),
        (JsonSchema({"type": "array", "items": {"type": "integer"}}), "[1]", [1]),
    ],
)
async def test_any_output_schema_will_do(schema: Any, text: str, result: Any) -> None:
    assert await answer(ScriptedModel(text), output_schema=schema) == result


# Bodies of one's own


async def test_what_a_body_of_its_own_returns_is_not_what_the_model_answers() -> None:
    class Filed(BaseModel):
        ticket: str
        priority: str

    @Agent(llm={"adapter": ScriptedModel('{"priority": "high"}')}, output_schema=Triage)
    class File(AgentContext):
        async def execute(self, id: str) -> Filed:
            answer = await super().execute(id)
            return Filed(ticket=id, priority=answer["priority"])

    server = FrontMcp("desk", agents=[File])
    async with create_direct(server) as direct:
        (listed,) = await direct.list_tools()
        assert set((listed.output_schema or {})["properties"]) == {"ticket", "priority"}
        result = await direct.call_tool("invoke_file", {"id": "T-1"})
    assert result.structured_content == {"ticket": "T-1", "priority": "high"}


async def test_a_body_may_ask_more_than_once_or_not_at_all() -> None:
    model = ScriptedModel("one", "two")

    @Agent(llm={"adapter": model})
    class Twice(AgentContext):
        async def execute(self, times: int) -> list[str]:
            return [(await super(Twice, self).execute(f"q{n}"))["response"] for n in range(times)]

    async with create_direct(FrontMcp("desk", agents=[Twice])) as direct:
        assert (await direct.call_tool("invoke_twice", {"times": 0})).structured_content == []
        assert (await direct.call_tool("invoke_twice", {"times": 2})).structured_content == ["one", "two"]
    assert [request.last.content for request in model.requests] == ["q0", "q1"]


async def test_a_function_runs_the_loop_by_its_context() -> None:
    server = FrontMcp("desk")

    @server.agent(llm={"adapter": ScriptedModel("High.")})
    async def triage(ctx: AgentContext, id: str) -> str:
        """Triage a ticket."""
        answer = await ctx.execute(query=id)
        return str(answer["response"])

    async with create_direct(server) as direct:
        (listed,) = await direct.list_tools()
        assert (listed.name, listed.description) == ("invoke_triage", "Triage a ticket.")
        (text,) = (await direct.call_tool("invoke_triage", {"id": "T-1"})).content
        assert getattr(text, "text", None) == "High."


async def test_sync_bodies_run_the_loop_too() -> None:
    model = ScriptedModel("one", "two")

    @Agent(llm={"adapter": model})
    class InClass(AgentContext):
        def execute(self, id: str) -> str:
            return str(self.execute_sync(id)["response"])

    @Agent(llm={"adapter": model})
    def in_function(ctx: AgentContext, id: str) -> str:
        return str(ctx.execute_sync(query=id)["response"])

    texts = []
    async with create_direct(FrontMcp("desk", agents=[InClass, in_function])) as direct:
        for name in ("invoke_in_class", "invoke_in_function"):
            (text,) = (await direct.call_tool(name, {"id": "T-1"})).content
            texts.append(getattr(text, "text", None))
    assert texts == ["one", "two"]
    assert [request.last.content for request in model.requests] == ["T-1", "T-1"]


async def test_a_sync_body_that_forgets_so_is_told() -> None:
    @Agent(name="helper", llm={"adapter": ScriptedModel()})
    class Helper(AgentContext):
        def execute(self) -> Any:
            return super().execute("?")

    async with create_direct(FrontMcp("desk", agents=[Helper])) as direct:
        with pytest.raises(ToolExecutionError, match=r"call execute_sync\(…\), or write async def"):
            await direct.call_tool("invoke_helper")


async def test_question_and_answer_can_be_made_otherwise() -> None:
    model = ScriptedModel("PRIORITY high")

    @Agent(llm={"adapter": model}, input_schema=Triage)
    class Own(AgentContext):
        def build_user_message(self, input: Any) -> str:
            return f"<{input['priority']}>"

        def parse_agent_response(self, content: str) -> Any:
            return content.split()

    async with create_direct(FrontMcp("desk", agents=[Own])) as direct:
        result = await direct.call_tool("invoke_own", {"priority": "low"})
    assert json.loads(getattr(result.content[0], "text", "")) == ["PRIORITY", "high"]
    assert model.requests[0].last.content == "<low>"


def test_a_context_outside_a_call_says_so() -> None:
    with pytest.raises(RuntimeError, match="is not in a call"):
        agent(ScriptedModel())().call  # noqa: B018


# Hooks


class Watching(Plugin):
    name = "watching"

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int, Any]] = []

    @hookimpl
    async def will_complete(self, call: Call, turn: ModelTurn) -> None:
        assert turn.completion is None
        self.seen.append(("will", call.entry.name, turn.number, turn.usage.total_tokens))

    @hookimpl
    def did_complete(self, call: Call, turn: ModelTurn) -> None:
        assert turn.completion is not None
        self.seen.append(("did", call.entry.name, turn.number, turn.completion.content))

    @hookimpl
    async def will_execute(self, call: Call) -> None:
        self.seen.append(("call", call.entry.name, call.depth, (call.origin, call.surface, call.caller.sub)))


async def test_each_turn_and_each_call_is_seen_by_hooks() -> None:
    plugin = Watching()
    calls = [ToolCall("c", "get_ticket", {"id": "T-1"})]
    await ask(ScriptedModel(Completion(None, calls, usage=Usage(3, 4)), "ok"), get_ticket, plugins=[plugin])
    assert plugin.seen == [
        ("call", "invoke_helper", 0, ("client", "mcp", "direct")),
        ("will", "invoke_helper", 1, 0),
        ("did", "invoke_helper", 1, None),
        ("call", "get_ticket", 1, ("agent", "agent", "direct")),
        ("will", "invoke_helper", 2, 7),
        ("did", "invoke_helper", 2, "ok"),
    ]


async def test_hooks_change_a_turn_and_that_turn_alone() -> None:
    class Changing(Plugin):
        name = "changing"

        @hookimpl
        async def will_complete(self, turn: ModelTurn) -> None:
            if turn.number == 1:
                turn.prompt.messages.clear()
                turn.prompt.system = "changed"
                turn.tools.clear()
                turn.options.temperature = 0.9

        @hookimpl
        async def did_complete(self, turn: ModelTurn) -> None:
            assert turn.completion is not None
            if turn.completion.content == "secret":
                turn.completion = Completion("redacted")

    model = ScriptedModel(calling("get_ticket", id="T-1"), "secret")
    assert await answer(model, get_ticket, plugins=[Changing], query="q") == {"response": "redacted"}
    first, second = model.requests
    assert (first.prompt.system, first.prompt.messages, first.tools) == ("changed", [], None)
    assert first.options is not None
    assert first.options.temperature == 0.9
    assert (second.prompt.system, second.prompt.messages[0].content, second.offered) == (None, "q", ["get_ticket"])
    assert second.results == [{"error": 'Tool "get_ticket" not found'}], "what a hook withheld can't be called"


@pytest.mark.parametrize("name", ["delete-all", "delete_all", "desk:invoke_helper/delete_all", "del_all"])
async def test_what_a_hook_withheld_can_not_be_called_by_another_spelling(name: str) -> None:
    class Withholding(Plugin):
        name = "withholding"

        @hookimpl
        async def will_complete(self, turn: ModelTurn) -> None:
            turn.tools = [tool for tool in turn.tools if tool.name != "delete_all"]

    deleted: list[str] = []

    @Tool
    async def delete_all() -> None:
        deleted.append("all")

    model = ScriptedModel([ToolCall("1", name), calling("get-ticket", id="T-1")], "Sorry.")
    await ask(model, delete_all, get_ticket, plugins=[Withholding])
    assert model.requests[1].results == [
        {"error": f'Tool "{name}" not found'},
        {"id": "T-1", "status": "open"},
    ]
    assert deleted == []


async def test_did_complete_is_not_run_when_the_model_failed() -> None:
    plugin = Watching()
    await failure(ScriptedModel(ModelUnavailableError()), plugins=[plugin])
    assert [each[0] for each in plugin.seen] == ["call", "will"]


async def test_a_hook_that_fails_fails_the_agent_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Plugin):
        name = "failing"

        @hookimpl
        async def will_complete(self, call: Call) -> None:
            raise PublicMcpError("No budget left.", "NO_BUDGET")

    assert (await failure(ScriptedModel("ok"), plugins=[Failing])).code == "NO_BUDGET"


@pytest.mark.parametrize("hook", ["will_complete", "did_complete"])
async def test_a_mistake_in_a_hook_is_its_plugins_doing(hook: str) -> None:
    async def fail(self: Any, call: Call) -> None:
        raise ValueError("no such budget")

    failing = type("Failing", (Plugin,), {"name": "failing", hook: hookimpl(specname=hook)(fail)})
    error = await failure(ScriptedModel("ok"), plugins=[failing])
    assert (error.code, str(error)) == ("INTERNAL_ERROR", f'Plugin "failing" failed in {hook}: no such budget')


async def test_hooks_of_turns_can_be_narrowed_to_agents() -> None:
    seen: list[str] = []

    class Narrow(Plugin):
        name = "narrow"

        @hookimpl(tools="invoke_a*")
        async def will_complete(self, call: Call) -> None:
            seen.append(call.entry.name)

    agents = [agent(ScriptedModel("ok"), name=name) for name in ("aa", "bb")]
    async with create_direct(FrontMcp("desk", agents=agents, plugins=[Narrow])) as direct:
        for name in ("aa", "bb"):
            await direct.call_tool(f"invoke_{name}", {"query": "?"})
    assert seen == ["invoke_aa"]


async def test_a_hook_that_tries_again_asks_the_model_again() -> None:
    class Again(Plugin):
        name = "again"

        @Around("execute")
        async def again(self, call: Call, call_next: CallNext) -> Any:
            try:
                return await call_next()
            except ModelUnavailableError:
                return await call_next()

    model = ScriptedModel(ModelUnavailableError(), "ok")
    assert await answer(model, plugins=[Again]) == {"response": "ok"}


async def test_nothing_that_was_asked_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = ScriptedModel([calling("broken", id="hunter2"), calling("get_ticket", id=["hunter2"])], "hunter2")
    await ask(model, broken, get_ticket, query="hunter2")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("frontmcp")]
    assert ours
    assert "hunter2" not in "".join(ours)
