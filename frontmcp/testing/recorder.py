"""Which hooks ran for which calls, written down in order."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any

from frontmcp.call import Call, CallNext, Message, ProgressUpdate
from frontmcp.hooks import Plugin
from frontmcp.hookspecs import hookimpl


@dataclass(slots=True)
class HookCall:
    """One time a hook was called.

    :ivar hook: its name.
    :ivar entry: the name of the tool; None while it has not been found.
    :ivar depth: of the call, 0 for a client's.
    :ivar arguments: what the hook was given, by name; updates and messages as they were then.
    :ivar outcome: for a wrapper, what ``call_next()`` gave, or the error it raised; None for other hooks.
    """

    hook: str
    entry: str | None
    depth: int
    arguments: dict[str, Any]
    outcome: Any = None

    @property
    def call(self) -> Call:
        """The call that the hook was run for."""
        call: Call = self.arguments["call"]
        return call


class HookRecorder(Plugin):
    """An ordinary plugin that implements every hook of a call, before all others, and changes nothing."""

    name = "frontmcp.testing.hooks"

    def __init__(self) -> None:
        self._seen: list[HookCall] = []

    def calls(self, hook: str | None = None, *, listing: bool = False) -> list[HookCall]:
        """What was called, in order.

        :param hook: only this hook, such as ``"will_execute"``.
        :param listing: also those asked whether an entry is listed, not called.
        """
        return [each for each in self._seen if hook in (None, each.hook) and (listing or not each.call.listing)]

    def clear(self) -> None:
        """Forget what was called so far."""
        self._seen.clear()

    def _note(self, hook: str, call: Call, **arguments: Any) -> HookCall:
        entry = call.entry if call.entry is not None else arguments.get("entry")
        noted = HookCall(hook, entry.name if entry is not None else None, call.depth, {"call": call, **arguments})
        self._seen.append(noted)
        return noted

    async def _around(self, hook: str, call: Call, call_next: CallNext) -> Any:
        noted = self._note(hook, call, call_next=call_next)
        try:
            noted.outcome = await call_next()
        except BaseException as error:
            noted.outcome = error
            raise
        return noted.outcome

    @hookimpl(tryfirst=True)
    def resolve_tool(self, name: str, call: Call) -> None:
        self._note("resolve_tool", call, name=name)

    @hookimpl(tryfirst=True)
    def entry_visible(self, call: Call, entry: Any) -> None:
        self._note("entry_visible", call, entry=entry)

    @hookimpl(tryfirst=True)
    def check_authorities(self, call: Call) -> None:
        self._note("check_authorities", call)

    @hookimpl(tryfirst=True)
    def guard_call(self, call: Call, call_next: CallNext) -> Awaitable[Any]:
        return self._around("guard_call", call, call_next)

    @hookimpl(tryfirst=True)
    def will_execute(self, call: Call) -> None:
        self._note("will_execute", call)

    @hookimpl(tryfirst=True)
    def around_execute(self, call: Call, call_next: CallNext) -> Awaitable[Any]:
        return self._around("around_execute", call, call_next)

    @hookimpl(tryfirst=True)
    def did_execute(self, call: Call) -> None:
        self._note("did_execute", call)

    @hookimpl(tryfirst=True)
    def format_result(self, call: Call, value: Any) -> None:
        self._note("format_result", call, value=value)

    @hookimpl(tryfirst=True)
    def on_progress(self, call: Call, update: ProgressUpdate) -> None:
        self._note("on_progress", call, update=replace(update))

    @hookimpl(tryfirst=True)
    def on_notify(self, call: Call, message: Message) -> None:
        self._note("on_notify", call, message=replace(message))

    @hookimpl(tryfirst=True)
    def on_error(self, call: Call, error: BaseException) -> None:
        self._note("on_error", call, error=error)
