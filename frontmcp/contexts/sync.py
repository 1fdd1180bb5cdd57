"""How a sync body, in its worker thread, reaches what is asynchronous."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import anyio
import anyio.from_thread

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def awaited(method: F) -> F:
    """An async method of a context, which a sync body can't call in its thread: nobody would await it there."""

    @functools.wraps(method)
    def start(context: Any, *args: Any, **kwargs: Any) -> Any:
        if context._in_thread:
            refuse_in_thread(context, method.__name__)
        return method(context, *args, **kwargs)

    return cast("F", start)


def refuse_in_thread(context: Any, method: str) -> None:
    """:raises RuntimeError: this is the worker thread of a sync body, not the event loop."""
    if not _in_event_loop():
        name = context.call.entry.name
        sync = f"call {method}_sync(…), or " if hasattr(context, f"{method}_sync") else ""
        raise RuntimeError(f'{method} is to be awaited, and "{name}" is a def body: {sync}write async def')


def from_thread(function: Callable[[], Awaitable[T]]) -> T:
    """Run ``function`` on the event loop and give its result.

    :raises RuntimeError: this is no worker thread.
    """
    if _in_event_loop():
        raise RuntimeError(
            "The *_sync methods are for sync bodies in a worker thread: in an async body await the other form, "
            'and where it says sync="inline" write an async body'
        )

    async def run() -> T:
        return await function()

    # A body whose client has gone may run on in its thread, but does nothing more in the client's name.
    anyio.from_thread.check_cancelled()
    return anyio.from_thread.run(run)


def _in_event_loop() -> bool:
    try:
        anyio.get_current_task()
    except anyio.NoEventLoopError:
        return False
    return True
