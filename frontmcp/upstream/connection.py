"""One connection with another server, held open by a task of its own, and what arrives on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from frontmcp.errors import unwrap_group
from frontmcp.upstream.exchange import Exchange

if TYPE_CHECKING:
    from mcp.client import Client

LIST_CHANGES: Final = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)

UNSENT: Final = "frontmcp.unsent"
"""The ``data`` of an error about a request that never left."""

LISTEN_SECONDS: Final = 5.0
"""How long a server may take to say that it will tell of changes."""

SETTLE_SECONDS: Final = 5.0
"""How long a server may take to say that it is there."""

_exchange: ContextVar[Exchange | None] = ContextVar("frontmcp.upstream.exchange", default=None)


class Changes:
    """Whether lists changed since one looked."""

    def __init__(self) -> None:
        self._told = anyio.Event()
        self._over = False

    def tell(self) -> None:
        """Some list changed."""
        self._told.set()

    def end(self) -> None:
        """Nothing more will be heard."""
        self._over = True
        self._told.set()

    async def next(self) -> bool:
        """Wait until a list changed; False when nothing more will be heard."""
        await self._told.wait()
        if not self._over:
            self._told = anyio.Event()
        return not self._over


class Connection:
    """A session of the SDK's client, open as long as `hold` runs.

    :param dial: makes the client.
    :param idle: seconds without a call after which it closes.
    :param is_pipe: messages come over a pipe, where nothing tells what they belong to.
    :ivar error: why it ended, or never began.
    :ivar ended: set when nothing of it is left.
    :ivar changes: what the server says of its lists.
    """

    def __init__(self, dial: Callable[[Connection], Client], *, idle: float, is_pipe: bool) -> None:
        self._dial = dial
        self._idle = idle
        self._is_pipe = is_pipe
        self._client: Client | None = None
        self._exchanges: set[Exchange] = set()
        self._left = 0
        self._settled = 0
        self._users = 0
        self._last_used = anyio.current_time()
        self._opened = anyio.Event()
        self._closing = anyio.Event()
        self._scope = anyio.CancelScope()
        self.error: BaseException | None = None
        self.ended = anyio.Event()
        self.changes = Changes()

    @property
    def is_usable(self) -> bool:
        """Whether a call may begin on it now."""
        return self._client is not None and not self._closing.is_set()

    @property
    def is_closing(self) -> bool:
        """Whether it has ended, or is about to."""
        return self._closing.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether nobody uses it."""
        return not self._users

    @property
    def last_used(self) -> float:
        """When somebody did, on the clock of the event loop."""
        return self._last_used

    @property
    def client(self) -> Client:
        """The SDK's client, while the connection is open.

        :raises MCPError: it is not any more.
        """
        if self._client is None:
            raise MCPError(types.CONNECTION_CLOSED, "Connection closed", UNSENT)
        return self._client

    @property
    def is_modern(self) -> bool:
        """Whether each request stands alone, and a question comes as the answer to one."""
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def hold(self) -> None:
        """Open it, and keep it until it is closed, breaks, or nobody used it for long."""
        try:
            with self._scope:
                async with self._dial(self) as client:
                    self._client = client
                    self._opened.set()
                    await self._until_closing()
        except Exception as error:
            self.error = unwrap_group(error)
        finally:
            self.close()
            self._client = None
            self._opened.set()
            self.ended.set()

    async def _until_closing(self) -> None:
        while not self._closing.is_set():
            left = self._last_used + self._idle - anyio.current_time() if self.is_idle else self._idle
            if left <= 0:
                self.close()
            with anyio.move_on_after(max(left, 0)):
                await self._closing.wait()

    async def opened(self, timeout: float) -> None:
        """Wait until calls may begin.

        :raises Exception: why they can't.
        """
        with anyio.move_on_after(timeout):
            await self._opened.wait()
        if not self._opened.is_set():
            self._scope.cancel()
            raise TimeoutError("the connection was not opened in time")
        if not self.is_usable:
            raise self.error or MCPError(types.CONNECTION_CLOSED, "Connection closed", UNSENT)

    def close(self) -> None:
        """Let it end in order; calls on it fail."""
        self._closing.set()
        self.changes.end()

    def cancel(self) -> None:
        """End it whatever it does."""
        self.close()
        self._scope.cancel()

    @contextmanager
    def used(self) -> Iterator[None]:
        """It is not closed for want of use inside."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._last_used = anyio.current_time()

    @contextmanager
    def exchanging(self, exchange: Exchange) -> Iterator[None]:
        """A call is made on it inside."""
        self._exchanges.add(exchange)
        try:
            yield
        except BaseException:
            self._left += 1
            raise
        finally:
            self._exchanges.discard(exchange)

    async def settle(self) -> None:
        """Let a server behind a pipe hear of calls that were left, so that what it says afterwards is of others."""
        left = self._left
        if not self._is_pipe or self._exchanges or left == self._settled:
            return
        try:
            await self.client.session.send_request(
                types.PingRequest(), types.EmptyResult, request_read_timeout_seconds=SETTLE_SECONDS
            )
        except MCPError as error:
            if error.code in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT):
                return
        self._settled = left

    async def send(self, request: Any, adapter: TypeAdapter[Any], exchange: Exchange, timeout: float | None) -> Any:
        """A request's answer.

        :raises MCPError: it is an error, does not come in time, or the connection is lost.
        """
        token = _exchange.set(exchange)
        try:
            return await self.client.session.send_request(
                request, adapter, request_read_timeout_seconds=timeout, progress_callback=exchange.progress
            )
        finally:
            _exchange.reset(token)

    def _speaking(self) -> Exchange | None:
        """The call that a message from the server belongs to.

        Over HTTP and in this process the context of the request tells. Over a pipe nothing does: there it can only be
        the one call in flight, once no other is left that the server may still speak for.
        """
        exchange = _exchange.get()
        if exchange in self._exchanges:
            return exchange
        if self._is_pipe and len(self._exchanges) == 1 and self._left == self._settled:
            return next(iter(self._exchanges))
        return None

    async def on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        """A log message, passed on to the client of the call it belongs to."""
        if (exchange := self._speaking()) is not None:
            await exchange.notify(params)

    async def on_elicitation(self, context: Any, params: types.ElicitRequestParams) -> Any:
        """A server up to 2025-11-25 asks the user something, while a call waits for its answer."""
        return await self._on_question(types.ElicitRequest(params=params))

    async def on_sampling(self, context: Any, params: types.CreateMessageRequestParams) -> Any:
        """Such a server asks the client's model something."""
        return await self._on_question(types.CreateMessageRequest(params=params))

    async def on_roots(self, context: Any) -> Any:
        """Such a server asks for the client's roots."""
        return await self._on_question(types.ListRootsRequest())

    async def _on_question(self, request: Any) -> Any:
        exchange = self._speaking()
        if exchange is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="No call is known that asks this")
        return await exchange.asked(request)

    async def on_message(self, message: Any) -> None:
        """Anything else."""
        if isinstance(message, LIST_CHANGES):
            self.changes.tell()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Changes]:
        """Hear inside of lists that change, as far as the server tells."""
        self.changes = changes = Changes()
        if not self.is_modern:
            # Older servers tell without being asked.
            yield changes
            return
        async with anyio.create_task_group() as group:
            listens = anyio.Event()
            group.start_soon(self._listen, changes, listens)
            with anyio.move_on_after(LISTEN_SECONDS):
                await listens.wait()
            yield changes
            group.cancel_scope.cancel()

    async def _listen(self, changes: Changes, listens: anyio.Event) -> None:
        try:
            async with self.client.listen(
                tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True
            ) as events:
                listens.set()
                async for _ in events:
                    changes.tell()
            changes.end()
        except SubscriptionLost:
            changes.end()
        except MCPError:
            # A server that tells of no changes is taken as it was at first.
            return
        finally:
            listens.set()
