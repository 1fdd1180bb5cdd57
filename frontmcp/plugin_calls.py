"""Calls that plugins make, for jobs, agents and channels: no client makes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from frontmcp.asking import Resumed, State
from frontmcp.call import Call, Caller, Entry, Origin, Question, RequestContext, Sought, Surface
from frontmcp.pipeline import Pipeline

if TYPE_CHECKING:
    from frontmcp.interfaces import StateStore


class Served(Protocol):
    """What this needs of a server."""

    @property
    def pipeline(self) -> Pipeline: ...
    @property
    def state_store(self) -> StateStore: ...


class PluginCalls:
    """Makes calls for ``server.pipeline.start``; `FrontMcp.call` makes one and starts it."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def new_call(
        self,
        target: Entry | str,
        arguments: Mapping[str, Any] | None = None,
        *,
        origin: Origin,
        surface: Surface | None = None,
        caller: Caller | None = None,
        request: RequestContext | None = None,
        parent: Call | None = None,
        scope: Mapping[str, Entry] | None = None,
        kind: Sought = "tool",
    ) -> Call:
        """A call that a plugin makes: to start it, or to ask what it may do by ``server.pipeline.aside``.

        :param target: an entry, or the name of one.
        :param origin: who makes the call: ``"job"``, ``"agent"``, ``"channel"``, …
        :param surface: where it comes from.
        :param caller: as whom, for a call that no other call makes.
        :param request: what the call belongs to, and as whom, where there is a request from outside.
        :param parent: the call that makes it; its caller and request are used.
        :param scope: the only entries that can be found from there on, by name.
        :param kind: what a name names.
        """
        if sum(given is not None for given in (caller, request, parent)) != 1:
            raise TypeError("a call takes one of caller=, request= and parent=")
        name = target if isinstance(target, str) else target.name
        arguments = {} if arguments is None else arguments
        if parent is not None:
            call = parent.inner(name, arguments, origin, surface)
        else:
            if request is None:
                assert caller is not None
                request = RequestContext(caller, "inside")
            call = Call(self._served.pipeline, request, name, arguments, request.caller)
            call.origin, call.surface = origin, surface
        if scope is not None:
            call.scope = scope
        call.kind = kind
        if not isinstance(target, str):
            call.entry, call.kind = target, getattr(target, "sought", "tool")
        return call

    def resumed_call(
        self,
        entry: Entry,
        arguments: Mapping[str, Any],
        *,
        request: RequestContext,
        state: str,
        put: Callable[[str, Question], Awaitable[Mapping[str, Any]]],
    ) -> Call:
        """A client's call that left its request (`Asking.leave`), to be run again from its start where nobody waits.

        What finished inside it before is not done again, and limits have counted it.

        :param state: what leaving gave.
        :param put: puts a question to the client under a key, and waits for the result that answers it.
        """
        resumed = Resumed(self._served.state_store, request.caller, State.load(state), put)
        request.asking = resumed
        call = self.new_call(entry, arguments, origin="client", request=request)
        call.attempt = resumed.attempt
        return call
