"""The guards on the road of a call: what they count, what they hold, and how they refuse."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult
from pydantic import BaseModel, Field

from frontmcp import (
    Accepted,
    App,
    Around,
    Call,
    Caller,
    ConfigurationError,
    FrontMcp,
    Plugin,
    PublicMcpError,
    RateLimitError,
    RequestContext,
    Resource,
    Tool,
    ToolContext,
    create_direct,
    hookimpl,
)
from frontmcp.testing import ERAS
from plugins_builtin.guards.memory import MemoryGuardStore

PATIENCE = 20
Say = Callable[..., Any]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryGuardStore:
    return MemoryGuardStore(clock=clock)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def user(sub: str, **more: Any) -> dict[str, Any]:
    return {"user": {"sub": sub}, **more}


@asynccontextmanager
async def calling(*tools: Any, **options: Any) -> AsyncIterator[Say]:
    """A function that calls a tool in-process and gives its text, or the code and text of its error."""
    async with create_direct(FrontMcp("desk", tools=tools, **options)) as direct:

        async def say(name: str, *, ip: str | None = None, auth: Any = None, **arguments: Any) -> str:
            metadata: Mapping[str, Any] | None = None if ip is None else {"client_ip": ip}
            try:
                result = await direct.call_tool(name, arguments, auth_context=auth, metadata=metadata)
            except PublicMcpError as error:
                return f"{error.code} {error}"
            return "".join(block.text for block in result.content)

        yield say


def limited(**options: Any) -> Any:
    @Tool(**options)
    async def ping() -> str:
        return "pong"

    return ping


TOO_MANY = "RATE_LIMIT_EXCEEDED Rate limit exceeded. Retry after 60 seconds"


class TestRateLimit:
    async def test_calls_beyond_the_limit_are_refused_until_their_time(
        self, clock: Clock, store: MemoryGuardStore
    ) -> None:
        async with calling(limited(rate_limit={"max_requests": 2}), throttle={"store": store}) as say:
            assert [await say("ping") for _ in range(3)] == ["pong", "pong", TOO_MANY]
            clock.now = 59.5
            assert await say("ping") == TOO_MANY.replace("60", "1")
            clock.now = 60.0
            assert [await say("ping") for _ in range(3)] == ["pong", "pong", TOO_MANY]

    async def test_two_apps_tools_of_one_name_do_not_share(self) -> None:
        apps = [App(id=name, tools=[limited(rate_limit={"max_requests": 1})]) for name in ("a", "b")]
        async with calling(apps=apps) as say:
            assert [await say(name) for name in ("a:ping", "b.ping", "a.ping")] == ["pong", "pong", TOO_MANY]

    async def test_bad_arguments_count_and_are_refused_for_the_limit_first(self) -> None:
        @Tool(rate_limit={"max_requests": 1})
        async def double(number: int) -> int:
            return 2 * number

        async with calling(double) as say:
            assert (await say("double", number="x")).startswith("INVALID_INPUT")
            assert await say("double", number="x") == TOO_MANY

    async def test_an_inner_call_counts_and_its_refusal_can_be_caught(self) -> None:
        @Tool
        async def twice(ctx: ToolContext) -> str:
            await ctx.call_tool("ping")
            with pytest.raises(RateLimitError) as refused:
                await ctx.call_tool("ping")
            return f"{refused.value.retry_after} {refused.value.data}"

        async with calling(limited(rate_limit={"max_requests": 1}), twice) as say:
            assert await say("twice") == "60 {'retryAfter': 60}"

    async def test_of_two_hundred_at_once_exactly_the_limit_passes(self) -> None:
        said: list[str] = []
        async with calling(limited(rate_limit={"max_requests": 50})) as say:

            async def call() -> None:
                said.append(await say("ping"))

            async with anyio.create_task_group() as group:
                for _ in range(200):
                    group.start_soon(call)
        assert (said.count("pong"), said.count(TOO_MANY)) == (50, 150)

    async def test_a_resource_is_limited_too(self) -> None:
        @Resource("note://one", rate_limit={"max_requests": 1})
        async def note() -> str:
            return "one"

        async with create_direct(FrontMcp("desk", resources=[note])) as direct:
            await direct.read_resource("note://one")
            with pytest.raises(RateLimitError):
                await direct.read_resource("note://one")


class TestPartitions:
    @pytest.mark.parametrize(
        ("by", "said"),
        [
            ("global", "1...."),
            ("user", "12..5"),
            ("session", "1.345"),
            ("ip", "12.4."),
            (lambda call: call.caller.sub[0], "12..5"),
            (lambda call: None, "12..5"),
            (lambda call: call.input["nothing"], "12..5"),
        ],
    )
    async def test_each_has_a_limit_of_its_own(self, by: Any, said: str) -> None:
        @Tool(rate_limit={"max_requests": 1, "partition_by": by}, input_schema={"nothing": str})
        async def ping(nothing: str) -> str:
            return "pong"

        async with calling(ping) as say:
            given = [
                await say("ping", ip="10.0.0.1", auth=user("a", session_id="s1")),
                await say("ping", ip="10.0.0.2", auth=user("b", session_id="s1")),
                await say("ping", ip="::ffff:10.0.0.1", auth=user("b", session_id="s2")),
                await say("ping", ip="10.0.0.3", auth=user("a", session_id="s3")),
                await say("ping", ip="10.0.0.1", auth=user("c", session_id="s4")),
            ]
        passed = "".join(str(index) if not each.startswith("RATE") else "." for index, each in enumerate(given, 1))
        assert passed == said

    @pytest.mark.parametrize("by", ["user", "session"])
    async def test_anonymous_callers_are_told_apart_by_their_address(self, by: str) -> None:
        server = FrontMcp("desk", tools=[limited(rate_limit={"max_requests": 1, "partition_by": by})])
        said = []
        async with server.running():
            for number, ip in enumerate(["10.0.0.1", "10.0.0.2", "10.0.0.1", None, None]):
                said.append(await _anonymous_call(server, ip, session=f"s{number}"))
        assert said == ["pong", "pong", TOO_MANY, "pong", TOO_MANY]

    async def test_sharing_for_want_of_an_address_is_said_once(self, caplog: pytest.LogCaptureFixture) -> None:
        tool = limited(rate_limit={"max_requests": 5, "partition_by": "ip"})
        with caplog.at_level(logging.WARNING, "frontmcp.guards"):
            async with calling(tool) as say:
                await say("ping")
                await say("ping")
        assert [record.getMessage() for record in caplog.records] == [
            "tool desk:ping is limited by ip, and a call came without an address to tell its caller by: "
            "all such calls share one limit"
        ]

    async def test_what_anonymous_callers_share_is_said_at_the_start(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "frontmcp.guards"):
            async with calling(limited(rate_limit={"max_requests": 5, "partition_by": "user"})):
                pass
        assert "anonymous callers" in caplog.text
        assert "desk:ping" in caplog.text

    async def test_nobody_takes_the_place_of_another_by_a_name_like_what_is_kept(self, store: MemoryGuardStore) -> None:
        kept: list[str] = []

        class Watched(MemoryGuardStore):
            async def hit(self, key: str, *, limit: int, window: float) -> float | None:
                kept.append(key.rpartition("custom:")[2])
                return await super().hit(key, limit=limit, window=window)

        @Tool(rate_limit={"max_requests": 1, "partition_by": lambda call: call.input["who"]})
        async def ping(who: str) -> str:
            return "pong"

        async with calling(ping, throttle={"store": Watched()}) as say:
            assert await say("ping", who="x" * 10_000) == "pong"
            assert await say("ping", who=kept[0]) == "pong"
            assert await say("ping", who="x" * 10_000) == TOO_MANY
        assert max(map(len, kept)) < 200

    async def test_a_function_that_gives_no_text_refuses_the_call(self) -> None:
        tool = limited(rate_limit={"max_requests": 5, "partition_by": lambda call: 7})
        async with create_direct(FrontMcp("desk", tools=[tool])) as direct:
            with pytest.raises(Exception, match="partition_by gave int") as failed:
                await direct.call_tool("ping")
        assert getattr(failed.value, "code", None) == "INTERNAL_ERROR"


async def _anonymous_call(server: FrontMcp, ip: str | None, *, session: str) -> str:
    request = RequestContext(Caller.anonymous(), "http")
    request.client_ip, request.session_id = ip, session
    try:
        result = await server.pipeline.run(server.pipeline.client_call(request, "ping", {}))
    except PublicMcpError as error:
        return f"{error.code} {error}"
    return str(result.content[0].text)


class Latch:
    """A tool that waits inside until it is let go."""

    def __init__(self, **options: Any) -> None:
        self.inside = 0
        self.most = 0
        self.open = anyio.Event()

        @Tool(**options)
        async def wait() -> str:
            self.inside += 1
            self.most = max(self.most, self.inside)
            try:
                await self.open.wait()
            finally:
                self.inside -= 1
            return "done"

        self.tool = wait

    async def until(self, inside: int) -> None:
        with anyio.fail_after(PATIENCE):
            while self.inside != inside:
                await anyio.sleep(0.001)


FULL = 'CONCURRENCY_LIMIT Concurrency limit reached for "wait" (max: 1)'


class TestConcurrency:
    async def test_more_than_the_most_are_refused_at_once(self) -> None:
        latch = Latch(concurrency={"max_concurrent": 1})
        async with calling(latch.tool) as say, anyio.create_task_group() as group:
            group.start_soon(say, "wait")
            await latch.until(inside=1)
            assert await say("wait") == FULL
            latch.open.set()
        assert latch.inside == 0

    async def test_two_hundred_pass_a_few_at_a_time(self) -> None:
        latch = Latch(concurrency={"max_concurrent": 7, "queue_timeout_ms": 60_000})
        said: list[str] = []
        async with calling(latch.tool) as say, anyio.create_task_group() as group:

            async def call() -> None:
                said.append(await say("wait"))

            for _ in range(200):
                group.start_soon(call)
            await latch.until(inside=7)
            latch.open.set()
        assert said == ["done"] * 200
        assert latch.most == 7

    async def test_waiting_has_an_end(self) -> None:
        latch = Latch(concurrency={"max_concurrent": 1, "queue_timeout_ms": 20})
        async with calling(latch.tool) as say, anyio.create_task_group() as group:
            group.start_soon(say, "wait")
            await latch.until(inside=1)
            said = await say("wait")
            latch.open.set()
        assert said == 'QUEUE_TIMEOUT Queue timeout for "wait" after waiting 20ms for a concurrency slot'

    @pytest.mark.parametrize("how", ["cancelled while waiting", "cancelled inside"])
    async def test_a_caller_who_leaves_takes_no_slot_along(self, how: str) -> None:
        latch = Latch(concurrency={"max_concurrent": 1, "queue_timeout_ms": 60_000})
        async with calling(latch.tool) as say, anyio.create_task_group() as group:
            leaves = anyio.CancelScope()

            async def leave() -> None:
                with leaves:
                    await say("wait")

            if how == "cancelled inside":
                group.start_soon(leave)
                await latch.until(inside=1)
            else:
                group.start_soon(say, "wait")
                await latch.until(inside=1)
                group.start_soon(leave)
                await anyio.sleep(0.01)
            leaves.cancel()
            latch.open.set()
            with anyio.fail_after(PATIENCE):
                assert await say("wait") == "done"

    async def test_a_slot_comes_back_after_an_exception_and_a_timeout(self) -> None:
        @Tool(concurrency={"max_concurrent": 1}, timeout={"execute_ms": 10})
        async def work(how: str) -> str:
            if how == "fail":
                raise RuntimeError("no")
            await anyio.sleep(0 if how == "quick" else PATIENCE)
            return "done"

        async with create_direct(FrontMcp("desk", tools=[work])) as direct:
            for how, message in (("fail", "no"), ("slow", "timed out"), ("fail", "no")):
                with pytest.raises(Exception, match=message):
                    await direct.call_tool("work", {"how": how})
            await direct.call_tool("work", {"how": "quick"})

    @pytest.mark.parametrize("queue_timeout_ms", [0, 60_000])
    async def test_a_tool_that_calls_itself_with_one_slot_gets_the_error(self, queue_timeout_ms: int) -> None:
        @Tool(concurrency={"max_concurrent": 1, "queue_timeout_ms": queue_timeout_ms})
        async def again(ctx: ToolContext) -> str:
            await ctx.call_tool("again")
            return "never"

        async with calling(again) as say:
            with anyio.fail_after(PATIENCE):
                assert await say("again") == FULL.replace("wait", "again")

    async def test_a_tool_that_calls_itself_gets_as_deep_as_there_are_slots(self) -> None:
        @Tool(concurrency={"max_concurrent": 3, "queue_timeout_ms": 60_000})
        async def again(ctx: ToolContext, depth: int) -> int:
            if depth:
                await ctx.call_tool("again", {"depth": depth - 1})
            return depth

        async with calling(again) as say:
            with anyio.fail_after(PATIENCE):
                assert await say("again", depth=2) == "2"
                assert (await say("again", depth=3)).startswith("CONCURRENCY_LIMIT")

    async def test_a_function_tells_apart_the_slots_of_a_tool_that_calls_itself(self) -> None:
        @Tool(
            concurrency={
                "max_concurrent": 1,
                "queue_timeout_ms": 60_000,
                "partition_by": lambda call: call.input["names"][0],
            }
        )
        async def again(ctx: ToolContext, names: list[str]) -> str:
            if names[1:]:
                await ctx.call_tool("again", {"names": names[1:]})
            return "done"

        async with calling(again) as say:
            with anyio.fail_after(PATIENCE):
                assert await say("again", names=["a", "b", "c"]) == "done"
                assert await say("again", names=["a", "b", "a"]) == FULL.replace("wait", "again")

    async def test_an_abandoned_thread_keeps_its_slot_until_it_ends(self) -> None:
        let_go, ended = threading.Event(), threading.Event()

        @Tool(concurrency={"max_concurrent": 1}, timeout={"execute_ms": 200})
        def stubborn() -> str:
            let_go.wait(PATIENCE)
            ended.set()
            return "late"

        async with calling(stubborn) as say:
            assert await say("stubborn") == 'EXECUTION_TIMEOUT Execution of "stubborn" timed out after 200ms'
            assert await say("stubborn") == FULL.replace("wait", "stubborn")
            let_go.set()
            with anyio.fail_after(PATIENCE):
                while await say("stubborn") != "late":
                    await anyio.sleep(0.001)
        assert ended.is_set()


class TestTimeout:
    async def test_async_work_is_cancelled(self) -> None:
        ends: list[str] = []

        @Tool(timeout={"execute_ms": 20})
        async def slow() -> str:
            try:
                await anyio.sleep(PATIENCE)
            except BaseException as error:
                ends.append(type(error).__name__)
                raise
            return "never"

        async with calling(slow) as say:
            assert await say("slow") == 'EXECUTION_TIMEOUT Execution of "slow" timed out after 20ms'
        assert ends in (["CancelledError"], ["Cancelled"])

    async def test_sync_work_is_answered_for_and_its_signal_says_so(self) -> None:
        reasons: list[Any] = []
        done = threading.Event()

        @Tool(timeout={"execute_ms": 200})
        def slow(ctx: ToolContext) -> str:
            signal = ctx.signal
            while not signal.aborted and not done.wait(0.002):
                pass
            reasons.append(signal.reason)
            done.set()
            return "never"

        async with calling(slow) as say:
            assert (await say("slow")).startswith("EXECUTION_TIMEOUT")
            with anyio.fail_after(PATIENCE):
                while not reasons:
                    await anyio.sleep(0.001)
        assert isinstance(reasons[0], TimeoutError)

    async def test_it_covers_the_hooks_around_the_body(self) -> None:
        class Retry(Plugin):
            name = "retry"

            @Around("execute")
            async def again(self, call: Call, call_next: Any) -> Any:
                while True:
                    try:
                        return await call_next()
                    except RuntimeError:
                        await anyio.sleep(0.001)

        @Tool(timeout={"execute_ms": 30})
        async def failing() -> str:
            raise RuntimeError

        async with calling(failing, plugins=[Retry]) as say:
            with anyio.fail_after(PATIENCE):
                assert (await say("failing")).startswith("EXECUTION_TIMEOUT")

    async def test_a_call_that_is_quick_enough_is_untouched(self) -> None:
        @Tool(timeout={"execute_ms": 60_000})
        async def quick(ctx: ToolContext) -> bool:
            return ctx.signal.aborted

        async with calling(quick) as say:
            assert await say("quick") == "false"


async def _asked(server: FrontMcp, kind: str, name: str, ip: str) -> None:
    request = RequestContext(Caller.anonymous(), "http")
    request.client_ip = ip
    if kind == "completion":
        await server.pipeline.complete(server.pipeline.client_call(request, name, None, kind="prompt"), "about", "", {})
    else:
        await server.pipeline.run(server.pipeline.client_call(request, name, {}, kind=kind))  # type: ignore[arg-type]


def _note(about: str = "") -> str:
    return "note"


class TestThrottle:
    async def test_global_limits_count_clients_calls_and_not_inner_ones(self) -> None:
        @Tool
        async def outer(ctx: ToolContext) -> str:
            for _ in range(3):
                await ctx.call_tool("ping")
            return "done"

        throttle = {"global_rate_limit": {"max_requests": 2}, "global_concurrency": {"max_concurrent": 1}}
        async with calling(outer, limited(), throttle=throttle) as say:
            assert [await say("outer"), await say("ping"), await say("ping")] == ["done", "pong", TOO_MANY]

    async def test_global_concurrency_is_named_after_the_server(self) -> None:
        latch = Latch()
        async with calling(latch.tool, limited(), throttle={"global_concurrency": {"max_concurrent": 1}}) as say:
            async with anyio.create_task_group() as group:
                group.start_soon(say, "wait")
                await latch.until(inside=1)
                said = await say("ping")
                latch.open.set()
            assert said == FULL.replace("wait", "desk")
            assert await say("ping") == "pong"

    async def test_defaults_are_for_entries_that_say_nothing(self) -> None:
        @Tool(rate_limit={"max_requests": 2})
        async def own() -> str:
            return "own"

        @Tool
        async def slow() -> str:
            await anyio.sleep(PATIENCE)
            return "never"

        throttle = {"default_rate_limit": {"max_requests": 1}, "default_timeout": {"execute_ms": 20}}
        async with calling(own, slow, limited(), throttle=throttle) as say:
            assert [await say("ping"), await say("ping")] == ["pong", TOO_MANY]
            assert [await say("own"), await say("own"), await say("own")] == ["own", "own", TOO_MANY]
            assert (await say("slow")).startswith("EXECUTION_TIMEOUT")

    async def test_the_default_concurrency_is_each_entrys_own(self) -> None:
        latch = Latch()
        throttle = {"default_concurrency": {"max_concurrent": 1}}
        async with calling(latch.tool, limited(), throttle=throttle) as say, anyio.create_task_group() as group:
            group.start_soon(say, "wait")
            await latch.until(inside=1)
            assert await say("wait") == FULL
            assert await say("ping") == "pong"
            latch.open.set()

    async def test_addresses_are_refused_and_see_nothing(self) -> None:
        server = FrontMcp("desk", tools=[limited()], throttle={"ip_filter": {"deny": ["10.0.0.0/8"]}})
        async with create_direct(server) as direct:
            with pytest.raises(PublicMcpError) as refused:
                await direct.call_tool("ping", metadata={"client_ip": "10.1.1.1"})
            assert (refused.value.code, str(refused.value)) == ("IP_BLOCKED", 'IP address "10.1.1.1" is blocked')
            await direct.call_tool("ping", metadata={"client_ip": "192.168.1.1"})
            await direct.call_tool("ping")

    async def test_addresses_come_before_policies(self) -> None:
        tool = limited(authorities={"roles": {"any": ["admin"]}})
        async with calling(tool, throttle={"ip_filter": {"deny": ["10.0.0.0/8"]}}) as say:
            assert (await say("ping", ip="10.1.1.1")).startswith("IP_BLOCKED")
            assert (await say("ping", ip="11.1.1.1")).startswith("AUTHORITY_DENIED")

    async def test_addresses_are_refused_whatever_is_asked(self) -> None:
        server = FrontMcp("desk", throttle={"ip_filter": {"deny": ["10.0.0.0/8"]}})
        server.resource("note://one", name="one")(lambda: "one")
        server.prompt(name="note")(_note).complete("about")(lambda value: ["tickets"])
        async with server.running():
            for kind, name in (("resource", "note://one"), ("prompt", "note"), ("completion", "note")):
                for ip in ("::ffff:10.1.1.1", "10.1.1.1"):
                    with pytest.raises(PublicMcpError) as refused:
                        await _asked(server, kind, name, ip)
                    assert refused.value.code == "IP_BLOCKED"
                await _asked(server, kind, name, "11.1.1.1")

    async def test_an_http_client_without_an_address_is_on_no_list(self) -> None:
        server = FrontMcp("desk", tools=[limited()], throttle={"ip_filter": {"allow": ["10.0.0.0/8"]}})
        async with server.running():
            said = [await _anonymous_call(server, ip, session="s") for ip in (None, "10.0.0.1", "11.0.0.1")]
        assert said == [
            'IP_NOT_ALLOWED IP address "unknown" is not allowed',
            "pong",
            'IP_NOT_ALLOWED IP address "11.0.0.1" is not allowed',
        ]


class Broken(MemoryGuardStore):
    """A store that can be out of reach."""

    down = True

    async def hit(self, key: str, *, limit: int, window: float) -> float | None:
        if self.down:
            raise ConnectionError("secret-host refused")
        return await super().hit(key, limit=limit, window=window)

    async def acquire(self, key: str, *, limit: int, timeout: float) -> Any:
        if self.down:
            raise ConnectionError("secret-host refused")
        return await super().acquire(key, limit=limit, timeout=timeout)


DOWN = 'GUARD_UNAVAILABLE The limit of "ping" can\'t be checked: its store does not answer. Try again later'


class TestStore:
    @pytest.mark.parametrize("option", [{"rate_limit": {"max_requests": 1}}, {"concurrency": {"max_concurrent": 1}}])
    async def test_a_limit_whose_store_fails_refuses(
        self, option: dict[str, Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        store = Broken()
        with caplog.at_level(logging.WARNING, "frontmcp.guards"):
            async with calling(limited(**option), throttle={"store": store}) as say:
                assert [await say("ping"), await say("ping")] == [DOWN, DOWN]
                store.down = False
                assert await say("ping") == "pong"
        assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
        assert "secret-host" in caplog.text

    @pytest.mark.parametrize("option", [{"rate_limit": {"max_requests": 1}}, {"concurrency": {"max_concurrent": 1}}])
    async def test_a_limit_may_let_calls_pass_uncounted(self, option: dict[str, Any]) -> None:
        option = {name: {**value, "on_store_failure": "allow"} for name, value in option.items()}
        async with calling(limited(**option), throttle={"store": Broken()}) as say:
            assert [await say("ping"), await say("ping")] == ["pong", "pong"]

    async def test_a_plugin_can_bring_a_store(self) -> None:
        class Stores(Plugin):
            name = "stores"
            requires = ("guards",)

            @hookimpl
            def guard_store(self, config: Any) -> Any:
                return Broken() if config == "broken://" else None

        async with calling(
            limited(rate_limit={"max_requests": 1}), plugins=[Stores], throttle={"store": "broken://"}
        ) as say:
            assert await say("ping") == DOWN

    @pytest.mark.parametrize(
        ("store", "said"),
        [
            ("redis://:hunter2@host", "throttle: no plugin knows the store redis://…: pip install frontmcp-redis"),
            ("nosql://host", "throttle: no plugin knows the store nosql://…"),
            ("hunter2", 'throttle: "store" takes a URL such as "redis://…", "memory", or a GuardStore'),
            (object(), 'throttle: no plugin makes a GuardStore of object; "store" takes a URL or a GuardStore'),
        ],
    )
    def test_a_store_that_nobody_knows_stops_the_start(self, store: Any, said: str) -> None:
        with pytest.raises(ConfigurationError) as refused:
            FrontMcp("desk", tools=[limited()], throttle={"store": store}).check()
        assert refused.value.problems == [said]

    @pytest.mark.parametrize(("workers", "warned"), [("4", True), ("1", False), ("many", False)])
    async def test_many_workers_that_count_by_themselves_are_warned_of(
        self, workers: str, warned: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("WEB_CONCURRENCY", workers)
        async with calling(limited(rate_limit={"max_requests": 1})):
            pass
        assert ("frontmcp-redis" in caplog.text) is warned


class TestStart:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"rate_limit": {"max_requests": 0}}, "max_requests: Input should be greater than 0"),
            ({"rate_limit": {"max_request": 1}}, "max_request: there is no such key"),
            ({"concurrency": {"max_concurrent": 1, "queue_timeout_ms": -1}}, "queue_timeout_ms"),
            ({"timeout": {"execute_ms": 0}}, "execute_ms"),
            ({"rate_limit": {"max_requests": 1, "partition_by": "nobody"}}, 'should be "global", "ip", "session"'),
            ({"client_limits": {}}, "client_limits"),
        ],
    )
    def test_a_wrong_option_stops_it(self, options: dict[str, Any], said: str) -> None:
        with pytest.raises(ConfigurationError) as refused:
            FrontMcp("desk", tools=[limited(**options)]).check()
        assert said in str(refused.value)
        assert 'Tool "ping"' in str(refused.value)

    @pytest.mark.parametrize(
        ("throttle", "said"),
        [
            ({"global_rate_limits": {}}, "global_rate_limits"),
            ("much", "should be a dict with some of the keys"),
            ({"ip_filter": {"deny": ["office"]}}, 'should be an IP address or a network like "10.0.0.0/8"'),
        ],
    )
    def test_a_wrong_throttle_stops_it(self, throttle: Any, said: str) -> None:
        with pytest.raises(ConfigurationError, match="throttle") as refused:
            FrontMcp("desk", tools=[limited()], throttle=throttle).check()
        assert said in str(refused.value)

    @pytest.mark.parametrize("option", [{"rate_limit": {"max_requests": 1}}, {"timeout": {"execute_ms": 1}}])
    def test_an_option_without_the_plugin_stops_it(self, option: dict[str, Any]) -> None:
        with pytest.raises(ConfigurationError, match='"guards", which does, is disabled'):
            FrontMcp("desk", tools=[limited(**option)], plugins=["no:guards"]).check()

    def test_a_tool_without_limits_has_no_step_of_theirs(self) -> None:
        server = FrontMcp("desk", tools=[limited()], throttle={"max_partitions": 5}, authorities={})
        server.check()
        plan = server.find("ping").plan  # type: ignore[union-attr]
        plugins = {step.plugin for steps in plan.steps.values() for step in steps}
        assert plugins.isdisjoint({"guards", "authorities"})
        assert (plan.guard, plan.authorize, plan.around) == (None, None, None)


class Confirm(BaseModel):
    sure: Annotated[bool, Field(description="Go on?")]


def asking_server() -> FrontMcp:
    @Tool(rate_limit={"max_requests": 1}, concurrency={"max_concurrent": 1})
    async def purge(ctx: ToolContext) -> str:
        answer = await ctx.elicit("Sure?", Confirm)
        return "purged" if isinstance(answer, Accepted) else "kept"

    @Tool(rate_limit={"max_requests": 2})
    async def outer(ctx: ToolContext) -> str:
        return (await ctx.call_tool("purge")).content[0].text  # type: ignore[union-attr]

    @Tool(rate_limit={"max_requests": 1})
    async def first_ask(ctx: ToolContext) -> str:
        await ctx.elicit("Sure?", Confirm)
        await ctx.call_tool("ping")
        return "asked"

    @Tool
    async def ask_and_call_twice(ctx: ToolContext) -> str:
        await ctx.elicit("Sure?", Confirm)
        await ctx.call_tool("ping")
        await ctx.call_tool("ping")
        return "never"

    return FrontMcp(
        "desk", tools=[purge, outer, first_ask, ask_and_call_twice, limited(rate_limit={"max_requests": 1})]
    )


async def ask(name: str) -> str:
    """What a client of 2026-07-28 reads whose user says yes to everything."""

    async def yes(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"sure": True})

    async with Client(asking_server().lowlevel, mode="2026-07-28", elicitation_callback=yes) as client:
        result = await client.call_tool(name, {})
    return str(result.content[0].text)  # type: ignore[union-attr]


class TestQuestions:
    """A retry with the user's answer is the same call: it was counted, and holds its slot anew."""

    @pytest.mark.parametrize(("name", "said"), [("purge", "purged"), ("outer", "purged"), ("first_ask", "asked")])
    async def test_a_call_is_counted_once(self, name: str, said: str) -> None:
        assert await ask(name) == said

    async def test_an_inner_call_that_is_first_made_after_the_answer_counts(self) -> None:
        assert (await ask("ask_and_call_twice")).startswith("Rate limit exceeded")


@pytest.fixture
def server() -> FrontMcp:
    return asking_server()


@pytest.mark.mcp(era=list(ERAS), transport=["memory", "http"])
class TestClients:
    async def test_a_client_reads_when_to_come_back(self, mcp: Any) -> None:
        await mcp.tools.call("ping")
        refused = await mcp.tools.call("ping")
        refused.assert_error("RATE_LIMIT_EXCEEDED")
        assert refused.text() == "Rate limit exceeded. Retry after 60 seconds"
        assert refused.raw.meta["data"] == {"retryAfter": 60}
