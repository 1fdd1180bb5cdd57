"""What providers and a lifespan make, when, and what is said when nobody does."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any, Protocol

import anyio
import pytest

from frontmcp import (
    ConfigurationError,
    FrontMcp,
    Inject,
    Provider,
    RequestContext,
    Tool,
    ToolContext,
    ToolExecutionError,
    create_direct,
)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Db:
    made = 0

    def __init__(self, name: str = "db") -> None:
        self.name = name
        self.open = True


class Session:
    """Made for one request."""

    count = 0

    def __init__(self) -> None:
        type(self).count += 1
        self.number = type(self).count


class Clock(Protocol):
    def now(self) -> float: ...


@pytest.fixture(autouse=True)
def _start_counting_anew() -> None:
    Session.count = 0


@Tool
async def by_parameter(db: Annotated[Db, Inject()]) -> str:
    return db.name


@Tool
class ByType(ToolContext):
    async def execute(self) -> str:
        return self.get(Db).name


@Tool
def in_a_thread(ctx: ToolContext) -> str:
    return ctx.get(Db).name


@Tool
async def session_number(session: Annotated[Session, Inject()]) -> int:
    return session.number


def text_of(result: Any) -> str:
    text: str = result.content[0].text
    return text


# Server scope


async def made_async() -> Db:
    await anyio.lowlevel.checkpoint()
    return Db("async")


@asynccontextmanager
async def opened() -> AsyncIterator[Db]:
    db = Db("opened")
    try:
        yield db
    finally:
        db.open = False


class Client(Db):
    """An async context manager itself, like many clients."""

    async def __aenter__(self) -> Client:
        self.name = "entered"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.open = False


@pytest.mark.parametrize("tool", ["by_parameter", "by_type", "in_a_thread"])
@pytest.mark.parametrize(
    ("factory", "name"),
    [(Db, "db"), (lambda: Db("made"), "made"), (made_async, "async"), (opened, "opened"), (Client, "entered")],
)
async def test_a_server_wide_instance(tool: str, factory: Any, name: str) -> None:
    server = FrontMcp("s", tools=[by_parameter, ByType, in_a_thread], providers=[Provider(Db, factory)])
    async with create_direct(server) as direct:
        assert text_of(await direct.call_tool(tool)) == name


async def test_a_server_wide_instance_is_made_once_and_closed_at_the_end() -> None:
    seen: list[Db] = []

    @Tool
    async def remember(db: Annotated[Db, Inject()]) -> bool:
        seen.append(db)
        return db.open

    server = FrontMcp("s", tools=[remember], providers=[Provider(Db, opened)])
    for _ in range(2):
        async with create_direct(server) as direct:
            assert (await direct.call_tool("remember")).structured_content is True
            await direct.call_tool("remember")
        assert not seen[-1].open
    assert [db is seen[0] for db in seen] == [True, True, False, False]


async def test_a_factory_that_fails_stops_the_start_and_closes_what_was_open() -> None:
    db = Db()

    @asynccontextmanager
    async def first() -> AsyncIterator[Db]:
        try:
            yield db
        finally:
            db.open = False

    def second() -> Session:
        raise RuntimeError("no session")

    server = FrontMcp("s", providers=[Provider(Db, first), Provider(Session, second)])
    with pytest.raises(RuntimeError, match="no session"):
        async with create_direct(server):
            pass
    assert not db.open


# Request scope


async def make_session() -> Session:
    await anyio.sleep(0.01)
    return Session()


@Tool
class Outer(ToolContext):
    async def execute(self, session: Annotated[Session, Inject()]) -> list[int]:
        inner = await self.call_tool("session_number")
        return [session.number, inner.structured_content, self.get(Session).number]


@pytest.mark.parametrize("factory", [Session, make_session])
async def test_a_request_scoped_instance_is_one_for_the_request_and_its_inner_calls(factory: Any) -> None:
    provider = Provider(Session, factory, scope="request")
    async with create_direct(FrontMcp("s", tools=[Outer, session_number], providers=[provider])) as direct:
        for expected in (1, 2):
            result = await direct.call_tool("outer")
            assert result.structured_content == [expected] * 3


@pytest.mark.parametrize("factory", [Session, make_session])
async def test_calls_that_run_at_once_share_it_too(factory: Any) -> None:
    @Tool
    class Fan(ToolContext):
        async def execute(self) -> int:
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(self.call_tool, "session_number")
            return Session.count

    provider = Provider(Session, factory, scope="request")
    async with create_direct(FrontMcp("s", tools=[Fan, session_number], providers=[provider])) as direct:
        assert (await direct.call_tool("fan")).structured_content == 1


async def test_threads_that_run_at_once_share_it_too() -> None:
    barrier = threading.Barrier(5)

    @Tool
    def threaded(ctx: ToolContext) -> int:
        barrier.wait(10)
        return ctx.get(Session).number

    @Tool
    class Fan(ToolContext):
        async def execute(self) -> int:
            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(self.call_tool, "threaded")
            return Session.count

    def slow() -> Session:
        time.sleep(0.01)
        return Session()

    provider = Provider(Session, slow, scope="request")
    async with create_direct(FrontMcp("s", tools=[Fan, threaded], providers=[provider])) as direct:
        assert (await direct.call_tool("fan")).structured_content == 1


async def test_a_request_scoped_factory_may_take_the_request() -> None:
    def of_request(request: RequestContext) -> Db:
        return Db(request.caller.sub)

    def of_nothing(name: str = "optional") -> Db:
        return Db(name)

    for factory, name in ((of_request, "nour"), (of_nothing, "optional")):
        provider = Provider(Db, factory, scope="request")
        async with create_direct(FrontMcp("s", tools=[ByType], providers=[provider])) as direct:
            result = await direct.call_tool("by_type", auth_context={"user": {"sub": "nour"}})
            assert text_of(result) == name


async def test_get_can_not_wait_for_an_async_factory() -> None:
    @Tool
    class Hasty(ToolContext):
        async def execute(self) -> int:
            return self.get(Session).number

    provider = Provider(Session, make_session, scope="request")
    async with create_direct(FrontMcp("s", tools=[Hasty], providers=[provider])) as direct:
        with pytest.raises(ToolExecutionError, match=r"Session has an async factory: take it as a parameter"):
            await direct.call_tool("hasty")


async def test_a_failed_factory_is_an_error_of_the_call_and_tried_again() -> None:
    attempts: list[int] = []

    async def flaky() -> Session:
        attempts.append(1)
        if len(attempts) == 1:
            raise RuntimeError("not yet")
        return Session()

    provider = Provider(Session, flaky, scope="request")
    async with create_direct(FrontMcp("s", tools=[session_number], providers=[provider])) as direct:
        with pytest.raises(ToolExecutionError, match="not yet"):
            await direct.call_tool("session_number")
        assert (await direct.call_tool("session_number")).structured_content == 1


# The lifespan


@asynccontextmanager
async def lifespan(server: FrontMcp) -> AsyncIterator[dict[Any, Any]]:
    yield {Db: Db(f"of {server.name}")}


async def test_a_lifespan_brings_instances() -> None:
    async with create_direct(FrontMcp("s", tools=[by_parameter, ByType], lifespan=lifespan)) as direct:
        assert text_of(await direct.call_tool("by_parameter")) == "of s"
        assert text_of(await direct.call_tool("by_type")) == "of s"


async def test_a_lifespan_goes_before_a_provider() -> None:
    server = FrontMcp("s", tools=[ByType], lifespan=lifespan, providers=[Provider(Db, Db)])
    async with create_direct(server) as direct:
        assert text_of(await direct.call_tool("by_type")) == "of s"


async def test_a_lifespan_may_bring_nothing() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def quiet(server: FrontMcp) -> AsyncIterator[None]:
        events.append("start")
        yield
        events.append("stop")

    async with create_direct(FrontMcp("s", lifespan=quiet)):
        assert events == ["start"]
    assert events == ["start", "stop"]


async def test_what_a_lifespan_does_not_bring_stops_the_start() -> None:
    server = FrontMcp("s", tools=[session_number], lifespan=lifespan)
    server.check()
    with pytest.raises(
        ConfigurationError, match=r'Tool "session_number" .* parameter \'session\': nothing provides Session'
    ):
        async with create_direct(server):
            pass


# What stops the start


def test_a_parameter_that_nobody_provides_is_a_problem_of_the_start() -> None:
    server = FrontMcp("s", tools=[by_parameter, session_number])
    with pytest.raises(ConfigurationError) as refused:
        server.check()
    db, session = refused.value.problems
    assert db.startswith('Tool "by_parameter" (')
    assert db.endswith("parameter 'db': nothing provides Db: add Provider(Db, factory) to providers=")
    assert "nothing provides Session" in session


async def test_a_type_that_nobody_provides_is_an_error_of_the_call() -> None:
    async with create_direct(FrontMcp("s", tools=[ByType])) as direct:
        with pytest.raises(ToolExecutionError, match="nothing provides Db"):
            await direct.call_tool("by_type")


async def test_a_type_may_be_anything_that_is_hashable() -> None:
    @Tool
    async def several(
        clock: Annotated[Clock, Inject()],
        names: Annotated[dict[str, int], Inject()],
        maybe: Annotated[int | None, Inject()],
    ) -> list[Any]:
        return [clock, names, maybe]

    server = FrontMcp("s", tools=[several])
    with pytest.raises(ConfigurationError) as refused:
        server.check()
    assert len(refused.value.problems) == 3
    assert "parameter 'names': nothing provides dict[str, int]" in str(refused.value)
    values: dict[Any, Any] = {Clock: "c", dict[str, int]: {"a": 1}, int | None: 3}
    provided = [Provider(type_, lambda value=value: value) for type_, value in values.items()]  # type: ignore[misc]
    async with create_direct(FrontMcp("s", tools=[several], providers=provided)) as direct:
        assert text_of(await direct.call_tool("several")) == '["c",{"a":1},3]'


def generator() -> Iterator[Db]:
    yield Db()


async def async_generator() -> AsyncIterator[Db]:
    yield Db()


def needs_request(request: RequestContext) -> Db:
    return Db()


@contextmanager
def sync_manager() -> Iterator[Db]:
    yield Db()


@pytest.mark.parametrize(
    ("providers", "problem"),
    [
        ([3], "providers=: 3 is not a Provider(type, factory)"),
        ([Provider(Db, Db), Provider(Db, Db)], "providers=: two providers of Db"),
        ([Provider(Db, "Db")], "providers=: the provider of Db: its factory is not callable, but 'Db'"),  # type: ignore[arg-type]
        ([Provider(Db, Db, scope="call")], 'its scope is \'call\', not "server" or "request"'),  # type: ignore[arg-type]
        ([Provider(Db, generator)], "its factory yields: decorate it with @contextlib.asynccontextmanager"),
        ([Provider(Db, async_generator)], "its factory yields: decorate it with @contextlib.asynccontextmanager"),
        ([Provider(Db, sync_manager)], "its factory is a sync context manager: make it an async one"),
        ([Provider(Db, opened, scope="request")], 'an async context manager can have scope="server" only'),
        ([Provider(Db, needs_request)], 'its factory takes an argument, which only scope="request" passes'),
    ],
)
def test_a_wrong_provider_stops_the_start(providers: list[Any], problem: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("s", providers=providers).check()
    assert problem in str(refused.value)
