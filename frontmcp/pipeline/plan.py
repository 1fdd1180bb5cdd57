"""The plan of an entry: its stages compiled, with only the hooks that concern it; and input for a second execution."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel

from frontmcp.call import Call
from frontmcp.chain import Step

STAGES: Final = (
    "entry_visible", "check_authorities", "guard_call", "will_execute", "around_execute", "did_execute",
    "format_result", "on_progress", "on_notify", "on_error",
)  # fmt: skip
"""The hooks a plan holds, in the order of the journey."""


@dataclass(slots=True, eq=False)
class Plan:
    """The stages of one entry, compiled. None stands for a stage that nobody has a hook in."""

    invoke: Callable[[Call], Awaitable[Any]]
    visible: Callable[..., list[bool]] | None
    authorize: Callable[[Call], Awaitable[Any]] | None
    guard: Callable[[Call], Awaitable[Any]] | None
    will: Callable[[Call], Awaitable[Any]] | None
    around: Callable[[Call], Awaitable[Any]] | None
    did: Callable[[Call], Awaitable[Any]] | None
    format: Callable[[Call, Any], Any]
    recheck: bool
    progress: Callable[..., Awaitable[Any]] | None
    notify: Callable[..., Awaitable[Any]] | None
    steps: dict[str, list[Step]] = field(default_factory=dict)


def remembering(will: Callable[[Call], Awaitable[Any]]) -> Callable[[Call], Awaitable[Any]]:
    """``will``, and what it changed is kept for around hooks that execute again."""

    async def run(call: Call) -> None:
        validated = _fields(call.input)
        await will(call)
        call.baseline = (validated, _fields(call.input), call.input)

    return run


def _fields(value: Any) -> dict[str, Any]:
    """A shallow copy of typed input."""
    if isinstance(value, dict):
        return dict(value)
    return dict(value.__dict__) if isinstance(value, BaseModel) else {}


def fresh_input(call: Call) -> Any:
    """Input for another execution: validated anew, with what will hooks changed, without what the body changed."""
    fresh = call.entry.validate(call.pristine_arguments())
    if call.baseline is None:
        return fresh
    validated, after_will, given = call.baseline
    if type(fresh) is not type(given):
        return given
    target = fresh.__dict__ if isinstance(fresh, BaseModel) else fresh
    for name in validated.keys() - after_will.keys():
        target.pop(name, None)
    for name, value in after_will.items():
        if name not in validated or value is not validated[name]:
            target[name] = value
    return fresh
