"""One hook compiled to a function that runs its implementations, in order, awaited where they must be.

pluggy keeps the registry; its own calls are synchronous, so they are not used. Wrappers are linked by plain
functions that return the next coroutine: a wrapper costs its own frame and none of ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from functools import partial
from types import CodeType, CoroutineType, FrameType
from typing import Any, NamedTuple, TypeAlias

AsyncChain: TypeAlias = Callable[..., Awaitable[Any]]
SyncChain: TypeAlias = Callable[..., Any]
Terminal: TypeAlias = Callable[..., Awaitable[Any]]
Owners: TypeAlias = dict[Any, list["Step"]]
"""Steps by the code of theirs, and of what they decorate."""


class Step(NamedTuple):
    """One implementation of a hook.

    :ivar function: called with the hook's arguments by position, ``call_next`` last for a wrapper.
    :ivar source: the function as it was written, for blame.
    :ivar is_async: calling it gives a coroutine, always.
    """

    plugin: str
    hook: str
    function: Callable[..., Any]
    source: Callable[..., Any]
    is_async: bool

    @property
    def place(self) -> str:
        """``file:line`` of the source."""
        return place(self.source)

    @property
    def described(self) -> str:
        """The function, its plugin and its place."""
        *_, plain = layers(self.source)
        return f'{getattr(plain, "__qualname__", plain)} (plugin "{self.plugin}", {self.place})'


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
            if is_async or (answer is not None and inspect.isawaitable(answer)):
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
            if is_async or (answer is not None and inspect.isawaitable(answer)):
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
    def run(subject: Any, *others: Any) -> Awaitable[Any]:
        if others:
            return wrapper(subject, *others, partial(following, subject, *others))
        return wrapper(subject, partial(following, subject))

    return run


def _awaiting(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def wrapper(*arguments: Any) -> Any:
        answer = function(*arguments)
        return await answer if inspect.isawaitable(answer) else answer

    return wrapper


async def run_step(step: Step, *arguments: Any) -> Any:
    """One implementation by itself, awaited where it must be."""
    return await _awaiting(step.function)(*arguments)


def layers(function: Callable[..., Any]) -> Iterator[Any]:
    """A function, and what its decorators wrapped, outermost first; bound methods as plain functions."""
    layer: Any = function
    while layer is not None:
        layer = getattr(layer, "__func__", layer)
        yield layer
        layer = getattr(layer, "__wrapped__", None)


def place(function: Callable[..., Any]) -> str:
    """``file:line`` of a function as it was written; its repr where it has none."""
    *_, plain = layers(function)
    code = getattr(plain, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(plain)


def blame(error: BaseException, steps: Sequence[Step], resumed: Collection[CodeType] = ()) -> Step | None:
    """The step that raised an error, or let it pass: the one whose frame is innermost in the traceback.

    :param resumed: code that wrappers surround: what is raised below it is not the wrappers' doing.
    """
    owners = _owners(steps)
    found: Step | None = None
    for frame in _frames(error):
        found = None if frame.f_code in resumed else _owner(frame, owners) or found
    return found


def without_await(running: CoroutineType[Any, Any, Any], steps: Sequence[Step], last: CodeType) -> Step | None:
    """The wrapper that gave ``call_next()`` without awaiting it: the one around what the coroutine would run.

    :param last: the code that the innermost wrapper surrounds.
    """
    if running.cr_code is last:
        return steps[-1]
    inner = _owner(running.cr_frame, _owners(steps)) if running.cr_frame is not None else None
    return None if inner is None else steps[steps.index(inner) - 1]


def _owners(steps: Sequence[Step]) -> Owners:
    owners: Owners = {}
    for step in steps:
        for layer in layers(step.source):
            owners.setdefault(getattr(layer, "__code__", None), []).append(step)
    return owners


def _owner(frame: FrameType, owners: Owners) -> Step | None:
    """The step that runs in a frame, if one does."""
    candidates = owners.get(frame.f_code, [])
    return next((step for step in candidates if _runs_in(step, frame)), candidates[0] if candidates else None)


def _frames(error: BaseException) -> Iterator[FrameType]:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _runs_in(step: Step, frame: FrameType) -> bool:
    """Whether a frame of the step's code is the step's own: its object runs there, or what it decorates."""
    owner = getattr(step.source, "__self__", None)
    if owner is not None:
        return _first_argument(frame) is owner
    closure = [frame.f_locals.get(name) for name in frame.f_code.co_freevars]
    return any(layer is value for layer in layers(step.source) for value in closure)


def _first_argument(frame: FrameType) -> Any:
    value = next((frame.f_locals.get(name) for name in frame.f_code.co_varnames[:1]), None)
    return next(iter(value), None) if isinstance(value, tuple) else value


def add_note(error: BaseException, step: Step) -> None:
    """Say on the error itself which plugin's hook it left, once."""
    note = f'in plugin "{step.plugin}", hook {step.hook} ({step.place})'
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
