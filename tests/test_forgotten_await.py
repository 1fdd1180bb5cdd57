"""An `await` that was forgotten is told, with whose doing it is and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frontmcp import (
    Around,
    Call,
    CallNext,
    FrontMcp,
    InvalidOutputError,
    Plugin,
    Tool,
    ToolContext,
    ToolExecutionError,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.errors import PluginError


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@Tool
async def five() -> int:
    return 5


@Tool
async def six() -> int:
    return 6


async def call(tool: Any, *plugins: Any) -> Any:
    async with create_direct(FrontMcp("s", tools=[tool, five], plugins=plugins)) as direct:
        return (await direct.call_tool(Tool.of(tool).name)).structured_content


class TestValues:
    """A coroutine in place of what it gives."""

    @pytest.mark.parametrize("annotation", [Any, int, dict[str, Any]])
    async def test_that_is_returned(self, annotation: Any) -> None:
        async def outer(ctx: ToolContext) -> Any:
            return ctx.call_tool("five")

        outer.__annotations__["return"] = annotation
        with pytest.raises(InvalidOutputError, match=r"\(Context\.call_tool\(\) was not awaited\)") as told:
            await call(Tool(outer))
        assert told.value.__notes__ == ["in the call outer"]

    @pytest.mark.parametrize(
        ("wrap", "path"), [(lambda it: {"a": [1, it]}, "a.1"), (lambda it: [it], "0"), (lambda it: (1, it), "1")]
    )
    async def test_that_is_part_of_the_value(self, wrap: Callable[[Any], Any], path: str) -> None:
        @Tool
        async def outer(ctx: ToolContext) -> Any:
            return wrap(ctx.progress(1))

        with pytest.raises(InvalidOutputError, match=rf"Context\.progress\(\) was not awaited at {path}"):
            await call(outer)

    @pytest.mark.parametrize("use", [lambda it: it.structured_content, lambda it: it["a"], lambda it: it + 1, list])
    async def test_that_is_used(self, use: Callable[[Any], Any]) -> None:
        @Tool
        async def outer(ctx: ToolContext) -> Any:
            running = ctx.call_tool("five")
            try:
                return use(running)
            finally:
                running.close()

        with pytest.raises(ToolExecutionError, match=r'"outer" .*coroutine.*; is an await missing') as told:
            await call(outer)
        assert isinstance(told.value.original_error, AttributeError | TypeError)

    async def test_other_errors_keep_their_words(self) -> None:
        @Tool
        async def outer() -> Any:
            raise ValueError("no 'coroutine' today")

        with pytest.raises(ToolExecutionError) as told:
            await call(outer)
        assert str(told.value) == "Tool \"outer\" execution failed: no 'coroutine' today"


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "progress": (1,),
    "close_stream": (),
    "once": ("key", int),
    "elicit": ("Sure?", int),
    "elicit_url": ("Pay", "https://a.b"),
    "list_roots": (),
}
METHODS = sorted({"once", *(name.removesuffix("_sync") for name in dir(ToolContext) if name.endswith("_sync"))})


def dropped(context: ToolContext, method: str) -> Any:
    return getattr(context, method)(*ARGUMENTS.get(method, ("five",)))


@pytest.mark.parametrize("method", METHODS)
class TestDropped:
    """What is dropped can't become an error, but Python warns at its line: by the name that was written there."""

    async def test_in_an_async_body_it_is_warned_of(self, method: str) -> None:
        @Tool
        async def outer(ctx: ToolContext) -> int:
            dropped(ctx, method)
            return 1

        with pytest.warns(RuntimeWarning, match=f"coroutine '(Asking)?Context.{method}' was never awaited"):
            assert await call(outer) == 1

    async def test_in_a_def_body_it_is_an_error(self, method: str) -> None:
        @Tool
        def outer(ctx: ToolContext) -> int:
            dropped(ctx, method)
            return 1

        instead = f"call {method}_sync" if method != "once" else "write async def"
        with pytest.raises(
            ToolExecutionError, match=f'{method} is to be awaited, and "outer" is a def body: {instead}'
        ):
            await call(outer)

    async def test_so_it_is_in_that_of_a_class(self, method: str) -> None:
        @Tool
        class Outer(ToolContext):
            def execute(self) -> Any:
                return dropped(self, method)

        with pytest.raises(ToolExecutionError, match=f'{method} is to be awaited, and "outer" is a def body'):
            await call(Outer)


async def test_hooks_of_a_class_with_a_def_body_may_await() -> None:
    @Tool
    class Outer(ToolContext):
        @Will("execute")
        async def before(self, call: Call) -> None:
            self.first = (await self.call_tool("five")).structured_content

        def execute(self) -> int:
            return self.first + self.call_tool_sync("five").structured_content

    assert await call(Outer) == 10


class TestWrappers:
    """A ``call_next()`` that is not awaited is the fault of the plugin that forgot it."""

    @pytest.mark.parametrize("hook", ["around_execute", "guard_call"])
    @pytest.mark.parametrize("forgetful", [0, 1, 2])
    async def test_that_is_returned(self, hook: str, forgetful: int) -> None:
        plugins = [wrapper(f"p{index}", hook, forgets=index == forgetful) for index in range(3)]
        with pytest.raises(PluginError) as told:
            await call(six, *plugins)
        said = f'Plugin "p{forgetful}" failed in {hook}: call_next() is not awaited: write await call_next()'
        assert str(told.value) == said
        assert any(__file__ in note for note in told.value.__notes__)

    async def test_on_a_class_too(self) -> None:
        @Tool
        class Outer(ToolContext):
            @Around("execute")
            async def around(self, call: Call, call_next: CallNext) -> Any:
                return call_next()

            async def execute(self) -> int:
                return 1

        with pytest.raises(PluginError, match='"s:outer" failed in around_execute: call_next'):
            await call(Outer)

    async def test_a_body_that_forgets_is_not_a_wrappers_fault(self) -> None:
        @Tool
        async def outer(ctx: ToolContext) -> Any:
            return ctx.call_tool("five")

        with pytest.raises(InvalidOutputError, match=r"Context\.call_tool\(\) was not awaited"):
            await call(outer, wrapper("p", "around_execute", forgets=False))

    async def test_a_def_wrapper_may_hand_it_on(self) -> None:
        @Around("execute")
        def around(call: Call, call_next: CallNext) -> Any:
            return call_next()

        assert await call(six, around) == 6

    async def test_that_is_dropped_is_warned_of(self) -> None:
        @Around("execute")
        async def around(call: Call, call_next: CallNext) -> Any:
            call_next()  # type: ignore[unused-coroutine]
            return 7

        with pytest.warns(RuntimeWarning, match="coroutine 'call_next' was never awaited"):
            assert await call(six, around) == 7


def wrapper(name: str, hook: str, *, forgets: bool) -> Plugin:
    async def run(self: Any, call: Call, call_next: CallNext) -> Any:
        return call_next() if forgets else await call_next()

    return type("Wrapper", (Plugin,), {"name": name, "run": hookimpl(specname=hook)(run)})()  # type: ignore[no-any-return]
