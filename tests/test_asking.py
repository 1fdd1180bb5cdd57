"""Questions to the user: asked from any depth, answered in either era, and nothing done twice for it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, ElicitResult, InputRequiredResult
from pydantic import BaseModel, Field

from frontmcp import (
    Accepted,
    App,
    Around,
    CallNext,
    Cancelled,
    Declined,
    Did,
    FlowControl,
    FrontMcp,
    InvalidInputError,
    Plugin,
    PublicMcpError,
    Tool,
    ToolContext,
    ToolExecutionError,
    ToolNotFoundError,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.asking import INLINE_BYTES, MemoryStateStore
from frontmcp.errors import ElicitationNotSupportedError
from frontmcp.testing import connect

ERAS = ["2026-07-28", "2025-11-25"]
MODERN = "2026-07-28"
ROADS = {"era": ERAS, "transport": ["memory", "stdio", "http"]}


class Sure(BaseModel):
    sure: bool


class Address(BaseModel):
    street: str = Field(description="Street and number")
    floor: int = Field(ge=0)


class NoStamp(PublicMcpError):
    code = "NO_STAMP"

    def __init__(self, price: int) -> None:
        super().__init__(f"A stamp costs {price}.")
        self.price = price


def outcome(answer: Accepted[Any] | Declined | Cancelled) -> str:
    return repr(answer.data) if isinstance(answer, Accepted) else type(answer).__name__.lower()


class Journal(list[str]):
    """What the tools did, in order: a side effect that must not happen twice appears twice."""


JOURNAL = Journal()


@Tool(description="Delete a ticket, if the user is sure")
class DeleteTicket(ToolContext):
    async def execute(self, id: str) -> dict[str, Any]:
        JOURNAL.append(f"attempt {self.call.attempt}")
        answer = await self.elicit(f"Delete {id}?", Sure)
        return {"id": id, "answer": outcome(answer)}


@Tool(description="Delete a ticket, in a thread")
def delete_sync(ctx: ToolContext, id: str) -> dict[str, Any]:
    answer = ctx.elicit_sync(f"Delete {id}?", Sure)
    return {"id": id, "answer": outcome(answer)}


@Tool(description="Pass a call on, so that the question is asked three levels down")
class Nest(ToolContext):
    async def execute(self, levels: int) -> dict[str, Any]:
        if levels == 0:
            return (await self.call_tool("delete_ticket", {"id": "T-1"})).structured_content
        return (await self.call_tool("nest", {"levels": levels - 1})).structured_content


@Tool(description="Where do you live?")
async def get_address(ctx: ToolContext) -> dict[str, Any]:
    return {"answer": outcome(await ctx.elicit("Where to?", Address))}


@Tool(description="Count how often it runs")
async def post(what: str) -> dict[str, Any]:
    JOURNAL.append(f"post {what}")
    return {"posted": what, "times": JOURNAL.count(f"post {what}")}


@Tool(description="Act in an inner tool, then ask")
class PostAndAsk(ToolContext):
    async def execute(self) -> dict[str, Any]:
        before = await self.call_tool("post", {"what": "letter"})
        answer = await self.elicit("Send another?", Sure)
        after = await self.call_tool("post", {"what": "parcel"})
        return {
            "answer": outcome(answer),
            "times": [before.structured_content["times"], after.structured_content["times"]],
        }


@Tool(description="Two questions at once")
class AskBoth(ToolContext):
    async def execute(self) -> dict[str, Any]:
        JOURNAL.append(f"attempt {self.call.attempt}")
        first, second = await asyncio.gather(
            self.call_tool("delete_ticket", {"id": "T-1"}), self.call_tool("delete_ticket", {"id": "T-2"})
        )
        return {"answers": [first.structured_content["answer"], second.structured_content["answer"]]}


@Tool(description="Two questions at once, in a task group")
class AskInGroup(ToolContext):
    async def execute(self) -> dict[str, Any]:
        JOURNAL.append(f"attempt {self.call.attempt}")
        answers: dict[str, str] = {}

        async def ask(id: str) -> None:
            answers[id] = outcome(await self.elicit(f"Delete {id}?", Sure))

        async with anyio.create_task_group() as group:
            for id in ("T-1", "T-2", "T-3"):
                group.start_soon(ask, id)
        return {"answers": [answers[id] for id in sorted(answers)]}


@Tool(description="One question after another")
class AskTwice(ToolContext):
    async def execute(self) -> dict[str, Any]:
        JOURNAL.append(f"attempt {self.call.attempt}")
        answers = [await self.elicit("Sure?", Sure), await self.elicit("Sure?", Sure)]
        return {"answers": [outcome(answer) for answer in answers]}


@Tool(description="Work that is done once per call of the client")
class Once(ToolContext):
    async def execute(self) -> dict[str, Any]:
        number = await self.once("number", self.number)
        again = await self.once("number", self.number)
        other = await self.once("other", lambda: JOURNAL.append("other"))
        await self.elicit("Sure?", Sure)
        return {"numbers": [number, again, await self.once("number", self.number)], "other": other}

    async def number(self) -> int:
        JOURNAL.append("number")
        return 41 + JOURNAL.count("number")


@Tool(description="Fail in every way")
class FailIn(ToolContext):
    async def execute(self, way: str) -> dict[str, Any]:
        JOURNAL.append(f"fail {way}")
        if way == "public":
            raise NoStamp(85)
        if way == "fail":
            self.fail(NoStamp(85))
        if way == "fail with another":
            self.fail(ValueError("no envelope"))
        if way == "result":
            return CallToolResult(content=[], is_error=True)  # type: ignore[return-value]
        raise RuntimeError("no ink")


@Tool(description="Catch each failure, then ask, and see them again")
class CatchAndAsk(ToolContext):
    async def execute(self) -> dict[str, Any]:
        caught = []
        for way in ("public", "fail", "fail with another", "other", "result"):
            try:
                await self.call_tool("fail_in", {"way": way})
            except Exception as error:
                caught.append(self.describe(error))
        for name, arguments in (("post", {"wat": 1}), ("nowhere", {})):
            try:
                await self.call_tool(name, arguments)
            except (InvalidInputError, ToolNotFoundError) as error:
                caught.append(self.describe(error))
        await self.elicit("Sure?", Sure)
        return {"caught": caught}

    def describe(self, error: BaseException | None) -> Any:
        if isinstance(error, FlowControl):
            return ["flow", str(error), self.describe(error.original_error)]
        details = [getattr(error, "price", None), getattr(error, "code", None), bool(getattr(error, "public", False))]
        if isinstance(error, ToolExecutionError):
            return [type(error).__name__, str(error), self.describe(error.original_error), *details]
        if isinstance(error, InvalidInputError):
            return [type(error).__name__, error.validation_errors]
        return [type(error).__name__, str(error), *details]


@Tool(description="Try to swallow whatever comes")
class Swallow(ToolContext):
    async def execute(self) -> dict[str, Any]:
        JOURNAL.append(f"attempt {self.call.attempt}")
        try:
            return {"answer": outcome(await self.elicit("Sure?", Sure))}
        except BaseException:
            JOURNAL.append("swallowed")
            return {"answer": "swallowed"}


@Tool(description="Ask where cancellation does not reach")
class AskShielded(ToolContext):
    async def execute(self) -> dict[str, Any]:
        with anyio.CancelScope(shield=True):
            return {"answer": outcome(await self.elicit("Sure?", Sure))}


@Tool(description="Go on without a user")
class AskIfPossible(ToolContext):
    async def execute(self) -> dict[str, Any]:
        JOURNAL.append("ran")
        try:
            return {"answer": outcome(await self.elicit("Sure?", Sure))}
        except ElicitationNotSupportedError:
            return {"answer": "nobody there"}


class Nested(BaseModel):
    address: Address


@Tool(description="A form that is not flat")
async def ask_nested(ctx: ToolContext) -> dict[str, Any]:
    return {"answer": outcome(await ctx.elicit("Where?", Nested))}


@Tool(description="Ask again when the answer does not fit")
class Insist(ToolContext):
    async def execute(self) -> dict[str, Any]:
        for _ in range(3):
            try:
                return {"answer": outcome(await self.elicit("Where to?", Address))}
            except PublicMcpError as error:
                JOURNAL.append(error.code)
        return {"answer": None}


@Tool(description="Turn whatever happens into an error of its own")
class Convert(ToolContext):
    async def execute(self) -> dict[str, Any]:
        JOURNAL.append(f"attempt {self.call.attempt}")
        try:
            return {"answer": outcome(await self.elicit("Sure?", Sure))}
        except BaseException as error:
            raise PublicMcpError("interrupted", "INTERRUPTED") from error


@Tool(description="Call a tool that turns whatever happens into an error of its own")
class CallConvert(ToolContext):
    async def execute(self, tool: str) -> dict[str, Any]:
        return (await self.call_tool(tool)).structured_content


@Tool(description="Ask while other calls are on their way")
class AskBeside(ToolContext):
    async def execute(self) -> dict[str, Any]:
        got: dict[str, Any] = {}

        async def call(name: str, what: str) -> None:
            got[what] = (await self.call_tool(name, {"what": what})).structured_content

        async with anyio.create_task_group() as group:
            for name, what in (("post", "quick"), ("post_slowly", "slow"), ("post_stubbornly", "stubborn")):
                group.start_soon(call, name, what)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            await self.elicit("Sure?", Sure)
        return {what: each["times"] for what, each in got.items()}


@Tool(description="Post, then take long")
class PostSlowly(ToolContext):
    async def execute(self, what: str) -> dict[str, Any]:
        posted = await self.call_tool("post", {"what": what})
        JOURNAL.append(f"slow {self.call.attempt}")
        if self.call.attempt == 0:
            await anyio.sleep_forever()
        return posted.structured_content


@Tool(description="Take long, and complain when interrupted")
class PostStubbornly(ToolContext):
    async def execute(self, what: str) -> dict[str, Any]:
        try:
            if self.call.attempt == 0:
                await anyio.sleep_forever()
        except BaseException as error:
            raise PublicMcpError("interrupted", "INTERRUPTED") from error
        return (await self.call_tool("post", {"what": what})).structured_content


@Tool(description="The same thing once, from two tasks")
class OnceTogether(ToolContext):
    async def execute(self) -> dict[str, Any]:
        numbers: list[int] = []

        async def work() -> int:
            await anyio.sleep(0.01)
            JOURNAL.append("work")
            return JOURNAL.count("work")

        async def ask_for() -> None:
            numbers.append(await self.once("work", work))

        async with anyio.create_task_group() as group:
            group.start_soon(ask_for)
            group.start_soon(ask_for)
        return {"numbers": numbers}


@Tool(description="Remember things, then change what was given")
class Remember(ToolContext):
    async def execute(self) -> dict[str, Any]:
        first = await self.once("things", lambda: {"when": date(2026, 7, 28), "list": (1, 2)})
        first["list"].append(3)
        await self.elicit("Sure?", Sure)
        return await self.once("things", dict)


@Tool(description="Remember what is no JSON")
class RememberOpaque(ToolContext):
    async def execute(self) -> dict[str, Any]:
        return await self.once("thing", object)


@Tool(description="Report progress around a question")
class AskWithProgress(ToolContext):
    async def execute(self) -> dict[str, Any]:
        await self.progress(1, 3, f"before {self.call.attempt}")
        await self.elicit("Sure?", Sure)
        await self.progress(2, 3, f"after {self.call.attempt}")
        return {"token": self.call.progress_token is not None}


TOOLS: list[Any] = [
    DeleteTicket, delete_sync, Nest, get_address, post, PostAndAsk, AskBoth, AskInGroup, AskTwice, Once, FailIn,
    CatchAndAsk, Swallow, AskShielded, AskIfPossible, ask_nested, Insist, Convert, CallConvert, AskBeside, PostSlowly,
    PostStubbornly, OnceTogether, Remember, RememberOpaque, AskWithProgress,
]  # fmt: skip


@pytest.fixture
def server() -> FrontMcp:
    JOURNAL.clear()
    return FrontMcp("desk", apps=[App(id="desk", tools=TOOLS)])


def attempts() -> list[str]:
    return [line for line in JOURNAL if line.startswith("attempt")]


def rounds(mcp: Any, modern: int) -> list[str]:
    """The attempts of a tool that is suspended ``modern`` times; an older client's runs once."""
    return [f"attempt {n}" for n in range(modern + 1)] if mcp.road.era == MODERN else ["attempt 0"]


@pytest.mark.mcp(**ROADS)
class TestOnEveryRoad:
    async def test_the_tool_gets_what_the_user_answered(self, mcp: Any) -> None:
        for reply, answer in (
            ({"sure": True}, "Sure(sure=True)"),
            ({"sure": False}, "Sure(sure=False)"),
            ("decline", "declined"),
            ("cancel", "cancelled"),
        ):
            JOURNAL.clear()
            mcp.on_elicitation(lambda message, form, reply=reply: reply)
            result = await mcp.tools.call("delete_ticket", {"id": "T-1"})
            assert result.json() == {"id": "T-1", "answer": answer}
            assert attempts() == rounds(mcp, 1)

    async def test_the_user_sees_the_message_and_the_form(self, mcp: Any) -> None:
        seen: list[Any] = []

        @mcp.on_elicitation
        async def reply(message: str, form: dict[str, Any]) -> dict[str, Any]:
            seen.append((message, form["required"], form["properties"]["street"]["description"]))
            return {"street": "Hauptstraße 1", "floor": 2}

        result = await mcp.tools.call("get_address")
        assert result.json() == {"answer": "Address(street='Hauptstraße 1', floor=2)"}
        assert seen == [("Where to?", ["street", "floor"], "Street and number")]

    async def test_a_sync_tool_asks(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        result = await mcp.tools.call("delete_sync", {"id": "T-1"})
        assert result.json() == {"id": "T-1", "answer": "Sure(sure=True)"}

    async def test_a_tool_at_depth_three_asks(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        result = await mcp.tools.call("nest", {"levels": 2})
        assert result.json() == {"id": "T-1", "answer": "Sure(sure=True)"}
        assert attempts() == rounds(mcp, 1)

    async def test_an_answer_that_does_not_fit_is_named_by_its_path_and_not_echoed(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"street": "Hauptstraße 1", "floor": -77})
        result = await mcp.tools.call("get_address")
        result.assert_error("ELICITATION_INVALID")
        assert result.text() == "The answer does not fit the form at floor"
        assert "-77" not in result.raw.model_dump_json()

    async def test_a_tool_may_ask_again_after_an_answer_that_does_not_fit(self, mcp: Any) -> None:
        replies = iter([{"street": 1, "floor": 1}, {"street": "x", "floor": -1}, {"street": "x", "floor": 1}])
        mcp.on_elicitation(lambda message, form: next(replies))
        result = await mcp.tools.call("insist")
        assert result.json() == {"answer": "Address(street='x', floor=1)"}

    async def test_a_call_that_finished_before_the_question_is_not_made_twice(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        result = await mcp.tools.call("post_and_ask")
        assert result.json() == {"answer": "Sure(sure=True)", "times": [1, 1]}
        assert JOURNAL == ["post letter", "post parcel"]

    @pytest.mark.parametrize("tool", ["ask_both", "ask_in_group"])
    async def test_questions_that_are_asked_together_are_one_round(self, mcp: Any, tool: str) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": "T-1" in message})
        result = await mcp.tools.call(tool)
        assert result.json()["answers"][:2] == ["Sure(sure=True)", "Sure(sure=False)"]
        outer = [line for line in attempts() if tool == "ask_in_group"] or attempts()[::3]
        assert outer == rounds(mcp, 1)

    async def test_one_question_after_another(self, mcp: Any) -> None:
        replies = iter([{"sure": True}, "decline"])
        mcp.on_elicitation(lambda message, form: next(replies))
        result = await mcp.tools.call("ask_twice")
        assert result.json() == {"answers": ["Sure(sure=True)", "declined"]}
        assert attempts() == rounds(mcp, 2)

    async def test_once_is_done_once(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        result = await mcp.tools.call("once")
        assert result.json() == {"numbers": [42, 42, 42], "other": None}
        assert JOURNAL == ["number", "other"]

    async def test_failures_are_kept_as_they_arrived(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        caught = (await mcp.tools.call("catch_and_ask")).json()["caught"]
        stamp = ["NoStamp", "A stamp costs 85.", 85, "NO_STAMP", True]
        assert caught == [
            stamp,
            ["flow", "", stamp],
            ["flow", "", ["ValueError", "no envelope", None, None, False]],
            [
                "ToolExecutionError", 'Tool "fail_in" execution failed: no ink',
                ["RuntimeError", "no ink", None, None, False], None, "TOOL_EXECUTION_ERROR", False,
            ],
            [
                "ToolExecutionError", "Unknown error",
                ["NoneType", "None", None, None, False], None, "TOOL_EXECUTION_ERROR", True,
            ],
            ["InvalidInputError", [{"path": ["what"], "message": "Field required", "type": "missing"}]],
            ["ToolNotFoundError", 'Tool "nowhere" not found', None, "TOOL_NOT_FOUND", True],
        ]  # fmt: skip
        assert [f"fail {way}" for way in ("public", "fail", "fail with another", "other", "result")] == JOURNAL

    async def test_a_body_that_catches_everything_can_not_swallow_the_question(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        result = await mcp.tools.call("swallow")
        assert result.json() == {"answer": "Sure(sure=True)"}

    @pytest.mark.parametrize("tool", ["swallow", "convert", "ask_shielded"])
    async def test_nor_one_that_it_calls(self, mcp: Any, tool: str) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        result = await mcp.tools.call("call_convert", {"tool": tool})
        assert result.json() == {"answer": "Sure(sure=True)"}

    async def test_calls_that_were_on_their_way_are_made_again_but_not_what_they_had_finished(self, mcp: Any) -> None:
        if mcp.road.era != MODERN:
            pytest.skip("an older client's call is not left")
        mcp.on_elicitation(lambda message, form: {"sure": True})
        result = await mcp.tools.call("ask_beside")
        assert result.json() == {"quick": 1, "slow": 1, "stubborn": 1}
        assert sorted(JOURNAL) == ["post quick", "post slow", "post stubborn", "slow 0", "slow 1"]

    async def test_once_is_done_once_by_two_tasks_too(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        assert (await mcp.tools.call("once_together")).json() == {"numbers": [1, 1]}

    async def test_what_once_gives_is_json_and_nobody_changes_it(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        assert (await mcp.tools.call("remember")).json() == {"when": "2026-07-28", "list": [1, 2]}
        result = await mcp.tools.call("remember_opaque")
        assert "what once() runs must return JSON" in result.text()

    async def test_progress_is_reported_in_each_attempt(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        assert (await mcp.tools.call("ask_with_progress")).json() == {"token": True}
        messages = [update.message for update in mcp.notifications.progress()]
        assert messages == (["before 0", "before 1", "after 1"] if mcp.road.era == MODERN else ["before 0", "after 0"])

    async def test_a_question_behind_a_shield_is_asked(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        with anyio.fail_after(5):
            result = await mcp.tools.call("ask_shielded")
        assert result.json() == {"answer": "Sure(sure=True)"}

    async def test_without_a_user_to_ask_nothing_is_suspended(self, mcp: Any) -> None:
        result = await mcp.tools.call("ask_if_possible")
        assert result.json() == {"answer": "nobody there"}
        assert JOURNAL == ["ran"]
        (await mcp.tools.call("delete_ticket", {"id": "T-1"})).assert_error("ELICITATION_NOT_SUPPORTED")

    async def test_a_form_is_flat(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: "cancel")
        result = await mcp.tools.call("ask_nested")
        result.assert_error("TOOL_EXECUTION_ERROR")
        assert "field 'address' can't be asked for: a form is flat; its fields are str, int" in result.text()


@pytest.mark.mcp(era=ERAS, transport=["memory", "stdio"])
class TestOnTrio(TestOnEveryRoad):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "trio"

    @pytest.mark.parametrize("tool", ["ask_in_group"])
    async def test_questions_that_are_asked_together_are_one_round(self, mcp: Any, tool: str) -> None:
        await super().test_questions_that_are_asked_together_are_one_round(mcp, tool)


async def test_in_process_nobody_can_be_asked(server: FrontMcp) -> None:
    async with create_direct(server) as direct:
        assert (await direct.call_tool("ask_if_possible")).structured_content == {"answer": "nobody there"}
        with pytest.raises(ElicitationNotSupportedError):
            await direct.call_tool("nest", {"levels": 2})


class Watch(Plugin):
    def __init__(self) -> None:
        self.seen: list[str] = []

    @Will("execute")
    async def will(self, call: Any) -> None:
        self.seen.append(f"will {call.entry.name} {call.attempt}")

    @Did("execute")
    async def did(self, call: Any) -> None:
        self.seen.append(f"did {call.entry.name} {call.attempt}")

    @Around("execute")
    async def around(self, call: Any, call_next: CallNext) -> Any:
        self.seen.append(f"around {call.entry.name} {call.attempt}")
        return await call_next()

    @hookimpl
    async def on_error(self, call: Any, error: BaseException) -> None:
        self.seen.append(f"error {call.entry.name}")


@pytest.mark.mcp(era=MODERN)
class TestHooks:
    @pytest.fixture
    def watch(self) -> Watch:
        return Watch()

    @pytest.fixture
    def server(self, watch: Watch) -> FrontMcp:
        JOURNAL.clear()
        return FrontMcp("desk", apps=[App(id="desk", tools=TOOLS)], plugins=[watch])

    async def test_they_run_in_each_attempt_but_not_for_a_kept_call(self, mcp: Any, watch: Watch) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        (await mcp.tools.call("post_and_ask")).assert_ok()
        assert watch.seen == [
            "will post_and_ask 0", "around post_and_ask 0", "will post 0", "around post 0", "did post 0",
            "will post_and_ask 1", "around post_and_ask 1", "will post 1", "around post 1", "did post 1",
            "did post_and_ask 1",
        ]  # fmt: skip

    @pytest.mark.parametrize("tool", ["delete_ticket", "delete_sync"])
    async def test_a_suspension_is_no_error(self, mcp: Any, watch: Watch, tool: str) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        (await mcp.tools.call(tool, {"id": "T-1"})).assert_ok()
        assert not [line for line in watch.seen if line.startswith("error")]


class Gate(Plugin):
    """Authorities that change between two attempts."""

    def __init__(self) -> None:
        self.open = True

    @hookimpl
    async def check_authorities(self, call: Any) -> None:
        if call.entry.name == "post" and not self.open:
            raise PublicMcpError("closed", "CLOSED")


class TestAuthorities:
    @pytest.fixture
    def gate(self) -> Gate:
        return Gate()

    @pytest.fixture
    def server(self, gate: Gate) -> FrontMcp:
        JOURNAL.clear()
        return FrontMcp("desk", apps=[App(id="desk", tools=TOOLS)], plugins=[gate])

    async def test_they_are_checked_again_for_a_kept_call(self, mcp: Any, gate: Gate) -> None:
        @mcp.on_elicitation
        def reply(message: str, form: dict[str, Any]) -> dict[str, Any]:
            gate.open = False
            return {"sure": True}

        (await mcp.tools.call("post_and_ask")).assert_error("CLOSED")
        assert JOURNAL == ["post letter"]


Send = Callable[..., Any]


async def call_by_hand(mcp: Any, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
    """One round: an `InputRequiredResult` is not answered."""
    sdk = await mcp.connect()
    return await sdk.session.call_tool(name, arguments or {}, allow_input_required=True, **more)


def answers(asked: InputRequiredResult, **content: Any) -> dict[str, ElicitResult]:
    return {key: ElicitResult(action="accept", content=content) for key in asked.input_requests or {}}


@pytest.mark.mcp(era=MODERN, transport=["memory", "http"])
class TestTheState:
    @pytest.fixture(autouse=True)
    def can_be_asked(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: "cancel")

    async def test_spent_twice_it_gets_the_answer_already_given(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "post_and_ask")
        retry = {"input_responses": answers(asked, sure=True), "request_state": asked.request_state}
        first = await call_by_hand(mcp, "post_and_ask", **retry)
        retry["input_responses"] = answers(asked, sure=False)
        second = await call_by_hand(mcp, "post_and_ask", **retry)
        assert first.structured_content == second.structured_content == {"answer": "Sure(sure=True)", "times": [1, 1]}
        assert JOURNAL == ["post letter", "post parcel"]

    async def test_spent_twice_at_once_it_is_run_once(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "post_and_ask")
        results: list[Any] = []

        async def retry() -> None:
            results.append(
                await call_by_hand(
                    mcp, "post_and_ask", input_responses=answers(asked, sure=True), request_state=asked.request_state
                )
            )

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(retry)
        assert [result.structured_content["times"] for result in results] == [[1, 1]] * 3
        assert JOURNAL == ["post letter", "post parcel"]

    async def test_spent_twice_it_asks_the_same_question_again(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "ask_twice")
        retry = {"input_responses": answers(asked, sure=True), "request_state": asked.request_state}
        first, second = [await call_by_hand(mcp, "ask_twice", **retry) for _ in range(2)]
        assert first.input_requests == second.input_requests
        assert attempts() == ["attempt 0", "attempt 1"]

    async def test_of_another_caller_it_is_refused(self, mcp: Any) -> None:
        nour, mallory = mcp.as_user("nour"), mcp.as_user("mallory")
        for user in (nour, mallory):
            user.on_elicitation(lambda message, form: "cancel")
        asked = await call_by_hand(nour, "delete_ticket", {"id": "T-1"})
        retry = {"input_responses": answers(asked, sure=True), "request_state": asked.request_state}
        for user in (mallory, mcp):
            with pytest.raises(MCPError, match="Invalid or expired requestState") as refused:
                await call_by_hand(user, "delete_ticket", {"id": "T-1"}, **retry)
            assert refused.value.code == INVALID_PARAMS
        assert attempts() == ["attempt 0"]
        result = await call_by_hand(nour, "delete_ticket", {"id": "T-1"}, **retry)
        assert result.structured_content["answer"] == "Sure(sure=True)"

    @pytest.mark.parametrize("state", ["made up", "", "v1.AAAA", None])
    async def test_tampered_with_it_is_refused(self, mcp: Any, state: str | None) -> None:
        asked = await call_by_hand(mcp, "delete_ticket", {"id": "T-1"})
        given = asked.request_state
        middle = len(given) // 2
        changed = given[:middle] + ("A" if given[middle] != "A" else "B") + given[middle + 1 :]
        with pytest.raises(MCPError) as refused:
            await call_by_hand(
                mcp,
                "delete_ticket",
                {"id": "T-1"},
                input_responses=answers(asked, sure=True),
                request_state=changed if state is None else state,
            )
        assert refused.value.code == INVALID_PARAMS
        assert attempts() == ["attempt 0"]

    @pytest.mark.parametrize(("name", "arguments"), [("delete_ticket", {"id": "T-2"}), ("delete_sync", {"id": "T-1"})])
    async def test_for_another_call_it_is_refused(self, mcp: Any, name: str, arguments: dict[str, Any]) -> None:
        asked = await call_by_hand(mcp, "delete_ticket", {"id": "T-1"})
        retry = {"input_responses": answers(asked, sure=True), "request_state": asked.request_state}
        with pytest.raises(MCPError) as refused:
            await call_by_hand(mcp, name, arguments, **retry)
        assert refused.value.code == INVALID_PARAMS

    async def test_without_the_answer_it_is_asked_again(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "delete_ticket", {"id": "T-1"})
        stray = {"another": ElicitResult(action="accept", content={"sure": True})}
        again = await call_by_hand(
            mcp, "delete_ticket", {"id": "T-1"}, input_responses=stray, request_state=asked.request_state
        )
        assert again.input_requests == asked.input_requests
        result = await call_by_hand(
            mcp,
            "delete_ticket",
            {"id": "T-1"},
            input_responses=answers(again, sure=True),
            request_state=again.request_state,
        )
        assert result.structured_content["answer"] == "Sure(sure=True)"

    async def test_answers_without_a_state_are_no_answers(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "delete_ticket", {"id": "T-1"})
        again = await call_by_hand(mcp, "delete_ticket", {"id": "T-1"}, input_responses=answers(asked, sure=True))
        assert isinstance(again, InputRequiredResult)

    async def test_a_client_that_can_no_longer_be_asked_is_not_run_from_the_start(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "post_and_ask")
        mcp.on_elicitation(None)
        result = await call_by_hand(
            mcp, "post_and_ask", input_responses=answers(asked, sure=True), request_state=asked.request_state
        )
        assert result.structured_content == {"answer": "Sure(sure=True)", "times": [1, 1]}

    async def test_nor_asked_anything_more(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "ask_twice")
        mcp.on_elicitation(None)
        result = await call_by_hand(
            mcp, "ask_twice", input_responses=answers(asked, sure=True), request_state=asked.request_state
        )
        assert result.meta["code"] == "ELICITATION_NOT_SUPPORTED"


@Tool(description="Return much")
async def much(size: int) -> dict[str, str]:
    JOURNAL.append("much")
    return {"much": "x" * size}


@Tool(description="Get much, then ask")
class MuchAndAsk(ToolContext):
    async def execute(self, size: int, times: int = 1) -> dict[str, Any]:
        got = [await self.call_tool("much", {"size": size + n}) for n in range(times)]
        await self.elicit("Enough?", Sure)
        return {"size": sum(len(each.structured_content["much"]) for each in got)}


@Tool(description="Remember much, then ask")
class RememberAndAsk(ToolContext):
    async def execute(self, size: int) -> dict[str, Any]:
        kept = await self.once("much", lambda: JOURNAL.append("once") or "x" * size)
        await self.elicit("Enough?", Sure)
        return {"size": len(kept)}


class Small(Plugin):
    """A state store that keeps little."""

    @hookimpl
    def state_store(self, config: Any) -> MemoryStateStore:
        return MemoryStateStore(max_bytes=3 * INLINE_BYTES)


@pytest.mark.mcp(era=MODERN)
class TestLargeRecords:
    @pytest.fixture
    def server(self) -> FrontMcp:
        JOURNAL.clear()
        return FrontMcp("desk", tools=[much, MuchAndAsk, RememberAndAsk], plugins=[Small()])

    @pytest.fixture(autouse=True)
    def can_be_asked(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})

    @pytest.mark.parametrize(("size", "inline"), [(1000, True), (INLINE_BYTES + 1, False)])
    async def test_they_live_in_the_store_and_not_in_the_state(self, mcp: Any, size: int, inline: bool) -> None:
        asked = await call_by_hand(mcp, "much_and_ask", {"size": size})
        assert (len(asked.request_state) > size) is inline
        result = await mcp.tools.call("much_and_ask", {"size": size})
        assert result.json() == {"size": size}
        assert JOURNAL == ["much", "much"]

    async def test_many_small_ones_do_not_make_the_state_large(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "much_and_ask", {"size": INLINE_BYTES // 40, "times": 60})
        assert len(asked.request_state) < 4 * INLINE_BYTES

    async def test_what_once_gave_lives_there_too(self, mcp: Any) -> None:
        asked = await call_by_hand(mcp, "remember_and_ask", {"size": INLINE_BYTES + 1})
        assert len(asked.request_state) < INLINE_BYTES
        result = await mcp.tools.call("remember_and_ask", {"size": INLINE_BYTES + 1})
        assert result.json() == {"size": INLINE_BYTES + 1}
        assert JOURNAL == ["once", "once"]

    @pytest.mark.parametrize(("tool", "culprit"), [("much_and_ask", "desk:much"), ("remember_and_ask", "much")])
    async def test_what_can_not_be_kept_is_an_error_before_the_question(
        self, mcp: Any, tool: str, culprit: str
    ) -> None:
        result = await mcp.tools.call(tool, {"size": 4 * INLINE_BYTES})
        result.assert_error("ELICITATION_STATE_TOO_LARGE")
        assert f'"{culprit}"' in result.text()


@Tool(description="Call something else in each attempt")
class Fickle(ToolContext):
    async def execute(self) -> dict[str, Any]:
        await self.call_tool("post", {"what": f"letter {self.call.attempt}"})
        await self.elicit("Sure?", Sure)
        return {}


@Tool(description="Two calls that are alike, each of which does a thing once and asks")
class Twins(ToolContext):
    async def execute(self) -> dict[str, Any]:
        first, second = await asyncio.gather(self.call_tool("stamp", {}), self.call_tool("stamp", {}))
        return {"stamps": sorted([first.structured_content["number"], second.structured_content["number"]])}


@Tool(description="One call after another that is alike")
class Again(ToolContext):
    async def execute(self) -> dict[str, Any]:
        numbers = [(await self.call_tool("stamp", {})).structured_content["number"] for _ in range(2)]
        return {"stamps": numbers}


@Tool(description="Stamp once, then ask")
class Stamp(ToolContext):
    async def execute(self) -> dict[str, Any]:
        number = await self.once("stamp", self.stamp)
        await self.elicit("Sure?", Sure)
        return {"number": number}

    def stamp(self) -> int:
        JOURNAL.append("stamp")
        return len(JOURNAL)


class TestMatching:
    @pytest.fixture
    def server(self) -> FrontMcp:
        JOURNAL.clear()
        return FrontMcp("desk", tools=[post, Fickle, Stamp, Twins, Again])

    @pytest.fixture(autouse=True)
    def can_be_asked(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})

    @pytest.mark.mcp(era=MODERN)
    async def test_a_kept_result_that_nobody_claims_is_told(self, mcp: Any, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "frontmcp.asking"):
            (await mcp.tools.call("fickle")).assert_ok()
        [record] = caplog.records
        assert "desk:post" in record.getMessage()
        assert "fickle" in record.getMessage()

    @pytest.mark.mcp(era=ERAS)
    @pytest.mark.parametrize("tool", ["twins", "again"])
    async def test_calls_that_are_alike_are_told_apart(self, mcp: Any, tool: str) -> None:
        result = await mcp.tools.call(tool)
        assert result.json() == {"stamps": [1, 2]}
        assert JOURNAL == ["stamp", "stamp"]


class TestSeveralServers:
    """Workers of one deployment share the keys that seal states; others do not."""

    @pytest.mark.parametrize("keys", [None, "k" * 40, "n" * 40 + "," + "k" * 40])
    async def test_a_state_is_good_where_its_key_is(self, monkeypatch: pytest.MonkeyPatch, keys: str | None) -> None:
        JOURNAL.clear()
        monkeypatch.setenv("FRONTMCP_STATE_KEYS", "k" * 40)
        async with connect(FrontMcp("desk", apps=[App(id="desk", tools=TOOLS)])) as one:
            one.on_elicitation(lambda message, form: "cancel")
            asked = await call_by_hand(one, "post_and_ask")
        monkeypatch.delenv("FRONTMCP_STATE_KEYS") if keys is None else monkeypatch.setenv("FRONTMCP_STATE_KEYS", keys)
        async with connect(FrontMcp("desk", apps=[App(id="desk", tools=TOOLS)])) as other:
            other.on_elicitation(lambda message, form: "cancel")
            retry = {"input_responses": answers(asked, sure=True), "request_state": asked.request_state}
            if keys is None:
                with pytest.raises(MCPError) as refused:
                    await call_by_hand(other, "post_and_ask", **retry)
                assert refused.value.code == INVALID_PARAMS
            else:
                result = await call_by_hand(other, "post_and_ask", **retry)
                assert result.structured_content == {"answer": "Sure(sure=True)", "times": [1, 1]}

    async def test_a_state_is_good_for_ten_minutes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with connect(FrontMcp("desk", apps=[App(id="desk", tools=TOOLS)])) as mcp:
            mcp.on_elicitation(lambda message, form: "cancel")
            asked = await call_by_hand(mcp, "delete_ticket", {"id": "T-1"})
            retry = {"input_responses": answers(asked, sure=True), "request_state": asked.request_state}
            now = time.time()
            monkeypatch.setattr("mcp.server.request_state.time.time", lambda: now + 601)
            with pytest.raises(MCPError) as refused:
                await call_by_hand(mcp, "delete_ticket", {"id": "T-1"}, **retry)
            assert refused.value.code == INVALID_PARAMS
            monkeypatch.setattr("mcp.server.request_state.time.time", lambda: now + 590)
            result = await call_by_hand(mcp, "delete_ticket", {"id": "T-1"}, **retry)
            assert result.structured_content["answer"] == "Sure(sure=True)"


class TestOlderClients:
    @pytest.fixture
    def server(self, request: pytest.FixtureRequest) -> FrontMcp:
        JOURNAL.clear()
        return FrontMcp("desk", apps=[App(id="desk", tools=TOOLS)], http={"stateless": True})

    @pytest.mark.mcp(era="2025-11-25", transport="http")
    async def test_without_a_session_nobody_can_be_asked(self, mcp: Any) -> None:
        mcp.on_elicitation(lambda message, form: {"sure": True})
        assert (await mcp.tools.call("ask_if_possible")).json() == {"answer": "nobody there"}

    @pytest.mark.mcp(era="2025-11-25", transport=["memory", "stdio"])
    async def test_a_call_can_be_cancelled_while_the_user_thinks(self, mcp: Any) -> None:
        asked = anyio.Event()

        @mcp.on_elicitation
        async def reply(message: str, form: dict[str, Any]) -> Any:
            asked.set()
            await anyio.sleep_forever()

        async with anyio.create_task_group() as group:
            group.start_soon(mcp.tools.call, "swallow")
            await asked.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            while "swallowed" not in JOURNAL:
                await anyio.sleep(0.01)
        assert (await mcp.tools.call("post", {"what": "letter"})).json()["times"] == 1

    @pytest.mark.mcp(era="2025-11-25")
    async def test_a_client_that_answers_with_an_error_fails_the_tool(self, mcp: Any) -> None:
        @mcp.on_elicitation
        def reply(message: str, form: dict[str, Any]) -> Any:
            raise LookupError("not in the script")

        with pytest.raises(LookupError):
            await mcp.tools.call("delete_ticket", {"id": "T-1"})
        mcp.on_elicitation(lambda message, form: {"sure": True})
        (await mcp.tools.call("delete_ticket", {"id": "T-1"})).assert_ok()
