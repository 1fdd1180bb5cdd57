"""The tasks of the everything server, for clients of 2026-07-28 that declare the extension."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import anyio
import pytest

TASKS = "io.modelcontextprotocol/tasks"
CREATED = {"resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "_meta"}


@pytest.fixture
async def leg(connect: Any) -> Any:
    """A client that knows tasks, and whose user can be asked."""
    return await connect("2026-07-28", {"elicitation": {}, "extensions": {TASKS: {}}})


@pytest.fixture
async def plain(modern: Any) -> Any:
    """A client that does not."""
    return modern


async def start(leg: Any, name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    created: dict[str, Any] = (await leg.call(name, arguments or {}, **more)).result
    assert created["resultType"] == "task", created
    return created


async def get(leg: Any, task_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await leg.request("tasks/get", {"taskId": task_id})).result
    return found


async def until(leg: Any, task_id: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    with anyio.fail_after(15):
        while not holds(task := await get(leg, task_id)):
            await anyio.sleep(0.02)
    return task


async def ended(leg: Any, task_id: str) -> dict[str, Any]:
    return await until(leg, task_id, lambda task: task["status"] in ("completed", "failed", "cancelled"))


async def answer(leg: Any, task_id: str, key: str, content: Any) -> None:
    responses = {key: {"action": "accept", "content": content}, "unknown": {"action": "decline"}}
    ack = (await leg.request("tasks/update", {"taskId": task_id, "inputResponses": responses})).result
    assert ack.keys() - {"_meta"} == {"resultType"}


async def test_the_extension_is_declared_and_nothing_else_of_tasks(leg: Any, latest_older: Any) -> None:
    capabilities = (await leg.request("server/discover")).result["capabilities"]
    assert capabilities["extensions"] == {TASKS: {}}
    assert "tasks" not in capabilities
    assert "tasks" not in latest_older.opened.result["capabilities"]


async def test_a_tool_without_tasks_answers_at_once(leg: Any) -> None:
    reply = await leg.call("greet", {"name": "Ada"}, params={"task": {"ttl": 1000}})
    assert (reply.result["resultType"], reply.content()["text"]) == ("complete", "Hello, Ada!")
    assert "taskId" not in reply.result


async def test_a_task_is_there_at_once_and_completes(leg: Any) -> None:
    created = await start(leg, "slow_compute", {"seconds": 0.3, "label": "pi"})
    assert created.keys() == CREATED
    assert (created["status"], type(created["ttlMs"]), type(created["pollIntervalMs"])) == ("working", int, int)
    for name in ("createdAt", "lastUpdatedAt"):
        assert datetime.fromisoformat(created[name]).tzinfo is not None
    task = await get(leg, created["taskId"])
    assert (task["resultType"], task["status"], task["taskId"]) == ("complete", "working", created["taskId"])
    task = await ended(leg, created["taskId"])
    assert task["status"] == "completed"
    assert task["result"]["content"][0]["text"] == "Computed pi in 0.3 seconds"
    assert "error" not in task


async def test_without_the_extension_a_call_waits(plain: Any, older: Any) -> None:
    for client in (plain, older):
        assert "Computed" in (await client.call("slow_compute", {"seconds": 0.01})).content()["text"]


async def test_a_task_is_cancelled_for_good(leg: Any) -> None:
    created = await start(leg, "slow_compute", {"seconds": 60})
    for _ in range(2):
        ack = (await leg.request("tasks/cancel", {"taskId": created["taskId"]})).result
        assert ack.keys() - {"_meta"} == {"resultType"}
        assert (await ended(leg, created["taskId"]))["status"] == "cancelled"


async def test_what_needs_tasks_is_refused_without_them(plain: Any, older: Any) -> None:
    for name in ("failing_job", "test_tool_with_task"):
        reply = await plain.call(name, {})
        if name == "failing_job":
            assert (reply.status, reply.error["code"]) == (400, -32021)
            assert reply.error["data"]["requiredCapabilities"] == {"extensions": {TASKS: {}}}
    assert (await older.call("failing_job", {})).result["isError"] is True


async def test_a_failure_of_the_tool_is_a_result(leg: Any) -> None:
    task = await ended(leg, (await start(leg, "failing_job"))["taskId"])
    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert task["result"]["_meta"]["code"] == "JOB_FAILED"


async def test_an_error_of_the_protocol_is_an_error(leg: Any) -> None:
    task = await ended(leg, (await start(leg, "protocol_error_job"))["taskId"])
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert isinstance(task["error"]["message"], str)
    assert "result" not in task


@pytest.mark.parametrize(("sure", "told"), [(True, "notes.txt is deleted"), (False, "notes.txt is kept")])
async def test_a_task_asks_its_user(leg: Any, sure: bool, told: str) -> None:
    task_id = (await start(leg, "confirm_delete", {"filename": "notes.txt"}))["taskId"]
    task = await until(leg, task_id, lambda task: task["status"] == "input_required")
    [(key, asked)] = task["inputRequests"].items()
    assert (asked["method"], asked["params"]["message"]) == ("elicitation/create", "Delete notes.txt?")
    await answer(leg, task_id, key, {"confirm": sure})
    task = await ended(leg, task_id)
    assert task["result"]["content"][0]["text"] == told
    assert "inputRequests" not in task


async def test_questions_are_answered_one_by_one(leg: Any) -> None:
    task_id = (await start(leg, "multi_input"))["taskId"]
    task = await until(leg, task_id, lambda task: len(task.get("inputRequests", ())) == 2)
    keys = {asked["params"]["message"]: key for key, asked in task["inputRequests"].items()}
    await answer(leg, task_id, keys["What is your name?"], {"name": "Ada"})
    task = await get(leg, task_id)
    assert list(task["inputRequests"]) == [keys["What is your favorite color?"]]
    await answer(leg, task_id, keys["What is your name?"], {"name": "Again"})
    await answer(leg, task_id, keys["What is your favorite color?"], {"color": "green"})
    assert (await ended(leg, task_id))["result"]["content"][0]["text"] == "Got color, name"


async def test_what_is_asked_before_is_asked_in_the_request(leg: Any) -> None:
    first = (await leg.call("test_tool_with_task", {})).result
    assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["user_name"])
    answers = {"user_name": {"action": "accept", "content": {"name": "Alice"}}}
    retry = {"requestState": first["requestState"], "inputResponses": answers}
    created = await start(leg, "test_tool_with_task", params=retry)
    assert created.keys() == CREATED
    again = await start(leg, "test_tool_with_task", params=retry)
    assert again["taskId"] == created["taskId"], "a state is spent once"
    assert "Alice" in (await ended(leg, created["taskId"]))["result"]["content"][0]["text"]


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_methods_of_tasks_want_what_they_are_for(leg: Any, plain: Any, older: Any, method: str) -> None:
    reply = await leg.request(method, {"taskId": "nowhere", "inputResponses": {}})
    assert reply.error["code"] == -32602
    reply = await plain.request(method, {"taskId": "nowhere", "inputResponses": {}})
    assert (reply.status, reply.error["code"]) == (400, -32021)
    assert reply.error["data"]["requiredCapabilities"] == {"extensions": {TASKS: {}}}
    params = {"taskId": "nowhere", "inputResponses": {}}
    reply = await leg.request(method, params, headers={"mcp-name": "elsewhere"})
    assert (reply.status, reply.error["code"]) == (400, -32020)
    assert (await older.request(method, {"taskId": "nowhere"})).error["code"] == -32601


@pytest.mark.parametrize("method", ["tasks/list", "tasks/result"])
async def test_methods_that_are_gone_are_not_there(leg: Any, method: str) -> None:
    assert (await leg.request(method, {"taskId": "x"})).error["code"] == -32601
