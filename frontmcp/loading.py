"""Which plugins a server has, and in which order: the operator's words, what is installed, and the built-ins.

Nothing here raises for a mistake of configuration: problems are collected, so that all are told at once.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any, Literal, TypeAlias

from frontmcp.arguments import called
from frontmcp.definitions.base import snake_case
from frontmcp.errors import describe, nearest
from frontmcp.hooks import Option, Plugin, mark_of, marks
from frontmcp.hookspecs import HOOK_ATTRIBUTE

logger = logging.getLogger("frontmcp.plugins")

GROUP = "frontmcp.plugins"

BUILT_IN = {
    "visibility": "plugins_builtin.visibility:Visibility",
    "authorities": "plugins_builtin.authorities:Authorities",
    "guards": "plugins_builtin.guards:Guards",
    "agents": "plugins_builtin.agents:Agents",
    "jobs": "plugins_builtin.jobs:Jobs",
    "formatting": "plugins_builtin.formatting:Formatting",
    "progress": "plugins_builtin.progress:Progress",
    "channels": "plugins_builtin.channels:Channels",
    "aliasing": "plugins_builtin.aliasing:Aliasing",
}
"""The built-in plugins by name, in their order. Loaded by dotted name, so that the core imports none of them."""

ESSENTIAL = ("formatting", "progress")
"""Built-ins that can be replaced, but not switched off."""

_FORMS = {"requires": '"jobs"', "kinds": '"job"', "options": 'Option("audit", bool)'}

Status: TypeAlias = Literal["active", "disabled", "replaced", "off"]
PluginLike: TypeAlias = Any
"""A plugin: an instance, a class (made without arguments), a module, a decorated function; or an operator's word."""


@dataclass(slots=True, eq=False)
class PluginSettings:
    """What the operator says about plugins.

    :ivar plugins: plugins and words, in order: ``"no:NAME"`` disables, ``"NAME"`` allows an installed one,
        ``"package.module:attribute"`` loads one. Of words about the same name the last holds.
    :ivar order: names of plugins that run first.
    :ivar autoload: load installed plugins that were not named.
    :ivar sources: where a word of ``plugins`` or a name of ``plugin_order`` came from, by setting and word.
    """

    plugins: Sequence[PluginLike] = ()
    order: Sequence[str] = ()
    autoload: bool = True
    sources: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def told(self, setting: str, word: str) -> str:
        """A word, with the setting and the source that gave it, for messages."""
        source = self.sources.get((setting, word))
        return f'{setting} from {source}: "{word}"' if source is not None else f'{setting}: "{word}"'


@dataclass(slots=True, eq=False)
class PluginInfo:
    """One plugin, for reports.

    :ivar origin: ``"built-in"``, ``"plugins="``, or ``"installed"`` for an entry point, named or not.
    :ivar plugin: None where it was never loaded.
    :ivar distribution: ``"<name> <version>"`` of the distribution that brought it.
    :ivar status: ``"active"``, or why it is not: ``disabled`` by the operator, ``replaced``, ``off`` for a want.
    :ivar place: where it stands in the order; lower runs first.
    :ivar trusted: the operator named it.
    """

    name: str
    origin: Literal["built-in", "plugins=", "installed"]
    plugin: Any = None
    distribution: str | None = None
    status: Status = "active"
    reason: str = ""
    place: int = 0
    trusted: bool = True

    @property
    def is_active(self) -> bool:
        return self.status == "active"

    @property
    def hooks(self) -> list[str]:
        """The hooks it implements."""
        return sorted({mark.hook for mark in marks(self.plugin)}) if self.plugin is not None else []

    @property
    def title(self) -> str:
        """Names it in messages."""
        return f'plugin "{self.name}"' + (f" of {self.distribution}" if self.distribution else "")


class Loader:
    """Finds the plugins of a server, and settles which of them are active and where each stands.

    :ivar infos: every plugin that was met, active or not.
    :ivar problems: everything wrong that was found, in words.
    """

    def __init__(self, settings: PluginSettings) -> None:
        self.problems: list[str] = []
        self._settings = settings
        self._points = _entry_points()
        self._last_no, self._last_yes = _words(settings.plugins)
        for name in ESSENTIAL:
            if self._last_no.pop(name, None) is not None:
                told = settings.told("plugins", f"no:{name}")
                self.problems.append(f"{told}: {name} can be replaced by a plugin of that name, not switched off")
        given = list(self._given())
        self.infos = [*given, *self._installed({info.name for info in given}), *self._built_in()]
        self._refuse_unknown_words()
        self._settle_duplicates()
        self._place()
        self._check_attributes()
        self._settle_requirements()
        _log_installed(self.infos)

    @property
    def active(self) -> list[PluginInfo]:
        """The active plugins in their order."""
        return sorted((info for info in self.infos if info.is_active), key=lambda info: info.place)

    # Who there is

    def _given(self) -> Iterator[PluginInfo]:
        """The plugins of ``plugins=``, as written."""
        named: set[str] = set()
        for index, item in enumerate(self._settings.plugins):
            if not isinstance(item, str):
                found = self._from_object(item)
            elif item.startswith("no:") or item in named or self._is_disabled(item, index):
                continue
            elif item in self._points:
                named.add(item)
                found = self._from_entry_points(item, trusted=True)
            elif item in BUILT_IN:
                continue
            else:
                named.add(item)
                found = self._from_dotted_name(item)
            for info in found:
                if self._is_disabled(info.name, index):
                    _disable(info)
                yield info

    def _is_disabled(self, name: str, since: int) -> bool:
        """Whether the operator switches off what has this name, after the word at ``since``."""
        return self._last_no.get(name, -1) > since

    def _installed(self, given: set[str]) -> Iterator[PluginInfo]:
        """What distributions bring and nobody named, by name."""
        for name in sorted(self._points):
            if self._is_disabled(name, self._last_yes.get(name, -1)):
                for point in self._points[name]:
                    yield _disable(PluginInfo(name, "installed", None, _distribution(point)))
            elif self._settings.autoload and name not in self._last_yes:
                yield from self._from_entry_points(name, trusted=False)

    def _built_in(self) -> Iterator[PluginInfo]:
        for name, path in BUILT_IN.items():
            if self._is_disabled(name, self._last_yes.get(name, -1)):
                yield _disable(PluginInfo(name, "built-in"))
            else:
                yield PluginInfo(name, "built-in", _instance(load_dotted(path)))

    def _from_object(self, item: Any) -> Iterator[PluginInfo]:
        try:
            plugin = _instance(item)
        except Exception as error:
            self.problems.append(f"plugins: {called(item)} can't be made: {describe(error)}; give an instance")
            return
        if next(marks(plugin), None) is not None or isinstance(plugin, Plugin):
            yield PluginInfo(plugin_name(plugin), "plugins=", plugin)
        else:
            self.problems.append(
                f"plugins: {called(item)} is no plugin: nothing of it is marked with @hookimpl, Will, Did or Around"
            )

    def _from_dotted_name(self, name: str) -> Iterator[PluginInfo]:
        try:
            item = load_dotted(name)
        except Exception as error:
            module = name.partition(":")[0]
            missing = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
            wrong = "is neither an installed plugin nor a module" if missing else f"can't be loaded: {describe(error)}"
            told = self._settings.told("plugins", name)
            self.problems.append(f"{told} {wrong}{nearest(name, (*self._points, *BUILT_IN))}")
            return
        yield from self._from_object(item)

    def _from_entry_points(self, name: str, *, trusted: bool) -> Iterator[PluginInfo]:
        for point in self._points[name]:
            info = PluginInfo(name, "installed", None, _distribution(point), trusted=trusted)
            try:
                info.plugin = _instance(point.load())
            except Exception as error:
                self.problems.append(f'{info.title} can\'t be loaded: {describe(error)}; "no:{name}" switches it off')
                continue
            own = getattr(info.plugin, "name", None)
            if isinstance(own, str) and own != name:
                self.problems.append(f'{info.title}: its entry point and its name = "{own}" differ; make them equal')
            yield info

    # Who is active

    def _refuse_unknown_words(self) -> None:
        names = {info.name for info in self.infos}
        for name in self._last_no:
            if name not in names:
                told = self._settings.told("plugins", f"no:{name}")
                self.problems.append(f"{told}: there is no plugin of that name{nearest(name, names)}")
        for name in self._settings.order:
            if name not in names:
                told = self._settings.told("plugin_order", name)
                self.problems.append(f"{told}: there is no plugin of that name{nearest(name, names)}")

    def _settle_duplicates(self) -> None:
        """Two of one name stop the start, but for an operator's plugin that replaces a built-in."""
        first: dict[str, PluginInfo] = {}
        for info in self.infos:
            other = first.setdefault(info.name, info) if info.is_active else info
            if other is info:
                continue
            if info.origin != "built-in":
                info.status, info.reason = "off", f"named like {_source(other)}"
                self.problems.append(
                    f'two plugins are named "{info.name}": {_source(other)} and {_source(info)}; '
                    "rename one, or switch one off"
                )
            elif other.trusted:
                info.status, info.reason = "replaced", f"by {_source(other)}"
            else:
                other.status, other.reason = "off", "replaces a built-in without the operator's word"
                self.problems.append(
                    f"{other.title} replaces a built-in: name it in plugins= (or -p {info.name}) to allow that, "
                    "or uninstall it"
                )

    def _place(self) -> None:
        """The operator's order first, then as met; a swap stands where what it replaces stood."""
        replaced = {info.name: index for index, info in enumerate(self.infos) if info.status == "replaced"}
        preferred = list(self._settings.order)
        for index, info in enumerate(self.infos):
            info.place = replaced.get(info.name, index)
            if info.name in preferred:
                info.place = preferred.index(info.name) - len(preferred)

    def _check_attributes(self) -> None:
        for info in self.active:
            for attribute, type_ in (("requires", str), ("kinds", str), ("options", Option)):
                given = getattr(info.plugin, attribute, ())
                if not isinstance(given, list | tuple) or not all(isinstance(each, type_) for each in given):
                    form = f"must be a tuple of {type_.__name__}: {attribute} = ({_FORMS[attribute]},)"
                    self.problems.append(f"{info.title} ({called(type(info.plugin))}): {attribute} {form}")
                    info.status, info.reason = "off", f"{attribute} can't be read"

    def _settle_requirements(self) -> None:
        """A want of something the operator disabled switches a plugin off; any other want stops the start."""
        while wanting := [(info, missing) for info in self.active if (missing := self._missing(info)) is not None]:
            for info, missing in wanting:
                info.status, info.reason = "off", f'needs "{missing}"'
                if missing not in {each.name for each in self.infos}:
                    self.problems.append(f'{info.title} needs "{missing}", {self._why_absent(missing)}')
                elif info.name in ESSENTIAL:
                    self.problems.append(
                        f'{info.title} replaces a built-in that is needed, and needs "{missing}", which is off'
                    )

    def _missing(self, info: PluginInfo) -> str | None:
        active = {each.name for each in self.active}
        return next((name for name in getattr(info.plugin, "requires", ()) if name not in active), None)

    def _why_absent(self, name: str) -> str:
        if name in self._points:
            return "which is installed but not loaded: name it in plugins="
        return f"which is not there{nearest(name, [info.name for info in self.infos])}"


def _words(items: Iterable[PluginLike]) -> tuple[dict[str, int], dict[str, int]]:
    """Where the last ``"no:NAME"`` and the last ``"NAME"`` about each name stand."""
    no: dict[str, int] = {}
    yes: dict[str, int] = {}
    for index, item in enumerate(items):
        if isinstance(item, str):
            (no if item.startswith("no:") else yes)[item.removeprefix("no:")] = index
    return no, yes


def _entry_points() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return found


def _disable(info: PluginInfo) -> PluginInfo:
    info.status, info.reason = "disabled", f"no:{info.name}"
    return info


def _distribution(point: EntryPoint) -> str | None:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else None


def _source(info: PluginInfo) -> str:
    return info.distribution or info.origin


def _log_installed(infos: Iterable[PluginInfo]) -> None:
    for info in infos:
        if info.distribution is not None and info.is_active:
            logger.info('plugin "%s" comes from %s', info.name, info.distribution)


class _FunctionPlugin:
    """A function marked as a hook, as a plugin."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        setattr(self, getattr(function, HOOK_ATTRIBUTE).hook or function.__name__, function)


def _instance(item: Any) -> Any:
    if inspect.isclass(item):
        return item()
    return _FunctionPlugin(item) if mark_of(item) is not None else item


def plugin_name(plugin: Any) -> str:
    """A plugin's own name, else its function's, or its class's or module's in snake_case."""
    own = getattr(plugin, "__name__" if inspect.isroutine(plugin) else "name", None)
    if isinstance(own, str):
        return own
    if isinstance(plugin, ModuleType):
        return snake_case(plugin.__name__.rpartition(".")[2])
    return snake_case((plugin if inspect.isclass(plugin) else type(plugin)).__name__)


def load_dotted(path: str) -> Any:
    """The object of ``"package.module:attribute"``, or a module.

    :raises ImportError: there is no such module; `AttributeError` for the attribute.
    """
    module, _, attribute = path.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
