"""Where states are spent and large things are kept: the store of one process, and the rule that each is spent once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import anyio

from frontmcp.asking.state import STATE_SECONDS, State
from frontmcp.errors import PublicMcpError

if TYPE_CHECKING:
    from frontmcp.interfaces import StateStore

MAX_VALUES: Final = 100_000


class MemoryStateStore:
    """The `StateStore` of one process, bounded: the oldest values go first.

    :param max_bytes: how much all values together may weigh.
    """

    def __init__(self, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._values: dict[str, tuple[float, bytes]] = {}

    async def get(self, key: str) -> bytes | None:
        entry = self._values.get(key)
        if entry is None or entry[0] < anyio.current_time():
            return None
        return entry[1]

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        """Keep a value.

        :raises ValueError: it is larger than everything together may be.
        """
        if len(value) > self._max_bytes:
            raise ValueError(f"{len(value)} bytes are more than the store keeps")
        await self.delete(key)
        self._values[key] = (anyio.current_time() + ttl, value)
        self._bytes += len(value)
        self._evict()

    async def add(self, key: str, value: bytes, *, ttl: float) -> bool:
        if await self.get(key) is not None:
            return False
        await self.set(key, value, ttl=ttl)
        return True

    async def delete(self, key: str) -> None:
        if key in self._values:
            self._drop(key)

    def _evict(self) -> None:
        """Drop what is over; where that leaves too much, the oldest."""
        now = anyio.current_time()
        if not self._fits():
            for key in [key for key, (expires, _) in self._values.items() if expires < now]:
                self._drop(key)
        while self._values:
            oldest = next(iter(self._values))
            if self._fits() and self._values[oldest][0] >= now:
                return
            self._drop(oldest)

    def _drop(self, key: str) -> None:
        self._bytes -= len(self._values.pop(key)[1])

    def _fits(self) -> bool:
        return self._bytes <= self._max_bytes and len(self._values) <= MAX_VALUES


async def spend(store: StateStore, state: State, produce: Callable[[], Awaitable[bytes]]) -> bytes:
    """Produce the answer to a retry once; sent again within its life, a state gets the answer already given.

    :param produce: runs the attempt and gives the answer as JSON.
    """
    spent, answered = f"spent:{state.id}", f"answer:{state.id}"
    if not await store.add(spent, b"1", ttl=STATE_SECONDS):
        return await _given_answer(store, answered)
    try:
        answer = await produce()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await store.set(answered, b"", ttl=STATE_SECONDS)
        raise
    await store.set(answered, answer, ttl=STATE_SECONDS)
    return answer


async def _given_answer(store: StateStore, key: str) -> bytes:
    with anyio.move_on_after(STATE_SECONDS):
        # The other attempt may be at work in another process, whose end nothing tells us of.
        while (answer := await store.get(key)) is None:  # noqa: ASYNC110
            await anyio.sleep(0.05)
        if answer:
            return answer
    raise PublicMcpError("The call this answer belongs to was cancelled; call the tool again", "REQUEST_CANCELLED")
