"""Which plugins a server has, and in which order: words, distributions, built-ins, swaps, requirements."""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import sys
import types
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from frontmcp import FrontMcp, Option, Plugin, Will, hookimpl
from frontmcp.errors import ConfigurationError
from frontmcp.loading import BUILT_IN, ESSENTIAL, Loader, PluginInfo, PluginSettings

Install = Callable[..., None]


class Named(Plugin):
    """A plugin that does nothing, under a name of its own."""

    def __init__(self, name: str, *requires: str) -> None:
        self.name = name
        self.requires = requires


@pytest.fixture(autouse=True)
def nothing_else_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in ``tmp_path`` is all there is, whatever this environment has."""

    def entry_points(group: str) -> list[EntryPoint]:
        found = importlib.metadata.distributions(path=[str(tmp_path)])
        return [point for distribution in found for point in distribution.entry_points if point.group == group]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a distribution whose entry points are plugins: ``install("acme-audit", {"acme.audit": source})``."""
    before = set(sys.modules)

    def write(distribution: str, plugins: dict[str, str], version: str = "1.0") -> None:
        info = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        points = []
        for number, (name, source) in enumerate(plugins.items()):
            module = f"{distribution.replace('-', '_')}_{number}"
            (tmp_path / f"{module}.py").write_text(f"from frontmcp import *\n{source}\n")
            points.append(f"{name} = {module}:P\n")
        (info / "entry_points.txt").write_text("[frontmcp.plugins]\n" + "".join(points))
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    for name in set(sys.modules) - before:
        if name.startswith("acme"):
            del sys.modules[name]


REALLY = importlib.metadata.entry_points


QUIET = "class P(Plugin): pass"


def load(*plugins: Any, order: tuple[str, ...] = (), autoload: bool = True) -> Loader:
    return Loader(PluginSettings(plugins, order, autoload))


def active(*plugins: Any, **settings: Any) -> list[str]:
    """The names of the active plugins, built-ins left out, in their order; there are no problems."""
    loader = load(*plugins, **settings)
    assert loader.problems == []
    return [info.name for info in loader.active if info.origin != "built-in"]


def info_of(loader: Loader, name: str) -> PluginInfo:
    return next(info for info in loader.infos if info.name == name)


def problem(*plugins: Any, **settings: Any) -> str:
    """The one problem that a start with these plugins has."""
    (found,) = load(*plugins, **settings).problems
    return found


class TestOrder:
    def test_built_ins_are_last_in_their_own_order(self) -> None:
        names = [info.name for info in load(Named("own")).active]
        assert names == ["own", *BUILT_IN]

    def test_the_operators_stand_as_written_before_the_installed_by_name(self, install: Install) -> None:
        install("acme-zoo", {"acme.zoo": QUIET, "acme.ant": QUIET})
        install("acme-cat", {"acme.cat": QUIET})
        assert active(Named("two"), Named("one")) == ["two", "one", "acme.ant", "acme.cat", "acme.zoo"]

    def test_an_installed_one_that_is_named_stands_where_it_is_named(self, install: Install) -> None:
        install("acme-zoo", {"acme.zoo": QUIET, "acme.ant": QUIET})
        assert active("acme.zoo", Named("own")) == ["acme.zoo", "own", "acme.ant"]
        assert active(Named("own"), "acme.zoo") == ["own", "acme.zoo", "acme.ant"]

    def test_plugin_order_comes_before_everything(self, install: Install) -> None:
        install("acme-zoo", {"acme.zoo": QUIET})
        loader = load(Named("one"), Named("two"), order=("aliasing", "acme.zoo", "two"))
        assert [info.name for info in loader.active][:4] == ["aliasing", "acme.zoo", "two", "one"]

    def test_a_swap_stands_where_what_it_replaces_stood(self) -> None:
        loader = load(Named("visibility"), Named("own"))
        assert [info.name for info in loader.active] == ["own", *BUILT_IN]
        assert [info.origin for info in loader.active][:2] == ["plugins=", "plugins="]

    def test_a_swap_follows_plugin_order_too(self) -> None:
        assert [info.name for info in load(Named("own"), Named("aliasing"), order=("aliasing",)).active][:2] == [
            "aliasing",
            "own",
        ]

    def test_an_unknown_name_in_plugin_order_is_a_problem(self) -> None:
        assert problem(order=("alaising",)) == (
            'plugin_order: "alaising": there is no plugin of that name; did you mean "aliasing"?'
        )


class TestForms:
    """A plugin is an instance, a class, a module, a function or a name."""

    def test_an_instance_and_a_class(self) -> None:
        class AcmeAudit(Plugin): ...

        assert active(AcmeAudit) == ["acme_audit"]
        assert active(AcmeAudit()) == ["acme_audit"]

    def test_any_object_with_a_hook(self) -> None:
        class Observer:
            @hookimpl
            def settled(self, server: Any) -> None: ...

        assert active(Observer()) == active(Observer) == ["observer"]

    def test_a_module(self) -> None:
        module = types.ModuleType("acme.audit_log")
        module.settled = hookimpl(lambda server: None)  # type: ignore[attr-defined]
        assert active(module) == ["audit_log"]
        module.name = "acme.audit"  # type: ignore[attr-defined]
        assert active(module) == ["acme.audit"]

    def test_a_function(self) -> None:
        @Will("execute")
        async def count_calls(call: Any) -> None: ...

        loader = load(count_calls)
        assert info_of(loader, "count_calls").hooks == ["will_execute"]

    def test_a_dotted_name(self, install: Install, tmp_path: Path) -> None:
        (tmp_path / "acme_dotted.py").write_text("from frontmcp import *\nclass Audit(Plugin): name = 'acme.audit'\n")
        assert active("acme_dotted:Audit") == ["acme.audit"]

    def test_a_module_by_its_name(self, install: Install, tmp_path: Path) -> None:
        source = "from frontmcp import *\n@hookimpl\ndef settled(server): pass\n"
        (tmp_path / "acme_module.py").write_text(source)
        assert active("acme_module") == ["acme_module"]

    @pytest.mark.parametrize(
        ("plugin", "said"),
        [
            (42, "an object of int is no plugin"),
            (object, "an object of object is no plugin"),
            (types.ModuleType("acme"), "acme is no plugin"),
            (len, "len is no plugin"),
        ],
    )
    def test_what_has_no_hook_is_no_plugin(self, plugin: Any, said: str) -> None:
        if plugin is object:
            plugin = object()
        assert problem(plugin).startswith(f"plugins: {said}: nothing of it is marked")

    def test_a_class_that_wants_arguments(self) -> None:
        text = problem(Named)
        assert text.startswith("plugins: Named can't be made: ")
        assert text.endswith("; give an instance")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("visiblity", '"visiblity" is neither an installed plugin nor a module; did you mean "visibility"?'),
            ("acme.nothing:P", '"acme.nothing:P" is neither an installed plugin nor a module'),
            ("json:Nothing", "\"json:Nothing\" can't be loaded: module 'json' has no attribute 'Nothing'"),
            ("", '"" can\'t be loaded: Empty module name'),
            ("json.nothing.more", '"json.nothing.more" is neither an installed plugin nor a module'),
        ],
    )
    def test_a_name_that_leads_nowhere(self, name: str, said: str) -> None:
        assert problem(name) == f"plugins: {said}"

    def test_a_module_that_fails_to_import_says_why(self, install: Install, tmp_path: Path) -> None:
        (tmp_path / "acme_broken.py").write_text("import acme_which_is_not_there\n")
        assert problem("acme_broken") == (
            "plugins: \"acme_broken\" can't be loaded: No module named 'acme_which_is_not_there'"
        )


class TestWords:
    @pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in ESSENTIAL])
    def test_no_switches_a_built_in_off(self, name: str) -> None:
        loader = load(f"no:{name}")
        assert loader.problems == []
        info = info_of(loader, name)
        assert (info.status, info.reason, info.plugin) == ("disabled", f"no:{name}", None)
        assert name not in [each.name for each in loader.active]

    @pytest.mark.parametrize("name", ESSENTIAL)
    def test_essential_ones_refuse_and_stay(self, name: str) -> None:
        loader = load(f"no:{name}")
        assert loader.problems == [
            f'plugins: "no:{name}": {name} can be replaced by a plugin of that name, not switched off'
        ]
        assert info_of(loader, name).is_active

    @pytest.mark.parametrize("name", ESSENTIAL)
    def test_essential_ones_can_be_replaced(self, name: str) -> None:
        loader = load(Named(name))
        assert loader.problems == []
        assert [(info.origin, info.status) for info in loader.infos if info.name == name] == [
            ("plugins=", "active"),
            ("built-in", "replaced"),
        ]

    def test_no_switches_off_what_was_given_before(self) -> None:
        assert active(Named("own"), "no:own") == []

    def test_no_leaves_what_is_given_after(self) -> None:
        loader = load("no:aliasing", Named("aliasing"))
        assert [(info.origin, info.status) for info in loader.infos if info.name == "aliasing"] == [
            ("plugins=", "active"),
            ("built-in", "disabled"),
        ]

    def test_of_words_about_one_name_the_last_holds(self, install: Install) -> None:
        install("acme-audit", {"acme.audit": QUIET})
        assert active("no:acme.audit") == []
        assert active("no:acme.audit", "acme.audit") == ["acme.audit"]
        assert active("acme.audit", "no:acme.audit") == []
        assert active("acme.audit", "acme.audit") == ["acme.audit"]
        assert "aliasing" in [info.name for info in load("no:aliasing", "aliasing").active]
        assert "aliasing" not in [info.name for info in load("aliasing", "no:aliasing").active]

    def test_unknown_words_name_the_nearest(self) -> None:
        assert problem("no:alaising") == (
            'plugins: "no:alaising": there is no plugin of that name; did you mean "aliasing"?'
        )

    def test_what_is_switched_off_is_never_imported(self, install: Install) -> None:
        install("acme-broken", {"acme.broken": "raise RuntimeError('imported')"})
        loader = load("no:acme.broken")
        assert loader.problems == []
        info = info_of(loader, "acme.broken")
        assert (info.status, info.plugin, info.distribution) == ("disabled", None, "acme-broken 1.0")

    def test_autoload_off_leaves_only_what_is_named(self, install: Install) -> None:
        install("acme-zoo", {"acme.zoo": QUIET, "acme.ant": QUIET})
        assert active(autoload=False) == []
        assert active("acme.zoo", autoload=False) == ["acme.zoo"]


class TestDistributions:
    def test_are_found_by_their_metadata_on_the_path(self, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.metadata, "entry_points", REALLY)
        install("acme-audit", {"acme.audit": QUIET})
        assert info_of(load(), "acme.audit").distribution == "acme-audit 1.0"

    def test_each_that_loads_is_logged_with_its_version(self, install: Install, caplog: Any) -> None:
        install("acme-audit", {"acme.audit": QUIET}, version="2.1")
        with caplog.at_level(logging.INFO, "frontmcp.plugins"):
            load()
        assert caplog.messages == ['plugin "acme.audit" comes from acme-audit 2.1']

    def test_a_broken_one_is_named_with_the_way_out(self, install: Install) -> None:
        install("acme-broken", {"acme.broken": "import acme_which_is_not_there"})
        assert problem() == (
            'plugin "acme.broken" of acme-broken 1.0 can\'t be loaded: '
            "No module named 'acme_which_is_not_there'; \"no:acme.broken\" switches it off"
        )

    def test_its_name_is_the_entry_points(self, install: Install) -> None:
        install("acme-audit", {"acme.audit": "class P(Plugin): name = 'acme.other'"})
        assert problem() == (
            'plugin "acme.audit" of acme-audit 1.0: its entry point and its name = "acme.other" differ; make them equal'
        )
        install("acme-same", {"acme.same": "class P(Plugin): name = 'acme.same'"})
        assert "acme.same" in [info.name for info in load("no:acme.audit").active]

    def test_one_that_replaces_a_built_in_needs_the_operators_word(self, install: Install) -> None:
        install("acme-aliasing", {"aliasing": QUIET})
        loader = load()
        assert loader.problems == [
            'plugin "aliasing" of acme-aliasing 1.0 replaces a built-in: '
            "name it in plugins= (or -p aliasing) to allow that, or uninstall it"
        ]
        assert info_of(loader, "aliasing").status == "off"
        allowed = load("aliasing")
        assert allowed.problems == []
        assert [(info.distribution, info.status) for info in allowed.infos if info.name == "aliasing"] == [
            ("acme-aliasing 1.0", "active"),
            (None, "replaced"),
        ]

    def test_it_stops_the_start(self, install: Install) -> None:
        install("acme-aliasing", {"aliasing": QUIET})
        with pytest.raises(ConfigurationError, match=r"of acme-aliasing 1\.0 replaces a built-in"):
            FrontMcp("desk").check()
        FrontMcp("desk", plugins=["aliasing"]).check()

    def test_one_that_answers_authenticate_needs_the_operators_word(self, install: Install) -> None:
        install(
            "acme-login", {"acme.login": "class P(Plugin):\n    @hookimpl\n    def authenticate(self, request): ..."}
        )
        with pytest.raises(ConfigurationError) as refused:
            FrontMcp("desk").check()
        assert refused.value.problems == [
            'plugin "acme.login" of acme-login 1.0 answers authenticate: '
            "name it in plugins= (or -p acme.login) to allow that"
        ]
        FrontMcp("desk", plugins=["acme.login"]).check()
        FrontMcp("desk", plugins=["no:acme.login"]).check()
        FrontMcp("desk", autoload_plugins=False).check()

    def test_answering_authenticate_by_another_name_does_not_help(self, install: Install) -> None:
        source = "class P(Plugin):\n    @hookimpl(specname='authenticate')\n    def harmless(self, request): ..."
        install("acme-login", {"acme.login": source})
        with pytest.raises(ConfigurationError, match=r"acme-login 1\.0 answers authenticate"):
            FrontMcp("desk").check()


class TestDuplicates:
    def test_two_given(self) -> None:
        text = problem(Named("own"), Named("own"))
        assert text.startswith('two plugins are named "own": plugins= and plugins=')

    def test_two_distributions(self, install: Install) -> None:
        install("acme-one", {"acme.audit": QUIET})
        install("acme-two", {"acme.audit": QUIET})
        text = problem()
        assert 'two plugins are named "acme.audit"' in text
        assert "acme-one 1.0" in text
        assert "acme-two 1.0" in text
        assert load("no:acme.audit").problems == []

    def test_one_given_and_one_installed(self, install: Install) -> None:
        install("acme-one", {"acme.audit": QUIET})
        assert problem(Named("acme.audit")).startswith('two plugins are named "acme.audit": plugins= and acme-one 1.0')
        assert active("no:acme.audit", Named("acme.audit")) == ["acme.audit"]

    def test_two_that_replace_one_built_in(self) -> None:
        assert 'two plugins are named "aliasing"' in problem(Named("aliasing"), Named("aliasing"))


class TestRequirements:
    def test_there(self) -> None:
        assert active(Named("b", "a", "aliasing"), Named("a")) == ["b", "a"]

    def test_missing_stops_the_start(self) -> None:
        assert problem(Named("b", "alaising")) == (
            'plugin "b" needs "alaising", which is not there; did you mean "aliasing"?'
        )

    def test_installed_but_not_loaded_says_so(self, install: Install) -> None:
        install("acme-audit", {"acme.audit": QUIET})
        assert problem(Named("b", "acme.audit"), autoload=False) == (
            'plugin "b" needs "acme.audit", which is installed but not loaded: name it in plugins='
        )

    def test_disabled_switches_its_dependants_off_and_shows_them(self) -> None:
        loader = load(Named("c", "b"), Named("b", "aliasing"), Named("other"), "no:aliasing")
        assert loader.problems == []
        shown = {info.name: (info.status, info.reason) for info in loader.infos if not info.is_active}
        assert shown == {
            "aliasing": ("disabled", "no:aliasing"),
            "b": ("off", 'needs "aliasing"'),
            "c": ("off", 'needs "b"'),
        }

    def test_such_a_server_starts(self) -> None:
        class Engine(Plugin):
            requires = ("aliasing",)

            @hookimpl
            def hook_of_the_one_it_needs(self, call: Any) -> None: ...

        FrontMcp("desk", plugins=[Engine, "no:aliasing"]).check()

    def test_a_missing_one_is_told_beside_a_disabled_one(self) -> None:
        assert problem(Named("b", "aliasing"), Named("c", "nowhere"), "no:aliasing").startswith('plugin "c" needs')

    def test_a_replacement_of_an_essential_one_must_not_be_off(self) -> None:
        assert 'plugin "progress" replaces a built-in that is needed' in problem(
            Named("progress", "aliasing"), "no:aliasing"
        )

    def test_a_swap_satisfies(self) -> None:
        assert active(Named("b", "aliasing"), Named("aliasing")) == ["b", "aliasing"]


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("requires", "jobs", 'requires must be a tuple of str: requires = ("jobs",)'),
        ("requires", None, 'requires must be a tuple of str: requires = ("jobs",)'),
        ("options", Option("audit"), 'options must be a tuple of Option: options = (Option("audit", bool),)'),
        ("options", ("audit",), 'options must be a tuple of Option: options = (Option("audit", bool),)'),
        ("kinds", "job", 'kinds must be a tuple of str: kinds = ("job",)'),
    ],
)
def test_what_a_plugin_says_of_itself_is_checked(attribute: str, value: Any, said: str) -> None:
    plugin = Named("own")
    setattr(plugin, attribute, value)
    assert problem(plugin) == f'plugin "own" (Named): {said}'


def test_many_problems_are_told_at_once() -> None:
    loader = load(42, "no:alaising", Named("b", "nowhere"), Named("one"), Named("one"), order=("two",))
    assert len(loader.problems) == 5
