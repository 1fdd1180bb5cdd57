"""One other server behind an app: what it lists is served, and calls are passed on to it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final, Protocol

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from frontmcp.background import Background
from frontmcp.call import Call, Caller
from frontmcp.definitions.app import App
from frontmcp.definitions.base import Definition
from frontmcp.definitions.upstream import Headers, UpstreamOptions
from frontmcp.entries import Entry
from frontmcp.errors import (
    ConfigurationError,
    describe,
    unwrap_group,
)
from frontmcp.upstream.connection import UNSENT, Connection
from frontmcp.upstream.dialing import FORGOTTEN, REFUSED, dial
from frontmcp.upstream.errors import (
    MOST_HOPS,
    UpstreamError,
    UpstreamLoopError,
    UpstreamTimeoutError,
    UpstreamUnavailableError,
)
from frontmcp.upstream.exchange import Exchange, Make
from frontmcp.upstream.listing import every_tool, everything
from frontmcp.upstream.mirror import Foreign, Mirror, key_of
from frontmcp.upstream.pool import Pool
from frontmcp.upstream.questions import offered
from frontmcp.upstream.requests import completion_request, is_loop, known_error, passed_on, request_of

logger = logging.getLogger("frontmcp.upstream")

SHORTEST_DELAY: Final = 0.1
FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 60.0
NOT_LET_IN: Final = "does not let the caller in"


class Served(Protocol):
    """What this needs of the server that has the app."""

    info: dict[str, Any]
    background: Background

    @property
    def identity(self) -> str: ...
    def entries(self, kind: Any = None) -> list[Any]: ...
    async def replace_entries(self, app_id: str, gone: Sequence[Entry], new: Sequence[Definition]) -> None: ...


@asynccontextmanager
async def running(served: Served, apps: Iterable[App]) -> AsyncIterator[None]:
    """The apps that stand for other servers have their entries inside.

    :raises ConfigurationError: a server that is required can't be reached, or lists what can't be served.
    """
    upstreams = [Upstream(served, app.id, app.upstream) for app in apps if app.upstream is not None]
    problems: list[str] = []
    try:
        for upstream in upstreams:
            try:
                await upstream.start()
            except ConfigurationError as error:
                problems.extend(error.problems)
        if problems:
            raise ConfigurationError(problems)
        yield
    finally:
        with anyio.CancelScope(shield=True):
            for upstream in upstreams:
                await upstream.aclose()


class Upstream:
    """The server behind one app.

    :param served: the server that has the app.
    """

    def __init__(self, served: Served, app_id: str, options: UpstreamOptions) -> None:
        self._served = served
        self._app_id = app_id
        self._options = options
        self._pool = Pool(
            app_id,
            limit=options.max_connections,
            timeout=options.connect_timeout,
            spawn=served.background.spawn,
        )
        self._info = types.Implementation(name=served.info.get("name", "frontmcp"), version=served.info["version"])
        self._listed = False
        self._tried = anyio.Event()
        self._problem: BaseException | None = None
        self._watching = anyio.CancelScope()

    async def start(self) -> None:
        """Serve what the server lists, from now on.

        :raises ConfigurationError: it is required and can't be reached, or lists what can't be served.
        """
        self._served.background.spawn(self._watch)
        await self._tried.wait()
        if self._problem is None:
            return
        if isinstance(self._problem, ConfigurationError):
            raise self._problem
        told = f'app "{self._app_id}": {self._options.label} can\'t be reached: {_reason(self._problem)}'
        if self._options.required:
            raise ConfigurationError(f"{told}; start it, or say required=False to start without its tools")
        logger.warning("%s; the app has no tools until it can", told)

    async def aclose(self) -> None:
        """Let go of the server. What it listed stays, for the next start."""
        self._watching.cancel()
        await self._pool.aclose()

    # What it lists

    async def _watch(self) -> None:
        """Keep our entries as the server lists them."""
        delay = FIRST_DELAY
        with self._watching:
            while True:
                began = anyio.current_time()
                try:
                    await self._follow()
                    self._problem = None
                except Exception as error:
                    self._note(unwrap_group(error))
                self._tried.set()
                if not self._listed and self._gives_up:
                    return
                delay = FIRST_DELAY if anyio.current_time() - began > LONGEST_DELAY else min(delay * 2, LONGEST_DELAY)
                await anyio.sleep(delay)

    @property
    def _gives_up(self) -> bool:
        return self._options.required or isinstance(self._problem, ConfigurationError)

    def _note(self, error: BaseException) -> None:
        """Tell of an error; the first is told by `start`."""
        self._problem = error
        if self._tried.is_set():
            then = "its tools are not served" if self._gives_up and not self._listed else "trying again"
            logger.warning('app "%s": its server can\'t be followed: %s; %s', self._app_id, _reason(error), then)

    async def _follow(self) -> None:
        """Serve what is listed, until the connection ends."""
        headers = self._options.discovery_headers if callable(self._options.headers) else self._options.headers
        async with self._lease(None, headers or {}, frozenset()) as connection, connection.listening() as changes:
            while True:
                began = anyio.current_time()
                await self._refresh(connection)
                self._listed = True
                self._tried.set()
                # A server that never stops telling of changes has half of our time at most.
                await anyio.sleep(max(anyio.current_time() - began, SHORTEST_DELAY))
                if not await changes.next():
                    return

    async def _refresh(self, connection: Connection) -> None:
        problems: list[str] = []
        listed = await everything(connection)
        completes = connection.client.server_capabilities.completions is not None
        complete = self._complete if completes else None
        mirror = Mirror(self._options, self._app_id, self._served.identity, self._pass_on, complete)
        known = {key_of(each.listed): each for each in self._now_served()} if self._listed else {}
        definitions = []
        for each in mirror.definitions(listed, problems, known):
            definitions.append(each)
            # To check the schemas of many takes long, and calls go on meanwhile.
            await anyio.lowlevel.checkpoint()
        if not self._listed:
            problems.extend(mirror.unmatched(listed))
            if problems:
                raise ConfigurationError(problems)
        for problem in problems:
            logger.warning("%s", problem)
        await self._serve(definitions)

    def _now_served(self) -> dict[Foreign, Entry]:
        """The entries of it that there are, by their definitions."""
        own = ((entry.definition, entry) for entry in self._served.entries() if entry.app_id == self._app_id)
        return {definition: entry for definition, entry in own if isinstance(definition, Foreign)}

    async def _serve(self, definitions: Sequence[Foreign]) -> None:
        """Replace what changed."""
        now, wanted = self._now_served(), set(definitions)
        gone = [entry for definition, entry in now.items() if definition not in wanted]
        new = [each for each in definitions if each not in now]
        if not gone and not new:
            return
        try:
            await self._served.replace_entries(self._app_id, gone, new)
        except ConfigurationError:
            if not self._listed:
                raise
            await self._served.replace_entries(self._app_id, gone, ())
            await self._serve_possible(new)

    async def _serve_possible(self, new: Sequence[Foreign]) -> None:
        """A running server takes what can be served of a new list: halves of it, until what can't be stands alone."""
        await anyio.lowlevel.checkpoint()
        try:
            await self._served.replace_entries(self._app_id, (), new)
        except ConfigurationError as error:
            if len(new) == 1:
                logger.warning('app "%s": not served: %s', self._app_id, error)
                return
            middle = len(new) // 2
            await self._serve_possible(new[:middle])
            await self._serve_possible(new[middle:])

    # Calls

    async def _pass_on(self, call: Call, listed: Any, arguments: dict[str, Any]) -> Any:
        request = request_of(call, listed, arguments)
        result = await self._exchange(call, request.make, request.adapter, is_safe=request.is_safe)
        if is_loop(result):
            raise UpstreamLoopError(self._app_id)
        return passed_on(result)

    async def _complete(
        self, call: Call, listed: Any, argument: str, value: str, arguments: dict[str, str]
    ) -> types.Completion:
        make, adapter = completion_request(call, listed, argument, value, arguments)
        result: types.CompleteResult = await self._exchange(call, make, adapter, is_safe=True)
        return result.completion

    async def _exchange(self, call: Call, make: Make, adapter: TypeAdapter[Any], *, is_safe: bool) -> Any:
        """The server's answer; asked for a second time where the first did nothing, or does no harm.

        :raises UpstreamError: there is none.
        """
        if call.request.hops >= MOST_HOPS:
            raise UpstreamLoopError(self._app_id)
        headers = await self._headers(call.caller)

        async def ask() -> Any:
            async with self._reach(call, headers) as connection:
                exchange = Exchange(call, self._app_id, make, adapter, self._options.call_timeout)
                try:
                    return await exchange.run(connection)
                except MCPError as error:
                    await _mend(connection, error)
                    raise

        try:
            try:
                return await ask()
            except MCPError as error:
                if not (_did_nothing(error) or (_is_lost(error) and is_safe)):
                    raise
            return await ask()
        except MCPError as error:
            raise known_error(call, self._app_id, error) or self._told(error) from error
        except ValidationError:
            raise UpstreamError(self._app_id, "answered with what is no result") from None

    def _told(self, error: MCPError) -> UpstreamError:
        logger.warning('app "%s": its server failed a call: error %d', self._app_id, error.code)
        if error.code == types.REQUEST_TIMEOUT:
            return UpstreamTimeoutError(self._app_id, f"did not answer in {self._options.call_timeout:g} seconds")
        if error.code == types.PARSE_ERROR:
            return UpstreamError(self._app_id, "answered with what can't be read")
        if _is_lost(error) and _did_nothing(error):
            return UpstreamUnavailableError(self._app_id, "can't be reached")
        if _is_lost(error):
            return UpstreamUnavailableError(self._app_id, "was lost during the call, which may have run")
        if _is_refusal(error):
            return UpstreamError(self._app_id, NOT_LET_IN)
        return UpstreamError(self._app_id, f"answered with an error ({error.code})")

    # Connections

    async def _headers(self, caller: Caller) -> Headers:
        given = self._options.headers
        if not callable(given):
            return given or {}
        made = given(caller)
        return (await made if inspect.isawaitable(made) else made) or {}

    @asynccontextmanager
    async def _reach(self, call: Call, headers: Headers) -> AsyncIterator[Connection]:
        """`_lease`, for a call, whose errors tell nothing of the server."""
        async with AsyncExitStack() as stack:
            try:
                connection = await stack.enter_async_context(self._lease(call.caller, headers, offered(call.request)))
            except UpstreamError:
                raise
            except Exception as error:
                logger.warning('app "%s": its server can\'t be reached: %s', self._app_id, _reason(error))
                if _is_refusal(error):
                    raise UpstreamError(self._app_id, NOT_LET_IN) from error
                raise UpstreamUnavailableError(self._app_id, "can't be reached") from error
            yield connection

    def _lease(
        self, caller: Caller | None, headers: Headers, offers: frozenset[str]
    ) -> AbstractAsyncContextManager[Connection]:
        make = partial(
            Connection,
            dial(self._options, headers, offers, self._info),
            idle=self._options.idle_timeout,
            is_pipe=self._options.command is not None,
        )
        return self._pool.lease((self._speaks_for(caller, headers), offers), make)

    def _speaks_for(self, caller: Caller | None, headers: Headers) -> Hashable:
        """Whom a connection speaks for. An identity is never shared: a token of its own makes a connection of its own.

        Requests to a server in this process, of 2026-07-28, stand alone and carry no identity: one connection does.
        """
        if self._options.is_shared:
            return None
        sent = tuple(sorted(headers.items()))
        if caller is None:
            return "anonymous", sent
        is_named = bool(sent) and callable(self._options.headers)
        return caller.sub if caller.is_anonymous and is_named else caller.key, sent


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, MCPError) and error.error.data == REFUSED


def _is_lost(error: MCPError) -> bool:
    """Whether the connection broke while the request was on its way, or there was none."""
    return error.code == types.CONNECTION_CLOSED


def _did_nothing(error: MCPError) -> bool:
    """Whether the server did nothing with a request, for it never arrived or was refused as such."""
    return error.error.data in (UNSENT, FORGOTTEN) or error.code == types.HEADER_MISMATCH


async def _mend(connection: Connection, error: MCPError) -> None:
    """Do what lets the request succeed when it is made again."""
    if error.error.data == FORGOTTEN:
        connection.close()
    elif error.code == types.HEADER_MISMATCH:
        # In headers the SDK's client repeats arguments only of tools that it listed.
        await every_tool(connection)


def _reason(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        return "it answers with what is no result"
    # What the other server wrote, and in further lines what the SDK could not read of its answer.
    return describe(error).partition("\n")[0]
