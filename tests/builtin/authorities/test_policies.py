"""What policies grant and refuse, in which words, and what stops the start."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, RootModel

from frontmcp import (
    App,
    Call,
    FrontMcp,
    JsonSchema,
    Option,
    Plugin,
    Prompt,
    PublicMcpError,
    Resource,
    ResourceTemplate,
    Tool,
    ToolContext,
    create_direct,
    hookimpl,
)
from frontmcp.errors import (
    AccessDeniedError,
    ConfigurationError,
    FrontMcpError,
    InternalMcpError,
    InvalidInputError,
    to_error_data,
)
from plugins_builtin.authorities import AuthorityDeniedError

NOUR = {
    "sub": "nour",
    "roles": ["agent"],
    "permissions": ["tickets:read", "tickets:close"],
    "scopes": ["tickets"],
    "email": "nour@acme.example",
    "plan": "pro",
    "level": 3,
    "flag": True,
    "teams": ["blue", "green"],
    "org": {"id": "acme"},
    "https://acme.example/region": "eu",
}


def tool_with(policy: Any) -> Any:
    @Tool(authorities=policy)
    async def close_ticket(id: str = "T-1", level: int = 3, note: str | None = None) -> str:
        return "closed"

    return close_ticket


def desk(policy: Any, **authorities: Any) -> FrontMcp:
    return FrontMcp("desk", tools=[tool_with(policy)], authorities=authorities, environment="test")


async def call(server: FrontMcp, arguments: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> Any:
    async with create_direct(server) as direct:
        return await direct.call_tool("close_ticket", arguments or {}, auth_context={"user": user or NOUR})


async def denial(
    policy: Any, arguments: dict[str, Any] | None = None, **authorities: Any
) -> AuthorityDeniedError | None:
    """Why nour may not close a ticket; None when nour may."""
    try:
        await call(desk(policy, **authorities), arguments)
    except AuthorityDeniedError as error:
        return error
    return None


class Owners:
    """Who owns which ticket, as text."""

    def __init__(self, *owned: str) -> None:
        self.owned = owned
        self.asked: list[tuple[Any, ...]] = []

    async def check(self, type: str, resource: str, resource_id: str, sub: str, ctx: Any) -> bool:
        self.asked.append((type, resource, resource_id, sub, ctx.caller.sub))
        return resource_id in self.owned


PROFILES = {
    "admin": {"roles": {"any": ["admin"]}},
    "closer": {"permissions": {"all": ["tickets:close"]}},
    "both": ["admin", "closer"],
}
OWNER = {"type": "owner", "resource": "ticket", "resource_id": {"from_input": "id"}}
DENY = {"roles": {"any": ["nobody"]}}
GRANT = {"roles": {"any": ["agent"]}}
DENIED = "roles.any: user has none of 'nobody'"


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ({"roles": {"all": ["agent", "a", "b"]}}, "roles.all: missing 'a', 'b'"),
        ({"roles": {"any": ["a", "b"]}}, "roles.any: user has none of 'a', 'b'"),
        ({"permissions": {"all": ["tickets:read", "p"]}}, "permissions.all: missing 'p'"),
        ({"permissions": {"any": ["p"]}}, "permissions.any: user has none of 'p'"),
        (
            {"attributes": {"match": {"claims.plan": "free"}}},
            "attributes.match: 'claims.plan' expected 'free' but got 'pro'",
        ),
        (
            {"attributes": {"match": {"user.missing": True}}},
            "attributes.match: 'user.missing' expected 'true' but got 'null'",
        ),
        (
            {"attributes": {"conditions": [{"path": "claims.level", "op": "gte", "value": 5}]}},
            "attributes.conditions: 'claims.level' failed 'gte' check against '5'",
        ),
        (
            {"attributes": {"conditions": [{"path": "claims.plan", "op": "notIn", "value": ["pro"]}]}},
            """attributes.conditions: 'claims.plan' failed 'not_in' check against '["pro"]'""",
        ),
        (
            {"attributes": {"match": {"input.id": "T-7"}}},
            "attributes.match: 'input.id' expected 'T-7' but got another value",
        ),
        (
            {"attributes": {"match": {"claims.plan": {"from_input": "id"}}}},
            "attributes.match: 'claims.plan' expected 'input.id' but got 'pro'",
        ),
        (
            {"attributes": {"conditions": [{"path": "input.level", "op": "gt", "value": {"from_input": "level"}}]}},
            "attributes.conditions: 'input.level' failed 'gt' check against 'input.level'",
        ),
        ({"relationships": OWNER}, "relationships: user 'nour' is not 'owner' of ticket:input.id"),
        ({"relationships": [OWNER]}, "relationships: user 'nour' is not 'owner' of ticket:input.id"),
        ({"relationships": {**OWNER, "resource_id": "T-1"}}, "relationships: user 'nour' is not 'owner' of ticket:T-1"),
        (
            {"relationships": {**OWNER, "resource_id": {"from_claims": "plan"}}},
            "relationships: user 'nour' is not 'owner' of ticket:pro",
        ),
        (
            {"relationships": {**OWNER, "resource_id": {"from_claims": "ticket"}}},
            "relationships: could not resolve resourceId for ticket",
        ),
        ({"custom": {"never": None}}, "custom.never: denied"),
        ({"custom": {"says": "not on Sundays"}}, "custom.says: not on Sundays"),
        ({"guards": [lambda ctx: True, lambda ctx: "closed today"]}, "guards[1]: closed today"),
        ({"guards": [lambda ctx: False]}, "guards[0]: guard[0] denied"),
        ({"guards": [lambda ctx: None]}, "guards[0]: guard[0] denied"),
        ({"guards": [lambda ctx: 1]}, "guards[0]: guard[0] denied"),
        ({"all_of": [GRANT, DENY, {"roles": {"any": ["later"]}}]}, DENIED),
        ({"any_of": [{"roles": {"any": ["first"]}}, DENY]}, DENIED),
        ({"any_of": []}, "no policies in anyOf"),
        ({"not": GRANT}, "not: inner policy was granted (negated to denied)"),
        ({**DENY, "permissions": {"any": ["p"]}, "operator": "OR"}, DENIED),
        ("admin", "profile:admin: roles.any: user has none of 'admin'"),
        (["closer", "admin"], "profile:admin: roles.any: user has none of 'admin'"),
        ("both", "profile:both: profile:admin: roles.any: user has none of 'admin'"),
        ({"all_of": ["closer", "admin"]}, "profile:admin: roles.any: user has none of 'admin'"),
    ],
    ids=lambda each: re.sub(" at 0x[0-9a-f]+", "", str(each)),
)
async def test_a_refusal_says_which_rule(policy: Any, text: str) -> None:
    evaluators = {"never": lambda config, ctx: False, "says": lambda config, ctx: config}
    error = await denial(policy, profiles=PROFILES, evaluators=evaluators, relationship_resolver=Owners("T-9"))
    assert error is not None
    assert str(error) == f'Access denied to Tool "desk:close_ticket": {text}'
    assert (error.code, error.public) == ("AUTHORITY_DENIED", True)


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"roles": {"all": ["agent"], "any": ["admin", "agent"]}, "permissions": {"any": ["tickets:read"]}},
        "closer",
        {"relationships": {**OWNER, "resource_id": "T-7"}},
        {"relationships": {"type": "owner", "resource": "ticket", "resourceId": "T-7"}},
        {"custom": {"config_is": 7}},
        {"guards": [lambda ctx: ctx.caller.sub == "nour" and ctx.input["id"] == "T-1"]},
        {"any_of": [DENY, GRANT]},
        {"allOf": [GRANT, "closer"]},
        {"not_": DENY},
        {"not": {"not": GRANT}},
        {**DENY, "permissions": {"any": ["tickets:read"]}, "operator": "or"},
    ],
    ids=lambda each: re.sub(" at 0x[0-9a-f]+", "", str(each)),
)
async def test_a_policy_that_holds_grants(policy: Any) -> None:
    evaluators = {"config_is": lambda config, ctx: config == 7}
    resolver = Owners("T-7")
    assert await denial(policy, profiles=PROFILES, evaluators=evaluators, relationship_resolver=resolver) is None


def test_two_spellings_of_one_key_stop_the_start() -> None:
    policy = {"relationships": {"type": "owner", "resource": "ticket", "resourceId": "a", "resource_id": "b"}}
    with pytest.raises(ConfigurationError, match="resourceId: there is no such key"):
        desk(policy).check()


@pytest.mark.parametrize(
    ("path", "op", "value", "holds"),
    [
        ("claims.plan", "eq", "pro", True),
        ("claims.plan", "eq", "free", False),
        ("claims.flag", "eq", 1, False),
        ("claims.level", "eq", 3.0, True),
        ("claims.plan", "neq", "free", True),
        ("claims.plan", "neq", "pro", False),
        ("claims.nothing", "neq", "pro", True),
        ("claims.plan", "in", ["pro", "team"], True),
        ("claims.plan", "in", ["free"], False),
        ("claims.plan", "in", "pro", False),
        ("claims.plan", "not_in", ["free"], True),
        ("claims.plan", "not_in", ["pro"], False),
        ("claims.plan", "not_in", "free", False),
        ("claims.level", "gt", 2, True),
        ("claims.level", "gt", 3, False),
        ("claims.level", "gte", 3, True),
        ("claims.level", "gte", 4, False),
        ("claims.level", "lt", 4, True),
        ("claims.level", "lt", 3, False),
        ("claims.level", "lte", 3, True),
        ("claims.level", "lte", 2, False),
        ("claims.level", "gt", "2", False),
        ("claims.flag", "gt", 0, False),
        ("claims.plan", "lt", 9, False),
        ("claims.teams", "contains", "blue", True),
        ("claims.teams", "contains", "red", False),
        ("claims.plan", "contains", "r", True),
        ("claims.plan", "contains", "x", False),
        ("claims.level", "contains", 3, False),
        ("user.email", "starts_with", "nour@", True),
        ("user.email", "startsWith", "dana@", False),
        ("user.email", "ends_with", "@acme.example", True),
        ("user.email", "endsWith", "@globex.example", False),
        ("claims.level", "ends_with", "3", False),
        ("claims.plan", "exists", None, True),
        ("claims.plan", "exists", True, True),
        ("claims.plan", "exists", False, False),
        ("claims.nothing", "exists", None, False),
        ("claims.nothing", "exists", False, True),
        ("user.email", "matches", r"^\w+@acme\.example$", True),
        ("user.email", "matches", "^acme", False),
        ("claims.level", "matches", "3", False),
        ("user.roles", "contains", "agent", True),
        ("user.permissions", "contains", "tickets:close", True),
        ("user.scopes", "contains", "tickets", True),
        ("user.claims.org.id", "eq", "acme", True),
        ("claims.org.id", "eq", "acme", True),
        ("claims.org.id.deeper", "exists", None, False),
        ("claims.https://acme.example/region", "eq", "eu", True),
        ("env.environment", "eq", "test", True),
        ("env.surface", "eq", "mcp", True),
        ("env.transport", "eq", "direct", True),
        ("input.level", "eq", 3, True),
        ("input.id", "eq", {"from_input": "id"}, True),
        ("input.id", "eq", {"from_input": "note"}, False),
        ("input.note", "eq", {"from_input": "note"}, False),
        ("claims.plan", "neq", {"from_claims": "nothing"}, False),
        ("claims.org.id", "eq", {"fromClaims": "org.id"}, True),
        ("claims.plan", "matches", {"from_claims": "plan"}, True),
    ],
)
async def test_each_operator(path: str, op: str, value: Any, holds: bool) -> None:
    condition = {"path": path, "op": op, **({"value": value} if value is not None else {})}
    assert (await denial({"attributes": {"conditions": [condition]}}) is None) == holds


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a" * 257])
async def test_a_pattern_from_elsewhere_that_can_not_be_matched_matches_nothing(pattern: str) -> None:
    policy = {"attributes": {"conditions": [{"path": "claims.plan", "op": "matches", "value": {"from_claims": "p"}}]}}
    with pytest.raises(AuthorityDeniedError):
        await call(desk(policy), user={**NOUR, "p": pattern})


async def test_evil_patterns_are_matched_in_linear_time() -> None:
    policy = {"attributes": {"conditions": [{"path": "input.id", "op": "matches", "value": "^(a+)+$"}]}}
    assert await denial(policy, {"id": "a" * 20_000 + "!"}) is not None
    assert await denial(policy, {"id": "a" * 20_000}) is None


async def test_a_denial_is_data_for_programs_too() -> None:
    error = await denial(
        "admin",
        profiles=PROFILES,
        scope_mapping={"roles": {"admin": ["z", "a"]}, "profiles": {"admin": ["m", "a"], "closer": ["not-this"]}},
    )
    assert error is not None
    expected = {"kind": "roles", "path": "roles.any", "missing": ["admin"], "profiles": ["admin"]}
    assert error.data == {"denial": expected, "requiredScopes": ["a", "m", "z"]}
    assert error.required_scopes == ("a", "m", "z")
    error = await denial({"attributes": {"match": {"claims.flag": False}}})
    assert error is not None
    assert error.data == {
        "denial": {"kind": "attributes", "path": "attributes.match", "expected": False, "actual": True}
    }


async def test_resolvers_evaluators_and_guards_get_what_they_need() -> None:
    owners, seen = Owners("T-1"), []

    async def evaluator(config: Any, ctx: Any) -> bool:
        seen.append((config, ctx.caller.sub, ctx.input["id"], ctx.env["surface"], ctx.call.entry.name))
        return True

    policy = {"relationships": OWNER, "custom": {"audit": {"a": 1}}}
    assert await denial(policy, relationship_resolver=owners, evaluators={"audit": evaluator}) is None
    assert owners.asked == [("owner", "ticket", "T-1", "nour", "nour")]
    assert seen == [({"a": 1}, "nour", "T-1", "mcp", "close_ticket")]


@pytest.mark.parametrize(
    "policy",
    [
        {"guards": [lambda ctx: 1 / 0]},
        {"not": {"guards": [lambda ctx: 1 / 0]}},
        {"any_of": [{"guards": [lambda ctx: 1 / 0]}, GRANT]},
    ],
    ids=["guard", "not", "any_of"],
)
async def test_a_rule_that_fails_refuses_and_is_not_listed(policy: Any) -> None:
    server = desk(policy)
    with pytest.raises(InternalMcpError, match='Plugin "authorities" failed in check_authorities'):
        await call(server)
    async with create_direct(server) as direct:
        assert await direct.list_tools(auth_context={"user": NOUR}) == []


# Input


async def test_a_policy_reads_validated_input() -> None:
    policy = {"attributes": {"match": {"input.level": 7, "input.id": "T-1"}}}
    assert await denial(policy, {"level": "7"}) is None


async def test_a_policy_that_needs_input_refuses_what_is_invalid() -> None:
    policy = {"attributes": {"match": {"input.id": "T-1"}}}
    with pytest.raises(AccessDeniedError, match="its input can't be judged"):
        await call(desk(policy), {"level": "many"})
    with pytest.raises(AccessDeniedError):
        await call(desk({"not": policy}), {"level": "many"})


async def test_a_policy_that_needs_no_input_leaves_it_to_validation() -> None:
    with pytest.raises(InvalidInputError):
        await call(desk(GRANT), {"level": "many"})
    with pytest.raises(AuthorityDeniedError, match="nobody"):
        await call(desk({"attributes": {"match": {"input.id": "T-1"}}, "all_of": [DENY]}), {"level": "many"})


async def test_input_that_is_a_model_is_read_by_its_fields() -> None:
    class Who(BaseModel):
        team: str

    class Closing(BaseModel):
        who: Who

    @Tool(input_schema=Closing, authorities={"attributes": {"match": {"input.who.team": "blue"}}})
    async def close_ticket(input: Closing) -> str:
        return "closed"

    server = FrontMcp("desk", tools=[close_ticket])
    await call(server, {"who": {"team": "blue"}})
    with pytest.raises(AuthorityDeniedError, match=r"'input\.who\.team' expected 'blue' but got another value"):
        await call(server, {"who": {"team": "red"}})


@dataclass
class Dated:
    team: str


class Named(NamedTuple):
    team: str


class Rooted(RootModel[dict[str, str]]):
    pass


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


@pytest.mark.parametrize("type_", [Dated, Named, Rooted, Open, dict[str, str]])
@pytest.mark.parametrize("way", ["is", "not"])
async def test_typed_input_is_read_whatever_its_type(type_: Any, way: str) -> None:
    red = {"attributes": {"match": {"input.who.team": "red"}}}

    @Tool(authorities={"not": red} if way == "not" else red, input_schema={"who": type_})
    async def close_ticket(who: Any) -> str:
        return "closed"

    server = FrontMcp("desk", tools=[close_ticket])
    for team in ("red", "blue"):
        granted = (team == "red") == (way == "is")
        with nullcontext() if granted else pytest.raises(AuthorityDeniedError):
            await call(server, {"who": [team] if type_ is Named else {"team": team}})


OWN = {"attributes": {"match": {"input.meta.owner": {"from_claims": "sub"}}}}
FREE = {"type": "object", "additionalProperties": True}


@pytest.mark.parametrize(
    ("properties", "arguments", "granted"),
    [
        ({}, {"meta": {"owner": "nour"}}, True),
        ({}, {"meta": {"owner": "dana"}, "meta.owner": "nour"}, False),
        ({}, {"meta.owner": "nour"}, False),
        ({"meta.owner": {"type": "string"}}, {"meta": {"owner": "nour"}, "meta.owner": "dana"}, False),
        ({"meta.owner": {"type": "string"}}, {"meta": {"owner": "dana"}, "meta.owner": "nour"}, True),
    ],
)
async def test_an_argument_that_is_spelled_like_a_path_stands_for_nothing(
    properties: Any, arguments: dict[str, Any], granted: bool
) -> None:
    @Tool(authorities=OWN, input_schema=JsonSchema({**FREE, "properties": properties}))
    async def close_ticket(**given: Any) -> str:
        return "closed"

    with nullcontext() if granted else pytest.raises(AuthorityDeniedError):
        await call(FrontMcp("desk", tools=[close_ticket]), arguments)


# The start


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ("admn", "profile 'admn' is not registered; there are 'admin', 'closer', 'both'"),
        (["admin", "x"], "profile 'x' is not registered"),
        ({"any_of": [{"not": "x"}]}, "profile 'x' is not registered"),
        ({"custom": {"x": 1}}, "custom evaluator 'x' is not registered"),
        ([], "profiles: it needs at least 1 entry"),
        ({"rolls": {}}, "rolls: there is no such key"),
        ({"roles": {"anny": ["x"]}}, "roles.anny: there is no such key"),
        ({"roles": {"any": []}}, "roles.any: it needs at least 1 entry"),
        ({"roles": ["x"]}, "roles: Input should be a dict with some of the keys all, any"),
        ({"all_of": {"roles": {"any": ["x"]}}}, "all_of: Input should be a list"),
        ({"all_of": [{"anyof": []}]}, "all_of.0.anyof: there is no such key"),
        ({"attributes": {"match": {"plan": 1}}}, "a path begins with user., claims., input. or env."),
        ({"attributes": {"conditions": [{"path": "user.x", "op": "like"}]}}, "conditions.0.op: Input should be 'eq', "),
        (
            {"attributes": {"conditions": [{"path": "user.x", "op": "matches", "value": "(?=a)"}]}},
            "no regular expression that can be matched in linear time",
        ),
        (
            {"attributes": {"conditions": [{"path": "user.x", "op": "matches", "value": "a" * 257}]}},
            "a pattern has at most 256 characters",
        ),
        (
            {"relationships": {**OWNER, "resource_id": {"from_input": "a", "from_claims": "b"}}},
            "give either from_input",
        ),
        ({"guards": ["admin"]}, "guards.0: Input should be callable"),
        ({"operator": "XOR"}, "operator: Input should be 'AND' or 'OR'"),
        (7, "option authorities: "),
    ],
    ids=lambda each: re.sub(" at 0x[0-9a-f]+", "", str(each)),
)
def test_a_wrong_policy_stops_the_start_and_names_the_entry(policy: Any, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        desk(policy, profiles=PROFILES).check()
    assert 'Tool "close_ticket"' in str(refused.value)
    assert __file__ in str(refused.value)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"profiles": {"a": {"custom": {"x": 1}}}}, "authorities: profiles.a: custom evaluator 'x' is not registered"),
        ({"profiles": {"a": "b", "b": ["a"]}}, "authorities: profiles.b: profile 'a' refers to itself: a → b → a"),
        ({"profiles": {"a": {"rolls": 1}}}, "profiles.a.rolls: there is no such key"),
        ({"profile": {}}, "profile: there is no such key"),
        ({"relationship_resolver": len}, "it needs a method check(type, resource, resource_id, sub, ctx)"),
        ({"scope_mapping": {"roles": {"a": ['b", x="c']}}}, "scope_mapping.roles.a.0: a scope has no spaces, quotes"),
        ({"evaluators": {"x": 1}}, "evaluators.x: Input should be callable"),
    ],
    ids=lambda each: re.sub(" at 0x[0-9a-f]+", "", str(each)),
)
def test_wrong_options_of_the_server_stop_the_start(options: Any, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("desk", authorities=options).check()
    assert named in str(refused.value)


def test_a_profile_where_there_are_none_says_where_they_are_defined() -> None:
    with pytest.raises(ConfigurationError, match="'admin' is not registered; define profiles= in the server's auth"):
        desk("admin").check()


def test_every_problem_is_told_at_once() -> None:
    @Tool(authorities="first")
    async def one() -> None: ...

    @Tool(authorities="second")
    async def two() -> None: ...

    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("desk", tools=[one, two]).check()
    assert len(refused.value.problems) == 2


async def test_a_tool_with_an_unknown_profile_can_not_be_added_later() -> None:
    server = desk(GRANT)
    async with create_direct(server) as direct:

        @Tool(name="late", authorities="nobody")
        async def late() -> str:
            return "reached"

        with pytest.raises(ConfigurationError, match="profile 'nobody' is not registered"):
            await server.add_tool(late)
        with pytest.raises(FrontMcpError) as refused:
            await direct.call_tool("late")
        assert refused.value.code == "TOOL_NOT_FOUND"
        assert [tool.name for tool in await direct.list_tools(auth_context={"user": NOUR})] == ["close_ticket"]


def test_without_the_plugin_a_policy_stops_the_start() -> None:
    server = FrontMcp("desk", tools=[tool_with("admin")], plugins=["no:authorities"])
    with pytest.raises(ConfigurationError, match=r'no plugin claims .* plugin "authorities", which does, is disabled'):
        server.check()


def test_a_tool_without_a_policy_has_no_step_of_it() -> None:
    @Tool
    async def plain() -> None: ...

    server = FrontMcp("desk", tools=[plain, tool_with(GRANT)], autoload_plugins=False)
    server.check()
    assert "check_authorities" not in server.find("plain").plan.steps  # type: ignore[union-attr]
    assert "check_authorities" in server.find("close_ticket").plan.steps  # type: ignore[union-attr]


class OwnEngine(Plugin):
    """Somebody else's policy engine, in place of the built-in one."""

    name = "authorities"
    options = (Option("authorities", str), Option("authorities", dict, server=True))

    @hookimpl(option="authorities")
    def check_authorities(self, call: Call) -> None:
        if call.entry.options["authorities"] != call.caller.sub:
            raise PublicMcpError("our own engine says no", "NO")


async def test_another_engine_takes_the_place_of_the_built_in() -> None:
    server = FrontMcp("desk", tools=[tool_with("nour")], authorities={"any": "thing"}, plugins=[OwnEngine])
    assert (await call(server)).content[0].text == "closed"
    with pytest.raises(PublicMcpError, match="our own engine says no"):
        await call(server, user={"sub": "dana"})


# Every kind


async def test_every_kind_of_entry_is_guarded_and_filtered() -> None:
    guarded: dict[str, Any] = {"authorities": {"roles": {"any": ["admin"]}}}

    @Resource("desk://guide", name="guide", **guarded)
    async def guide() -> str:
        return "open"

    @ResourceTemplate("desk://{id}", name="ticket", **guarded)
    async def ticket(id: str) -> str:
        return "open"

    @Prompt(name="handover", **guarded)
    async def handover() -> str:
        return "open"

    server = FrontMcp("desk", resources=[guide, ticket], prompts=[handover])
    admin: Any = {"user": {"sub": "root", "roles": ["admin"]}}
    async with create_direct(server) as direct:
        calls: list[tuple[str, Callable[..., Any]]] = [
            ('Resource "desk:guide"', lambda **who: direct.read_resource("desk://guide", **who)),
            ('Resource "desk:ticket"', lambda **who: direct.read_resource("desk://T-1", **who)),
            ('Prompt "desk:handover"', lambda **who: direct.get_prompt("handover", **who)),
        ]
        for what, make in calls:
            with pytest.raises(AuthorityDeniedError) as refused:
                await make()
            assert str(refused.value) == f"Access denied to {what}: roles.any: user has none of 'admin'"
            assert await make(auth_context=admin)
        for listing in (direct.list_resources, direct.list_resource_templates, direct.list_prompts):
            assert await listing() == []
            assert len(await listing(auth_context=admin)) == 1


async def test_an_error_of_the_protocol_carries_the_denial() -> None:
    error = await denial({"permissions": {"all": ["p"]}})
    assert error is not None
    data = to_error_data(error, production=True).data
    assert data["code"] == "AUTHORITY_DENIED"
    assert data["denial"] == {"kind": "permissions", "path": "permissions.all", "missing": ["p"]}


@pytest.fixture
def server() -> FrontMcp:
    @Resource("desk://guide", authorities={"roles": {"any": ["admin"]}})
    async def guide() -> str:
        return "open"

    @Tool(authorities="admin")
    async def purge(ctx: ToolContext) -> str:
        return f"purged by {ctx.auth.sub}"

    @Tool
    async def cleanup(ctx: ToolContext) -> str:
        return (await ctx.call_tool("purge")).content[0].text  # type: ignore[union-attr]

    return FrontMcp("desk", resources=[guide], tools=[purge, cleanup], authorities={"profiles": PROFILES})


@pytest.mark.parametrize("tool", ["purge", "cleanup"])
async def test_nobody_inherits_the_rights_of_an_earlier_call(mcp: Any, tool: str) -> None:
    admin = mcp.as_user("nour", roles=["admin"])
    assert (await admin.tools.call(tool)).text() == "purged by nour"
    (await mcp.tools.call(tool)).assert_error("AUTHORITY_DENIED")
    (await mcp.as_user("dana").tools.call(tool)).assert_error("AUTHORITY_DENIED")
    assert (await admin.tools.call(tool)).text() == "purged by nour"
    (await mcp.tools.call(tool)).assert_error("AUTHORITY_DENIED")


async def test_a_policy_holds_whatever_app_calls() -> None:
    desk = App(id="desk")
    shop = App(id="shop")

    @desk.tool(authorities="admin")
    async def purge() -> str:
        return "purged"

    @shop.tool
    async def sell(ctx: ToolContext, name: str) -> str:
        return (await ctx.call_tool(name)).content[0].text  # type: ignore[union-attr]

    async with create_direct(FrontMcp("both", apps=[desk, shop], authorities={"profiles": PROFILES})) as direct:
        for name in ("purge", "desk:purge", "desk.purge"):
            with pytest.raises(AuthorityDeniedError, match='Access denied to Tool "desk:purge"'):
                await direct.call_tool("sell", {"name": name})
        admin: Any = {"user": {"sub": "nour", "roles": ["admin"]}}
        assert await direct.call_tool("sell", {"name": "purge"}, auth_context=admin)


async def test_lists_are_each_callers_own(mcp: Any) -> None:
    admin = mcp.as_user("nour", roles=["admin"])
    for _ in range(2):
        assert {tool.name for tool in await admin.tools.list()} == {"cleanup", "purge"}
        assert {tool.name for tool in await mcp.tools.list()} == {"cleanup"}


async def test_one_session_may_change_its_user_and_nothing_is_remembered(server: FrontMcp) -> None:
    session: Any = {"session_id": "one"}
    admin = {**session, "user": {"sub": "nour", "roles": ["admin"]}}
    async with create_direct(server) as direct:
        for _ in range(2):
            assert await direct.call_tool("cleanup", auth_context=admin)
            for other in (session, {**session, "user": {"sub": "nour"}}):
                with pytest.raises(AuthorityDeniedError):
                    await direct.call_tool("cleanup", auth_context=other)


ADMIN = {"roles": {"any": ["admin"]}}
WARNED = {
    "roles": (ADMIN, True),
    "permissions": ({"permissions": {"all": ["close"]}}, True),
    "a claim": ({"attributes": {"match": {"claims.org": "acme"}}}, True),
    "a profile": ("admin", True),
    "all of": ({"all_of": [{"guards": [bool]}, ADMIN]}, True),
    "any of two": ({"any_of": [ADMIN, "admin"]}, True),
    "any of, one open": ({"any_of": [ADMIN, {"guards": [bool]}]}, False),
    "or, one open": ({**ADMIN, "guards": [bool], "operator": "OR"}, False),
    "or": ({**ADMIN, "profiles": ["admin"], "operator": "OR"}, True),
    "not": ({"not_": ADMIN}, False),
    "the input": ({"attributes": {"match": {"input.level": 3}}}, False),
    "no claim": ({"attributes": {"match": {"claims.org": None}}}, False),
    "nothing": ({}, False),
}


@pytest.mark.parametrize("case", WARNED)
def test_what_no_client_can_call_as_nothing_says_who_calls_is_named(
    case: str, caplog: pytest.LogCaptureFixture
) -> None:
    policy, is_closed = WARNED[case]
    desk(policy, profiles={"admin": ADMIN}).http_app()
    told = "no client can call close_ticket: their authorities ask who calls, and nothing here says it; give auth="
    assert (told in caplog.text) == is_closed


class Door(Plugin):
    name = "door"

    @hookimpl
    def authenticate(self, request: Any) -> Any:
        return None


@pytest.mark.parametrize("more", [{"auth": {"local": {"sub": "ops"}}}, {"plugins": [Door]}], ids=["auth", "plugin"])
def test_no_warning_where_something_says_who_calls(more: Any, caplog: pytest.LogCaptureFixture) -> None:
    FrontMcp("desk", tools=[tool_with(ADMIN)], **more).http_app()
    resolving = desk(ADMIN, claims_resolver=lambda caller: {"roles": ["admin"]})
    resolving.http_app()
    assert "no client can call" not in caplog.text
