"""Who finds whom: an agent's own, what stands beside it, other agents, and policy for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from frontmcp import (
    Agent,
    AgentContext,
    App,
    Completion,
    ConfigurationError,
    FrontMcp,
    FrontMcpError,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
    ToolCall,
    ToolContext,
    create_direct,
)
from frontmcp.testing import ModelRequest, ScriptedModel, calling


async def reach(ctx: ToolContext | AgentContext, name: str, arguments: dict[str, Any] | None = None) -> str:
    try:
        result = await ctx.call_tool(name, arguments or {})
    except FrontMcpError as error:
        return f"{error.code} {error}"
    return str((result.structured_content or {}).get("found", result.structured_content))


@Tool
async def public() -> dict[str, str]:
    return {"found": "public"}


@Tool
async def private(ctx: ToolContext) -> dict[str, str]:
    return {"found": f"private, by {ctx.call.origin} on {ctx.call.surface} as {ctx.auth.sub}"}


@Tool
async def explore(ctx: ToolContext, names: list[str]) -> dict[str, str]:
    """What a tool of the agent's finds."""
    return {name: await reach(ctx, name) for name in names}


def agent(name: str, model: Any, **keywords: Any) -> type[AgentContext]:
    @Agent(name=name, llm={"adapter": model}, input_schema={"query": (str, "?")}, **keywords)
    class Made(AgentContext):
        pass

    return Made


def desk(*agents: Any, tools: Any = (public,), **keywords: Any) -> FrontMcp:
    return FrontMcp("help", apps=[App(id="desk", tools=tools, agents=agents)], **keywords)


async def run(server: FrontMcp, name: str, *roles: str, **arguments: Any) -> Any:
    caller = {"user": {"sub": "nour", "roles": roles}}
    async with create_direct(server) as direct:
        return (await direct.call_tool(name, arguments, auth_context=caller)).structured_content


# The agent's own


async def test_a_tool_of_the_agents_finds_only_the_agents_own() -> None:
    names = ["private", "desk:private", "desk.private", "public", "desk:public", "invoke_helper", "pri-vate"]
    model = ScriptedModel(calling("explore", names=names), "ok")
    await run(desk(agent("helper", model, tools=[explore, private])), "invoke_helper")
    (found,) = model.requests[1].results
    own = "private, by tool on None as nour"
    assert found == {
        "private": own,
        "desk:private": own,
        "desk.private": own,
        "pri-vate": 'TOOL_NOT_FOUND Tool "pri-vate" not found',
        **{name: f'TOOL_NOT_FOUND Tool "{name}" not found' for name in ("public", "desk:public", "invoke_helper")},
    }


async def test_the_model_calls_as_the_caller_on_the_agent_surface() -> None:
    model = ScriptedModel(calling("private"), "ok")
    await run(desk(agent("helper", model, tools=[private])), "invoke_helper")
    assert model.requests[1].results == [{"found": "private, by agent on agent as nour"}]


async def test_the_model_finds_nothing_else_either() -> None:
    model = ScriptedModel([calling(name) for name in ("public", "desk:public", "invoke_helper")], "ok")
    await run(desk(agent("helper", model, tools=[private])), "invoke_helper")
    assert [each["error"] for each in model.requests[1].results] == [
        f'Tool "{name}" not found' for name in ("public", "desk:public", "invoke_helper")
    ]


async def test_nobody_else_finds_the_agents_own() -> None:
    server = desk(agent("helper", ScriptedModel(), tools=[private]), tools=[public, explore])
    async with create_direct(server) as direct:
        assert [tool.name for tool in await direct.list_tools()] == ["explore", "invoke_helper", "public"]
        for name in ("private", "desk:private", "desk:invoke_helper/private", "desk.private"):
            with pytest.raises(FrontMcpError, match="not found"):
                await direct.call_tool(name)
        result = await direct.call_tool("explore", {"names": ["private"]})
    assert result.structured_content == {"private": 'TOOL_NOT_FOUND Tool "private" not found'}


async def test_two_agents_may_have_tools_of_one_name_and_the_server_another() -> None:
    def tool(text: str) -> Any:
        @Tool(name="same")
        async def same() -> dict[str, str]:
            return {"found": text}

        return same

    models = [ScriptedModel(calling("same"), "ok") for _ in "ab"]
    agents = [agent(name, model, tools=[tool(name)]) for name, model in zip("ab", models, strict=True)]
    server = desk(*agents, tools=[tool("server")])
    assert await run(server, "same") == {"found": "server"}
    for name, model in zip("ab", models, strict=True):
        await run(server, f"invoke_{name}")
        assert model.requests[1].results == [{"found": name}]


async def test_a_body_of_the_agents_finds_the_servers_and_its_own() -> None:
    @Agent(llm={"adapter": ScriptedModel("ok")}, tools=[private, explore])
    class Helper(AgentContext):
        async def execute(self) -> dict[str, Any]:
            names = ["public", "desk.public", "invoke_other", "private", "nothing"]
            found = {name: await reach(self, name) for name in names}
            explored = await self.call_tool("explore", {"names": ["private", "public"]})
            return {**found, "explored": explored.structured_content}

    server = desk(Helper, agent("other", ScriptedModel("hello")))
    found = await run(server, "invoke_helper")
    assert found == {
        "public": "public",
        "desk.public": "public",
        "invoke_other": "{'response': 'hello'}",
        "private": "private, by agent on agent as nour",
        "nothing": 'TOOL_NOT_FOUND Tool "nothing" not found',
        "explored": {
            "private": "private, by tool on None as nour",
            "public": 'TOOL_NOT_FOUND Tool "public" not found',
        },
    }


async def test_the_servers_comes_before_the_agents_own_in_its_body() -> None:
    @Tool(name="public")
    async def own() -> dict[str, str]:
        return {"found": "own"}

    @Agent(llm={"adapter": ScriptedModel()}, tools=[own])
    class Helper(AgentContext):
        async def execute(self) -> str:
            return await reach(self, "public")

    async with create_direct(desk(Helper)) as direct:
        (text,) = (await direct.call_tool("invoke_helper")).content
    assert getattr(text, "text", "") == "public"


async def test_resources_and_prompts_of_the_agents_are_for_its_tools() -> None:
    @Resource("notes://all")
    async def notes() -> str:
        return "notes"

    @ResourceTemplate("notes://{id}")
    async def note(id: str) -> str:
        return f"note {id}"

    @Prompt
    async def ask_well(topic: str) -> str:
        return f"Ask of {topic}."

    @Tool
    async def read(ctx: ToolContext) -> list[str]:
        texts: list[str] = []
        for uri in ("notes://all", "notes://7"):
            (contents,) = (await ctx.read_resource(uri)).contents
            texts.append(getattr(contents, "text", ""))
        (message,) = (await ctx.get_prompt("ask_well", {"topic": "x"})).messages
        return [*texts, getattr(message.content, "text", "")]

    model = ScriptedModel(calling("read"), "ok")
    helper = agent("helper", model, tools=[read], resources=[notes, note], prompts=[ask_well])
    server = desk(helper)
    await run(server, "invoke_helper")
    assert model.requests[1].results == [["notes", "note 7", "Ask of x."]]
    async with create_direct(server) as direct:
        assert await direct.list_resources() == []
        assert await direct.list_resource_templates() == []
        assert await direct.list_prompts() == []
        for uri in ("notes://all", "notes://7"):
            with pytest.raises(FrontMcpError, match="not found"):
                await direct.read_resource(uri)
        with pytest.raises(FrontMcpError, match="not found"):
            await direct.get_prompt("ask_well", {"topic": "x"})


async def test_a_client_is_not_told_of_kinds_that_only_agents_have(mcp_of: Callable[[FrontMcp], Any]) -> None:
    @Prompt
    async def ask_well() -> str:
        return "?"

    mcp = await mcp_of(desk(agent("helper", ScriptedModel(), prompts=[ask_well])))
    sdk = await mcp.connect()
    assert sdk.server_capabilities.prompts is None


@pytest.fixture
async def mcp_of() -> Any:
    from contextlib import AsyncExitStack

    from frontmcp.testing import connect

    async with AsyncExitStack() as stack:

        async def enter(server: FrontMcp) -> Any:
            return await stack.enter_async_context(connect(server))

        yield enter


async def test_exports_are_served_where_the_agent_is() -> None:
    @Prompt
    async def ask_well() -> str:
        return "?"

    model = ScriptedModel(calling("private"), "ok")
    helper = agent("helper", model, tools=[private, explore], prompts=[ask_well], exports=["private", ask_well])
    server = desk(helper)
    async with create_direct(server) as direct:
        assert [tool.name for tool in await direct.list_tools()] == ["invoke_helper", "private", "public"]
        assert [prompt.name for prompt in await direct.list_prompts()] == ["ask_well"]
        result = await direct.call_tool("desk:private")
        assert result.structured_content == {"found": "private, by client on mcp as direct"}
        await direct.call_tool("invoke_helper")
    assert model.requests[0].offered == ["private", "explore"]
    assert model.requests[1].results == [{"found": "private, by agent on agent as direct"}]


def test_exports_may_be_told_by_kind_and_must_be_the_agents_own() -> None:
    exported = Agent.of(agent("helper", ScriptedModel(), tools=[private], exports={"tools": [private]})).exports
    assert [each.name for each in exported] == ["private"]
    with pytest.raises(ConfigurationError, match="exports= has 'public', which is none of its own: private"):
        agent("helper", ScriptedModel(), tools=[private], exports=["public"])


async def test_an_agent_that_is_removed_takes_its_own_with_it() -> None:
    helper = agent("helper", ScriptedModel(), tools=[private, explore], exports=[explore])
    server = desk(helper)
    async with create_direct(server) as direct:
        await server.remove_tool("invoke_helper")
        assert [tool.name for tool in await direct.list_tools()] == ["public"]
        assert [entry.name for entry in server.entries()] == ["public"]
        await server.add_tool(helper, app="desk")
        assert [tool.name for tool in await direct.list_tools()] == ["explore", "invoke_helper", "public"]


def test_two_of_its_own_that_are_called_the_same_stop_the_start() -> None:
    @Prompt(name="private")
    async def prompt() -> str:
        return "?"

    server = desk(agent("helper", ScriptedModel(), tools=[private], prompts=[prompt]))
    with pytest.raises(ConfigurationError, match=r'Agent "helper" .*two of its own are called "private"; rename one'):
        server.check()
    server = desk(agent("helper", ScriptedModel(), tools=[private, Tool(name="private")(lambda: 1)]))
    with pytest.raises(ConfigurationError, match='has two tools named "private"'):
        server.check()


def test_options_of_its_own_are_checked_at_the_start() -> None:
    @Tool(audti=True)
    async def wrong() -> None: ...

    with pytest.raises(ConfigurationError, match='no plugin claims the option "audti"'):
        desk(agent("helper", ScriptedModel(), tools=[wrong])).check()


# Policy


@Tool(authorities="admin")
async def purge() -> dict[str, str]:
    return {"found": "purge"}


@Tool(authorities={"attributes": {"conditions": [{"path": "input.id", "op": "eq", "value": "T-1"}]}})
async def close(id: str) -> str:
    return f"closed {id}"


@Tool(available_when={"surface": ["mcp"]})
async def clients_only() -> str:
    return "client"


@Tool(visibility="internal")
async def internal() -> str:
    return "internal"


@Tool(rate_limit={"max_requests": 1})
async def scarce() -> str:
    return "scarce"


GUARDED = (purge, close, clients_only, internal, scarce)
ADMIN = {"authorities": {"profiles": {"admin": {"roles": {"any": ["admin"]}}}}}


@pytest.mark.parametrize(
    ("roles", "offered", "purged"),
    [
        ([], ["close", "internal", "scarce"], "Access denied to Tool"),
        (["admin"], ["purge", "close", "internal", "scarce"], "purge"),
    ],
)
async def test_policy_holds_for_what_the_model_calls(roles: list[str], offered: list[str], purged: str) -> None:
    model = ScriptedModel(
        [calling("purge"), calling("close", id="T-1"), calling("close", id="T-2"), calling("clients_only")],
        [calling("internal"), calling("scarce")],
        [calling("scarce")],
        "ok",
    )
    server = desk(agent("helper", model, tools=GUARDED), **ADMIN)
    await run(server, "invoke_helper", *roles)
    assert model.requests[0].offered == offered
    first, second, third, fourth = model.requests[1].results
    assert purged in json.dumps(first)
    assert second == "closed T-1"
    assert "Access denied to Tool" in third["error"]
    assert fourth == {"error": 'Tool "clients_only" not found'}
    assert model.requests[2].results == ["internal", "scarce"]
    assert model.requests[3].results[0]["error"].startswith("Rate limit exceeded. Retry after")


async def test_limits_of_its_own_are_its_own() -> None:
    models = [ScriptedModel(calling("scarce"), "ok") for _ in "ab"]
    server = desk(*(agent(name, model, tools=[scarce]) for name, model in zip("ab", models, strict=True)))
    async with create_direct(server) as direct:
        for name in "ab":
            await direct.call_tool(f"invoke_{name}")
    assert [model.requests[1].results for model in models] == [["scarce"], ["scarce"]]


async def test_an_agent_has_policies_like_any_tool() -> None:
    server = desk(agent("helper", ScriptedModel("ok", repeat=True), authorities="admin"), **ADMIN)
    with pytest.raises(FrontMcpError) as denied:
        await run(server, "invoke_helper")
    assert denied.value.code == "AUTHORITY_DENIED"
    assert await run(server, "invoke_helper", "admin") == {"response": "ok"}
    async with create_direct(server) as direct:
        assert [tool.name for tool in await direct.list_tools()] == ["public"]


async def test_what_is_for_agents_only_is_for_their_bodies_and_models() -> None:
    @Tool(available_when={"surface": ["agent"]})
    async def agents_only() -> dict[str, str]:
        return {"found": "agents only"}

    model = ScriptedModel(calling("agents_only"), "ok")

    @Agent(name="helper", llm={"adapter": model}, execution={"inherit_parent_tools": True})
    class Helper(AgentContext):
        async def execute(self) -> dict[str, Any]:
            return {**await super().execute("?"), "body": await reach(self, "agents_only")}

    server = desk(Helper, tools=[agents_only])
    assert await run(server, "invoke_helper") == {"response": "ok", "body": "agents only"}
    assert model.requests[1].results == [{"found": "agents only"}]
    with pytest.raises(FrontMcpError, match="not found"):
        await run(server, "agents_only")


# Inherited tools


async def test_a_model_may_be_offered_the_tools_beside_the_agent() -> None:
    @Tool(name="same")
    async def same() -> dict[str, str]:
        return {"found": "beside"}

    @Tool(name="same")
    async def own() -> dict[str, str]:
        return {"found": "own"}

    @Tool
    async def outside(ctx: ToolContext) -> dict[str, str]:
        return {"found": f"{await reach(ctx, 'public')} {await reach(ctx, 'private')}"}

    model = ScriptedModel([calling(name) for name in ("same", "same_2", "outside", "public")], "ok")
    helper = agent("helper", model, tools=[own, private], execution={"inherit_parent_tools": True})
    beside = [public, same, outside, purge, clients_only, internal]
    await run(desk(helper, agent("other", ScriptedModel()), tools=beside, **ADMIN), "invoke_helper")
    assert model.requests[0].offered == ["same", "private", "public", "same_2", "outside"]
    assert [each["found"] for each in model.requests[1].results] == [
        "own",
        "beside",
        'public TOOL_NOT_FOUND Tool "private" not found',
        "public",
    ]


async def test_tools_that_two_apps_have_are_offered_under_names_that_tell_them_apart() -> None:
    model = ScriptedModel(calling("two_public"), "ok")
    helper = agent("helper", model, execution={"inherit_parent_tools": True})
    other = App(id="two", tools=[public])
    server = FrontMcp("help", apps=[App(id="one", tools=[public], agents=[helper]), other])
    await run(server, "invoke_helper")
    assert model.requests[0].offered == ["one_public", "two_public"]
    assert model.requests[1].results == [{"found": "public"}]


# Other agents


def hand_over(to: str, **arguments: Any) -> Iterator[Any]:
    return iter([calling(to, **arguments), "done"])


async def test_an_agent_sees_no_other_unless_it_is_to() -> None:
    model = ScriptedModel("ok")
    await run(desk(agent("a", model), agent("b", ScriptedModel())), "invoke_a")
    assert model.requests[0].offered == []


async def test_agents_hand_tasks_over_to_those_they_see() -> None:
    seeing = {"can_see_other_agents": True}
    model = ScriptedModel(calling("invoke_b", query="T-1"), "done")
    other = ScriptedModel(lambda request: f"<{request.last.content}>")
    server = desk(
        agent("a", model, swarm=seeing),
        agent("b", other),
        agent("hidden", ScriptedModel(), swarm={"is_visible": False}),
        agent("internal", ScriptedModel(), visibility="internal"),
        agent("denied", ScriptedModel(), authorities="admin"),
        **ADMIN,
    )
    assert await run(server, "invoke_a") == {"response": "done"}
    assert model.requests[0].offered == ["invoke_b", "invoke_internal"]
    assert model.requests[1].results == [{"response": "<T-1>"}]


@pytest.mark.parametrize("name", ["b", "invoke_b", "desk:invoke_b"])
async def test_an_agent_may_see_only_some(name: str) -> None:
    model = ScriptedModel("ok")
    swarm = {"can_see_other_agents": True, "visible_agents": [name]}
    await run(desk(agent("a", model, swarm=swarm), *(agent(each, ScriptedModel()) for each in "bc")), "invoke_a")
    assert model.requests[0].offered == ["invoke_b"]


async def test_an_agent_it_does_not_see_can_not_be_called_by_name() -> None:
    names = ["invoke_hidden", "desk:invoke_hidden", "invoke_c", "desk.invoke_c"]
    model = ScriptedModel([calling(name) for name in names], "ok")
    swarm = {"can_see_other_agents": True, "visible_agents": ["b", "hidden"]}
    others = [agent(each, ScriptedModel()) for each in "bc"]
    hidden = agent("hidden", ScriptedModel(), swarm={"is_visible": False})
    await run(desk(agent("a", model, swarm=swarm), *others, hidden), "invoke_a")
    assert model.requests[0].offered == ["invoke_b"]
    assert model.requests[1].results == [{"error": f'Tool "{name}" not found'} for name in names]


def test_an_agent_that_does_not_exist_can_not_be_seen() -> None:
    swarm = {"can_see_other_agents": True, "visible_agents": ["biling"]}
    with pytest.raises(ConfigurationError, match='there is no agent "biling"; did you mean "billing"'):
        desk(agent("a", ScriptedModel(), swarm=swarm), agent("billing", ScriptedModel())).check()


async def test_a_nested_agent_is_its_parents_alone_and_finds_what_its_parent_has() -> None:
    @Agent(name="child", llm={"adapter": ScriptedModel("from the child")}, tools=[explore])
    class Child(AgentContext):
        async def execute(self, query: str) -> dict[str, str]:
            answer = await super().execute(query)
            return {**answer, **{name: await reach(self, name) for name in ("private", "public")}}

    model = ScriptedModel(calling("invoke_child", query="T-1"), "done")
    server = desk(agent("parent", model, agents=[Child], tools=[private]))
    assert await run(server, "invoke_parent") == {"response": "done"}
    assert model.requests[0].offered == ["private", "invoke_child"]
    assert model.requests[1].results == [
        {
            "response": "from the child",
            "private": "private, by agent on agent as nour",
            "public": 'TOOL_NOT_FOUND Tool "public" not found',
        }
    ]
    with pytest.raises(FrontMcpError, match="not found"):
        await run(server, "invoke_child")


async def test_nested_agents_see_their_siblings_and_inherit_their_parents_tools() -> None:
    model = ScriptedModel("ok")
    execution = {"inherit_parent_tools": True}
    child = agent("child", model, swarm={"can_see_other_agents": True}, execution=execution)
    parent = agent(
        "parent",
        ScriptedModel(calling("invoke_child"), "done"),
        agents=[child, agent("sibling", ScriptedModel())],
        tools=[private],
    )
    await run(desk(parent, agent("uncle", ScriptedModel())), "invoke_parent")
    assert model.requests[0].offered == ["private", "invoke_sibling"]


async def test_the_failure_of_an_agent_is_told_like_a_tools() -> None:
    model = ScriptedModel(calling("invoke_child"), "Sorry.")
    child = agent("child", ScriptedModel(Completion(finish_reason="content_filter")))
    nested = Agent(name="parent", llm={"adapter": model}, agents=[child])

    @nested
    class Parent(AgentContext):
        pass

    assert await run(desk(Parent), "invoke_parent") == {"response": "Sorry."}
    assert model.requests[1].results == [{"error": 'Agent "child": the model refused to answer'}]


async def test_agents_call_agents_only_so_deep() -> None:
    """Each hands over to the other as long as it is offered one, and calls it all the same when it is not."""
    offered: list[list[str]] = []

    def to(other: str) -> Callable[[ModelRequest], Any]:
        def reply(request: ModelRequest) -> Any:
            if request.last.role == "tool":
                return f"({request.last.content})"
            offered.append(request.offered)
            return calling(f"invoke_{other}") if request.offered else "the end"

        return reply

    seeing = {"can_see_other_agents": True, "max_call_depth": 2}
    models = {name: ScriptedModel(to(other), repeat=True) for name, other in (("a", "b"), ("b", "a"))}
    server = desk(*(agent(name, model, swarm=seeing) for name, model in models.items()))
    assert "the end" in json.dumps(await run(server, "invoke_a"))
    assert offered == [["invoke_b"], ["invoke_a"], []]


async def test_an_agent_too_deep_is_refused_with_the_path() -> None:
    told: list[str] = []

    @Agent(name="deep", llm={"adapter": ScriptedModel("bottom", repeat=True)}, swarm={"max_call_depth": 1})
    class Deep(AgentContext):
        async def execute(self, left: int) -> dict[str, Any]:
            if left:
                try:
                    await self.call_tool("invoke_deep", {"left": left - 1})
                except FrontMcpError as error:
                    told.append(f"{error.code} {error}")
                    raise
            answer: dict[str, Any] = await super().execute("?")
            return answer

    server = desk(Deep)
    assert await run(server, "invoke_deep", left=1) == {"response": "bottom"}
    with pytest.raises(FrontMcpError):
        await run(server, "invoke_deep", left=2)
    assert told[0] == ("CALL_DEPTH_EXCEEDED Calls are nested deeper than 1: invoke_deep → invoke_deep → invoke_deep")


async def test_calls_that_a_provider_made_up_with_one_id_are_told_in_order() -> None:
    calls = [ToolCall("same", "private"), ToolCall("same", "explore", {"names": []})]
    model = ScriptedModel(Completion(None, calls, "tool_calls"), "ok")
    await run(desk(agent("helper", model, tools=[private, explore])), "invoke_helper")
    assert [each.name for each in model.requests[1].prompt.messages[2:]] == ["private", "explore"]
