"""What engines, stores and adapters implement, and the data they exchange."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from frontmcp.authentication import AuthenticationError as AuthenticationError
from frontmcp.authentication import AuthenticationRequest as AuthenticationRequest
from frontmcp.call import Answer as Answer
from frontmcp.call import Message as Message
from frontmcp.call import Peer as Peer
from frontmcp.call import ProgressUpdate as ProgressUpdate
from frontmcp.call import Question as Question
from frontmcp.call import Undecided as Undecided


@runtime_checkable
class StateStore(Protocol):
    """Keeps small secrets for a short time: kept results and spent states of questions.

    Answered through the hook ``state_store(config)``. Values are bytes, keys unguessable.
    """

    async def get(self, key: str) -> bytes | None:
        """The value, or None when it never was there or its time is over."""
        ...

    async def set(self, key: str, value: bytes, *, ttl: float) -> None:
        """Keep a value for ``ttl`` seconds, in place of an older one."""
        ...

    async def add(self, key: str, value: bytes, *, ttl: float) -> bool:
        """Keep a value unless the key is taken; whether it was free. Atomic across processes."""
        ...

    async def delete(self, key: str) -> None:
        """Forget a value."""
        ...
