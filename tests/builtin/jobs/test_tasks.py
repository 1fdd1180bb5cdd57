"""Tools that answer as a task, beneath the wire: owners, limits, questions, and what is done once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ClientCapabilities
from pydantic import BaseModel

from frontmcp import (
    Accepted,
    Agent,
    AgentContext,
    Caller,
    ConfigurationError,
    FrontMcp,
    RequestContext,
    Tool,
    ToolContext,
    create_direct,
)
from frontmcp.asking import Suspended, Suspension
from frontmcp.errors import FrontMcpError, InvalidInputError, MissingCapabilityError, RateLimitError
from frontmcp.testing import ScriptedModel, calling
from frontmcp.testing.runs import Gate
from plugins_builtin.authorities import AuthorityDeniedError
from plugins_builtin.jobs.tasks import TASKS, TaskNotFoundError, Tasks

NOUR, DANA = Caller("nour", roles=("admin",)), Caller("dana")
DECLARED: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}}}


class Sure(BaseModel):
    yes: bool


def request_of(caller: Caller, capabilities: Mapping[str, Any] = DECLARED) -> RequestContext:
    request = RequestContext(caller, "memory")
    request.protocol_version = "2026-07-28"
    request.client_capabilities = ClientCapabilities.model_validate(capabilities)
    return request


async def call(
    server: FrontMcp, name: str, caller: Caller = NOUR, capabilities: Any = DECLARED, **arguments: Any
) -> Any:
    """A call as the wire makes it for a client of 2026-07-28."""
    request = request_of(caller, capabilities)
    request.asking = suspension = Suspension(server.state_store, caller)
    made = server.pipeline.client_call(request, name, arguments)
    outcome: Any = await suspension.run(lambda: server.pipeline.run(made))
    if not isinstance(outcome, Suspended):
        return outcome
    assert outcome.answer is not None
    return await outcome.answer(outcome.state.dump())


def tasks_of(server: FrontMcp) -> Tasks:
    tasks: Tasks = next(info.plugin for info in server.plugins.infos if info.name == "jobs")._tasks
    return tasks


async def get(server: FrontMcp, task_id: str, caller: Caller = NOUR) -> Mapping[str, Any]:
    return await tasks_of(server).get(request_of(caller), {"taskId": task_id})


async def until(server: FrontMcp, task_id: str, *statuses: str) -> Mapping[str, Any]:
    with anyio.fail_after(10):
        while (task := await get(server, task_id))["status"] not in statuses:
            await anyio.sleep(0.002)
    return task


def serve(*tools: Any, **options: Any) -> FrontMcp:
    return FrontMcp("desk", tools=tools, autoload_plugins=False, jobs_config={"shutdown_ms": 0}, **options)


@Tool(task=True)
async def who(ctx: ToolContext) -> dict[str, Any]:
    await ctx.progress(1, 2, "half")
    return {"sub": ctx.auth.sub, "surface": ctx.call.surface, "origin": ctx.call.origin, "depth": ctx.call.depth}


async def test_a_task_runs_as_its_caller_and_belongs_to_them() -> None:
    server = serve(who)
    async with server.running():
        task_id = (await call(server, "who"))["taskId"]
        task = await until(server, task_id, "completed")
        assert task["result"]["structuredContent"] == {"sub": "nour", "surface": "mcp", "origin": "client", "depth": 0}
        assert task["statusMessage"] == "half"
        tasks, asked = tasks_of(server), {"taskId": task_id, "inputResponses": {}}
        for method in (tasks.get, tasks.update, tasks.cancel):
            with pytest.raises(TaskNotFoundError):
                await method(request_of(DANA), asked)


async def test_it_is_the_server_that_has_tasks_only_with_such_a_tool() -> None:
    @Tool
    async def plain() -> str:
        return "done"

    server = serve(plain)
    server.check()
    assert server.wire.server.extensions == {}
    server = serve(who)
    server.check()
    assert list(server.wire.server.extensions) == [TASKS]


async def test_inner_calls_and_calls_in_process_wait() -> None:
    @Tool
    async def outer(ctx: ToolContext) -> Any:
        return (await ctx.call_tool("needs")).structured_content

    @Tool(task="required")
    async def needs() -> dict[str, int]:
        return {"n": 1}

    server = serve(outer, needs)
    async with create_direct(server) as direct:
        assert (await direct.call_tool("needs")).structured_content == {"n": 1}
        assert (await call(server, "outer")).structured_content == {"n": 1}
        with pytest.raises(MissingCapabilityError):
            await call(server, "needs", capabilities={"elicitation": {}})


async def test_what_is_refused_before_it_runs_is_no_task() -> None:
    @Tool(task=True, authorities={"roles": {"any": ["admin"]}}, rate_limit={"max_requests": 2})
    async def purge(n: int) -> int:
        return n

    server = serve(purge)
    async with server.running():
        with pytest.raises(AuthorityDeniedError):
            await call(server, "purge", DANA, n=1)
        with pytest.raises(InvalidInputError):
            await call(server, "purge", n="x")
        task = await until(server, (await call(server, "purge", n=1))["taskId"], "completed")
        assert task["result"]["content"][0]["text"] == "1"
        with pytest.raises(RateLimitError):
            await call(server, "purge", n=1)


async def test_a_slot_is_held_while_the_task_runs() -> None:
    gate = Gate()

    @Tool(task=True, concurrency={"max_concurrent": 1})
    async def hold() -> str:
        await gate.pass_through()
        return "done"

    server = serve(hold)
    async with server.running():
        first = (await call(server, "hold"))["taskId"]
        await gate.reached()
        with pytest.raises(FrontMcpError) as refused:
            await call(server, "hold")
        assert refused.value.code == "CONCURRENCY_LIMIT"
        gate.open()
        await until(server, first, "completed")


async def test_agents_answer_as_tasks_and_their_tools_ask() -> None:
    @Tool
    async def delete(ctx: ToolContext) -> str:
        return "deleted" if isinstance(await ctx.elicit("Sure?", Sure), Accepted) else "kept"

    model = ScriptedModel(calling("delete"), lambda request: f"It is {request.last.content}")

    @Agent(name="clerk", llm={"adapter": model}, tools=[delete], input_schema={"query": str}, task=True)
    class Clerk(AgentContext):
        pass

    server = FrontMcp("desk", agents=[Clerk], autoload_plugins=False)
    async with server.running():
        task_id = (await call(server, "invoke_clerk", query="Delete it"))["taskId"]
        task = await until(server, task_id, "input_required", "completed")
        [key] = task["inputRequests"]
        responses = {key: {"action": "accept", "content": {"yes": True}}}
        await tasks_of(server).update(request_of(NOUR), {"taskId": task_id, "inputResponses": responses})
        task = await until(server, task_id, "completed")
        assert "It is deleted" in str(task["result"]["structuredContent"])


async def test_an_error_of_the_tool_is_masked_in_production() -> None:
    @Tool(task=True)
    async def leak() -> None:
        raise RuntimeError("db-7.internal refused")

    server = serve(leak, environment="production")
    async with server.running():
        task = await until(server, (await call(server, "leak"))["taskId"], "completed")
        assert task["result"]["isError"] is True
        assert "db-7" not in str(task)


async def test_what_a_task_fails_with_is_told_or_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    @Tool(task=True)
    async def refuse() -> None:
        raise MCPError(-32603, "Not today")

    server = serve(refuse, environment="production")
    async with server.running():
        task = await until(server, (await call(server, "refuse"))["taskId"], "failed")
        assert task["error"] == {"code": -32603, "message": "Not today"}

        async def broken(*_: Any) -> Any:
            raise RuntimeError("db-7.internal refused")

        monkeypatch.setattr(tasks_of(server), "_executed", broken)
        task = await until(server, (await call(server, "refuse"))["taskId"], "failed")
        assert "db-7" not in str(task)


async def test_a_cancelled_task_is_cancelled() -> None:
    gate = Gate()

    @Tool(task=True)
    async def hold() -> None:
        await gate.pass_through()

    server = serve(hold)
    async with server.running():
        task_id = (await call(server, "hold"))["taskId"]
        await gate.reached()
        await tasks_of(server).cancel(request_of(NOUR), {"taskId": task_id})
        assert (await get(server, task_id))["status"] == "cancelled"
        with anyio.fail_after(5):
            await gate.was_cancelled.wait()


async def test_a_task_that_asks_is_cancelled() -> None:
    @Tool(task=True)
    async def delete(ctx: ToolContext) -> None:
        await ctx.elicit("Sure?", Sure)

    server = serve(delete)
    async with server.running():
        task_id = (await call(server, "delete"))["taskId"]
        await until(server, task_id, "input_required")
        await tasks_of(server).cancel(request_of(NOUR), {"taskId": task_id})
        task = await get(server, task_id)
        assert (task["status"], "inputRequests" in task) == ("cancelled", False)
        with anyio.fail_after(5):
            while tasks_of(server)._going:
                await anyio.sleep(0.005)


async def test_a_task_is_kept_as_long_as_it_says() -> None:
    server = FrontMcp("desk", tools=[who], autoload_plugins=False, jobs_config={"keep_ms": 300})
    async with server.running():
        made = await call(server, "who")
        assert made["ttlMs"] == 300
        with anyio.fail_after(5), pytest.raises(TaskNotFoundError):
            while await get(server, made["taskId"]):
                await anyio.sleep(0.01)


async def test_answers_and_what_was_done_once_outlive_the_process_that_ran_it() -> None:
    ran: list[str] = []
    asked = Gate()

    @Tool(task=True)
    async def delete(ctx: ToolContext) -> str:
        ran.append("begin")
        answer = await ctx.elicit("Sure?", Sure)
        again = await ctx.elicit("Really?", Sure)
        await asked.pass_through()
        return f"{isinstance(answer, Accepted)} {isinstance(again, Accepted)}"

    server = serve(delete)
    async with server.running():
        tasks, task_id = tasks_of(server), (await call(server, "delete"))["taskId"]
        keys = []
        for _ in range(2):
            task = await until(server, task_id, "input_required")
            [(key, question)] = task["inputRequests"].items()
            keys.append(key)
            assert question["method"] == "elicitation/create"
            responses = {key: {"action": "accept", "content": {"yes": True}}}
            await tasks.update(request_of(NOUR), {"taskId": task_id, "inputResponses": responses})
            assert "inputRequests" not in await get(server, task_id) or len(keys) == 1
        assert len(set(keys)) == 2
        await asked.reached()
        run = await tasks._service.engine.get(task_id)
        assert run is not None

        class Forgetful:
            """What the next process finds: nothing was kept of the execution."""

            def log(self, line: str) -> None: ...

            def reserve(self, keys: Any) -> None: ...

            async def report(self, change: Any) -> None: ...

            async def step(self, key: str, work: Any) -> Any:
                return await work()

        asked.open()
        await until(server, task_id, "completed")
        with anyio.fail_after(5):
            outcome = await tasks._service.execute(run, Forgetful())
        assert outcome.result["content"][0]["text"] == "True True"
        assert ran == ["begin", "begin"]


@pytest.mark.parametrize(
    ("options", "told"),
    [({"task": "maybe"}, "option task"), ({"task": True, "no": ["no:jobs"]}, 'no plugin claims the option "task"')],
)
def test_wrong_options_stop_the_start(options: dict[str, Any], told: str) -> None:
    @Tool(task=options["task"])
    async def tool() -> None: ...

    with pytest.raises(ConfigurationError, match=told):
        FrontMcp("desk", tools=[tool], plugins=options.get("no", ())).check()
