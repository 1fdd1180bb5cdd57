"""A hook compiled to a chain does what pluggy's own call would, given the same order, and awaits where it must."""

from __future__ import annotations

import functools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from pluggy import HookimplMarker
from pluggy._callers import _multicall
from pluggy._hooks import HookImpl

from frontmcp.chain import (
    Step,
    add_note,
    blame,
    by_position,
    compile_all,
    compile_all_sync,
    compile_first,
    compile_first_sync,
    compile_wrappers,
)

SETS = 3000
PLAIN = ("value", "false", "none", "none", "none", "raise", "raise base")
WRAPPERS = ("pass", "pass", "replace", "swallow", "raise before", "raise after", "convert", "raise in finally")


class Boom(Exception):
    pass


class Abrupt(BaseException):
    pass


@dataclass(frozen=True)
class Member:
    """One implementation of a random plugin set."""

    index: int
    does: str
    is_async: bool
    pauses: bool


def random_members(randomly: random.Random, choices: tuple[str, ...]) -> list[Member]:
    return [
        Member(index, randomly.choice(choices), randomly.random() < 0.6, randomly.random() < 0.3)
        for index in range(randomly.randrange(6))
    ]


class Scene:
    """The same plugin set, written for pluggy and for us; what runs leaves a trace."""

    def __init__(self, wrappers: list[Member], plain: list[Member]) -> None:
        self.trace: list[Any] = []
        self.wrappers = wrappers
        self.plain = plain

    def _plain(self, member: Member, subject: str) -> Any:
        self.trace.append(("plain", member.index, subject))
        if member.does == "raise":
            raise Boom(f"plain {member.index}")
        if member.does == "raise base":
            raise Abrupt(f"plain {member.index}")
        return {"value": f"{subject}{member.index}", "false": False}.get(member.does)

    def _plain_of_colour(self, member: Member) -> Callable[[str], Any]:
        if not member.is_async:
            return lambda subject: self._plain(member, subject)

        async def implementation(subject: str) -> Any:
            if member.pauses:
                await anyio.lowlevel.checkpoint()
            return self._plain(member, subject)

        return implementation

    def _enter(self, member: Member) -> None:
        self.trace.append(("enter", member.index))
        if member.does == "raise before":
            raise Boom(f"before {member.index}")

    def _leave(self, member: Member, result: Any) -> Any:
        self.trace.append(("leave", member.index, result))
        if member.does == "raise after":
            raise Boom(f"after {member.index}")
        return ("replaced", member.index, result) if member.does == "replace" else result

    def _fail(self, member: Member, error: BaseException) -> Any:
        self.trace.append(("fail", member.index, repr(error)))
        if member.does == "swallow" and isinstance(error, Boom):
            return f"swallowed by {member.index}"
        if member.does == "convert":
            raise KeyError(f"converted by {member.index}") from error
        raise error

    def _finally(self, member: Member) -> None:
        self.trace.append(("finally", member.index))
        if member.does == "raise in finally":
            raise Boom(f"finally {member.index}")

    def generator(self, member: Member) -> Callable[..., Any]:
        def wrapper(subject: str) -> Any:
            self._enter(member)
            try:
                try:
                    result = yield
                except BaseException as error:
                    return self._fail(member, error)
                return self._leave(member, result)
            finally:
                self._finally(member)

        return wrapper

    def around(self, member: Member) -> Callable[..., Any]:
        async def wrapper(subject: str, call_next: Callable[[], Awaitable[Any]]) -> Any:
            self._enter(member)
            try:
                try:
                    result = await call_next()
                except BaseException as error:
                    return self._fail(member, error)
                return self._leave(member, result)
            finally:
                self._finally(member)

        return wrapper if member.is_async else lambda subject, call_next: wrapper(subject, call_next)

    def run_pluggy(self, *, first: bool) -> Any:
        """pluggy calls the last of its list first."""
        marker = HookimplMarker("test")
        options = {"tryfirst": False, "trylast": False, "optionalhook": False, "hookwrapper": False, "specname": None}
        functions = [
            *((marker(wrapper=True)(self.generator(member)), True) for member in self.wrappers),
            *((functools.partial(self._plain, member), False) for member in self.plain),
        ]
        implementations = [
            HookImpl(None, str(index), _named(function), {**options, "wrapper": wrapper})
            for index, (function, wrapper) in enumerate(functions)
        ]
        return _multicall("hook", implementations[::-1], {"subject": "s"}, first)

    async def run_ours(self, *, first: bool) -> Any:
        compile_plain = compile_first if first else compile_all
        chain = compile_plain([step(self._plain_of_colour(member), member.is_async) for member in self.plain])
        if not self.wrappers:
            return await chain("s") if chain is not None else None if first else []

        async def terminal(subject: str) -> Any:
            return await chain(subject) if chain is not None else None if first else []

        wrappers = [step(self.around(member), member.is_async) for member in self.wrappers]
        return await compile_wrappers(wrappers, terminal)("s")

    def run_ours_sync(self, *, first: bool) -> Any:
        compile_plain = compile_first_sync if first else compile_all_sync
        chain = compile_plain([step(functools.partial(self._plain, member)) for member in self.plain])
        return chain("s") if chain is not None else None if first else []


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """A partial as a function whose argument pluggy can read."""
    if not isinstance(function, functools.partial):
        return function
    return lambda subject: function(subject)


def step(function: Callable[..., Any], is_async: bool = False, *, plugin: str = "p", source: Any = None) -> Step:
    return Step(plugin, "hook", function, source if source is not None else function, is_async)


def outcome(error: BaseException) -> tuple[Any, ...]:
    """An exception as far as it must be the same: it, what caused it, and what it was raised during."""
    cause = error.__cause__
    return (type(error), str(error), cause and outcome(cause))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("first", [True, False])
async def test_results_exceptions_and_traces_are_pluggys(first: bool) -> None:
    randomly = random.Random(first)
    for number in range(SETS):
        wrappers, plain = random_members(randomly, WRAPPERS), random_members(randomly, PLAIN)
        theirs, ours = Scene(wrappers, plain), Scene(wrappers, plain)
        try:
            expected = theirs.run_pluggy(first=first)
        except BaseException as error:
            expected = outcome(error)
        try:
            found = await ours.run_ours(first=first)
        except (Boom, Abrupt, KeyError) as error:
            found = outcome(error)
        assert (found, ours.trace) == (expected, theirs.trace), (number, wrappers, plain)


@pytest.mark.parametrize("first", [True, False])
def test_sync_hooks_are_pluggys_too(first: bool) -> None:
    randomly = random.Random(first)
    for number in range(SETS):
        plain = random_members(randomly, PLAIN)
        theirs, ours = Scene([], plain), Scene([], plain)
        try:
            expected = theirs.run_pluggy(first=first)
        except BaseException as error:
            expected = outcome(error)
        try:
            found = ours.run_ours_sync(first=first)
        except (Boom, Abrupt) as error:
            found = outcome(error)
        assert (found, ours.trace) == (expected, theirs.trace), (number, plain)


async def test_a_wrapper_may_answer_without_the_rest() -> None:
    async def around(subject: Any, call_next: Any) -> str:
        return "kept"

    async def terminal(subject: Any) -> str:
        raise AssertionError("not reached")

    assert await compile_wrappers([step(around, True)], terminal)("s") == "kept"


async def test_call_next_runs_the_rest_anew_each_time() -> None:
    entered: list[str] = []

    async def retry(subject: str, call_next: Any) -> Any:
        try:
            return await call_next()
        except Boom:
            return await call_next()

    async def inner(subject: str, call_next: Any) -> Any:
        entered.append("inner")
        return await call_next()

    async def terminal(subject: str) -> str:
        entered.append("terminal")
        if len(entered) == 2:
            raise Boom
        return "done"

    assert await compile_wrappers([step(retry, True), step(inner, True)], terminal)("s") == "done"
    assert entered == ["inner", "terminal", "inner", "terminal"]


async def test_wrappers_of_several_arguments_see_them_all() -> None:
    async def around(call: str, request: str, call_next: Any) -> Any:
        return ["around", call, request, await call_next()]

    async def terminal(call: str, request: str) -> Any:
        return ["terminal", call, request]

    chain = compile_wrappers([step(around, True)] * 2, terminal)
    assert await chain("c", "r") == ["around", "c", "r", ["around", "c", "r", ["terminal", "c", "r"]]]


async def test_cancellation_passes_through_every_wrapper_in_order() -> None:
    left: list[str] = []

    def leaving(name: str) -> Step:
        async def around(subject: Any, call_next: Any) -> Any:
            try:
                return await call_next()
            except anyio.get_cancelled_exc_class():
                left.append(name)
                raise

        return step(around, True)

    async def terminal(subject: Any) -> None:
        await anyio.sleep_forever()

    with anyio.move_on_after(0.01) as scope:
        await compile_wrappers([leaving("outer"), leaving("inner")], terminal)("s")
    assert scope.cancelled_caught
    assert left == ["inner", "outer"]


async def test_a_def_that_returns_an_awaitable_is_awaited() -> None:
    """As a decorator makes of an ``async def``; it may also answer None."""

    async def answer() -> str | None:
        return "second"

    async def nothing() -> None:
        pass

    steps = [step(lambda: nothing()), step(lambda: answer()), step(lambda: "third")]
    first, all_ = compile_first(steps), compile_all(steps)
    assert first is not None
    assert all_ is not None
    assert await first() == "second"
    assert await all_() == ["second", "third"]


@pytest.mark.parametrize("compiler", [compile_all, compile_first, compile_all_sync, compile_first_sync])
def test_no_step_compiles_to_nothing(compiler: Callable[..., Any]) -> None:
    assert compiler([]) is None


def test_no_wrapper_leaves_the_rest_as_it_is() -> None:
    async def terminal(call: Any) -> None: ...

    assert compile_wrappers([], terminal) is terminal


@pytest.mark.parametrize(
    ("names", "expected"),
    [(("a", "b", "c"), (1, 2, 3)), (("c", "a"), (3, 1)), (("b",), (2,)), ((), ())],
)
def test_arguments_are_picked_by_name(names: tuple[str, ...], expected: tuple[int, ...]) -> None:
    assert by_position(lambda *given: given, names, ("a", "b", "c"))(1, 2, 3) == expected


class Audit:
    """A plugin of which there may be several."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def sync(self, call: Any) -> None:
        if self.error is not None:
            raise self.error

    async def hook(self, call: Any) -> None:
        if self.error is not None:
            raise self.error

    async def around(self, call: Any, call_next: Any) -> Any:
        result = await call_next()
        if self.error is not None:
            raise self.error
        return result


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("refuse") or getattr(args[0], "refuse", False):
            raise Boom("the decorator's own")
        return await function(*args, **kwargs)

    return wrapper


class Decorated(Audit):
    refuse = False

    @logged
    async def hook(self, call: Any) -> None:
        if self.error is not None:
            raise self.error


async def blamed(steps: list[Step]) -> Step | None:
    chain = compile_all(steps)
    assert chain is not None
    try:
        await chain("call")
    except BaseException as error:
        return blame(error, steps)
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("culprit", [0, 1, 2])
@pytest.mark.parametrize("method", ["hook", "sync"])
@pytest.mark.parametrize("plugin", [Audit, Decorated])
async def test_of_instances_of_one_class_the_one_that_raised_is_blamed(
    plugin: type[Audit], method: str, culprit: int
) -> None:
    plugins = [plugin(Boom() if index == culprit else None) for index in range(3)]
    steps = [step(getattr(each, method), method == "hook", plugin=str(i)) for i, each in enumerate(plugins)]
    assert await blamed(steps) is steps[culprit]


@pytest.mark.parametrize("culprit", [0, 1])
async def test_what_a_shared_decorator_raises_is_blamed_on_the_hook_it_decorates(culprit: int) -> None:
    plugins = [Decorated(), Decorated()]
    plugins[culprit].refuse = True
    steps = [step(each.hook, True, plugin=str(index)) for index, each in enumerate(plugins)]
    assert await blamed(steps) is steps[culprit]


@pytest.mark.parametrize("culprit", [0, 1])
async def test_decorated_functions_of_modules_are_told_apart_by_what_they_wrap(culprit: int) -> None:
    @logged
    async def one(call: Any, refuse: bool = culprit == 0) -> None: ...

    @logged
    async def two(call: Any, refuse: bool = culprit == 1) -> None: ...

    def refusing(function: Any, refuse: bool) -> Any:
        return functools.partial(function, refuse=True) if refuse else function

    steps = [
        step(refusing(one, culprit == 0), plugin="one", source=one),
        step(refusing(two, culprit == 1), plugin="two", source=two),
    ]
    assert await blamed(steps) is steps[culprit]


async def wrapped(steps: list[Step], terminal: Callable[..., Any], resumed: Any = ()) -> Step | None:
    try:
        await compile_wrappers(steps, terminal)("call")
    except Boom as error:
        return blame(error, steps, resumed)
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("culprit", [0, 1])
async def test_the_innermost_wrapper_that_an_error_left_is_blamed(culprit: int) -> None:
    async def terminal(call: Any) -> None: ...

    plugins = [Audit(Boom() if index == culprit else None) for index in range(2)]
    steps = [step(each.around, True, plugin=str(index)) for index, each in enumerate(plugins)]
    assert await wrapped(steps, terminal) is steps[culprit]


async def test_no_wrapper_is_blamed_for_what_it_surrounds() -> None:
    async def terminal(call: Any) -> None:
        raise Boom

    assert await wrapped([step(Audit().around, True)], terminal, [terminal.__code__]) is None


async def test_a_hook_inside_of_what_a_wrapper_surrounds_is_blamed() -> None:
    inner = step(Audit(Boom()).hook, True, plugin="inner")
    outer = step(Audit().around, True, plugin="outer")

    async def terminal(call: Any) -> None:
        await inner.function(call)

    with pytest.raises(Boom) as raised:
        await compile_wrappers([outer], terminal)("call")
    assert blame(raised.value, [outer, inner], [terminal.__code__]) is inner


def test_nobody_is_blamed_for_an_error_from_elsewhere() -> None:
    with pytest.raises(Boom) as raised:
        raise Boom
    assert blame(raised.value, [step(Audit().hook, True)]) is None


def test_a_note_says_plugin_hook_and_place_once() -> None:
    error = Boom("text")
    audited = step(Decorated().hook, True, plugin="acme.audit")
    for _ in range(2):
        add_note(error, audited)
    line = Decorated.hook.__wrapped__.__code__.co_firstlineno  # type: ignore[attr-defined]
    assert error.__notes__ == [f'in plugin "acme.audit", hook hook ({__file__}:{line})']
    assert str(error) == "text"


def test_the_place_of_what_has_no_code_is_said_somehow() -> None:
    assert step(len).place == repr(len)
