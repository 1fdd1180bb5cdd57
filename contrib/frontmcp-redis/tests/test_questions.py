"""A question to the user that one process asks, and another hears the answer of."""

from __future__ import annotations

from typing import Any

import httpx2

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": VERSION,
    "mcp-method": "tools/call",
    "mcp-name": "purge",
}


async def purge(worker: Any, **more: Any) -> Any:
    params = {"name": "purge", "arguments": {}, "_meta": META, **more}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with httpx2.AsyncClient(timeout=30) as http:
        return (await http.post(worker.url, json=message, headers=HEADERS)).json()["result"]


async def test_another_process_goes_on_and_once(two_workers: Any) -> None:
    here, there = two_workers
    asked = await purge(here)
    assert asked["resultType"] == "input_required"
    (key,) = asked["inputRequests"]
    answer = {key: {"action": "accept", "content": {"sure": True}}}
    said = {"requestState": asked["requestState"], "inputResponses": answer}
    finished = await purge(there, **said)
    text = finished["content"][0]["text"]
    # What was prepared is too long for the state: it was kept in Redis, and not done again.
    assert text == f"{here.process.pid} {there.process.pid} True 1"
    for worker in (here, there):
        again = await purge(worker, **said)
        assert again["content"][0]["text"] == text, "a state is spent once, in whatever process"
