"""Where a caller's roles and permissions come from."""

from __future__ import annotations

from typing import Any

import pytest

from frontmcp import Caller, FrontMcp, RequestContext, Tool, ToolContext, create_direct
from frontmcp.errors import InternalMcpError
from plugins_builtin.authorities import AuthorityDeniedError


def make(policy: Any, **options: Any) -> FrontMcp:
    @Tool(authorities=policy)
    async def guarded() -> str:
        return "reached"

    @Tool
    async def twice(ctx: ToolContext) -> str:
        for _ in range(2):
            await ctx.call_tool("guarded")
        return "reached"

    return FrontMcp("desk", tools=[guarded, twice], authorities=options)


async def passes(server: FrontMcp, user: dict[str, Any], tool: str = "guarded", **auth: Any) -> bool:
    async with create_direct(server) as direct:
        listed = "guarded" in [each.name for each in await direct.list_tools(auth_context={"user": user, **auth})]
        try:
            await direct.call_tool(tool, auth_context={"user": user, **auth})
        except AuthorityDeniedError:
            assert not listed
            return False
        assert listed
        return True


ADMIN = {"roles": {"any": ["admin"]}}


@pytest.mark.parametrize(
    ("mapping", "user", "granted"),
    [
        ({}, {"roles": ["admin"]}, True),
        ({}, {"permissions": ["admin"], "scopes": ["admin"]}, False),
        ({"roles": "roles"}, {"roles": ["admin"]}, True),
        ({"roles": "realm.roles"}, {"realm": {"roles": ["admin"]}}, True),
        ({"roles": "realm.roles"}, {"roles": ["admin"]}, False),
        ({"roles": "https://acme.example/roles"}, {"https://acme.example/roles": ["admin"]}, True),
        ({"roles": "groups"}, {"groups": "staff admin"}, True),
        ({"roles": "groups"}, {"groups": {"admin": True}}, False),
        ({"roles": "groups"}, {"groups": [["admin"], 1]}, False),
        ({"roles": "groups"}, {"groups": "administrator"}, False),
        ({"permissions": "roles"}, {"roles": ["admin"]}, True),
        ({"permissions": "p"}, {"p": ["admin"]}, False),
    ],
)
async def test_roles_are_where_the_mapping_says(mapping: Any, user: Any, granted: bool) -> None:
    assert await passes(make(ADMIN, claims_mapping=mapping), {"sub": "nour", **user}) == granted


async def test_claims_beside_the_user_count_too() -> None:
    server = make(ADMIN, claims_mapping={"roles": "realm.roles"})
    assert await passes(server, {"sub": "nour"}, extra={"realm": {"roles": ["admin"]}})


@pytest.mark.parametrize("key", ["user_id", "userId"])
async def test_the_id_and_further_keys_are_mapped(key: str) -> None:
    mapping = {key: "uid", "tenant_id": "org.id", "permissions": "can"}
    policy = {
        "attributes": {"match": {"user.sub": "u-7", "user.tenant_id": "acme"}},
        "permissions": {"all": ["purge"]},
    }
    server = make(policy, claims_mapping=mapping)
    assert await passes(server, {"sub": "x", "uid": "u-7", "org": {"id": "acme"}, "can": "read purge"})
    assert not await passes(server, {"sub": "u-7", "org": {"id": "acme"}, "can": "read purge"})


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_resolver_replaces_what_the_claims_say_and_is_asked_once_a_request(asynchronous: bool) -> None:
    asked: list[str] = []

    def resolve(caller: Any) -> dict[str, Any]:
        asked.append(caller.sub)
        return {"roles": ["admin"] if caller.sub == "nour" else [], "permissions": "a b", "claims": {"plan": "pro"}}

    async def resolve_later(caller: Any) -> dict[str, Any]:
        return resolve(caller)

    policy = {**ADMIN, "permissions": {"all": ["a", "b"]}, "attributes": {"match": {"claims.plan": "pro"}}}
    server = make(policy, claims_resolver=resolve_later if asynchronous else resolve, claims_mapping={"roles": "x"})
    async with create_direct(server) as direct:
        await direct.call_tool("twice", auth_context={"user": {"sub": "nour"}})
        with pytest.raises(AuthorityDeniedError):
            await direct.call_tool("twice", auth_context={"user": {"sub": "dana", "roles": ["admin"]}})
        await direct.call_tool("twice", auth_context={"user": {"sub": "nour"}})
    assert asked == ["nour", "dana", "nour"]


async def test_a_resolver_that_fails_or_says_nothing_refuses() -> None:
    def fails(caller: Any) -> Any:
        raise OSError("directory is away")

    for resolver in (fails, lambda caller: None):
        async with create_direct(make(ADMIN, claims_resolver=resolver)) as direct:
            assert [tool.name for tool in await direct.list_tools()] == ["twice"]
            with pytest.raises(InternalMcpError):
                await direct.call_tool("guarded")


async def test_in_one_request_two_callers_are_two() -> None:
    server = make(ADMIN, claims_resolver=lambda caller: {"roles": ["admin"] if caller.sub == "nour" else []})
    async with server.running():
        request = RequestContext(Caller("nour"))
        assert await server.pipeline.run(server.pipeline.client_call(request, "guarded", {}))
        call = server.pipeline.client_call(request, "guarded", {})
        call.caller = Caller("dana")
        with pytest.raises(AuthorityDeniedError):
            await server.pipeline.run(call)
