"""Nothing that a user sets is ignored: an option or a kind that nobody claims, or that two claim, stops the start."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from frontmcp import FrontMcp, Option, Plugin, Tool, Will, create_direct, hookimpl
from frontmcp.checks import KINDS
from frontmcp.claims import Claims
from frontmcp.errors import ConfigurationError
from frontmcp.hookspecs import Spec
from frontmcp.loading import PluginInfo

SECRET = "hunter2"


class Audit(Plugin):
    name = "acme.audit"
    options = (Option("audit", bool, kinds=("tool",)), Option("audit_log", Path, server=True))


def tool(**options: Any) -> Tool:
    definition: Tool = Tool(name="audited", **options)

    @definition
    async def audited() -> None: ...

    return definition


def problems_of(*plugins: Any, tool_options: Any = None, **options: Any) -> list[str]:
    server = FrontMcp("desk", tools=[tool(**(tool_options or {}))], plugins=plugins, **options)
    try:
        server.check()
    except ConfigurationError as error:
        return error.problems
    return []


def claiming(name: str, *options: Option, kinds: Sequence[Any] = ()) -> Plugin:
    plugin = Plugin()
    plugin.name, plugin.options, plugin.kinds = name, options, kinds
    return plugin


def claims_of(*plugins: Plugin, specs: dict[str, Spec] | None = None) -> Claims:
    return Claims([PluginInfo(str(plugin.name), "plugins=", plugin) for plugin in plugins], specs or {})


class TestClaimed:
    async def test_values_are_validated_and_handed_on(self) -> None:
        server = FrontMcp("desk", tools=[tool(audit="yes")], plugins=[Audit], audit_log="/var/log/audit")
        async with create_direct(server):
            entry = server.find("audited")
            assert entry is not None
            assert entry.options == {"audit": True}
            assert server.options == {"audit_log": Path("/var/log/audit")}

    def test_an_option_of_none_is_not_set(self) -> None:
        assert problems_of(tool_options={"audit": None}, audit_log=None) == []

    def test_options_may_be_known_only_at_start(self) -> None:
        class Late(Plugin):
            @hookimpl
            def declare_options(self) -> list[Option]:
                return [Option("late", int)]

        assert problems_of(Late, tool_options={"late": 1}) == []

    @pytest.mark.parametrize("kinds", [(), ("tool",), ("agent", "tool")])
    def test_for_all_kinds_or_some(self, kinds: Any) -> None:
        assert problems_of(claiming("p", Option("mark", kinds=kinds)), tool_options={"mark": 1}) == []

    def test_kinds_are_several(self) -> None:
        with pytest.raises(ConfigurationError, match=r"^kinds= takes a list"):
            Option("mark", kinds="tool")

    def test_without_kinds_it_is_for_all_of_them_and_not_for_the_server(self) -> None:
        claims = claims_of(claiming("p", Option("mark", int)))
        assert [kind for kind in KINDS if "mark" not in claims.names(kind)] == []
        assert claims.names("server") == set()

    def test_one_name_for_different_kinds(self) -> None:
        claims = claims_of(
            claiming("a", Option("retry", int, kinds=("tool",))),
            claiming("b", Option("retry", str, kinds=("job",))),
            claiming("c", Option("retry", bool, server=True)),
        )
        assert claims.problems == []
        assert claims.check_options("tool", {"retry": 3}, "x") == []
        assert claims.check_options("job", {"retry": "often"}, "x") == []
        assert claims.check_options("server", {"retry": True}, "x") == []
        assert claims.check_options("job", {"retry": 3}, "x") != []


class TestUnclaimed:
    def test_names_the_thing_its_place_and_the_nearest(self) -> None:
        (problem,) = problems_of(Audit, tool_options={"auditt": True})
        assert problem.startswith('Tool "audited" (')
        assert f"({__file__}:" in problem
        assert problem.endswith(': no plugin claims the option "auditt"; did you mean "audit"?')

    def test_of_the_server(self) -> None:
        assert problems_of(Audit, audit_logs="x") == [
            'setting from code: no plugin claims the option "audit_logs"; did you mean "audit_log"?'
        ]

    def test_names_the_plugin_that_is_off(self) -> None:
        (problem,) = problems_of(Audit, "no:acme.audit", tool_options={"audit": True})
        assert problem.endswith(
            'no plugin claims the option "audit": plugin "acme.audit", which does, is disabled (no:acme.audit); '
            "take the option out, or leave the plugin on"
        )

    def test_names_the_plugin_that_is_off_for_want_of_another(self) -> None:
        audit = claiming("acme.audit", Option("audit"))
        audit.requires = ("aliasing",)
        (problem,) = problems_of(audit, "no:aliasing", tool_options={"audit": True})
        assert problem.endswith('plugin "acme.audit", which does, is off (needs "aliasing")')

    def test_names_what_is_off_and_was_never_loaded(self) -> None:
        claims = Claims(
            [PluginInfo("acme-audit", "installed", None, "acme-audit 1.0", "disabled", "no:acme-audit")], {}
        )
        (problem,) = claims.check_options("tool", {"audit": 1}, "x")
        assert problem.startswith('x: no plugin claims the option "audit"; plugin "acme-audit"')
        assert problem.endswith("is disabled (no:acme-audit): perhaps it claims it")

    def test_says_for_what_it_is_claimed_instead(self) -> None:
        (on_tool,) = problems_of(Audit, tool_options={"audit_log": "x"})
        assert on_tool.endswith('no plugin claims the option "audit_log" for a tool, only for server')
        (on_server,) = problems_of(Audit, audit=True)
        assert on_server == 'setting from code: no plugin claims the option "audit" for a server, only for tool'

    @pytest.mark.parametrize("name", ["change_bus", "state_store"])
    def test_says_what_to_install_for_a_hook_of_the_core(self, name: str) -> None:
        (problem,) = problems_of(autoload_plugins=False, **{name: "redis://localhost"})
        assert f'setting from code: no plugin claims the option "{name}": pip install frontmcp-redis' in problem

    def test_says_so_of_the_environment_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FRONTMCP_CHANGE_BUS", "redis://localhost")
        (problem,) = problems_of(autoload_plugins=False)
        assert 'from FRONTMCP_CHANGE_BUS: no plugin claims the option "change_bus": pip install' in problem

    def test_by_a_hook_that_is_narrowed_to_it(self) -> None:
        class Narrowed(Audit):
            @Will("execute", option="audi")
            async def before(self, call: Any) -> None: ...

        (problem,) = problems_of(Narrowed)
        line = Narrowed.before.__code__.co_firstlineno
        assert problem == (
            f'plugin "acme.audit", before ({__file__}:{line}): option="audi": '
            'no plugin claims that option; did you mean "audit"?'
        )

    def test_narrowing_to_an_option_of_another_plugin_is_fine(self) -> None:
        class Narrowed(Plugin):
            @Will("execute", option="audit")
            async def before(self, call: Any) -> None: ...

        assert problems_of(Audit, Narrowed) == []

    def test_narrowing_to_an_option_of_the_server_is_not(self) -> None:
        class Narrowed(Plugin):
            @Will("execute", option="audit_log")
            async def before(self, call: Any) -> None: ...

        assert len(problems_of(Audit, Narrowed)) == 1


class TestTwice:
    def test_two_plugins(self) -> None:
        other = claiming("acme.other", Option("audit"))
        assert problems_of(Audit, other) == ['plugins "acme.audit" and "acme.other" both claim the option "audit"']

    def test_for_overlapping_kinds(self) -> None:
        one = claiming("one", Option("audit", kinds=("tool", "job")))
        two = claiming("two", Option("audit", kinds=("job", "agent")))
        assert claims_of(one, two).problems == ['plugins "one" and "two" both claim the option "audit"']

    def test_a_plugin_that_is_off_is_no_rival(self) -> None:
        assert problems_of(Audit, claiming("acme.other", Option("audit")), "no:acme.audit") == []

    def test_kinds(self) -> None:
        one, two = claiming("one", kinds=("job",)), claiming("two", kinds=("job", "channel"))
        assert claims_of(one, two).problems == ['plugins "one" and "two" both claim the kind "job"']
        assert claims_of(claiming("one", kinds=("tool",))).problems == [
            'plugins "frontmcp" and "one" both claim the kind "tool"'
        ]


class TestKinds:
    def test_claimed(self) -> None:
        claims = claims_of(claiming("jobs", kinds=("job",)))
        assert claims.check_kind("tool") is None
        assert claims.check_kind("job") is None

    def test_unclaimed(self) -> None:
        assert claims_of().check_kind("job") == "no plugin claims the kind job"

    def test_unclaimed_names_the_plugin_that_is_off(self) -> None:
        off = PluginInfo("jobs", "plugins=", claiming("jobs", kinds=("job",)), status="disabled", reason="no:jobs")
        assert Claims([off], {}).check_kind("job") == (
            'no plugin claims the kind job: plugin "jobs", which does, is disabled (no:jobs)'
        )

    @pytest.mark.parametrize(
        ("plugin", "said"),
        [
            (claiming("p", kinds=("jobb",)), 'claims the kind "jobb", which does not exist; did you mean "job"?'),
            (
                claiming("p", Option("x", kinds=("tools",))),
                'option "x": there is no kind "tools"; did you mean "tool"?',
            ),  # type: ignore[arg-type]
        ],
    )
    def test_one_that_does_not_exist(self, plugin: Plugin, said: str) -> None:
        (problem,) = claims_of(plugin).problems
        assert problem.endswith(said)


def refusing(value: Any) -> Any:
    raise ValueError(f"{value!r} is no good")


def crashing(value: Any) -> Any:
    raise RuntimeError(f"{value!r} broke it")


class Nested(BaseModel):
    model_config = ConfigDict(extra="forbid")
    key: Annotated[str, Field(max_length=3)] = ""
    inner: dict[str, int] = {}


class Colour(enum.Enum):
    RED = "red"


class Store(Protocol):
    def get(self) -> None: ...


class Engine: ...


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class TestValues:
    @pytest.mark.parametrize(
        ("type_", "value"),
        [
            (bool, SECRET), (int, SECRET), (Path, 7), (SecretStr, [SECRET]), (Nested, {"key": SECRET}),
            (Nested, {"inner": {"port": SECRET}}), (Literal["on", "off"], SECRET), (Colour, SECRET),
            (Annotated[str, AfterValidator(refusing)], SECRET), (Annotated[str, AfterValidator(crashing)], SECRET),
            (Engine, SECRET), (list[int], [1, SECRET]), (int | Nested, SECRET), (Callable[..., Any], SECRET),
            (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": SECRET}),
        ],
        ids=lambda each: str(getattr(each, "__name__", each))[:30],
    )  # fmt: skip
    def test_a_wrong_one_stops_the_start_and_is_not_echoed(self, type_: Any, value: Any) -> None:
        plugin = claiming("p", Option("on_tool", type_), Option("on_server", type_, server=True))
        found = problems_of(plugin, tool_options={"on_tool": value}, on_server=value)
        assert len(found) == 2
        assert any("option on_tool: " in problem and 'Tool "audited"' in problem for problem in found)
        assert any("setting from code: option on_server: " in problem for problem in found)
        assert SECRET not in str(ConfigurationError(found))

    @pytest.mark.parametrize(
        ("type_", "value", "said"),
        [
            (Literal["on", "off"], "of", "Input should be 'on' or 'off'"),
            (Nested, "x", "Input should be a dict with some of the keys inner, key"),
            (list[Nested], [3], "0: Input should be a dict with some of the keys inner, key"),
            (tuple[int, ...], "x", "Input should be a list"),
            (Nested, {"kye": 1}, "kye: there is no such key"),
            (Nested, {"inner": {"port": "x"}}, "inner.port: Input should be a valid integer"),
        ],
    )
    def test_what_is_wrong_with_it_is_said(self, type_: Any, value: Any, said: str) -> None:
        (problem,) = problems_of(claiming("p", Option("mark", type_)), tool_options={"mark": value})
        assert f"option mark: {said}" in problem

    def test_any_class_can_be_a_type(self) -> None:
        engine = Engine()
        assert problems_of(claiming("p", Option("engine", Engine, server=True)), engine=engine) == []

    @pytest.mark.filterwarnings("ignore::pydantic.warnings.ArbitraryTypeWarning")
    @pytest.mark.parametrize("type_", ["Nowhere", 42, [int], list["Nowhere"], Store], ids=str)  # type: ignore[name-defined]  # noqa: F821
    def test_a_type_that_cannot_be_checked_is_the_plugins_mistake(self, type_: Any) -> None:
        (problem,) = claims_of(claiming("p", Option("mark", type_))).problems
        assert problem.startswith('plugin "p", option "mark": its type can\'t be validated: ')


SPECS = {"declare_options": Spec("declare_options", "all", False, ())}


class TestDeclareOptions:
    def test_that_fails_is_named_with_its_place(self) -> None:
        class Late(Plugin):
            name = "late"

            @hookimpl
            def declare_options(self) -> list[Option]:
                raise OSError("no file")

        line = Late.declare_options.__code__.co_firstlineno
        assert claims_of(Late(), specs=SPECS).problems == [
            f'plugin "late", declare_options ({__file__}:{line}): declare_options failed: no file'
        ]

    def test_must_give_options(self) -> None:
        class Late(Plugin):
            name = "late"

            @hookimpl
            def declare_options(self) -> list[Any]:
                return ["audit", Option("mark")]

        claims = claims_of(Late(), specs=SPECS)
        assert len(claims.problems) == 1
        assert claims.names() == {"mark"}

    def test_that_is_no_sound_hook_is_not_called(self) -> None:
        class Late(Plugin):
            name = "late"

            @hookimpl
            async def declare_options(self) -> list[Option]:
                raise AssertionError("called")

        assert claims_of(Late(), specs=SPECS).names() == set()
