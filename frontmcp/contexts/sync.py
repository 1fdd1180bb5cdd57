"""How a sync body, in its worker thread, reaches what is asynchronous."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.from_thread

T = TypeVar("T")


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
