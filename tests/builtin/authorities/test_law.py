"""The law of lists, for random policies and callers: what is listed is not refused for a reason decided without
arguments, and what is so refused is not listed. And no inner call may do more than its caller."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from frontmcp import FrontMcp, Tool, ToolContext, create_direct
from frontmcp.errors import FrontMcpError

NAMES = ["a", "b", "c"]
PROFILES = {
    "needs_a": {"roles": {"any": ["a"]}},
    "owns": {"attributes": {"match": {"input.owner": "a"}}},
    "both": ["needs_a", "owns"],
}

names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2)
held = st.fixed_dictionaries({}, optional={"all": names, "any": names})
conditions = st.fixed_dictionaries({
    "path": st.sampled_from(["input.owner", "claims.plan", "user.roles", "input.nothing"]),
    "op": st.sampled_from(["eq", "neq", "in", "not_in", "contains", "exists", "starts_with"]),
    "value": st.sampled_from(["a", ["a", "b"], True, {"from_input": "owner"}, {"from_claims": "plan"}]),
})  # fmt: skip
profiles = st.sampled_from(list(PROFILES))
leaves = st.fixed_dictionaries(
    {},
    optional={
        "roles": held,
        "permissions": held,
        "attributes": st.fixed_dictionaries({"conditions": st.lists(conditions, max_size=2)}),
        "guards": st.lists(
            st.sampled_from([lambda ctx: True, lambda ctx: False, lambda ctx: ctx.input["owner"] == "a"]), max_size=2
        ),
        "operator": st.sampled_from(["AND", "OR"]),
    },
)
policies: Any = st.recursive(
    leaves | profiles,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "roles": held,
            "all_of": st.lists(inner, max_size=2),
            "any_of": st.lists(inner, max_size=2),
            "not_": inner,
            "operator": st.sampled_from(["AND", "OR"]),
        },
    ),
    max_leaves=5,
)
callers = st.fixed_dictionaries({
    "sub": st.just("nour"),
    "roles": st.lists(st.sampled_from(NAMES), max_size=2),
    "permissions": st.lists(st.sampled_from(NAMES), max_size=2),
    "plan": st.sampled_from(["a", "z"]),
})  # fmt: skip
OWNERS = ["a", "b", "z"]


def server_with(policy: Any) -> FrontMcp:
    @Tool(authorities=policy)
    async def guarded(owner: str) -> str:
        return owner

    @Tool
    async def outer(ctx: ToolContext, owner: str) -> str:
        return (await ctx.call_tool("guarded", {"owner": owner})).content[0].text  # type: ignore[union-attr]

    return FrontMcp(
        "law", tools=[guarded, outer], authorities={"profiles": PROFILES}, autoload_plugins=False, environment="test"
    )


async def outcome(direct: Any, tool: str, owner: Any, who: Any) -> str:
    try:
        await direct.call_tool(tool, {"owner": owner}, auth_context=who)
    except FrontMcpError as error:
        return f"{error.code} {error}"
    return ""


@settings(max_examples=200, deadline=None)
@given(policy=policies, caller=callers)
async def test_lists_and_calls_share_one_decision(policy: Any, caller: dict[str, Any]) -> None:
    who = {"user": caller}
    async with create_direct(server_with(policy)) as direct:
        listed = "guarded" in [tool.name for tool in await direct.list_tools(auth_context=who)]
        outcomes = [await outcome(direct, "guarded", owner, who) for owner in OWNERS]
        assert [await outcome(direct, "outer", owner, who) for owner in OWNERS] == outcomes
        if not listed:
            assert all(outcomes)
        elif not reads_input(policy):
            assert not any(outcomes)
        invalid = await outcome(direct, "guarded", ["no text"], who)
        assert invalid.split()[0] in ("AUTHORITY_DENIED", "ACCESS_DENIED", "INVALID_INPUT")
        assert (invalid.startswith("INVALID_INPUT")) <= (not any(outcomes)), "granted without input: always granted"
        assert (not listed) <= invalid.startswith("AUTHORITY_DENIED")


def reads_input(policy: Any) -> bool:
    """Whether any part of a policy looks at the arguments."""
    if isinstance(policy, str):
        return policy != "needs_a"
    return (
        "input" in str(policy.get("attributes", ""))
        or bool(policy.get("guards"))
        or any(reads_input(each) for key in ("all_of", "any_of") for each in policy.get(key, ()))
        or ("not_" in policy and reads_input(policy["not_"]))
    )
