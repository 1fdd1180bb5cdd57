"""What changed in a server: told to who listens in this process, and to its other processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from frontmcp.call import EVERYTHING

if TYPE_CHECKING:
    from frontmcp.interfaces import ChangeBus

Listener: TypeAlias = Callable[[str], Awaitable[None]]

LISTS: Final[Mapping[str, str]] = {
    "tools": "tools", "resources": "resources", "templates": "resources", "prompts": "prompts",
}  # fmt: skip
"""What is said to change when an entry of a list comes or goes."""


class ChangeFeed:
    """Tells of changes: of the `LISTS`, of a ``"resource <uri>"``, of `EVERYTHING`.

    :ivar bus: leads to the other processes; None while there are none.
    """

    def __init__(self) -> None:
        self.bus: ChangeBus | None = None
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell ``listener`` from now on; gives a function that stops that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def publish(self, change: str) -> None:
        """Something changed here."""
        await self._tell(change)
        if self.bus is not None:
            await self.bus.publish(change)

    async def hear(self, change: str) -> None:
        """What another process told: for who listens in this one alone."""
        if change == EVERYTHING or change in LISTS.values() or change.startswith("resource "):
            await self._tell(change)

    async def _tell(self, change: str) -> None:
        for listener in list(self._listeners):
            await listener(change)
