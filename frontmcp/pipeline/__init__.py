"""The road every call travels: resolve, authorize, guard, validate, will, execute, did, format (architecture §2).

The only place that runs hooks for a call. What a stage costs is decided when the registry settles: each entry has a
`Plan` with only the hooks that concern it, and an empty stage is None.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, cast

from frontmcp.abort import AbortSignal
from frontmcp.arguments import called
from frontmcp.asking import ask, once
from frontmcp.call import (
    Answer,
    Call,
    Message,
    ProgressUpdate,
    Question,
    RequestContext,
    Sought,
    Surface,
)
from frontmcp.chain import add_note, blame
from frontmcp.errors import (
    AccessDeniedError,
    CallDepthError,
    FrontMcpError,
    InvalidInputError,
    InvalidOutputError,
    PluginError,
    Response,
)
from frontmcp.pipeline.failures import (
    Failures,
    body_outcome,
    check_awaited,
    is_cancellation,
    lost_result,
    replacing,
    warn_of_lost_value,
)
from frontmcp.pipeline.lists import ORIGINS, Lists
from frontmcp.pipeline.plan import Plan, fresh_input, plan_of
from frontmcp.plugins import PluginManager
from frontmcp.providers import Providers
from frontmcp.registry import Entry, ListName, Registry

T = TypeVar("T")
SURFACES: Final[Mapping[str, Surface]] = {"agent": "agent", "job": "job"}


class Pipeline:
    """Runs calls; the `Runner` of every call of one server."""

    def __init__(
        self, server: Any, registry: Registry, plugins: PluginManager, providers: Providers, *, max_call_depth: int
    ) -> None:
        self.server = server
        self.registry = registry
        self._directories = registry.directories
        self.plugins = plugins
        self.providers = providers
        self.max_call_depth = max_call_depth
        self._resolve: Callable[[str, Call], Any] | None = None
        self._lists = Lists(self, registry)
        self._failures = Failures(plugins, (Pipeline._work.__code__, Pipeline._execute.__code__))

    # Plans

    def compile(self) -> list[str]:
        """Make the plan of every entry anew; what is wrong with their own hooks, in words."""
        problems: list[str] = []
        self._resolve = self.plugins.chain("resolve_tool")
        self._lists.forget()
        for entry in self.registry.entries():
            try:
                entry.plan = plan_of(entry, self.plugins, work=self._work, execute=self._execute)
            except Exception as error:
                if not isinstance(error, FrontMcpError):
                    raise
                problems.extend(getattr(error, "problems", [str(error)]))
        return problems

    # The journey

    def client_call(
        self,
        request: RequestContext,
        name: str,
        arguments: Mapping[str, Any] | None,
        *,
        surface: Surface | None = "mcp",
        progress_token: str | int | None = None,
        budget: AbortSignal | None = None,
        attempt: int = 0,
        kind: Sought = "tool",
    ) -> Call:
        """A call made by a client, to `run`."""
        call = Call(self, request, name, {} if arguments is None else arguments, request.caller)
        call.surface = surface
        call.progress_token = progress_token
        call.budget = budget
        if attempt:
            call.attempt = attempt
        if kind != "tool":
            call.kind = kind
        return call

    def call_tool(
        self,
        parent: Call,
        name: str,
        arguments: Mapping[str, Any] | None,
        *,
        signal: AbortSignal | None = None,
        progress_token: str | int | None = None,
    ) -> Any:
        """A call made by a body: the same caller, in the same request."""
        kind = parent.entry.kind
        surface = parent.surface if kind == "channel" else SURFACES.get(kind)
        call = parent.inner(name, {} if arguments is None else arguments, ORIGINS.get(kind, kind), surface)
        if signal is not None:
            call.budget = signal
        if progress_token is not None:
            call.progress_token = progress_token
        return self.start(call)

    def read_resource(self, parent: Call, uri: str) -> Any:
        """A resource read by a body."""
        return self._other_call(parent, "resource", uri, {"uri": uri})

    def get_prompt(self, parent: Call, name: str, arguments: Mapping[str, Any] | None) -> Any:
        """A prompt got by a body."""
        return self._other_call(parent, "prompt", name, {} if arguments is None else arguments)

    def _other_call(self, parent: Call, kind: Sought, name: str, arguments: Mapping[str, Any]) -> Any:
        own = parent.entry.kind
        call = parent.inner(
            name, arguments, ORIGINS.get(own, own), parent.surface if own == "channel" else SURFACES.get(own)
        )
        call.kind = kind
        return self.start(call)

    def start(self, call: Call) -> Any:
        """`run`, unless the call finished in an earlier attempt of its request."""
        asking = call.request.asking
        return self.run(call) if asking is None or call.parent is None else asking.inner(call, self)

    async def run(self, call: Call) -> Any:
        """Take a call along the whole road.

        :returns: the protocol's result.
        :raises FlowControl: an inner call failed by `self.fail`.
        :raises FrontMcpError: anything else that went wrong.
        """
        try:
            if call.depth > self.max_call_depth:
                raise CallDepthError(call.path, self.max_call_depth)
            plan = self.find(call)
            if plan.authorize is not None:
                await self._authorize(call)
            if call.kept:
                return None
            if plan.guard is None:
                result = await self._work(call)
            else:
                result = await plan.guard(call)
                check_awaited(call, "guard_call", result, Pipeline._work.__code__)
                if result is None and call.entry.kind in ("tool", "agent"):
                    raise lost_result(call)
            if call.parent is not None:
                call.entry.ensure_success(result)
            return result
        except BaseException as error:
            left = await self._failures.left_with(call, error)
            if left is error:
                raise
            raise left from left.__cause__
        finally:
            if call.budget is not None:
                call.unlink_signal()

    async def aside(self, call: Call, work: Callable[[], Awaitable[T]]) -> T:
        """Do something beside executing for whoever may make a call: complete an argument, subscribe to a resource."""
        try:
            if self.find(call).authorize is not None:
                await self._authorize(call)
            call.runs += 1
            try:
                return await work()
            except BaseException as error:
                return cast("T", body_outcome(call, error))
        except BaseException as error:
            left = await self._failures.left_with(call, error)
            if left is error:
                raise
            raise left from left.__cause__

    async def complete(self, call: Call, argument: str, value: str, arguments: Mapping[str, str]) -> Any:
        """Values for an argument of a prompt, or a variable of a template, which is named as it is written."""
        call.arguments = {**arguments, argument: value}
        if call.kind == "resource":
            call.entry = self.registry.resources_by_uri.get(call.name)
            if call.entry is None:
                raise self._directories["resource"].not_found(call.name)
        return await self.aside(call, lambda: call.entry.complete(call, argument, value, arguments))

    def find(self, call: Call) -> Plan:
        """Resolve the name and ask whether the call may see what it found.

        :raises FrontMcpError: there is none, or it may not; in the words of the kind.
        """
        entry = call.entry
        if entry is None:
            entry = self.resolve(call)
        plan: Plan = entry.plan
        call.entry = entry
        if plan.visible is not None and False in plan.visible(call, entry):
            call.entry = None
            raise self._directories[call.kind].not_found(call.name)
        call.plan = plan
        return plan

    def resolve(self, call: Call) -> Entry:
        """What the name of a call leads to, whoever asks.

        :raises FrontMcpError: there is none; in the words of the kind.
        """
        entry = self._directories[call.kind].find(call)
        return self._resolved(call) if entry is None else entry

    def _resolved(self, call: Call) -> Entry:
        if not isinstance(call.name, str):
            raise TypeError(f"a {call.kind} is called by its name, not by {called(call.name)}")
        found = self._resolve(call.name, call) if self._resolve is not None and call.kind == "tool" else None
        if isinstance(found, str):
            found = self.registry.find(found) if call.scope is None else call.scope.get(found)
        if found is None or (call.scope is not None and found not in call.scope.values()):
            if (own := self._own(call)) is not None:
                return own
            raise self._directories[call.kind].not_found(call.name)
        return cast("Entry", found)

    def _own(self, call: Call) -> Entry | None:
        """What belongs to the body that calls, where nothing else is called so; from there on only such is found."""
        members = call.parent.entry.members if call.parent is not None else None
        if not members:
            return None
        outer, call.scope = call.scope, members
        own = self._directories[call.kind].find(call)
        if own is None:
            call.scope = outer
        return own

    async def _authorize(self, call: Call) -> None:
        try:
            await call.plan.authorize(call)
        except InvalidInputError as error:
            if error is not call._invalid:
                raise
            # A policy that can't read the input can't have allowed the call; the input's own error comes later.
            raise AccessDeniedError(
                f'Access denied to {call.entry.kind} "{call.entry.id}": its input can\'t be judged'
            ) from None

    async def _work(self, call: Call) -> Any:
        """Validate, will, execute, did, format."""
        if call.runs:
            call.restart()
        call.runs += 1
        plan: Plan = call.plan
        if (invalid := call.validate()) is not None:
            raise invalid
        try:
            if plan.will is not None:
                await plan.will(call)
            if plan.around is not None:
                value = await plan.around(call)
                check_awaited(call, "around_execute", value, Pipeline._execute.__code__)
                if value is not call.returned:
                    call.replaced_in = "around_execute"
                    if value is None and call.executions:
                        warn_of_lost_value(call)
            else:
                try:
                    value = await plan.invoke(call)
                except BaseException as error:
                    value = body_outcome(call, error)
            if plan.did is not None:
                call.output = value
                await plan.did(call)
                if call.output is not value:
                    value, call.replaced_in = call.output, "did_execute"
        except Response as response:
            value = response.value
        try:
            result = plan.format(call, value)
            if plan.recheck:
                call.entry.check(result)
        except InvalidOutputError as error:
            if call.replaced_in is None:
                raise
            raise error.made_by(replacing(call, call.replaced_in)) from error.__cause__
        return result

    async def _execute(self, call: Call) -> Any:
        """Execute, inside around hooks; a second time from the validated input again."""
        if call.executions:
            call.input = fresh_input(call)
            call.output = None
            call.context = None
        call.executions += 1
        try:
            value = await call.plan.invoke(call)
        except BaseException as error:
            value = body_outcome(call, error)
        call.returned = value
        return value

    # By this name Python warns when a wrapper drops it unawaited.
    _work.__qualname__ = _execute.__qualname__ = "call_next"

    # Lists

    async def reachable(
        self, parent: Call, entries: Iterable[Entry], *, surface: Surface | None = None, listed: bool = False
    ) -> list[Entry]:
        """Those entries that a call made by a body would find, and not be refused whatever its arguments are.

        :param parent: the call of the body.
        :param surface: where its calls come from.
        :param listed: only those that a list on that surface shows.
        """
        return [entry for entry in entries if await self._lists.may_reach(parent, entry, surface, listed=listed)]

    async def list_entries(
        self, list_name: ListName, request: RequestContext, *, surface: Surface | None = "mcp"
    ) -> list[tuple[str, Any]]:
        """The entries of a list that a caller may see, with what they are listed under, sorted by that."""
        return await self._lists.list_entries(list_name, request, surface=surface)

    def shared_list(self, list_name: ListName) -> list[tuple[str, Any]] | None:
        """The list that is the same for every caller; None when it depends on them."""
        return self._lists.shared_list(list_name)

    # What a context asks of its runner

    async def progress(self, call: Call, update: ProgressUpdate) -> None:
        """Send a progress update through the hooks.

        :raises TypeError: it says something that is no number.
        """
        update.check()
        if call.plan.progress is not None:
            await self.through(call, "on_progress", call.plan.progress(call, update))

    async def notify(self, call: Call, message: Message) -> None:
        """Send a log message through the hooks to the client.

        :raises ValueError: there is no such level.
        """
        message.check()
        if call.plan.notify is not None:
            await self.through(call, "on_notify", call.plan.notify(call, message))
        if call.request.peer is not None:
            await call.request.peer.notify(message)

    async def through(self, call: Call, hook: str, running: Awaitable[Any]) -> None:
        """Run a hook from within a body, for the call's entry; what fails in it is its plugin's doing.

        :param running: the hook under way.
        :raises PluginError: it raised an error that is not public.
        """
        try:
            await running
        except BaseException as error:
            if is_cancellation(error):
                raise
            step = blame(error, call.plan.steps.get(hook) or self.plugins.steps(hook, call.entry))
            if step is None or (isinstance(error, FrontMcpError) and error.public):
                raise
            add_note(error, step)
            raise PluginError(step.plugin, step.hook, error) from error

    async def ask(self, call: Call, question: Question) -> Answer:
        """Ask the client, in the way of the protocol version."""
        return await ask(call, question)

    async def once(self, call: Call, key: str, function: Callable[[], Any]) -> Any:
        """Run ``function``, or give what it gave before in this client call."""
        return await once(call, key, function)

    def provide(self, call: Call, type_: type[T]) -> T:
        """A provider's instance."""
        return self.providers.get(call, type_)
