"""Who sees a tool, and where it is available: one decision for lists and for calls."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from frontmcp import Caller, FrontMcp, Tool, ToolContext, create_direct
from frontmcp.errors import ConfigurationError, ToolNotFoundError
from plugins_builtin.visibility import Visibility, process_facts

PROCESS = {"os": "linux", "runtime": "cpython", "deployment": "standalone", "provider": "bare", "target": "unknown"}
DIMENSIONS = [*PROCESS, "env"]
SURFACES = ["mcp", "agent", "job", "http-trigger", "cli"]


def server_with(*, environment: str = "test", **options: Any) -> FrontMcp:
    """A server with one guarded tool, and one that calls it."""

    @Tool(**options)
    async def guarded() -> str:
        return "reached"

    @Tool
    async def outer(ctx: ToolContext) -> str:
        return (await ctx.call_tool("guarded")).content[0].text  # type: ignore[union-attr]

    return FrontMcp("desk", tools=[guarded, outer], plugins=[Visibility(PROCESS)], environment=environment)


async def client_reaches(server: FrontMcp, name: str = "guarded", surface: Any = "mcp") -> tuple[bool, bool]:
    """Whether a client on this surface sees the tool listed, and whether it can call it."""
    async with create_direct(server) as direct:
        listed = "guarded" in [tool.name for tool in await direct.list_tools(surface=surface)]
        try:
            await direct.call_tool(name, surface=surface)
        except ToolNotFoundError as error:
            assert str(error) == f'Tool "{name}" not found'  # noqa: PT017
            return listed, False
        return listed, True


@pytest.mark.parametrize(
    ("visibility", "listed", "called"),
    [(None, True, True), ("public", True, True), ("hidden", False, True), ("internal", False, False)],
)
async def test_what_a_client_sees_and_calls(visibility: Any, listed: bool, called: bool) -> None:
    assert await client_reaches(server_with(visibility=visibility)) == (listed, called)


@pytest.mark.parametrize("name", ["guarded", "desk:guarded", "desk.guarded"])
@pytest.mark.parametrize(("visibility", "called"), [("hidden", True), ("internal", False)])
async def test_every_spelling_leads_to_the_same_decision(visibility: Any, called: bool, name: str) -> None:
    assert await client_reaches(server_with(visibility=visibility), name) == (False, called)


@pytest.mark.parametrize("origin", ["client", "agent", "job"])
def test_what_is_internal_is_in_nobodys_list(origin: str) -> None:
    entry: Any = SimpleNamespace(options={"visibility": "internal"})
    call: Any = SimpleNamespace(listing=True, origin=origin)
    assert not Visibility(PROCESS).entry_visible(call, entry)


@pytest.mark.parametrize(
    "options",
    [{"visibility": "hidden"}, {"visibility": "internal"}, {"available_when": {"surface": ["agent"]}}],
    ids=str,
)
async def test_another_tool_reaches_what_clients_do_not_see(options: Any) -> None:
    async with create_direct(server_with(**options)) as direct:
        assert (await direct.call_tool("outer")).content[0].text == "reached"  # type: ignore[union-attr]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("allowed", [["mcp"], ["agent", "job"], ["http-trigger", "cli"], SURFACES], ids=str)
async def test_the_surface_counts_per_call(allowed: list[str], surface: str) -> None:
    server = server_with(available_when={"surface": allowed})
    assert await client_reaches(server, surface=surface) == (surface in allowed, surface in allowed)


async def test_no_surface_satisfies_any_but_an_empty_list() -> None:
    assert await client_reaches(server_with(available_when={"surface": ["agent"]}), surface=None) == (True, True)
    assert await client_reaches(server_with(available_when={"surface": []}), surface=None) == (False, False)


@pytest.mark.parametrize(("origin", "surface"), [("agent", "agent"), ("job", "job"), ("channel", "http-trigger")])
async def test_agents_jobs_and_channels_call_on_their_surface(origin: Any, surface: Any) -> None:
    server = server_with(available_when={"surface": [surface]})
    assert await server.call("guarded", origin=origin, surface=surface, caller=Caller("nour"))
    server = server_with(available_when={"surface": ["mcp"]})
    with pytest.raises(ToolNotFoundError):
        await server.call("guarded", origin=origin, surface=surface, caller=Caller("nour"))


@pytest.mark.parametrize("dimension", DIMENSIONS)
async def test_each_dimension_of_the_process(dimension: str) -> None:
    here = {**PROCESS, "env": "test"}[dimension]
    for allowed, available in [([here], True), (["elsewhere", here], True), (["elsewhere"], False), ([], False)]:
        server = server_with(available_when={dimension: allowed})
        assert await client_reaches(server) == (available, available)


@pytest.mark.parametrize("dimension", ["surface", *DIMENSIONS])
async def test_an_empty_list_is_never_available_even_inside(dimension: str) -> None:
    async with create_direct(server_with(available_when={dimension: []})) as direct:
        with pytest.raises(ToolNotFoundError, match='Tool "guarded" not found'):
            await direct.call_tool("outer")


async def test_all_dimensions_must_hold() -> None:
    both = {"os": ["linux"], "surface": ["mcp"]}
    assert await client_reaches(server_with(available_when=both)) == (True, True)
    assert await client_reaches(server_with(available_when={**both, "os": ["win32"]})) == (False, False)
    assert await client_reaches(server_with(available_when={**both, "surface": ["cli"]})) == (False, False)
    assert await client_reaches(server_with(available_when={})) == (True, True)


async def test_visibility_and_availability_must_both_hold() -> None:
    options: dict[str, Any] = {"visibility": "hidden", "available_when": {"surface": ["cli"]}}
    assert await client_reaches(server_with(**options)) == (False, False)
    assert await client_reaches(server_with(**options), surface="cli") == (False, True)


async def test_env_is_the_servers_environment() -> None:
    when: Any = {"env": ["production"]}
    assert await client_reaches(server_with(available_when=when)) == (False, False)
    assert await client_reaches(server_with(available_when=when, environment="production")) == (True, True)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"visibility": "secret"}, "option visibility: Input should be 'public', 'hidden' or 'internal'"),
        ({"available_when": {"surfaces": ["mcp"]}}, "option available_when: surfaces: there is no such key"),
        ({"available_when": {"surface": ["phone"]}}, "option available_when: surface.0: Input should be 'mcp'"),
        ({"available_when": {"os": "linux"}}, "option available_when: os: "),
        ({"available_when": ["mcp"]}, "option available_when: "),
    ],
)
def test_a_wrong_option_stops_the_start_and_names_the_tool(options: Any, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        server_with(**options).check()
    assert 'Tool "guarded"' in str(refused.value)
    assert __file__ in str(refused.value)
    assert named in str(refused.value)


@pytest.mark.parametrize("option", [{"visibility": "internal"}, {"available_when": {"surface": ["cli"]}}], ids=str)
def test_without_the_plugin_the_options_stop_the_start(option: Any) -> None:
    @Tool(**option)
    async def guarded() -> str:
        return "open"

    with pytest.raises(ConfigurationError, match=r'no plugin claims .* plugin "visibility", which does, is disabled'):
        FrontMcp("desk", tools=[guarded], plugins=["no:visibility"]).check()


def test_a_tool_without_the_options_has_no_step_for_them() -> None:
    @Tool
    async def plain() -> None: ...

    server = FrontMcp("desk", tools=[plain], autoload_plugins=False)
    server.check()
    entry = server.find("plain")
    assert entry is not None
    assert "entry_visible" not in entry.plan.steps


@pytest.mark.parametrize(
    ("environ", "deployment", "provider", "target"),
    [
        ({"VERCEL": "1"}, "serverless", "vercel", "unknown"),
        ({"AWS_LAMBDA_FUNCTION_NAME": "f"}, "serverless", "lambda", "unknown"),
        ({"FLY_APP_NAME": "f", "FRONTMCP_TARGET": "cli"}, "standalone", "fly", "cli"),
        ({"VERCEL": "1", "FRONTMCP_DEPLOYMENT_MODE": "distributed"}, "distributed", "vercel", "unknown"),
    ],
)
def test_where_the_process_runs(environ: Mapping[str, str], deployment: str, provider: str, target: str) -> None:
    facts = process_facts(environ)
    assert facts == {
        "os": sys.platform,
        "runtime": sys.implementation.name,
        "deployment": deployment,
        "provider": provider,
        "target": target,
    }


def test_a_machine_of_ones_own_is_bare_or_a_container() -> None:
    assert process_facts({})["provider"] in ("bare", "docker")
    assert process_facts({})["deployment"] == "standalone"
