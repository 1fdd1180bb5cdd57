"""The client behind the ``mcp`` fixture: the SDK's, with what tests want to ask of it."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp import Client, MCPError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    Completion,
    JSONRPCNotification,
    LoggingMessageNotificationParams,
    ProgressNotificationParams,
    Prompt,
    PromptReference,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from frontmcp.call import Caller
from frontmcp.server import FrontMcp
from frontmcp.testing.replies import Kind, Replier, Replies, RootLister, Sampler, UrlReplier
from frontmcp.testing.results import PromptResult, ResourceResult, ToolResult, refusal_result
from frontmcp.testing.roads import Endpoint, Road, served
from frontmcp.testing.status import Jobs
from frontmcp.testing.taps import tapped
from frontmcp.testing.users import TICKET, Users, installed

R = TypeVar("R", bound=Replier | None)
U = TypeVar("U", bound=UrlReplier | None)
S = TypeVar("S", bound=Sampler | None)
L = TypeVar("L", bound=RootLister | None)


class Notifications:
    """What the server sent besides results, in the order in which it arrived."""

    def __init__(self) -> None:
        self._seen: list[JSONRPCNotification] = []

    def all(self) -> list[JSONRPCNotification]:
        """Every notification, as it came over the wire."""
        return list(self._seen)

    def progress(self) -> list[ProgressNotificationParams]:
        """The progress updates, each with ``progress``, ``total`` and ``message``."""
        return [ProgressNotificationParams.model_validate(each) for each in self._params("notifications/progress")]

    def logs(self) -> list[LoggingMessageNotificationParams]:
        """The log messages, each with ``level``, ``data`` and ``logger``."""
        return [LoggingMessageNotificationParams.model_validate(each) for each in self._params("notifications/message")]

    def updated(self) -> list[str]:
        """The URIs of resources that were updated."""
        return [each["uri"] for each in self._params("notifications/resources/updated")]

    def changed(self) -> list[str]:
        """Which lists changed: ``"tools"``, ``"resources"`` or ``"prompts"``."""
        methods = [each.method.removeprefix("notifications/") for each in self._seen]
        return [method.removesuffix("/list_changed") for method in methods if method.endswith("/list_changed")]

    def elicited(self) -> list[str]:
        """The ids of what a user was sent to a URL for, and is done."""
        return [each["elicitationId"] for each in self._params("notifications/elicitation/complete")]

    def _params(self, method: str) -> list[dict[str, Any]]:
        return [each.params or {} for each in self._seen if each.method == method]


class Tools:
    """A client's tools."""

    def __init__(self, client: McpClient) -> None:
        self._client = client

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool; a failure of the tool is a result too, and so is a denial that HTTP answers with a 401 or 403.

        :raises MCPError: the server answered with an error of the protocol.
        """
        sdk = await self._client.connect()
        given = dict(arguments) if arguments is not None else None
        try:
            return ToolResult(name, await sdk.call_tool(name, given, progress_callback=_ignore_progress))
        except MCPError as error:
            if (refused := refusal_result(error)) is None:
                raise
            return ToolResult(name, refused)
        finally:
            self._client.raise_failed_reply()

    async def list(self) -> list[Tool]:
        """The tools the client sees, all pages of them."""
        sdk = await self._client.connect()
        return await _all_pages(sdk.list_tools, "tools")


class Updates:
    """What a client that subscribed to a resource hears."""

    def __init__(self, uri: str, heard: Callable[[], int]) -> None:
        self.uri = uri
        self._heard = heard
        self._seen = heard()

    async def wait(self, timeout: float = 5) -> str:
        """Wait for the next update; gives the URI.

        :raises TimeoutError: none came.
        """
        with anyio.fail_after(timeout):
            while self._heard() == self._seen:  # noqa: ASYNC110
                await anyio.sleep(0.005)
        self._seen += 1
        return self.uri


class Resources:
    """A client's resources."""

    def __init__(self, client: McpClient) -> None:
        self._client = client

    async def templates(self) -> list[ResourceTemplate]:
        """The resource templates the client sees, all pages of them."""
        sdk = await self._client.connect()
        return await _all_pages(sdk.list_resource_templates, "resource_templates")

    async def read(self, uri: str) -> ResourceResult:
        """Read a resource.

        :raises MCPError: it failed.
        """
        sdk = await self._client.connect()
        try:
            return ResourceResult(await sdk.read_resource(uri))
        finally:
            self._client.raise_failed_reply()

    @asynccontextmanager
    async def subscribe(self, uri: str) -> AsyncIterator[Updates]:
        """Hear of updates of a resource while the block runs, in the way of the client's era.

        :raises MCPError: the client may not.
        """
        sdk = await self._client.connect()
        updates = Updates(uri, lambda: self._client.notifications.updated().count(uri))
        if self._client.road.era in MODERN_PROTOCOL_VERSIONS:
            async with sdk.listen(resource_subscriptions=[uri]):
                yield updates
            return
        with _undeprecated():
            await sdk.subscribe_resource(uri)
            yield updates
            await sdk.unsubscribe_resource(uri)

    async def list(self) -> list[Resource]:
        """The resources the client sees, all pages of them."""
        sdk = await self._client.connect()
        return await _all_pages(sdk.list_resources, "resources")


class Prompts:
    """A client's prompts."""

    def __init__(self, client: McpClient) -> None:
        self._client = client

    async def list(self) -> list[Prompt]:
        """The prompts the client sees, all pages of them."""
        sdk = await self._client.connect()
        return await _all_pages(sdk.list_prompts, "prompts")

    async def get(self, name: str, arguments: Mapping[str, str] | None = None) -> PromptResult:
        """Get a prompt.

        :raises MCPError: it failed.
        """
        sdk = await self._client.connect()
        try:
            return PromptResult(await sdk.get_prompt(name, dict(arguments) if arguments is not None else None))
        finally:
            self._client.raise_failed_reply()


async def _all_pages(fetch: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    page = await fetch()
    found = list(getattr(page, field))
    while page.next_cursor is not None:
        page = await fetch(cursor=page.next_cursor)
        found.extend(getattr(page, field))
    return found


@contextmanager
def _undeprecated() -> Iterator[None]:
    """Older clients may use what newer versions of the protocol have removed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        yield


@dataclass(slots=True)
class Hub:
    """What the clients of one server share."""

    road: Road
    endpoint: Endpoint
    users: Users
    group: TaskGroup
    clients: list[McpClient] = field(default_factory=list)


class McpClient:
    """A client of one server, connected at its first use.

    :ivar tools: its tools; likewise ``resources`` and ``prompts``.
    :ivar jobs: follows its runs.
    :ivar notifications: what it was told.
    :ivar road: its protocol version and transport.
    :ivar url: of the MCP endpoint, over HTTP.
    """

    def __init__(self, hub: Hub, caller: Caller | None = None) -> None:
        hub.clients.append(self)
        self.road = hub.road
        self.url = hub.endpoint.url
        self.tools = Tools(self)
        self.resources = Resources(self)
        self.prompts = Prompts(self)
        self.jobs = Jobs(self.tools.call)
        self.notifications = Notifications()
        self._hub = hub
        self._ticket = hub.users.admit(caller) if caller is not None else ""
        self._replies = Replies()
        self._connecting = anyio.Lock()
        self._sdk: Client | None = None
        self._closing = anyio.Event()
        self._closed = anyio.Event()

    def as_user(
        self,
        sub: str,
        *,
        roles: Iterable[str] = (),
        permissions: Iterable[str] = (),
        scopes: Iterable[str] = (),
        claims: Mapping[str, Any] | None = None,
        name: str | None = None,
        email: str | None = None,
    ) -> McpClient:
        """Another client of the same kind, whose calls are this user's."""
        caller = Caller(sub, tuple(roles), tuple(permissions), tuple(scopes), claims or {}, name, email)
        return McpClient(self._hub, caller)

    def on_elicitation(self, reply: R) -> R:
        """Answer the server's questions to the user from now on; None says that there is no user to be asked.

        The client then tells the server that its user can be asked, for which it connects anew.

        :param reply: sync or async; given the message and the form's JSON Schema, gives the form's fields,
            ``"decline"`` or ``"cancel"``. What it raises is raised by the call that led to the question.
        """
        self._answer_with("form", reply)
        return reply

    def on_elicit_url(self, reply: U) -> U:
        """Likewise for a user who is to open a URL.

        :param reply: given the message and the URL, gives ``"accept"``, ``"decline"`` or ``"cancel"``.
        """
        self._answer_with("url", reply)
        return reply

    def on_sampling(self, reply: S, *, tools: bool = False) -> S:
        """Likewise for the client's model.

        :param reply: given the messages and the SDK's parameters, gives a text or the SDK's result.
        :param tools: whether the model can be given tools.
        """
        self._answer_with("sampling.tools", reply if tools else None)
        self._answer_with("sampling", reply)
        return reply

    def on_roots(self, reply: L) -> L:
        """Likewise for the client's roots.

        :param reply: gives them: ``file://`` URIs, or the SDK's `Root` objects.
        """
        self._answer_with("roots", reply)
        return reply

    def _answer_with(self, kind: Kind, reply: Callable[..., Any] | None) -> None:
        if self._replies.set(kind, reply):
            self._closing.set()

    async def complete(
        self, name: str, argument: str, value: str = "", *, arguments: Mapping[str, str] | None = None
    ) -> Completion:
        """Values for an argument of a prompt, or for a variable of a template.

        :param name: the prompt's, or the template as it is listed.
        :param value: what was typed so far.
        :param arguments: those already chosen.
        :raises MCPError: it failed.
        """
        sdk = await self.connect()
        ref = ResourceTemplateReference(uri=name) if "://" in name else PromptReference(name=name)
        asked = {"name": argument, "value": value}
        result = await sdk.complete(ref, asked, dict(arguments) if arguments is not None else None)
        return result.completion

    async def connect(self) -> Client:
        """The SDK's client beneath, connected: for what this one does not cover."""
        async with self._connecting:
            if self._closing.is_set():
                await self.disconnect()
            if self._sdk is None:
                self._closing, self._closed = anyio.Event(), anyio.Event()
                self._sdk = await self._hub.group.start(self._stay_connected)
            return self._sdk

    async def disconnect(self) -> None:
        """Close the connection, as a client that goes away; the next use opens another."""
        self._closing.set()
        if self._sdk is not None:
            await self._closed.wait()
            self._sdk = None

    async def _stay_connected(self, *, task_status: TaskStatus[Client]) -> None:
        # A task of its own, so that tests may connect inside any cancel scope.
        TICKET.set(self._ticket)
        closing, closed = self._closing, self._closed
        try:
            async with self._new_sdk_client() as sdk:
                assert sdk.protocol_version == self.road.era
                task_status.started(sdk)
                await closing.wait()
        finally:
            closed.set()

    def _new_sdk_client(self) -> Client:
        streams = tapped(self._hub.endpoint.connect(self._ticket), self.road.era, self.notifications._seen)
        return Client(
            streams,
            mode="auto" if self.road.era in MODERN_PROTOCOL_VERSIONS else "legacy",
            cache=None,
            log_level="debug",
            **self._replies.callbacks(),
        )

    def raise_failed_reply(self) -> None:
        """Raise what a function that answers raised, which the protocol can't carry."""
        self._replies.raise_failed()


async def _ignore_progress(progress: float, total: float | None, message: str | None) -> None:
    """Asking for progress is what matters; it is written down as it arrives."""


@asynccontextmanager
async def connect(server: FrontMcp, road: Road | None = None) -> AsyncIterator[McpClient]:
    """A client of a server, which runs as long as the context: the ``mcp`` fixture without pytest.

    :param road: memory and the newest protocol version by default.
    :raises ConfigurationError: the server can't start.
    """
    road = road or Road()
    users = installed(server, Users)
    failure: Exception | None = None
    async with served(server, road.transport) as endpoint, anyio.create_task_group() as group:
        hub = Hub(road, endpoint, users, group)
        try:
            yield McpClient(hub)
        except Exception as error:
            # It leaves when all is closed, as it is: a task group would wrap it.
            failure = error
        for client in hub.clients:
            await client.disconnect()
    if failure is not None:
        raise failure
