"""The law of lists: what is listed is not refused for a reason decided without arguments, and what is so refused is
not listed; hidden entries are the one exception."""

from __future__ import annotations

from typing import Any, Literal

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmcp import (
    App,
    Call,
    FrontMcp,
    Plugin,
    Prompt,
    PublicMcpError,
    ResourceTemplate,
    Tool,
    ToolEntry,
    create_direct,
    hookimpl,
)
from frontmcp.errors import FrontMcpError
from plugins_builtin.visibility import Visibility

PROCESS = {"os": "linux", "runtime": "cpython", "deployment": "standalone", "provider": "bare", "target": "unknown"}
SURFACES = ["mcp", "agent", "job", "http-trigger", "cli"]
NOT_FOUND = {"TOOL_NOT_FOUND", "RESOURCE_NOT_FOUND", "PROMPT_NOT_FOUND"}
REFUSED = {"policy", *NOT_FOUND, "INTERNAL_ERROR", "ACCESS_DENIED"}

Does = Literal[
    "allow", "deny", "break", "read then allow", "read then deny", "deny odd", "deny by name", "hide", "show"
]
DOES: tuple[Does, ...] = (
    "allow", "deny", "break", "read then allow", "read then deny", "deny odd", "deny by name", "hide", "show",
)  # fmt: skip


class Policy(Plugin):
    """A third party's policy, which sometimes reads the input: then a list can't know."""

    def __init__(self, name: str, does: Does) -> None:
        self.name = name
        self.does = does

    @property
    def needs_arguments(self) -> bool:
        return self.does in ("read then allow", "read then deny", "deny odd")

    @hookimpl
    def check_authorities(self, call: Call) -> None:
        if self.does == "deny" or (self.does == "deny by name" and call.entry.name.endswith("a")):
            raise PublicMcpError("no", "policy")
        if self.does == "break":
            raise RuntimeError("broken")
        if self.needs_arguments:
            number = call.input["number"]
            if self.does == "read then deny" or (self.does == "deny odd" and number % 2):
                raise PublicMcpError("no", "policy")

    @hookimpl
    def entry_visible(self, call: Call, entry: ToolEntry) -> bool | None:
        return {"hide": False, "show": True}.get(self.does)


class AsyncPolicy(Policy):
    """The same, decided later."""

    @hookimpl
    async def check_authorities(self, call: Call) -> None:
        await anyio.lowlevel.checkpoint()
        super().check_authorities(call)


def available_when() -> st.SearchStrategy[dict[str, list[str]]]:
    fields: dict[str, st.SearchStrategy[list[str]]] = {
        "surface": st.lists(st.sampled_from(SURFACES), max_size=3),
        "env": st.lists(st.sampled_from(["test", "production"]), max_size=2),
        **{field: st.lists(st.sampled_from([here, "elsewhere"]), max_size=2) for field, here in PROCESS.items()},
    }
    return st.dictionaries(st.sampled_from([*fields]), st.none(), max_size=2).flatmap(
        lambda chosen: st.fixed_dictionaries({field: fields[field] for field in chosen})
    )


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "visibility": st.sampled_from(["public", "hidden", "internal"]),
        "available_when": available_when(),
    },
)
POLICIES = st.lists(st.tuples(st.sampled_from([Policy, AsyncPolicy]), st.sampled_from(DOES)), max_size=3)


WORD = "not a number"

Kind = Literal["tools", "resources", "prompts"]


def made_as(kind: Kind, name: str, options: dict[str, Any]) -> Any:
    definition: Any = {
        "tools": lambda: Tool(name=name, **options),
        "resources": lambda: ResourceTemplate(f"{name}://{{number}}", name=name, **options),
        "prompts": lambda: Prompt(name=name, **options),
    }[kind]()

    @definition
    async def execute(number: int) -> int:
        return number

    return definition


def elsewhere(kind: Kind, entries: list[Any]) -> App:
    """The same entries, of another server."""
    plain: dict[str, Any] = {kind: [made_as(kind, each.name, {}) for each in entries]}
    options: dict[str, Any] = {kind: {getattr(each, "address", each.name): each.options for each in entries}}
    return App.from_mcp(FrontMcp("old", autoload_plugins=False, **plain), **options)


@settings(max_examples=120, deadline=None)
@given(
    kind=st.sampled_from(["tools", "resources", "prompts"]),
    options=st.lists(OPTIONS, min_size=1, max_size=3),
    policies=POLICIES,
    surface=st.sampled_from([*SURFACES, None]),
    number=st.sampled_from([1, 2, WORD]),
    is_foreign=st.booleans(),
)
async def test_lists_and_calls_share_one_decision(
    kind: Kind,
    options: list[dict[str, Any]],
    policies: list[tuple[type[Policy], Does]],
    surface: Any,
    number: Any,
    is_foreign: bool,
) -> None:
    entries = [made_as(kind, "xyz"[index] + "ab"[index % 2], each) for index, each in enumerate(options)]
    judges = [made(f"policy{index}", does) for index, (made, does) in enumerate(policies)]
    more: dict[str, Any] = {"apps": [elsewhere(kind, entries)]} if is_foreign and number != WORD else {kind: entries}
    server = FrontMcp("law", plugins=[*judges, Visibility(PROCESS)], environment="test", autoload_plugins=False, **more)
    async with create_direct(server) as direct:
        lists: Any = {
            "tools": direct.list_tools, "resources": direct.list_resource_templates, "prompts": direct.list_prompts,
        }  # fmt: skip
        listed = {each.name for each in await lists[kind](surface=surface)}
        for each in entries:
            refusals = refused_without_arguments(server, each.name, judges, surface)
            outcome = await called(direct, kind, each.name, number, surface)
            if each.options.get("visibility") == "hidden":
                assert each.name not in listed
            else:
                assert (each.name in listed) == (not refusals), (listed, refusals)
            if refusals:
                assert outcome in REFUSED
            elif not any(judge.needs_arguments for judge in judges):
                assert outcome not in REFUSED


async def called(direct: Any, kind: Kind, name: str, number: Any, surface: Any) -> str:
    """The code that a client's call ends with; empty when it succeeds."""
    try:
        if kind == "resources":
            await direct.read_resource(f"{name}://{number}", surface=surface)
        else:
            call = direct.call_tool if kind == "tools" else direct.get_prompt
            await call(name, {"number": number}, surface=surface)
    except FrontMcpError as error:
        return error.code
    return ""


def refused_without_arguments(server: FrontMcp, name: str, judges: list[Policy], surface: Any) -> list[str]:
    """Who refuses a client's call whatever its arguments, read off the options and the policies themselves."""
    entry = next(each for each in server.entries() if each.name == name)
    refusals = [judge.name for judge in judges if judge.does in ("deny", "break", "hide")]
    refusals += [judge.name for judge in judges if judge.does == "deny by name" and name.endswith("a")]
    if entry.options.get("visibility") == "internal":
        refusals.append("visibility")
    facts = {**PROCESS, "env": "test", "surface": surface}
    when = entry.options.get("available_when")
    for field, allowed in when if when is not None else ():
        if (
            allowed is not None
            and facts[field] not in allowed
            and not (field == "surface" and surface is None and allowed)
        ):
            refusals.append(field)
    return refusals
