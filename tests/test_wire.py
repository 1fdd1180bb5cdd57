"""Between the SDK and the pipeline: whatever happens to a call, its client hears of it, and the next call works."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import time
from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import BaseModel

from frontmcp import (
    App,
    Caller,
    FlowControl,
    FrontMcp,
    Plugin,
    PublicMcpError,
    Tool,
    ToolContext,
    hookimpl,
)
from frontmcp.testing import connect

MODERN, OLDER, OLD = "2026-07-28", "2025-11-25", "2025-06-18"
ROADS = {"era": [MODERN, OLDER], "transport": ["memory", "stdio", "http"]}


class Odd(BaseException):
    pass


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Opaque:
    pass


def circle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


RAISED: dict[str, tuple[BaseException, str]] = {
    "ValueError": (ValueError("no stamp"), "TOOL_EXECUTION_ERROR"),
    "public": (PublicMcpError("no stamp", "NO_STAMP"), "NO_STAMP"),
    "flow": (FlowControl(ValueError("no stamp")), "TOOL_EXECUTION_ERROR"),
    "empty flow": (FlowControl(), "TOOL_EXECUTION_ERROR"),
    "SystemExit": (SystemExit(3), "TOOL_EXECUTION_ERROR"),
    "BaseException": (Odd("odd"), "TOOL_EXECUTION_ERROR"),
    "group": (ExceptionGroup("two", [PublicMcpError("", "NO_INK"), ValueError("no stamp")]), "NO_INK"),
    "base group": (BaseExceptionGroup("two", [Odd("odd"), SystemExit()]), "TOOL_EXECUTION_ERROR"),
    "stray cancellation": (asyncio.CancelledError("stray"), "TOOL_EXECUTION_ERROR"),
    "MCPError": (MCPError(-32000, "protocol"), "TOOL_EXECUTION_ERROR"),
    "TimeoutError": (TimeoutError(), "TOOL_EXECUTION_ERROR"),
    "StopIteration": (StopIteration(1), "TOOL_EXECUTION_ERROR"),
    "StopAsyncIteration": (StopAsyncIteration(), "TOOL_EXECUTION_ERROR"),
    "GeneratorExit": (GeneratorExit(), "TOOL_EXECUTION_ERROR"),
    "RecursionError": (RecursionError(), "TOOL_EXECUTION_ERROR"),
    "MemoryError": (MemoryError(), "TOOL_EXECUTION_ERROR"),
    "surrogates": (ValueError("\ud800 and \udfff"), "TOOL_EXECUTION_ERROR"),
    "speechless": (Speechless(), "TOOL_EXECUTION_ERROR"),
    "long": (ValueError("x" * 100_000), "TOOL_EXECUTION_ERROR"),
}

RETURNED: dict[str, tuple[Any, str]] = {
    "object": (Opaque(), "INVALID_OUTPUT"),
    "object inside": ({"deep": [1, {"down": Opaque()}]}, "INVALID_OUTPUT"),
    "NaN": ({"value": math.nan}, "INVALID_OUTPUT"),
    "infinity": ([math.inf], "INVALID_OUTPUT"),
    "circle": (circle(), "INVALID_OUTPUT"),
    "surrogate": ("\ud800", "INVALID_OUTPUT"),
    "surrogate inside": ({"text": ["\ud800"]}, "INVALID_OUTPUT"),
    "surrogate as key": ({"\ud800": 1}, "INVALID_OUTPUT"),
    "result with an object": (CallToolResult(content=[], structured_content={"value": Opaque()}), "INVALID_OUTPUT"),
    "result with a surrogate": (CallToolResult(content=[TextContent(text="\ud800")]), "INVALID_OUTPUT"),
    "result with an odd _meta": (CallToolResult(content=[], _meta={"x": "\ud800"}), "INVALID_OUTPUT"),
    "failed result with a surrogate": (
        CallToolResult(content=[TextContent(text="\ud800")], is_error=True),
        "INVALID_OUTPUT",
    ),
    "block with a surrogate": (TextContent(text="\ud800"), "INVALID_OUTPUT"),
    "bytes that are no text": (b"\xff\xfe", "INVALID_OUTPUT"),
    "class": (Opaque, "INVALID_OUTPUT"),
    "too deep": ({"value": deep(5000)}, "INVALID_OUTPUT"),
    "numbers as keys": ({1: "a", "b": 2}, '{"1":"a","b":2}'),
    "text beyond the plane": ("🎟️", "🎟️"),
    "large": ("x" * 500_000, "x" * 500_000),
}


@Tool(description="Raise something")
async def throw(what: str) -> None:
    raise RAISED[what][0]


@Tool(description="Raise something in a thread")
def throw_sync(what: str) -> None:
    raise RAISED[what][0]


@Tool(description="Raise something one level down")
class ThrowInside(ToolContext):
    async def execute(self, what: str) -> None:
        await self.call_tool("throw", {"what": what})


@Tool(description="Raise something in a task group")
async def throw_in_group(what: str) -> None:
    async def child() -> None:
        raise RAISED[what][0]

    async with anyio.create_task_group() as group:
        group.start_soon(child)
        await anyio.sleep(1)


@Tool(description="Return something odd")
async def give(what: str) -> Any:
    return RETURNED[what][0]


@Tool(description="Say something odd on the way")
class Say(ToolContext):
    async def execute(self, what: str) -> str:
        await self.notify(RETURNED[what][0])
        return "said"


@Tool(description="Still there?")
async def ping() -> str:
    return "pong"


def make_server(*tools: Any, **options: Any) -> FrontMcp:
    return FrontMcp("desk", apps=[App(id="desk", tools=[*tools, ping])], **options)


async def assert_alive(mcp: Any) -> None:
    with anyio.fail_after(5):
        assert (await mcp.tools.call("ping")).text() == "pong"


@pytest.mark.mcp(**ROADS)
class TestNothingEscapes:
    @pytest.fixture
    def server(self) -> FrontMcp:
        return make_server(throw, throw_sync, ThrowInside, throw_in_group, give, Say)

    @pytest.mark.parametrize("tool", ["throw", "throw_sync", "throw_inside", "throw_in_group"])
    async def test_whatever_is_raised_is_a_result(self, mcp: Any, tool: str) -> None:
        expected = {what: code for what, (_, code) in RAISED.items()}
        if tool == "throw_in_group":
            # asyncio itself ends the program for SystemExit in a task, and forgets a task that was cancelled.
            del expected["SystemExit"], expected["stray cancellation"]
        with anyio.fail_after(20):
            codes = {what: (await mcp.tools.call(tool, {"what": what})).code for what in expected}
        assert codes == expected
        await assert_alive(mcp)

    async def test_whatever_is_returned_is_answered(self, mcp: Any) -> None:
        with anyio.fail_after(20):
            results = {what: await mcp.tools.call("give", {"what": what}) for what in RETURNED}
        assert {what: result.code or result.text() for what, result in results.items()} == {
            what: outcome for what, (_, outcome) in RETURNED.items()
        }
        assert all(len(result.text()) < 1000 for result in results.values() if result.is_error)
        await assert_alive(mcp)

    async def test_whatever_is_said_on_the_way_does_not_end_the_connection(self, mcp: Any) -> None:
        with anyio.fail_after(20):
            said = {what: (await mcp.tools.call("say", {"what": what})).code for what in RETURNED}
        refused = {"circle", "too deep"}
        assert said == {what: "TOOL_EXECUTION_ERROR" if what in refused else None for what in RETURNED}
        assert len(mcp.notifications.logs()) == len(RETURNED) - len(refused)
        await assert_alive(mcp)


class Size(BaseModel):
    width: int


@Tool(description="A list")
async def sizes() -> list[Size]:
    return [Size(width=1), Size(width=2)]


@Tool(description="A number")
async def count() -> int:
    return 3


@Tool(description="A number or nothing")
async def maybe(some: bool) -> int | None:
    return 3 if some else None


@Tool(description="An object")
async def size() -> Size:
    return Size(width=1)


@Tool(description="A text")
async def text() -> str:
    return "hello"


@Tool(description="An object that looks like a wrap")
async def looks_wrapped() -> dict[str, Any]:
    return {"result": [1]}


@pytest.mark.mcp(era=[MODERN, OLDER, OLD], transport=["memory", "http"])
class TestStructuredContent:
    """Any JSON from 2026-07-28 on; an object before, so that what is none is wrapped, in results and listed schemas."""

    @pytest.fixture
    def server(self) -> FrontMcp:
        return make_server(sizes, count, maybe, size, text, looks_wrapped)

    async def test_a_value_travels_as_its_era_wants_it(self, mcp: Any) -> None:
        older = mcp.road.era != MODERN
        for tool, arguments, value, wraps in (
            ("sizes", {}, [{"width": 1}, {"width": 2}], older),
            ("count", {}, 3, older),
            ("maybe", {"some": True}, 3, True),
            ("maybe", {"some": False}, None, True),
            ("size", {}, {"width": 1}, False),
            ("looks_wrapped", {}, {"result": [1]}, False),
        ):
            result = await mcp.tools.call(tool, arguments)
            assert result.raw.structured_content == ({"result": value} if wraps else value)
            assert result.json() == value

    async def test_the_listed_schema_says_so(self, mcp: Any) -> None:
        schemas = {tool.name: tool.output_schema for tool in await mcp.tools.list()}
        wrapped = {name for name, schema in schemas.items() if schema and "result" in schema.get("properties", {})}
        assert wrapped == ({"maybe"} if mcp.road.era == MODERN else {"maybe", "sizes", "count"})
        assert all(schema["type"] == "object" for schema in schemas.values() if schema) or mcp.road.era == MODERN
        assert schemas["size"]["properties"]["width"]["type"] == "integer"
        assert schemas["text"] is None

    async def test_a_text_has_none(self, mcp: Any) -> None:
        result = await mcp.tools.call("text")
        assert (result.raw.structured_content, result.text()) == (None, "hello")


def many(number: int) -> list[Any]:
    def one(index: int) -> Any:
        @Tool(name=f"tool_{index:03}", description="One of many")
        async def body() -> None: ...

        return body

    return [one(index) for index in range(number)]


@pytest.mark.mcp(era=[MODERN, OLDER])
class TestPages:
    @pytest.fixture
    def server(self) -> FrontMcp:
        return FrontMcp("desk", tools=many(95))

    async def test_all_pages_are_all_tools(self, mcp: Any) -> None:
        sdk = await mcp.connect()
        sizes, cursor = [], None
        while not sizes or cursor is not None:
            page = await sdk.list_tools(cursor=cursor)
            sizes.append(len(page.tools))
            cursor = page.next_cursor
        assert sizes == [40, 40, 15]
        assert [tool.name for tool in await mcp.tools.list()] == [f"tool_{index:03}" for index in range(95)]

    @pytest.mark.parametrize("cursor", ["", "x", "40", "tool_039", "v1.AAAA"])
    async def test_a_cursor_that_is_none_of_ours_is_refused(self, mcp: Any, cursor: str) -> None:
        sdk = await mcp.connect()
        with pytest.raises(MCPError) as refused:
            await sdk.list_tools(cursor=cursor)
        assert refused.value.code == INVALID_PARAMS

    async def test_a_cursor_that_was_changed_is_refused(self, mcp: Any) -> None:
        sdk = await mcp.connect()
        cursor = (await sdk.list_tools()).next_cursor
        with pytest.raises(MCPError) as refused:
            await sdk.list_tools(cursor=cursor[:-2] + ("AA" if not cursor.endswith("AA") else "BB"))
        assert refused.value.code == INVALID_PARAMS

    async def test_a_page_goes_on_where_the_last_one_ended_though_tools_come_and_go(
        self, mcp: Any, server: FrontMcp
    ) -> None:
        sdk = await mcp.connect()
        first = await sdk.list_tools()
        for gone in ("tool_000", "tool_039", "tool_040"):
            await server.remove_tool(gone)
        second = await sdk.list_tools(cursor=first.next_cursor)
        assert second.tools[0].name == "tool_041"

    async def test_without_pagination_there_is_one_page(self) -> None:
        async with connect(FrontMcp("desk", tools=many(95), pagination=None)) as mcp:
            page = await (await mcp.connect()).list_tools()
        assert (len(page.tools), page.next_cursor) == (95, None)


@Tool(description="Report much progress")
class Flood(ToolContext):
    async def execute(self, number: int) -> int:
        for done in range(number):
            await self.progress(done, number, f"{done} done")
        return number


@Tool(description="Report odd progress")
class OddProgress(ToolContext):
    async def execute(self, values: list[float]) -> str:
        for value in values:
            await self.progress(value, message=str(value))
        await self.progress(math.nan, message="nan")
        await self.progress(math.inf, message="inf")
        await self.progress(2, math.inf, message="after")
        return "done"


@Tool(description="Report progress from a thread")
def count_sync(ctx: ToolContext) -> str:
    for done in range(3):
        ctx.progress_sync(done, 3)
        ctx.notify_sync({"done": done}, "warning")
    return "done"


@Tool(description="Report progress from tasks of its own")
class Race(ToolContext):
    async def execute(self) -> str:
        async with anyio.create_task_group() as group:
            for start in (5, 3, 8):
                group.start_soon(self.progress, start)
        return "done"


@pytest.mark.mcp(**ROADS)
class TestProgress:
    @pytest.fixture
    def server(self) -> FrontMcp:
        return make_server(Flood, OddProgress, count_sync, Race)

    def values(self, mcp: Any) -> list[float]:
        return [update.progress for update in mcp.notifications.progress()]

    async def test_a_flood_arrives_whole_and_in_order(self, mcp: Any) -> None:
        with anyio.fail_after(20):
            (await mcp.tools.call("flood", {"number": 2000})).assert_ok()
        assert self.values(mcp) == [float(done) for done in range(2000)]
        await assert_alive(mcp)

    @pytest.mark.parametrize("tool", ["race", "count_sync"])
    async def test_it_grows_with_every_update(self, mcp: Any, tool: str) -> None:
        (await mcp.tools.call(tool)).assert_ok()
        values = self.values(mcp)
        assert len(values) == 3
        assert values == sorted(set(values))

    async def test_numbers_that_are_no_progress_neither_stop_it_nor_the_connection(self, mcp: Any) -> None:
        (await mcp.tools.call("odd_progress", {"values": [1, -5, 1e300]})).assert_ok()
        updates = mcp.notifications.progress()
        assert [update.message for update in updates] == ["1.0", "-5.0", "1e+300", "nan", "inf", "after"]
        values = self.values(mcp)
        assert values == sorted(set(values))
        await assert_alive(mcp)


@Tool(description="Speak at every level")
class Speak(ToolContext):
    async def execute(self) -> str:
        for level in ("debug", "info", "warning", "error"):
            await self.notify({"at": level}, level)
        return "spoken"


LOG_LEVEL = "io.modelcontextprotocol/logLevel"


@pytest.mark.mcp(**ROADS)
class TestLogMessages:
    @pytest.fixture
    def server(self) -> FrontMcp:
        return make_server(Speak, count_sync)

    async def test_they_arrive_with_level_data_and_logger(self, mcp: Any) -> None:
        (await mcp.tools.call("speak")).assert_ok()
        assert [(log.level, log.data, log.logger) for log in mcp.notifications.logs()] == [
            (level, {"at": level}, "speak") for level in ("debug", "info", "warning", "error")
        ]

    async def test_they_arrive_from_a_thread(self, mcp: Any) -> None:
        (await mcp.tools.call("count_sync")).assert_ok()
        assert [log.data["done"] for log in mcp.notifications.logs()] == [0, 1, 2]

    @pytest.mark.mcp(era=MODERN)
    @pytest.mark.parametrize(("level", "heard"), [("warning", ["warning", "error"]), ("error", ["error"])])
    async def test_a_request_says_from_which_level_on(self, mcp: Any, level: str, heard: list[str]) -> None:
        sdk = await mcp.connect()
        await sdk.call_tool("speak", meta={LOG_LEVEL: level})
        assert [log.level for log in mcp.notifications.logs()] == heard

    @pytest.mark.mcp(era=OLDER)
    @pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
    async def test_a_session_says_from_which_level_on(self, mcp: Any) -> None:
        other = mcp.as_user("nour")
        await (await mcp.connect()).set_logging_level("warning")
        for client in (mcp, other):
            (await client.tools.call("speak")).assert_ok()
        assert [log.level for log in mcp.notifications.logs()] == ["warning", "error"]
        assert len(other.notifications.logs()) == 4


class Log(list[str]):
    """What happened to calls, to wait for; written from any thread."""

    async def wait_for(self, *wanted: str) -> None:
        with anyio.fail_after(5):
            while not set(wanted) <= set(self):
                await anyio.sleep(0.005)


@pytest.fixture
def log() -> Log:
    return Log()


def patient_tools(log: Log) -> list[Any]:
    @Tool(description="Wait without end")
    class Wait(ToolContext):
        async def execute(self) -> None:
            self.signal.add_callback(lambda: log.append("signal"))
            log.append("started")
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                log.append("cancelled")
                raise

    @Tool(description="Wait for a tool that waits")
    class WaitInside(ToolContext):
        async def execute(self) -> None:
            try:
                await self.call_tool("wait")
            except anyio.get_cancelled_exc_class():
                log.append("outer cancelled")
                raise

    @Tool(description="Wait in a thread, and look at the signal")
    def wait_sync(ctx: ToolContext) -> None:
        signal = ctx.signal
        log.append("started")
        while not signal.aborted:
            time.sleep(0.005)
        log.append("signal")

    return [Wait, WaitInside, wait_sync]


class Watch(Plugin):
    """Sees errors, of which a cancellation is none."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @hookimpl
    async def on_error(self, call: Any, error: BaseException) -> None:
        self._log.append(f"error {error!r}")


async def start(group: Any, client: Any, tool: str, log: Log) -> None:
    """A call in flight; how it ends is nobody's concern."""

    async def call() -> None:
        try:
            await client.tools.call(tool)
        except MCPError as error:
            log.append(f"answered {error.error.code}")

    group.start_soon(call)
    await log.wait_for("started")


async def nothing_left(before: int, server: FrontMcp) -> None:
    """Tasks are back where they were."""
    with anyio.fail_after(5):
        while len(asyncio.all_tasks()) > before or server.threads.orphans:
            await anyio.sleep(0.01)


@pytest.mark.mcp(**ROADS)
class TestCancellation:
    @pytest.fixture
    def server(self, log: Log) -> FrontMcp:
        return make_server(*patient_tools(log), plugins=[Watch(log)])

    @pytest.mark.parametrize(
        ("tool", "happened"),
        [
            ("wait", {"started", "cancelled", "signal"}),
            ("wait_inside", {"started", "cancelled", "signal", "outer cancelled"}),
            ("wait_sync", {"started", "signal"}),
        ],
    )
    async def test_a_client_that_cancels_ends_the_call(
        self, mcp: Any, server: FrontMcp, log: Log, tool: str, happened: set[str]
    ) -> None:
        await assert_alive(mcp)
        before = len(asyncio.all_tasks())
        async with anyio.create_task_group() as group:
            await start(group, mcp, tool, log)
            group.cancel_scope.cancel()
        await log.wait_for(*happened)
        await nothing_left(before, server)
        assert set(log) == happened
        await assert_alive(mcp)

    async def test_a_client_that_times_out_ends_the_call(self, mcp: Any, log: Log) -> None:
        sdk = await mcp.connect()
        with pytest.raises(MCPError):
            await sdk.call_tool("wait", read_timeout_seconds=0.2)
        await log.wait_for("cancelled", "signal")
        await assert_alive(mcp)

    async def test_other_calls_go_on(self, mcp: Any, log: Log) -> None:
        async with anyio.create_task_group() as group:
            await start(group, mcp, "wait", log)
            await assert_alive(mcp)
            assert "cancelled" not in log
            group.cancel_scope.cancel()

    async def test_a_client_that_goes_away_ends_its_calls(self, mcp: Any, server: FrontMcp, log: Log) -> None:
        gone = mcp.as_user("nour")
        await assert_alive(mcp)
        before = len(asyncio.all_tasks())
        async with anyio.create_task_group() as group:
            await start(group, gone, "wait_inside", log)
            await gone.disconnect()
            group.cancel_scope.cancel()
        await log.wait_for("cancelled", "outer cancelled", "signal")
        await nothing_left(before, server)
        await assert_alive(mcp)


HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}


def message(method: str, number: int | None = 1, **params: Any) -> dict[str, Any]:
    identity = {} if number is None else {"id": number}
    return {"jsonrpc": "2.0", "method": method, "params": params, **identity}


@pytest.mark.mcp(transport="http")
class TestADroppedConnection:
    """What the SDK's client never does: leave without a word."""

    @pytest.fixture
    def server(self, log: Log) -> FrontMcp:
        return make_server(*patient_tools(log))

    async def test_ends_a_call_of_2026_07_28(self, mcp: Any, log: Log) -> None:
        headers = {**HEADERS, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "wait"}
        body = message("tools/call", name="wait", arguments={}, _meta=ENVELOPE)
        async with httpx2.AsyncClient(headers=headers) as http, anyio.create_task_group() as group:
            group.start_soon(lambda: http.post(mcp.url, json=body))
            await log.wait_for("started")
            group.cancel_scope.cancel()
        await log.wait_for("cancelled", "signal")

    async def test_does_not_end_a_call_of_an_older_session_but_its_end_does(self, mcp: Any, log: Log) -> None:
        opening = message(
            "initialize", protocolVersion=OLDER, capabilities={}, clientInfo={"name": "raw", "version": "1"}
        )
        async with httpx2.AsyncClient(headers=HEADERS) as http:
            session = (await http.post(mcp.url, json=opening)).headers["mcp-session-id"]
            http.headers.update({"mcp-session-id": session, "mcp-protocol-version": OLDER})
            await http.post(mcp.url, json=message("notifications/initialized", None))
            async with anyio.create_task_group() as group:
                call = message("tools/call", 2, name="wait", arguments={})
                group.start_soon(lambda: http.post(mcp.url, json=call))
                await log.wait_for("started")
                group.cancel_scope.cancel()
            await anyio.sleep(0.2)
            assert log == ["started"]
            await http.delete(mcp.url)
        await log.wait_for("cancelled", "signal")


@Tool(description="A tool that came later")
async def newcomer() -> str:
    return "here"


@pytest.mark.mcp(**ROADS)
class TestChanges:
    @pytest.fixture
    def server(self) -> FrontMcp:
        return make_server()

    @pytest.mark.mcp(era=MODERN)
    async def test_a_client_that_listens_hears_of_tools_that_come_and_go(self, mcp: Any, server: FrontMcp) -> None:
        sdk = await mcp.connect()
        with anyio.fail_after(5):
            async with sdk.listen(tools_list_changed=True) as changes:
                for change in (lambda: server.add_tool(newcomer), lambda: server.remove_tool("newcomer")):
                    await change()
                    assert type(await anext(aiter(changes))).__name__ == "ToolsListChanged"

    @pytest.mark.mcp(era=OLDER)
    async def test_a_session_hears_of_tools_that_come_and_go(self, mcp: Any, server: FrontMcp) -> None:
        await assert_alive(mcp)
        for number, change in enumerate((lambda: server.add_tool(newcomer), lambda: server.remove_tool("newcomer"))):
            await change()
            with anyio.fail_after(5):
                while len(self.heard(mcp)) <= number:
                    await anyio.sleep(0.01)
        assert len(self.heard(mcp)) == 2

    def heard(self, mcp: Any) -> list[Any]:
        return [each for each in mcp.notifications.all() if each.method == "notifications/tools/list_changed"]

    async def test_a_tool_that_came_is_listed_and_called_and_one_that_went_is_not(
        self, mcp: Any, server: FrontMcp
    ) -> None:
        await server.add_tool(newcomer)
        assert [tool.name for tool in await mcp.tools.list()] == ["newcomer", "ping"]
        assert (await mcp.tools.call("newcomer")).text() == "here"
        await server.remove_tool("newcomer")
        assert [tool.name for tool in await mcp.tools.list()] == ["ping"]
        (await mcp.tools.call("newcomer")).assert_error("TOOL_NOT_FOUND")

    async def test_both_eras_say_that_the_list_may_change(self, mcp: Any) -> None:
        assert (await mcp.connect()).server_capabilities.tools.list_changed is True


@Tool(description="Who am I?")
class Whoami(ToolContext):
    async def execute(self) -> dict[str, Any]:
        return {"sub": self.auth.user.sub, "anonymous": self.auth.is_anonymous, "roles": list(self.auth.roles)}


class Door(Plugin):
    """Answers `authenticate` with what it was told."""

    def __init__(self, answer: Callable[[], Caller | None]) -> None:
        self._answer = answer

    @hookimpl
    async def authenticate(self, request: Any) -> Caller | None:
        return self._answer()


def refuse() -> None:
    raise PublicMcpError("No entry.", "NO_ENTRY")


def break_down() -> None:
    raise RuntimeError("the directory is down")


def break_down_oddly() -> None:
    raise Odd("the directory is down")


@pytest.mark.mcp(**ROADS)
class TestTheCaller:
    @pytest.fixture
    def answer(self) -> Callable[[], Caller | None]:
        return lambda: None

    @pytest.fixture
    def environment(self) -> str:
        return "development"

    @pytest.fixture
    def server(self, answer: Callable[[], Caller | None], environment: str) -> FrontMcp:
        return make_server(Whoami, plugins=[Door(answer)], environment=environment)

    @pytest.mark.parametrize("answer", [lambda: Caller("nour", roles=("admin",))])
    async def test_is_who_the_plugin_says(self, mcp: Any, answer: Any) -> None:
        who = (await mcp.tools.call("whoami")).json()
        assert who == {"sub": "nour", "anonymous": False, "roles": ["admin"]}

    @pytest.mark.parametrize("answer", [refuse])
    async def test_who_is_refused_hears_why(self, mcp: Any, answer: Any) -> None:
        result = await (await mcp.connect()).session.call_tool("ping", {})
        assert (result.is_error, result.meta["code"], result.content[0].text) == (True, "NO_ENTRY", "No entry.")
        with pytest.raises(MCPError, match=r"^No entry\.$"):
            await mcp.tools.list()

    @pytest.mark.mcp(transport="memory")
    @pytest.mark.parametrize("environment", ["development", "production"])
    @pytest.mark.parametrize("answer", [break_down, break_down_oddly])
    async def test_who_meets_a_failing_plugin_is_nobody(self, mcp: Any, answer: Any, environment: str) -> None:
        result = await (await mcp.connect()).session.call_tool("ping", {})
        assert (result.is_error, result.meta["code"]) == (True, "INTERNAL_ERROR")
        with pytest.raises(MCPError) as refused:
            await mcp.tools.list()
        for told in (result.content[0].text, refused.value.error.message):
            shown = told == 'Plugin "door" failed in authenticate: the directory is down'
            assert shown is (environment == "development")
            assert ("directory" in told) is shown

    async def test_an_anonymous_one_is_the_same_for_a_session_and_another_for_each_request_without(
        self, mcp: Any
    ) -> None:
        other = mcp.as_user("nour")
        nobody = [(await mcp.tools.call("whoami")).json() for _ in range(2)]
        assert all(who["anonymous"] and who["sub"].startswith("anon:") and len(who["sub"]) == 41 for who in nobody)
        assert (nobody[0] == nobody[1]) is (mcp.road.era == OLDER)
        assert (await other.tools.call("whoami")).json()["sub"] == "nour"
        async with connect(make_server(Whoami), mcp.road) as stranger:
            assert (await stranger.tools.call("whoami")).json() != nobody[1]


NAMES = [
    "",
    " ",
    "a" * 10_000,
    "ping\n",
    "ping\0",
    "🎟️",
    "../ping",
    "desk:",
    ":ping",
    "desk:ping:ping",
    "PING",
    "%70ing",
]


@Tool(description="Take anything")
async def take(value: Any = None, number: int = 0, names: dict[str, list[int]] | None = None) -> str:
    return "taken"


@pytest.mark.mcp(**ROADS)
class TestBadInput:
    @pytest.fixture
    def server(self) -> FrontMcp:
        return make_server(take)

    async def test_a_name_that_is_none_is_not_found_and_cut_short(self, mcp: Any) -> None:
        session = (await mcp.connect()).session
        for name in NAMES:
            result = await session.call_tool(name, {})
            assert (name, (result.meta or {}).get("code")) == (name, "TOOL_NOT_FOUND")
            assert len(result.content[0].text) < 1000
        await assert_alive(mcp)

    async def test_what_does_not_fit_is_named_and_not_echoed(self, mcp: Any) -> None:
        for field, value in [
            ("number", each) for each in ("many", None, [1], 1.5, math.nan, math.inf, "secret" * 999)
        ] + [
            ("names", {"a": ["x"]}),
            ("names", deep(50)),
        ]:
            result = await mcp.tools.call("take", {field: value})
            result.assert_error("INVALID_INPUT")
            assert f'"{field}"' in result.text()
            assert "secret" not in result.raw.model_dump_json()

    async def test_what_is_not_known_is_dropped(self, mcp: Any) -> None:
        assert (await mcp.tools.call("take", {"x" * 10_000: 1, "": 2, "🎟️": 3})).text() == "taken"

    async def test_deep_nesting_is_taken(self, mcp: Any) -> None:
        assert (await mcp.tools.call("take", {"value": deep(100)})).text() == "taken"

    @pytest.mark.mcp(era=MODERN, transport="http")
    @pytest.mark.parametrize(
        "value",
        ["[" * 5000 + "]" * 5000, "NaN", "-Infinity", '"\\ud800"', "1e999", "9" * 5000],
        ids=lambda value: value[:9],
    )
    async def test_json_that_is_none_costs_nobody_the_connection(self, mcp: Any, value: str) -> None:
        headers = {**HEADERS, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "take"}
        body = json.dumps(message("tools/call", name="take", arguments={"number": "?"}, _meta=ENVELOPE))
        async with httpx2.AsyncClient(headers=headers) as http:
            answer = await http.post(mcp.url, content=body.replace('"?"', value))
        told = answer.json()
        assert "error" in told or told["result"]["_meta"]["code"] == "INVALID_INPUT"
        assert len(answer.content) < 2000
        await assert_alive(mcp)


class Faulty(Plugin):
    """Fails in one hook."""

    name = "acme.faulty"

    def __init__(self, hook: str, error: BaseException) -> None:
        self._fails = (hook, error)

    def _meet(self, hook: str, call: Any) -> None:
        hook_fails, error = self._fails
        if hook_fails == hook and (call.entry is None or call.entry.name != "ping"):
            raise copy.copy(error)

    @hookimpl
    def resolve_tool(self, name: str, call: Any) -> None:
        self._meet("resolve_tool", call)

    @hookimpl
    def entry_visible(self, call: Any, entry: Any) -> None:
        if call.listing or entry.name != "ping":
            self._meet("entry_visible", call)

    @hookimpl
    async def check_authorities(self, call: Any) -> None:
        self._meet("check_authorities", call)

    @hookimpl
    async def guard_call(self, call: Any, call_next: Any) -> Any:
        self._meet("guard_call", call)
        return await call_next()

    @hookimpl
    async def will_execute(self, call: Any) -> None:
        self._meet("will_execute", call)

    @hookimpl
    async def around_execute(self, call: Any, call_next: Any) -> Any:
        self._meet("around_execute", call)
        return await call_next()

    @hookimpl
    async def did_execute(self, call: Any) -> None:
        self._meet("did_execute", call)

    @hookimpl
    def format_result(self, call: Any, value: Any) -> None:
        self._meet("format_result", call)

    @hookimpl
    async def on_progress(self, call: Any, update: Any) -> None:
        self._meet("on_progress", call)

    @hookimpl
    async def on_notify(self, call: Any, message: Any) -> None:
        self._meet("on_notify", call)

    @hookimpl
    async def on_error(self, call: Any, error: BaseException) -> None:
        self._meet("on_error", call)


@Tool(description="Meet every hook, or fail")
class Meet(ToolContext):
    async def execute(self, fail: bool = False) -> str:
        await self.progress(1)
        await self.notify("hello")
        if fail:
            raise PublicMcpError("no stamp", "NO_STAMP")
        return "met"


@Tool(description="Meet every hook one level down")
class MeetInside(ToolContext):
    async def execute(self) -> str:
        await self.call_tool("meet")
        return "met"


HOOKS = [
    "resolve_tool", "entry_visible", "check_authorities", "guard_call", "will_execute", "around_execute",
    "did_execute", "format_result", "on_progress", "on_notify",
]  # fmt: skip


@pytest.mark.mcp(era=[MODERN, OLDER])
class TestAPluginThatFails:
    @pytest.fixture
    def environment(self) -> str:
        return "development"

    @pytest.fixture
    def server(self, hook: str, error: BaseException, environment: str) -> FrontMcp:
        return make_server(Meet, MeetInside, plugins=[Faulty(hook, error)], environment=environment)

    @pytest.mark.parametrize(
        "error", [RuntimeError("out of order"), SystemExit("out of order"), Odd("out of order")], ids=repr
    )
    @pytest.mark.parametrize("hook", HOOKS)
    @pytest.mark.parametrize("tool", ["meet", "meet_inside"])
    async def test_is_named_with_its_hook(self, mcp: Any, tool: str, hook: str, error: BaseException) -> None:
        name = "nowhere" if hook == "resolve_tool" else tool
        result = await mcp.tools.call(name)
        result.assert_error("INTERNAL_ERROR")
        assert result.text() == f'Plugin "acme.faulty" failed in {hook}: out of order'
        await assert_alive(mcp)

    @pytest.mark.parametrize("error", [RuntimeError("out of order"), Odd("out of order")], ids=repr)
    @pytest.mark.parametrize("hook", ["entry_visible", "check_authorities"])
    async def test_leaves_out_of_the_list_what_it_failed_for(self, mcp: Any, hook: str, error: BaseException) -> None:
        assert [tool.name for tool in await mcp.tools.list()] == ["ping"]

    @pytest.mark.parametrize("environment", ["production"])
    @pytest.mark.parametrize("error", [RuntimeError("out of order")], ids=repr)
    @pytest.mark.parametrize("hook", HOOKS)
    async def test_is_masked_in_production(self, mcp: Any, hook: str, error: BaseException, environment: str) -> None:
        result = await mcp.tools.call("nowhere" if hook == "resolve_tool" else "meet")
        result.assert_error("INTERNAL_ERROR")
        assert "acme" not in result.raw.model_dump_json()
        assert "out of order" not in result.raw.model_dump_json()

    @pytest.mark.parametrize("error", [PublicMcpError("shut", "SHUT")], ids=repr)
    @pytest.mark.parametrize("hook", HOOKS)
    async def test_may_fail_publicly(self, mcp: Any, hook: str, error: BaseException) -> None:
        result = await mcp.tools.call("nowhere" if hook == "resolve_tool" else "meet")
        result.assert_error("SHUT")
        assert result.text() == "shut"

    @pytest.mark.parametrize("error", [RuntimeError("out of order"), Odd("out of order")], ids=repr)
    @pytest.mark.parametrize("hook", ["on_error"])
    async def test_in_on_error_changes_nothing(self, mcp: Any, hook: str, error: BaseException) -> None:
        (await mcp.tools.call("meet", {"fail": True})).assert_error("NO_STAMP")
        await assert_alive(mcp)
