"""Policies and limits hold for every kind of entry, also for one that a plugin from elsewhere runs."""

from __future__ import annotations

from typing import Any, get_args

import anyio
import pytest

from frontmcp import (
    Agent,
    AgentContext,
    Around,
    Call,
    Caller,
    CallNext,
    ChannelContext,
    Did,
    FrontMcp,
    Job,
    JobContext,
    Plugin,
    PromptContext,
    RateLimitError,
    ResourceContext,
    Tool,
    ToolContext,
    Will,
    create_direct,
    hookimpl,
)
from frontmcp.call import Kind
from frontmcp.claims import CORE_KINDS
from frontmcp.errors import ConfigurationError, FrontMcpError
from frontmcp.loading import BUILT_IN
from frontmcp.registry import SERVED, ToolEntry
from frontmcp.testing import ScriptedModel
from plugins_builtin.authorities import AuthorityDeniedError

KINDS = [kind for kind in get_args(Kind) if kind not in CORE_KINDS]
TAKEN_BY = {"agent": "agents", "job": "jobs", "workflow": "jobs", "channel": "channels"}
LIMITS: dict[str, Any] = {
    "authorities": {"roles": {"any": ["admin"]}},
    "rate_limit": {"max_requests": 2},
    "concurrency": {"max_concurrent": 1},
    "timeout": {"execute_ms": 60_000},
}
ADMIN = Caller("nour", roles=("admin",))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kind whose entries run as tools do."""
    served = type("Served", (ToolEntry,), {"kind": request.param, "kinds": (request.param,)})
    monkeypatch.setitem(SERVED, request.param, served)  # type: ignore[arg-type]
    return request.param


def make(kind: str, limits: dict[str, Any] = LIMITS, **server: Any) -> FrontMcp:
    class Definition(Tool):
        pass

    Definition.kind = kind  # type: ignore[assignment]

    @Definition(description="Run", **limits)
    async def nightly(id: str = "1") -> str:
        return "ran"

    class Runs(Plugin):
        name = "acme.runs"
        kinds = (kind,)  # type: ignore[assignment]

    off = [f"no:{TAKEN_BY[kind]}"] if TAKEN_BY[kind] in BUILT_IN else []
    return FrontMcp("desk", tools=[nightly], plugins=[Runs, *off], autoload_plugins=False, **server)


async def run(server: FrontMcp, caller: Caller) -> Any:
    (entry,) = server.entries()
    return await server.call(entry, origin="job", surface="job", caller=caller)


async def test_a_denial_names_the_kind_and_uses_nothing_up(kind: str) -> None:
    server = make(kind)
    for _ in range(3):
        with pytest.raises(AuthorityDeniedError) as refused:
            await run(server, Caller("dana"))
        said = f"Access denied to {kind.capitalize()} \"desk:nightly\": roles.any: user has none of 'admin'"
        assert str(refused.value) == said
    assert await run(server, ADMIN)


async def test_its_limits_hold(kind: str) -> None:
    server = make(kind)
    for _ in range(2):
        assert (await run(server, ADMIN)).content[0].text == "ran"
    with pytest.raises(RateLimitError):
        await run(server, ADMIN)


@pytest.mark.parametrize("plugin", ["guards", "authorities"])
def test_without_the_plugin_it_does_not_start(kind: str, plugin: str) -> None:
    server = make(kind)
    server.configure(command_line={"plugins": [f"no:{plugin}"]})
    with pytest.raises(ConfigurationError, match=f'plugin "{plugin}", which does, is disabled'):
        server.check()


def test_defaults_are_for_what_a_client_waits_for(kind: str) -> None:
    server = make(kind, limits={}, throttle={"default_timeout": {"execute_ms": 5}})
    (entry,) = server.entries()
    assert ("timeout" in entry.options) == (kind == "agent")


async def test_it_is_not_open_where_the_call_fails_otherwise(kind: str) -> None:
    server = make(kind)
    (entry,) = server.entries()
    with pytest.raises(FrontMcpError) as refused:
        await server.call(entry, {"id": []}, origin="job", caller=Caller("dana"))
    assert refused.value.code == "AUTHORITY_DENIED"


async def test_every_body_reads_and_gets_as_its_caller() -> None:
    model = ScriptedModel("ok")
    server = FrontMcp("desk", autoload_plugins=False)
    seen: dict[str, list[str]] = {}

    def who(ctx: Any) -> str:
        return "anonymous" if ctx.auth.is_anonymous else f"{ctx.auth.user.sub} of {ctx.call.origin}"

    @server.resource("desk://who", visibility="internal")
    async def reader(ctx: ResourceContext) -> str:
        return who(ctx)

    @server.prompt(visibility="internal")
    async def asker(ctx: PromptContext) -> str:
        return who(ctx)

    async def look(ctx: Any, noun: str) -> str:
        read = (await ctx.read_resource("desk://who")).contents[0].text
        seen[noun] = [read, (await ctx.get_prompt("asker")).messages[0].content.text]
        return noun

    @server.tool(description="Look")
    async def tool(ctx: ToolContext) -> str:
        return await look(ctx, "tool")

    @server.job
    async def job(ctx: JobContext) -> str:
        return await look(ctx, "job")

    @server.agent(name="agent", description="Look", llm={"adapter": model}, resources=[reader], prompts=[asker])
    class Looking(AgentContext):
        async def execute(self, query: str) -> Any:
            await look(self, "agent")
            return await super().execute(query=query)

    @server.resource("desk://look")
    async def resource(ctx: ResourceContext) -> str:
        return await look(ctx, "resource")

    @server.prompt
    async def prompt(ctx: PromptContext) -> str:
        return await look(ctx, "prompt")

    @server.channel(source={"type": "manual"})
    async def news(ctx: ChannelContext) -> str:
        return await look(ctx, "channel")

    nour: Any = {"user": {"sub": "nour"}}
    async with create_direct(server) as direct:
        await direct.call_tool("tool", auth_context=nour)
        await direct.execute_job("job", auth_context=nour)
        await direct.call_tool("invoke_agent", {"query": "?"}, auth_context=nour)
        await direct.read_resource("desk://look", auth_context=nour)
        await direct.get_prompt("prompt", auth_context=nour)
        await server.emit("news")
    nouns = ("tool", "job", "agent", "resource", "prompt")
    assert seen == {"channel": ["anonymous"] * 2, **{noun: [f"nour of {noun}"] * 2 for noun in nouns}}


async def test_policies_and_limits_hold_for_what_resources_and_prompts_call() -> None:
    server = FrontMcp("desk", autoload_plugins=False)

    @server.tool(description="Purge", authorities=LIMITS["authorities"], rate_limit=LIMITS["rate_limit"])
    async def purge() -> str:
        return "purged"

    @server.resource("desk://purge")
    async def resource(ctx: ResourceContext) -> str:
        return (await ctx.call_tool("purge")).content[0].text  # type: ignore[union-attr]

    @server.prompt
    async def prompt(ctx: PromptContext) -> str:
        return (await ctx.call_tool("purge")).content[0].text  # type: ignore[union-attr]

    admin: Any = {"user": {"sub": "nour", "roles": ["admin"]}}
    async with create_direct(server) as direct:
        for ask in (
            lambda who: direct.read_resource("desk://purge", auth_context=who),
            lambda who: direct.get_prompt("prompt", auth_context=who),
        ):
            with pytest.raises(AuthorityDeniedError, match='Tool "desk:purge"'):
                await ask({"user": {"sub": "dana"}})
            await ask(admin)
        for ask in (
            lambda: direct.read_resource("desk://purge", auth_context=admin),
            lambda: direct.get_prompt("prompt", auth_context=admin),
        ):
            with pytest.raises(RateLimitError):
                await ask()


@Job(**LIMITS)
async def digest() -> str:
    return "ran"


MODEL = ScriptedModel("sorted", "sorted")


@Agent(name="triage", description="Sort", system_instructions="Sort.", llm={"adapter": MODEL}, **LIMITS)
class Triage(AgentContext): ...


@pytest.mark.parametrize(
    ("name", "arguments", "denied"),
    [
        ("execute_job", {"name": "digest"}, 'Job "desk:digest"'),
        ("invoke_triage", {"message": "T-1"}, 'Agent "desk:invoke_triage"'),
    ],
)
async def test_jobs_and_agents_as_clients_call_them(name: str, arguments: dict[str, Any], denied: str) -> None:
    server = FrontMcp("desk", jobs=[digest], agents=[Triage], autoload_plugins=False)
    admin: Any = {"user": {"sub": "nour", "roles": ["admin"]}}

    async def called(who: Any) -> str:
        try:
            await direct.call_tool(name, arguments, auth_context=who)
        except FrontMcpError as error:
            return f"{error.code} {error}"
        return "done"

    async with create_direct(server) as direct:
        for _ in range(3):
            said = f"AUTHORITY_DENIED Access denied to {denied}: roles.any: user has none of 'admin'"
            assert await called(None) == said
        assert [(await called(admin)).partition(" ")[0] for _ in range(3)] == ["done", "done", "RATE_LIMIT_EXCEEDED"]


NOUNS = ["resource", "template", "prompt"]


def serve(noun: str, body: Any, **options: Any) -> FrontMcp:
    server = FrontMcp("desk", plugins=options.pop("plugins", ()), autoload_plugins=False)
    if noun == "prompt":
        server.prompt(name="it", **options)(body)
    else:
        server.resource("it://{x}" if noun == "template" else "it://x", name="it", **options)(body)
    return server


async def use(direct: Any, noun: str) -> str:
    if noun == "prompt":
        text: str = (await direct.get_prompt("it")).messages[0].content.text
    else:
        text = (await direct.read_resource("it://x")).contents[0].text
    return text


@pytest.mark.parametrize("noun", NOUNS)
async def test_each_limit_holds_for_what_is_read_or_got(noun: str) -> None:
    began = anyio.Event()

    async def wait() -> str:
        began.set()
        await anyio.sleep_forever()
        return ""

    async with create_direct(serve(noun, lambda: "it", rate_limit={"max_requests": 1})) as direct:
        assert await use(direct, noun) == "it"
        with pytest.raises(RateLimitError):
            await use(direct, noun)
    async with create_direct(serve(noun, wait, timeout={"execute_ms": 20})) as direct:
        with pytest.raises(FrontMcpError) as late:
            await use(direct, noun)
        assert late.value.code == "EXECUTION_TIMEOUT"
    began = anyio.Event()
    async with create_direct(serve(noun, wait, concurrency={"max_concurrent": 1})) as direct:
        async with anyio.create_task_group() as group:
            group.start_soon(use, direct, noun)
            await began.wait()
            with pytest.raises(FrontMcpError) as full:
                await use(direct, noun)
            group.cancel_scope.cancel()
        assert full.value.code == "CONCURRENCY_LIMIT"


@pytest.mark.parametrize("noun", NOUNS)
async def test_each_hook_is_called_for_what_is_read_or_got(noun: str) -> None:
    class Watching(Plugin):
        name = "acme.watching"

        @Will("execute", kinds=("resource", "prompt"))
        async def before(self, call: Call) -> None:
            seen.append("will")

        @Around("execute", kinds=("resource", "prompt"))
        async def around(self, call: Call, call_next: CallNext) -> Any:
            seen.append("around")
            return f"<{await call_next()}>"

        @Did("execute", kinds=("resource", "prompt"))
        async def after(self, call: Call) -> None:
            seen.append("did")
            call.output += "!"

        @hookimpl
        async def did_execute(self, call: Call) -> None:
            seen.append(call.kind)

    seen: list[str] = []

    def body() -> str:
        seen.append("body")
        return "it"

    async with create_direct(serve(noun, body, plugins=[Watching()])) as direct:
        assert await use(direct, noun) == "<it>!"
    kind = "prompt" if noun == "prompt" else "resource"
    assert seen == ["will", "around", "body", "did", kind]
