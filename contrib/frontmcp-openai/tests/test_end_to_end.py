"""A client, an agent and its model, each over real HTTP: what the model sees, whom its tools ask."""

from __future__ import annotations

import base64
import json
import logging
import re
import struct
import threading
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest
from frontmcp_openai import OpenAI
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from frontmcp import Accepted, Agent, AgentContext, FrontMcp, Image, Tool, ToolContext
from frontmcp.testing import Road, connect

KEY = "sk-local-5ecre7"
ERAS = pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xff\0\0" * width) * height
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Seeing:
    """A model that wants to see a photo, and tells how large the picture is that it then sees."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []

    async def completions(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append((request.headers["authorization"], body))
        return StreamingResponse(self._events(body), media_type="text/event-stream")

    async def _events(self, body: dict[str, Any]) -> AsyncIterator[str]:
        looked = any(message["role"] == "tool" for message in body["messages"])
        for delta in self._said(body["messages"][-1]["content"]) if looked else self._wants():
            yield event(choices=[{"index": 0, "delta": delta, "finish_reason": None}])
        yield event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop" if looked else "tool_calls"}])
        yield event(choices=[], usage={"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110})
        yield "data: [DONE]\n\n"

    def _wants(self) -> list[dict[str, Any]]:
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "photo", "arguments": '{"id"'}}
        return [{"tool_calls": [call]}, {"tool_calls": [{"index": 0, "function": {"arguments": ': "T-1"}'}}]}]

    def _said(self, content: Any) -> list[dict[str, Any]]:
        text = f"I am told: {content}"
        for part in content if isinstance(content, list) else ():
            if part["type"] == "image_url":
                data = base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
                text = "It is {} by {} pixels.".format(*struct.unpack(">II", data[16:24]))
        return [{"content": piece} for piece in re.findall(r"\S+\s*", text)]


class Hanging:
    """A model that never ends, and notes when it is given up."""

    def __init__(self) -> None:
        self.asked, self.given_up = threading.Event(), threading.Event()

    async def completions(self, request: Request) -> Response:
        if (await request.json()).get("stream"):
            return StreamingResponse(self._events(), media_type="text/event-stream")
        self.asked.set()
        while (await request.receive())["type"] != "http.disconnect":
            pass
        self.given_up.set()
        return Response()

    async def _events(self) -> AsyncIterator[str]:
        try:
            yield event(choices=[{"index": 0, "delta": {"content": "It "}, "finish_reason": None}])
            self.asked.set()
            await anyio.sleep_forever()
        finally:
            self.given_up.set()


def event(**fields: Any) -> str:
    head = {"id": "chatcmpl-1", "created": 1, "model": "local", "object": "chat.completion.chunk"}
    return f"data: {json.dumps({**head, **fields})}\n\n"


class Consent(BaseModel):
    show: bool


@Tool
async def photo(ctx: ToolContext, id: str) -> str | list[Any]:
    """The photo of a ticket, if the user lets the model see it."""
    answer = await ctx.elicit(f"Show the photo of {id} to the model?", Consent)
    if not (isinstance(answer, Accepted) and answer.data.show):
        return f"The photo of {id} is private."
    return [f"The photo of {id}:", Image(data=png(3, 2), format="png")]


Serve = Callable[[Any], str]


def server_of(model: Any, serve: Serve, **execution: Any) -> FrontMcp:
    url = serve(Starlette(routes=[Route("/v1/chat/completions", model.completions, methods=["POST"])]))

    @Agent(
        name="looker",
        llm={"provider": "openai", "model": "local", "api_key": KEY, "base_url": f"{url}/v1", "max_retries": 0},
        system_instructions="You look at photos.",
        input_schema={"query": str},
        tools=[photo],
        execution=execution,
    )
    class Looker(AgentContext):
        """Look at the photo of a ticket."""

    return FrontMcp("desk", agents=[Looker], plugins=[OpenAI()], autoload_plugins=False)


@ERAS
@pytest.mark.parametrize("show", [True, False])
async def test_a_model_sees_the_picture_that_the_user_lets_it_see(
    serve: Serve, era: str, show: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model, asked = Seeing(), []
    server = server_of(model, serve, enable_streaming=True, notification_interval=0)
    async with connect(server, Road(era, "http")) as mcp:

        @mcp.on_elicitation
        def reply(message: str, form: Any) -> dict[str, Any]:
            asked.append(message)
            return {"show": show}

        result = await mcp.tools.call("invoke_looker", {"query": "What is on the photo of T-1?"})
        told = [each.message for each in mcp.notifications.progress()]
        logs = [each.data for each in mcp.notifications.logs()]
    said = "It is 3 by 2 pixels." if show else "I am told: The photo of T-1 is private."
    assert result.json() == {"response": said}
    assert asked == ["Show the photo of T-1 to the model?"]
    assert told == re.findall(r"\S+\s*", said)
    assert set(logs) == {"Calling tool: photo"}
    assert [key for key, _ in model.requests] == [f"Bearer {KEY}"] * 2, "the model is asked once for each turn"
    messages = model.requests[1][1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", *["user"] * show]
    assert messages[3]["content"].startswith("The photo of T-1")
    assert KEY not in caplog.text


@ERAS
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_client_that_cancels_ends_the_request_at_the_provider(serve: Serve, era: str, streaming: bool) -> None:
    model = Hanging()
    async with connect(server_of(model, serve, enable_streaming=streaming), Road(era, "http")) as mcp:
        async with anyio.create_task_group() as group:
            group.start_soon(mcp.tools.call, "invoke_looker", {"query": "?"})
            assert await anyio.to_thread.run_sync(model.asked.wait, 10)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(model.given_up.wait, 10)


@pytest.mark.parametrize("streaming", [True, False])
async def test_so_does_the_time_of_the_loop(serve: Serve, streaming: bool) -> None:
    model = Hanging()
    server = server_of(model, serve, enable_streaming=streaming, timeout=300)
    async with connect(server, Road("2026-07-28", "http")) as mcp:
        (await mcp.tools.call("invoke_looker", {"query": "?"})).assert_error("AGENT_TIMEOUT")
        assert await anyio.to_thread.run_sync(model.given_up.wait, 10)
