"""A body is started with its input, its context and what is injected, where it says it runs."""

from __future__ import annotations

import json
import threading
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel

from frontmcp import (
    Did,
    FrontMcp,
    Inject,
    JsonSchema,
    Provider,
    Tool,
    ToolContext,
    ToolExecutionError,
    Will,
    create_direct,
)
from frontmcp.call import Call


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Db:
    def __init__(self, name: str = "db") -> None:
        self.name = name


class Search(BaseModel):
    query: str
    limit: int = 10


def text_of(result: Any) -> str:
    text: str = result.content[0].text
    return text


def thread() -> str:
    return "loop" if threading.current_thread() is threading.main_thread() else "thread"


@Tool
async def plain(a: int, b: int = 2) -> list[Any]:
    return [a, b, thread()]


@Tool
def in_a_thread(a: int) -> list[Any]:
    return [a, thread()]


@Tool(sync="inline")
def inline(a: int) -> list[Any]:
    return [a, thread()]


@Tool(sync="inline")
def inline_awaitable(a: int) -> Any:
    return plain(a)


@Tool
def threaded_awaitable(a: int) -> Any:
    return plain(a)


@Tool
async def with_context(a: int, ctx: ToolContext) -> list[Any]:
    return [a, ctx.name, ctx.input, type(ctx).__name__]


class Own(ToolContext):
    def shout(self) -> str:
        return self.name.upper()


@Tool
async def with_own_context(ctx: Own, a: int = 1) -> str:
    return ctx.shout()


@Tool
async def with_everything(
    ctx: ToolContext, a: int, db: Annotated[Db, Inject()], *, other: Annotated[Db, Inject], b: int = 3
) -> list[Any]:
    return [ctx.name, a, b, db.name, other.name]


@Tool(input_schema=Search)
async def whole_model(input: Search, db: Annotated[Db, Inject()]) -> list[Any]:
    return [type(input).__name__, input.query, input.limit, db.name]


@Tool(input_schema=Search)
def model_keywords(query: str, limit: int) -> list[Any]:
    return [query, limit]


@Tool(input_schema=JsonSchema({"properties": {"a": {"type": "integer"}, "x-y": {}}}))
async def raw(**given: Any) -> list[Any]:
    return sorted(given)


@Tool
class InClass(ToolContext):
    async def execute(self, a: int, db: Annotated[Db, Inject()]) -> list[Any]:
        return [a, self.name, self.input, db.name, self.get(Db).name]


@Tool(input_schema=Search)
class ModelInClass(ToolContext):
    def execute(this, input: Search) -> list[Any]:
        return [input.query, this.input.limit, thread()]


CALLS = [
    ("plain", {"a": "1"}, [1, 2, "loop"]),
    ("in_a_thread", {"a": 1}, [1, "thread"]),
    ("inline", {"a": 1}, [1, "loop"]),
    ("inline_awaitable", {"a": 1}, [1, 2, "loop"]),
    ("threaded_awaitable", {"a": 1}, [1, 2, "loop"]),
    ("with_context", {"a": 1}, [1, "with_context", {"a": 1}, "ToolContext"]),
    ("with_own_context", {}, "WITH_OWN_CONTEXT"),
    ("with_everything", {"a": 1}, ["with_everything", 1, 3, "db", "db"]),
    ("whole_model", {"query": "q"}, ["Search", "q", 10, "db"]),
    ("model_keywords", {"query": "q"}, ["q", 10]),
    ("raw", {"a": 1, "x-y": 2, "more": 3}, ["a", "more", "x-y"]),
    ("in_class", {"a": 1}, [1, "in_class", {"a": 1}, "db", "db"]),
    ("model_in_class", {"query": "q"}, ["q", 10, "thread"]),
]
TOOLS = [
    plain, in_a_thread, inline, inline_awaitable, threaded_awaitable, with_context, with_own_context, with_everything,
    whole_model, model_keywords, raw, InClass, ModelInClass,
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "value"), CALLS)
async def test_a_body_is_started_with(name: str, arguments: dict[str, Any], value: Any) -> None:
    async with create_direct(FrontMcp("s", tools=TOOLS, providers=[Provider(Db, Db)])) as direct:
        result = await direct.call_tool(name, arguments)
        assert text_of(result) == (value if isinstance(value, str) else json.dumps(value, separators=(",", ":")))
        (listed,) = [tool for tool in await direct.list_tools() if tool.name == name]
        assert not {"ctx", "db", "other", "self", "this"} & set(listed.input_schema["properties"])


async def test_a_call_has_an_instance_of_its_own() -> None:
    seen: list[Any] = []

    @Tool
    class Remember(ToolContext):
        async def execute(self) -> None:
            assert not hasattr(self, "mark")
            self.mark = 1
            seen.append(self)

    async with create_direct(FrontMcp("s", tools=[Remember])) as direct:
        await direct.call_tool("remember")
        await direct.call_tool("remember")
    assert seen[0] is not seen[1]


async def test_hooks_on_the_class_have_the_instance_of_the_body() -> None:
    @Tool
    class Traced(ToolContext):
        trace: list[str]

        @Will("execute")
        async def before(self, call: Call) -> None:
            self.trace = ["before"]

        async def execute(self) -> list[str]:
            self.trace.append("execute")
            return self.trace

        @Did("execute")
        async def after(self, call: Call) -> None:
            call.output = [*self.trace, "after"]

    async with create_direct(FrontMcp("s", tools=[Traced])) as direct:
        assert (await direct.call_tool("traced")).structured_content == ["before", "execute", "after"]


def test_a_context_outside_a_call_says_where_to_go() -> None:
    with pytest.raises(RuntimeError, match="InClass is not in a call: use create_direct or the mcp fixture"):
        _ = InClass().name


# The sync forms of a context


@Tool
class Outer(ToolContext):
    def execute(self, a: int) -> list[Any]:
        self.progress_sync(1, 2, "half")
        self.notify_sync("note")
        return [thread(), text_of(self.call_tool_sync("plain", {"a": a}))]


@Tool
class Wrong(ToolContext):
    async def execute(self) -> None:
        self.call_tool_sync("plain", {"a": 1})


@Tool(sync="inline")
class WrongInline(ToolContext):
    def execute(self) -> None:
        self.call_tool_sync("plain", {"a": 1})


async def test_a_sync_body_calls_reports_and_notifies() -> None:
    async with create_direct(FrontMcp("s", tools=[Outer, plain])) as direct:
        assert json.loads(text_of(await direct.call_tool("outer", {"a": 1}))) == ["thread", '[1,2,"loop"]']


@pytest.mark.parametrize("name", ["wrong", "wrong_inline"])
async def test_a_sync_form_on_the_event_loop_says_what_to_do(name: str) -> None:
    async with create_direct(FrontMcp("s", tools=[Wrong, WrongInline, plain])) as direct:
        with pytest.raises(ToolExecutionError, match=r"for sync bodies in a worker thread: in an async body await"):
            await direct.call_tool(name)


async def test_the_errors_of_an_inner_call_reach_a_sync_body_as_they_are() -> None:
    @Tool
    async def failing() -> None:
        raise RuntimeError("in a worker thread, somehow")

    @Tool
    class Catching(ToolContext):
        def execute(self) -> str:
            try:
                self.call_tool_sync("failing")
            except ToolExecutionError as error:
                return str(error)
            return "nothing"

    async with create_direct(FrontMcp("s", tools=[failing, Catching])) as direct:
        text = text_of(await direct.call_tool("catching"))
    assert text == 'Tool "failing" execution failed: in a worker thread, somehow'


async def test_a_body_that_changes_its_arguments_changes_nobody_elses() -> None:
    @Tool
    async def greedy(items: list[int], more: dict[str, Any]) -> int:
        items.append(1)
        more["x"] = 1
        return len(items)

    sent: dict[str, Any] = {"items": [0], "more": {}}
    async with create_direct(FrontMcp("s", tools=[greedy])) as direct:
        for _ in range(2):
            assert (await direct.call_tool("greedy", sent)).structured_content == 2
    assert sent == {"items": [0], "more": {}}


async def test_concurrent_calls_do_not_mix() -> None:
    @Tool
    class Slow(ToolContext):
        async def execute(self, a: int) -> list[Any]:
            await anyio.sleep(0.001)
            return [a, self.input["a"]]

    results: list[Any] = []
    async with create_direct(FrontMcp("s", tools=[Slow])) as direct:

        async def call(a: int) -> None:
            results.append(json.loads(text_of(await direct.call_tool("slow", {"a": a}))))

        async with anyio.create_task_group() as group:
            for a in range(50):
                group.start_soon(call, a)
    assert sorted(results) == [[a, a] for a in range(50)]
