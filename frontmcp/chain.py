"""One hook compiled to a function that runs its implementations, in order, awaited where they must be.

pluggy keeps the registry; its own calls are synchronous, so they are not used. Wrappers are linked by plain
functions that return the next coroutine: a wrapper costs its own frame and none of ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType, TracebackType
from typing import Any, TypeAlias

AsyncChain: TypeAlias = Callable[..., Awaitable[Any]]
SyncChain: TypeAlias = Callable[..., Any]
Terminal: TypeAlias = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """One implementation of a hook.

    :ivar function: called with the hook's arguments by position, ``call_next`` last for a wrapper.
    :ivar source: the function as it was written, for blame.
    """

    plugin: str
    hook: str
    function: Callable[..., Any]
    source: Callable[..., Any]
    is_async: bool

    @property
    def place(self) -> str:
        code = inspect.unwrap(getattr(self.source, "__func__", self.source)).__code__
        return f"{code.co_filename}:{code.co_firstlineno}"


def by_position(function: Callable[..., Any], names: Sequence[str], given: Sequence[str]) -> Callable[..., Any]:
    """``function``, which takes the arguments ``names``, as one that takes ``given`` by position."""
    if tuple(names) == tuple(given):
        return function
    indexes = [given.index(name) for name in names]

    def pick(*arguments: Any) -> Any:
        return function(*[arguments[index] for index in indexes])

    return pick


def compile_all(steps: Sequence[Step]) -> AsyncChain | None:
    """Runs every step; gives the answers that are not None. None for no step."""
    if not steps:
        return None
    pairs = [(step.function, step.is_async) for step in steps]

    async def run(*arguments: Any) -> list[Any]:
        answers = []
        for function, is_async in pairs:
            answer = function(*arguments)
            if is_async or inspect.isawaitable(answer):
                answer = await answer
            if answer is not None:
                answers.append(answer)
        return answers

    return run


def compile_first(steps: Sequence[Step]) -> AsyncChain | None:
    """Runs steps until one answers something other than None. None for no step."""
    if not steps:
        return None
    pairs = [(step.function, step.is_async) for step in steps]

    async def run(*arguments: Any) -> Any:
        for function, is_async in pairs:
            answer = function(*arguments)
            if is_async or inspect.isawaitable(answer):
                answer = await answer
            if answer is not None:
                return answer
        return None

    return run


def compile_all_sync(steps: Sequence[Step]) -> SyncChain | None:
    """`compile_all` for a sync hook."""
    if not steps:
        return None
    functions = [step.function for step in steps]

    def run(*arguments: Any) -> list[Any]:
        return [answer for function in functions if (answer := function(*arguments)) is not None]

    return run


def compile_first_sync(steps: Sequence[Step]) -> SyncChain | None:
    """`compile_first` for a sync hook."""
    if not steps:
        return None
    if len(steps) == 1:
        return steps[0].function
    functions = [step.function for step in steps]

    def run(*arguments: Any) -> Any:
        for function in functions:
            if (answer := function(*arguments)) is not None:
                return answer
        return None

    return run


def compile_wrappers(steps: Sequence[Step], terminal: Terminal) -> Terminal:
    """``terminal`` with the steps around it, the first outermost."""
    linked = terminal
    for step in reversed(steps):
        linked = _link(step.function if step.is_async else _awaiting(step.function), linked)
    return linked


def _link(wrapper: Callable[..., Awaitable[Any]], following: Terminal) -> Terminal:
    def run(call: Any) -> Awaitable[Any]:
        return wrapper(call, partial(following, call))

    return run


def _awaiting(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def wrapper(*arguments: Any) -> Any:
        answer = function(*arguments)
        return await answer if inspect.isawaitable(answer) else answer

    return wrapper


def blame(error: BaseException, steps: Sequence[Step]) -> Step | None:
    """The step whose frame is innermost in the error's traceback: who raised it, or let it pass."""
    by_code: dict[Any, list[Step]] = {}
    for step in steps:
        function = inspect.unwrap(getattr(step.source, "__func__", step.source))
        by_code.setdefault(getattr(function, "__code__", None), []).append(step)
    found: Step | None = None
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None:
        candidates = by_code.get(traceback.tb_frame.f_code)
        if candidates:
            found = _of_frame(candidates, traceback.tb_frame)
        traceback = traceback.tb_next
    return found


def _of_frame(candidates: Sequence[Step], frame: FrameType) -> Step:
    """Of several plugins that share the code, the one whose object runs in the frame."""
    for step in candidates:
        owner = getattr(step.source, "__self__", None)
        if owner is not None and any(value is owner for value in list(frame.f_locals.values())[:1]):
            return step
    return candidates[0]


def add_note(error: BaseException, step: Step) -> None:
    """Say on the error itself which plugin's hook it left, once."""
    note = f'in plugin "{step.plugin}", hook {step.hook} ({step.place})'
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
