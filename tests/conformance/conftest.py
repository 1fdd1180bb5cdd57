"""`examples/everything` over HTTP, and a client that sends what a test says and shows every frame of the answer."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

SERVER = Path(__file__).parents[2] / "examples" / "everything" / "server.py"
OLDER = ("2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
CAPABILITIES = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}
INFO = {"name": "conformance", "version": "1.0.0"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"} | {
    f"tasks/{name}": "taskId" for name in ("get", "update", "cancel")
}
ACCEPT = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

Message = dict[str, Any]
Answers = Mapping[str, Any]
"""What the client answers to requests of the server, by method: a result, or ``{"error": …}``."""


@dataclass
class Event:
    """One event of a stream.

    :ivar message: None for an event without data.
    """

    id: str | None = None
    retry: str | None = None
    message: Message | None = None


@dataclass
class Reply:
    """All that came back for one request.

    :ivar events: of the stream; of a plain answer, one.
    """

    id: Any
    status: int
    headers: Mapping[str, str]
    events: list[Event] = field(default_factory=list)
    text: str = ""

    @property
    def messages(self) -> list[Message]:
        return [event.message for event in self.events if event.message is not None]

    @property
    def response(self) -> Message:
        """The one response, which has the request's id and comes last."""
        found = [message for message in self.messages if "method" not in message]
        assert len(found) == 1, self
        assert found[0] is self.messages[-1]
        assert found[0]["jsonrpc"] == "2.0"
        assert found[0]["id"] == self.id
        return found[0]

    @property
    def result(self) -> Message:
        assert "result" in self.response, self.response
        result: Message = self.response["result"]
        return result

    @property
    def error(self) -> Message:
        assert "error" in self.response, self.response
        error: Message = self.response["error"]
        return error

    def notifications(self, method: str) -> list[Message]:
        """The params of the notifications of a method, in order."""
        return [each["params"] for each in self.messages if each.get("method") == method and "id" not in each]

    def requests(self, method: str) -> list[Message]:
        """The params of the server's requests of a method, in order."""
        return [each["params"] for each in self.messages if each.get("method") == method and "id" in each]

    def content(self) -> Message:
        """The only block of a tool's result."""
        [block] = self.result["content"]
        found: Message = block
        return found


class Leg:
    """A client of one protocol version; for older ones, one session.

    :ivar capabilities: what it declares, in a session or in each request.
    """

    def __init__(self, http: httpx2.AsyncClient, url: str, era: str, capabilities: Message) -> None:
        self.http, self.url, self.era, self.capabilities = http, url, era, capabilities
        self.session: dict[str, str] = {}
        self.opened: Reply | None = None
        self._last = 0

    @property
    def is_modern(self) -> bool:
        return self.era == MODERN

    async def open(self) -> Leg:
        params = {"protocolVersion": self.era, "capabilities": self.capabilities, "clientInfo": INFO}
        self.opened = await self.request("initialize", params)
        self.session = {"mcp-session-id": self.opened.headers["mcp-session-id"], "mcp-protocol-version": self.era}
        await self.notify("notifications/initialized")
        return self

    def meta(self, **more: Any) -> Message:
        """The ``_meta`` that a modern request has; ``name=None`` leaves a part of it out."""
        parts = {"protocolVersion": self.era, "clientCapabilities": self.capabilities, "clientInfo": INFO} | more
        return {f"{PREFIX}{name}": value for name, value in parts.items() if value is not None}

    def message(self, method: str, params: Message | None, meta: Message | None = None) -> Message:
        """A request; older ones have only the ``_meta`` that is given."""
        self._last += 1
        meta = {**(self.meta() if self.is_modern else {}), **(meta or {})}
        params = {**(params or {}), **({"_meta": meta} if meta else {})}
        return {"jsonrpc": "2.0", "id": self._last, "method": method, **({"params": params} if params else {})}

    def headers(self, message: Message) -> dict[str, str]:
        if not self.is_modern:
            return ACCEPT | self.session
        headers = ACCEPT | {"mcp-protocol-version": self.era, "mcp-method": message["method"]}
        if (name := NAMED.get(message["method"])) is not None:
            headers["mcp-name"] = message["params"][name]
        return headers

    async def request(
        self,
        method: str,
        params: Message | None = None,
        *,
        meta: Message | None = None,
        headers: Mapping[str, str | None] | None = None,
        answers: Answers | None = None,
    ) -> Reply:
        """Send a request and read its answer to the end."""
        return await self.send(self.message(method, params, meta), headers=headers, answers=answers)

    async def call(self, name: str, arguments: Message | None = None, **more: Any) -> Reply:
        """``tools/call``; None leaves the arguments out."""
        params = {"name": name, **({} if arguments is None else {"arguments": arguments})}
        return await self.request("tools/call", {**params, **more.pop("params", {})}, **more)

    async def send(
        self, message: Message, *, headers: Mapping[str, str | None] | None = None, answers: Answers | None = None
    ) -> Reply:
        """Send a message as it is.

        :param headers: in place of the right ones; None leaves one out.
        """
        given = {**self.headers(message), **(headers or {})}
        wanted = {name: value for name, value in given.items() if value is not None}
        async with self.http.stream("POST", self.url, json=message, headers=wanted) as stream:
            reply = Reply(message.get("id"), stream.status_code, stream.headers)
            if "text/event-stream" in stream.headers.get("content-type", ""):
                async for event in events(stream):
                    reply.events.append(event)
                    if event.message is not None and "method" in event.message and "id" in event.message:
                        await self._answer(event.message, answers or {})
            else:
                reply.text = (await stream.aread()).decode()
                if reply.text.startswith("{"):
                    reply.events.append(Event(message=json.loads(reply.text)))
        return reply

    async def _answer(self, request: Message, answers: Answers) -> None:
        given = answers.get(request["method"], {"error": {"code": -32601, "message": "not answered"}})
        body = given if "error" in given else {"result": given}
        await self.post({"jsonrpc": "2.0", "id": request["id"], **body})

    async def notify(self, method: str) -> httpx2.Response:
        return await self.post({"jsonrpc": "2.0", "method": method})

    async def post(self, message: Message) -> httpx2.Response:
        return await self.http.post(self.url, json=message, headers=ACCEPT | self.session)


async def events(stream: httpx2.Response) -> AsyncIterator[Event]:
    """The events of a stream as they come; comments are passed over."""
    event, data, seen = Event(), "", False
    async for line in stream.aiter_lines():
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line and seen:
            event.message = json.loads(data) if data else None
            yield event
            event, data, seen = Event(), "", False
        elif name == "data":
            data, seen = data + value, True
        elif name in ("id", "retry"):
            setattr(event, name, value)
            seen = True


@pytest.fixture(scope="package")
def url() -> Iterator[str]:
    """Where the server is."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SERVER), str(port)])
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert time.monotonic() < deadline and process.poll() is None, "the server did not start"
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


Connect = Callable[..., Awaitable[Leg]]


@pytest.fixture
async def connect(url: str) -> AsyncIterator[Connect]:
    """Makes clients: ``await connect(era, **capabilities)``; without capabilities, those that suites declare."""
    async with httpx2.AsyncClient(timeout=20) as http:

        async def make(era: str, capabilities: Message | None = None) -> Leg:
            if capabilities is None:
                capabilities = CAPABILITIES if era == MODERN else {"sampling": {}, "elicitation": {}}
            leg = Leg(http, url, era, capabilities)
            return leg if leg.is_modern else await leg.open()

        yield make


@pytest.fixture(params=(*OLDER, MODERN))
async def leg(request: pytest.FixtureRequest, connect: Connect) -> Leg:
    """A client of each protocol version."""
    return await connect(request.param)


@pytest.fixture(params=OLDER)
async def older(request: pytest.FixtureRequest, connect: Connect) -> Leg:
    """A client of each version that has sessions."""
    return await connect(request.param)


@pytest.fixture
async def latest_older(connect: Connect) -> Leg:
    """A client of 2025-11-25."""
    return await connect("2025-11-25")


@pytest.fixture
async def modern(connect: Connect) -> Leg:
    """A client of 2026-07-28."""
    return await connect(MODERN)
