"""The plan of an entry: its stages compiled, with only the hooks that concern it; and input for a second execution."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel

from frontmcp.call import Call
from frontmcp.chain import Step, compile_all, compile_wrappers
from frontmcp.invoke import context_of
from frontmcp.plugins import PluginManager
from frontmcp.registry import Entry

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
    warned: bool = False


def plan_of(
    entry: Entry,
    plugins: PluginManager,
    *,
    work: Callable[[Call], Awaitable[Any]],
    execute: Callable[[Call], Awaitable[Any]],
) -> Plan:
    """The plan of one entry, with only the hooks that concern it.

    :param work: what guards surround.
    :param execute: what around hooks surround.
    :raises ConfigurationError: a hook on the entry's own class can't be one.
    """
    body = entry.definition.body
    own = plugins.own_steps(entry, body.context_class, context_of) if body.context_class else {}
    steps = {hook: plugins.ordered(hook, entry, own.get(hook, ())) for hook in STAGES}
    around, guard = steps["around_execute"], steps["guard_call"]
    will = compile_all(steps["will_execute"])
    chain = plugins.chain
    # A result of the core's own making is checked already, unless a plugin had it in its hands.
    recheck = any(not plugins.is_built_in(step.plugin) for step in steps["format_result"])
    if (output := getattr(entry.definition, "output", None)) is not None:
        output.prepare(verifies=recheck)
    return Plan(
        invoke=entry.invoke,
        visible=chain("entry_visible", entry),
        authorize=chain("check_authorities", entry),
        guard=compile_wrappers(guard, work) if guard else None,
        will=_remembering(will) if will is not None and around else will,
        around=compile_wrappers(around, execute) if around else None,
        did=compile_all(steps["did_execute"]),
        format=chain("format_result", entry) or Call.format,
        recheck=recheck,
        progress=chain("on_progress", entry),
        notify=chain("on_notify", entry),
        steps={hook: found for hook, found in steps.items() if found},
    )


def _remembering(will: Callable[[Call], Awaitable[Any]]) -> Callable[[Call], Awaitable[Any]]:
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
