"""An agent on a local server that speaks the API of OpenAI, over real HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from frontmcp_openai import OpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from frontmcp import Agent, AgentContext, FrontMcp, FrontMcpError, Tool, ToolExecutionError, create_direct
from frontmcp.interfaces import ModelAccessError
from frontmcp.testing import connect


class LocalModel:
    """Looks a ticket up, then answers with what the tool gave; refuses keys but ``local``."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    async def completions(self, request: Request) -> Response:
        if request.headers["authorization"] != "Bearer local":
            return JSONResponse({"error": {"message": "no", "code": "invalid_api_key"}}, 401)
        body = await request.json()
        self.requests.append(body)
        message = self._message(body)
        finish = "tool_calls" if "tool_calls" in message else "stop"
        if body.get("stream"):
            return StreamingResponse(self._stream(message, finish), media_type="text/event-stream")
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        return JSONResponse({**HEAD, "object": "chat.completion", "choices": [choice], "usage": usage})

    def _message(self, body: dict[str, Any]) -> dict[str, Any]:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return {"role": "assistant", "content": f"It is {json.loads(last['content'])['status']}."}
        name = body["tools"][0]["function"]["name"]
        call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": '{"id": "T-1"}'}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    async def _stream(self, message: dict[str, Any], finish: str) -> AsyncIterator[str]:
        pieces = [{"content": piece} for piece in re.findall(r"\S+\s*", message.get("content") or "")]
        calls = [{**call, "index": index} for index, call in enumerate(message.get("tool_calls", ()))]
        for delta in [{"role": "assistant"}, *pieces, *([{"tool_calls": calls}] if calls else [])]:
            yield self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        yield "data: [DONE]\n\n"

    def _event(self, fields: dict[str, Any]) -> str:
        return f"data: {json.dumps({**HEAD, 'object': 'chat.completion.chunk', **fields})}\n\n"


HEAD = {"id": "chatcmpl-1", "created": 1, "model": "local"}


@pytest.fixture(scope="module")
def served(serve: Callable[[Any], str]) -> tuple[LocalModel, str]:
    model = LocalModel()
    url = serve(Starlette(routes=[Route("/v1/chat/completions", model.completions, methods=["POST"])]))
    return model, f"{url}/v1"


@Tool
async def get_ticket(id: str) -> dict[str, str]:
    """Get one ticket."""
    return {"id": id, "status": "open"}


def server_of(base_url: str, *, llm: dict[str, Any] | None = None, **more: Any) -> FrontMcp:
    said = {"provider": "openai", "model": "local", "api_key": "local", "base_url": base_url, **(llm or {})}

    @Agent(
        llm=said, name="triage", description="Triage a ticket", input_schema={"query": str}, tools=[get_ticket], **more
    )
    class Triage(AgentContext): ...

    return FrontMcp("desk", agents=[Triage], plugins=[OpenAI()], autoload_plugins=False)


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_agent_looks_up_and_answers(served: tuple[LocalModel, str], streaming: bool) -> None:
    model, base_url = served
    model.requests.clear()
    async with connect(server_of(base_url, execution={"enable_streaming": streaming})) as mcp:
        result = await mcp.tools.call("invoke_triage", {"query": "How is T-1?"})
    assert result.json() == {"response": "It is open."}
    assert [bool(request.get("stream")) for request in model.requests] == [streaming] * 2
    assert model.requests[1]["messages"][-1] == {
        "role": "tool", "tool_call_id": "c1", "content": '{"id":"T-1","status":"open"}',
    }  # fmt: skip


async def test_a_wrong_key_is_no_secret_and_not_the_clients_business(served: tuple[LocalModel, str]) -> None:
    async with create_direct(server_of(served[1], llm={"api_key": "sk-wrong"})) as direct:
        with pytest.raises(FrontMcpError) as refused:
            await direct.call_tool("invoke_triage", {"query": "How is T-1?"})
    error = refused.value
    assert isinstance(error, ToolExecutionError)
    assert isinstance(error.original_error, ModelAccessError)
    assert not error.public
    assert "sk-wrong" not in str(refused.value)


async def test_a_server_that_is_away_is_told_as_such(caplog: pytest.LogCaptureFixture) -> None:
    server = server_of("http://127.0.0.1:1/v1", llm={"max_retries": 0})
    async with create_direct(server) as direct:
        with pytest.raises(FrontMcpError) as away:
            await direct.call_tool("invoke_triage", {"query": "How is T-1?"})
    assert away.value.code == "MODEL_UNAVAILABLE"
    assert "the provider openai at 127.0.0.1:1 failed: MODEL_UNAVAILABLE, ConnectError" in caplog.text
