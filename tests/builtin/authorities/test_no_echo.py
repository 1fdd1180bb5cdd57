"""A denial names the rule and never repeats what the caller sent, whatever the policy looks at."""

from __future__ import annotations

import json
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from frontmcp import FrontMcp, Tool, create_direct
from frontmcp.errors import to_error_data, to_result
from plugins_builtin.authorities import AuthorityDeniedError
from plugins_builtin.authorities.policy import Operator

SECRET = "s3cret-0815"
NUMBER = 815_408_154

paths = st.sampled_from(["input.text", "input.number", "input.many", "input.deep.text", "claims.plan", "user.sub"])
references = st.sampled_from([{"from_input": name} for name in ("text", "number", "many", "deep.text", "nothing")])
values = references | st.sampled_from(["a", 5, True, ["a"], {"from_claims": "plan"}])
leaves: Any = st.one_of(
    st.builds(lambda path, value: {"attributes": {"match": {path: value}}}, paths, values),
    st.builds(
        lambda path, op, value: {"attributes": {"conditions": [{"path": path, "op": op, "value": value}]}},
        paths,
        st.sampled_from(get_args(Operator)),
        values,
    ),
    st.builds(
        lambda id: {"relationships": {"type": "owner", "resource": "ticket", "resource_id": id}},
        references | st.just("T-1"),
    ),
)
policies: Any = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda parts: {"all_of": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"any_of": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda part: {"not_": part}, inner),
    ),
    max_leaves=3,
)
ARGUMENTS = {"text": SECRET, "number": NUMBER, "many": [SECRET, NUMBER], "deep": {"text": SECRET}}


class Nobody:
    def check(self, type: str, resource: str, resource_id: str, sub: str, ctx: Any) -> bool:
        return False


@settings(max_examples=100, deadline=None)
@given(policy=policies)
async def test_no_denial_repeats_input(policy: Any) -> None:
    @Tool(authorities=policy)
    async def guarded(text: str, number: int, many: list[Any], deep: dict[str, str]) -> str:
        return "reached"

    server = FrontMcp("desk", tools=[guarded], authorities={"relationship_resolver": Nobody()}, autoload_plugins=False)
    who: Any = {"user": {"sub": "nour", "plan": "pro"}}
    async with create_direct(server) as direct:
        try:
            await direct.call_tool("guarded", ARGUMENTS, auth_context=who)
        except AuthorityDeniedError as error:
            result, data = to_result(error, production=True), to_error_data(error, production=True)
            said = json.dumps([str(error), error.data, result.model_dump(), data.model_dump()])
            assert SECRET not in said
            assert str(NUMBER) not in said
