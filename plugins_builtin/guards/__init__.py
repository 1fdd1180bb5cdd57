"""`guards`: how often, how many at once, how long, and from where (docs/guards.md).

``rate_limit``, ``concurrency`` and ``timeout`` on an entry; ``throttle`` on the server. An entry without them has no
step of theirs in its plan, and calls that pass a limit are told by nobody but its store.
"""

from __future__ import annotations

import logging
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, final

import anyio

from frontmcp import AbortController, Call, CallNext, Option, Plugin, hookimpl
from plugins_builtin.guards import specs
from plugins_builtin.guards.errors import ExecutionTimeoutError

if TYPE_CHECKING:
    from frontmcp.interfaces import GuardStore

logger = logging.getLogger("frontmcp.guards")

DEFAULTS: Final = ("rate_limit", "concurrency", "timeout")

DEFAULT_KINDS: Final = ("tool", "resource", "resource_template", "prompt", "agent")
"""What defaults are for: answers that a client waits for. A job or a channel has the limits it was given."""

ALL_CALLS: Final = "all calls"


def _load(module: str) -> Any:
    """A module of this package; loaded when an option first needs it, so that servers without one don't wait for it."""
    return import_module(f"{__name__}.{module}")


def _option(name: str, model: str, **claim: Any) -> Option:
    return Option(name, f"{__name__}.options:{model}", **claim)


@final
class Mark:
    """Narrows a step to the entries of a server that asks for it: the plugin writes it, users can't."""


MARK: Final = Mark()


class Guards(Plugin):
    """Counts calls, holds slots and cuts time: first addresses, then the limits over all clients, then the entry's."""

    name = "guards"
    options = (
        _option("rate_limit", "RateLimit"),
        _option("concurrency", "Concurrency"),
        _option("timeout", "Timeout"),
        _option("throttle", "Throttle", server=True),
        Option("client_limits", Mark),
        Option("client_addresses", Mark),
    )

    def __init__(self) -> None:
        self._manager: Any = None
        self._throttle: Any = None
        self._counter: Any = None

    @hookimpl
    def register_hookspecs(self, manager: Any) -> None:
        manager.add_hookspecs(specs)
        self._manager = manager

    @hookimpl(trylast=True)
    def guard_store(self, config: Any) -> GuardStore | None:
        store: GuardStore | None = _load("stores").own_store(config, self._throttle)
        return store

    # The start

    @hookimpl
    def prepare_entry(self, entry: Any, server: Any) -> None:
        throttle = server.options.get("throttle")
        # One that is wrong is still as it was given, and stops the start.
        if not hasattr(throttle, "default_timeout"):
            return
        for name in DEFAULTS if entry.kind in DEFAULT_KINDS else ():
            default = getattr(throttle, f"default_{name}")
            if default is not None and entry.options.get(name) is None:
                entry.options[name] = default
        if throttle.global_rate_limit or throttle.global_concurrency:
            entry.options["client_limits"] = MARK
        if throttle.ip_filter:
            entry.options["client_addresses"] = MARK

    @hookimpl
    def settled(self, server: Any) -> None:
        self._throttle = server.options.get("throttle")
        config = None if self._throttle is None else self._throttle.store
        counts = config is not None or any(map(_counts, server.entries()))
        if counts and self._counter is None:
            store = _load("stores").make_store(self._manager, config)
            self._counter = _load("counting").Counter(store, server.name)

    @hookimpl
    async def server_started(self, server: Any) -> None:
        if self._counter is None:
            return
        workers = os.environ.get("WEB_CONCURRENCY", "1")
        if not self._counter.store.shared and workers.isdecimal() and int(workers) > 1:
            logger.warning(
                "each of %s workers counts by itself, so that limits let up to %s times as many calls pass: use one "
                'worker, or a shared store, such as throttle={"store": "redis://…"} with frontmcp-redis',
                workers,
                workers,
            )
        if by_caller := sorted(entry.id for entry in server.entries() if _counts_by_caller(entry)):
            logger.info(
                "limits by session or user tell anonymous callers apart by their address, and count together those "
                "without one, as over stdio: %s",
                ", ".join(by_caller),
            )

    @hookimpl
    async def server_stopping(self, server: Any) -> None:
        if self._counter is not None:
            await self._counter.store.aclose()

    # A call

    @hookimpl(option="client_addresses", tryfirst=True)
    async def check_authorities(self, call: Call) -> None:
        request = call.request
        if call.origin == "client" and (request.client_ip is not None or request.transport == "http"):
            self._throttle.ip_filter.check(request.client_ip)

    @hookimpl(option="client_limits", specname="guard_call", priority=-1)
    async def limit_clients(self, call: Call, call_next: CallNext) -> Any:
        if call.origin != "client":
            return await call_next()
        rate_limit, concurrency = self._throttle.global_rate_limit, self._throttle.global_concurrency
        counter, name = self._counter, call.server.name
        if rate_limit is not None:
            await counter.count(call, rate_limit, ALL_CALLS, name)
        if concurrency is None:
            return await call_next()
        return await counter.hold(call, call_next, concurrency, ALL_CALLS, name)

    @hookimpl(option="rate_limit", specname="guard_call")
    async def limit_rate(self, call: Call, call_next: CallNext) -> Any:
        entry = call.entry
        await self._counter.count(call, entry.options["rate_limit"], f"{entry.kind} {entry.id}", entry.name)
        return await call_next()

    @hookimpl(option="concurrency", specname="guard_call", priority=1)
    async def limit_concurrency(self, call: Call, call_next: CallNext) -> Any:
        entry = call.entry
        limit = entry.options["concurrency"]
        return await self._counter.hold(call, call_next, limit, f"{entry.kind} {entry.id}", entry.name)

    @hookimpl(option="timeout", tryfirst=True)
    async def around_execute(self, call: Call, call_next: CallNext) -> Any:
        milliseconds: int = call.entry.options["timeout"].execute_ms
        late = AbortController()
        call.follow(late.signal)
        with anyio.move_on_after(milliseconds / 1000):
            return await call_next()
        late.abort(TimeoutError("The time for this call is over"))
        # Once the call has ended its signal follows no other: a thread that runs on is to find it aborted.
        assert call.signal.aborted
        raise ExecutionTimeoutError(call.entry.name, milliseconds)


def _limits(entry: Any) -> list[Any]:
    return [limit for name in ("rate_limit", "concurrency") if (limit := entry.options.get(name)) is not None]


def _counts(entry: Any) -> bool:
    return bool(_limits(entry)) or entry.options.get("client_limits") is not None


def _counts_by_caller(entry: Any) -> bool:
    return any(limit.partition_by in ("session", "user") for limit in _limits(entry))
