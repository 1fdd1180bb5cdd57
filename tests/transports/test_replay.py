"""What an older client missed: replayed to it, once, and to nobody else."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server.streamable_http import EventMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse

from frontmcp import FrontMcp, Tool, ToolContext
from frontmcp.transports import replay
from frontmcp.transports.http import serving
from frontmcp.transports.replay import SessionEvents

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def note(text: str) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"data": text})


def answer(id: int) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=id, result={})


async def replayed(events: SessionEvents, after: str) -> tuple[list[Any], str | None]:
    seen: list[Any] = []

    async def send(event: EventMessage) -> None:
        seen.append(event.message)

    return seen, await events.replay_events_after(after, send)


class TestEvents:
    async def test_what_came_after_on_the_same_stream_is_sent_again(self) -> None:
        events = SessionEvents()
        start = await events.store_event("1", None)
        await events.store_event("2", note("other"))
        first = await events.store_event("1", note("a"))
        await events.store_event("1", note("b"))
        assert await replayed(events, start) == ([note("a"), note("b")], "1")
        assert await replayed(events, first) == ([note("b")], "1")

    async def test_an_answer_ends_its_stream_though_its_id_is_used_again(self) -> None:
        events = SessionEvents()
        start = await events.store_event("1", None)
        await events.store_event("1", answer(1))
        await events.store_event("1", None)
        await events.store_event("1", note("of the next"))
        assert await replayed(events, start) == ([answer(1)], None)

    async def test_what_comes_meanwhile_is_sent_too(self) -> None:
        events, seen = SessionEvents(), []
        start = await events.store_event("1", None)
        await events.store_event("1", note("a"))

        async def send(event: EventMessage) -> None:
            seen.append(event.message)
            if len(seen) == 1:
                await events.store_event("1", answer(1))

        assert await events.replay_events_after(start, send) is None
        assert seen == [note("a"), answer(1)]

    async def test_an_unknown_event_replays_nothing(self) -> None:
        events = SessionEvents()
        await events.store_event("1", note("a"))
        for unknown in ("0", "2", "x", ""):
            assert await replayed(events, unknown) == ([], None)

    async def test_only_the_latest_are_kept(self) -> None:
        events = SessionEvents()
        start = await events.store_event("1", None)
        for _ in range(replay.MOST_EVENTS):
            last = await events.store_event("1", note("a"))
        assert await replayed(events, start) == ([], None)
        assert await replayed(events, last) == ([], "1")

    async def test_large_messages_make_room_sooner(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(replay, "MOST_BYTES", 1000)
        events = SessionEvents()
        first = await events.store_event("1", note("a"))
        second = await events.store_event("1", note("x" * 800))
        assert await replayed(events, first) == ([note("x" * 800)], "1")
        huge = await events.store_event("1", note("y" * 2000))
        assert await replayed(events, second) == ([], None)
        assert await replayed(events, huge) == ([], "1")
        small = await events.store_event("1", note("b"))
        assert await replayed(events, huge) == ([], None)
        assert await replayed(events, small) == ([], "1")


# Over HTTP


@Tool
async def poll(ctx: ToolContext, text: str) -> str:
    await ctx.close_stream()
    await anyio.sleep(0.05)
    await ctx.notify(f"still {text}")
    return text


@Tool(sync="thread")
def poll_in_thread(ctx: ToolContext, text: str) -> str:
    ctx.close_stream_sync()
    return text


class Session:
    def __init__(self, http: httpx2.AsyncClient, url: str, era: str) -> None:
        self.http, self.url, self.era, self.headers = http, url, era, dict(JSON)

    async def open(self) -> Session:
        params = {"protocolVersion": self.era, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        opened = await self.post({"id": 0, "method": "initialize", "params": params})
        self.headers |= {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": self.era}
        await self.post({"method": "notifications/initialized"})
        return self

    async def post(self, message: dict[str, Any]) -> httpx2.Response:
        return await self.http.post(self.url, json={"jsonrpc": "2.0", **message}, headers=self.headers, timeout=20)

    async def call(self, id: int, name: str, text: str) -> list[dict[str, str]]:
        params = {"name": name, "arguments": {"text": text}}
        return events_of((await self.post({"id": id, "method": "tools/call", "params": params})).text)

    async def come_back(self, last: str, id: int) -> list[Any]:
        """Messages from a new stream, until the answer to a request or the stream's end."""
        headers = self.headers | {"last-event-id": last}
        messages = []
        async with self.http.stream("GET", self.url, headers=headers, timeout=5) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data: ") and line != "data: ":
                    messages.append(json.loads(line.removeprefix("data: ")))
                    if messages[-1].get("id") == id:
                        break
        return messages


def events_of(text: str) -> list[dict[str, str]]:
    blocks = (block.splitlines() for block in text.replace("\r", "").split("\n\n") if block.strip())
    return [dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in block) for block in blocks]


@pytest.fixture
def server() -> FrontMcp:
    return FrontMcp("replay", tools=[poll, poll_in_thread], autoload_plugins=False)


async def test_a_call_goes_on_without_its_stream_and_its_client_comes_back(server: FrontMcp) -> None:
    options = server.http_options(port=0, event_store=True, retry_interval=0.1)
    async with serving(server, options) as url, httpx2.AsyncClient() as http:
        one, other = await Session(http, url, "2025-11-25").open(), await Session(http, url, "2025-11-25").open()
        first = await one.call(7, "poll", "mine")
        theirs = await other.call(7, "poll", "theirs")
        assert first[0] == {"id": first[0]["id"], "retry": "100", "data": ""}
        assert len(first) == len(theirs) == 1
        log, result = await one.come_back(first[0]["id"], 7)
        assert log["params"]["data"] == "still mine"
        assert result["result"]["content"][0]["text"] == "mine"
        # Their request has the same id and their event the same number: it is another session.
        assert (await other.come_back(theirs[0]["id"], 7))[-1]["result"]["content"][0]["text"] == "theirs"
        threaded = await one.call(8, "poll_in_thread", "x")
        assert (await one.come_back(threaded[0]["id"], 8))[-1]["result"]["content"][0]["text"] == "x"


@pytest.mark.parametrize(("era", "event_store"), [("2025-11-25", False), ("2025-06-18", True)])
async def test_a_stream_stays_open_where_its_client_could_not_come_back(
    server: FrontMcp, era: str, event_store: bool
) -> None:
    options = server.http_options(port=0, event_store=event_store)
    async with serving(server, options) as url, httpx2.AsyncClient() as http:
        session = await Session(http, url, era).open()
        events = await session.call(1, "poll", "here")
        assert all(each["data"] for each in events)
        assert json.loads(events[-1]["data"])["result"]["content"][0]["text"] == "here"


@pytest.mark.mcp(era=["2026-07-28", "2025-11-25"], transport=["memory", "stdio", "http"])
async def test_there_is_nothing_to_close_elsewhere(mcp: Any) -> None:
    assert (await mcp.tools.call("poll", {"text": "x"})).text() == "x"
