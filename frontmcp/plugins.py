"""Which plugins a server has, in which order, and their hooks compiled into chains.

Built on pluggy's public API: it keeps the registry and validates; ordering and awaiting are ours (`chain`).
Nothing here raises for a mistake of configuration: problems are collected, so that all are told at once.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, Literal, TypeAlias

import pluggy
from pydantic import PydanticUserError, TypeAdapter, ValidationError

from frontmcp import hookspecs
from frontmcp.chain import (
    Step,
    by_position,
    compile_all,
    compile_all_sync,
    compile_first,
    compile_first_sync,
)
from frontmcp.definitions.base import snake_case
from frontmcp.errors import ConfigurationError
from frontmcp.hooks import Option, Plugin
from frontmcp.hookspecs import HOOK_ATTRIBUTE, PROJECT, SPEC_ATTRIBUTE, HookKind, HookOptions
from frontmcp.registry import Entry, ToolEntry

GROUP = "frontmcp.plugins"

BUILT_IN = {
    "visibility": "plugins_builtin.visibility:Visibility",
    "formatting": "plugins_builtin.formatting:Formatting",
    "progress": "plugins_builtin.progress:Progress",
    "aliasing": "plugins_builtin.aliasing:Aliasing",
}
"""The built-in plugins by name, in their order. Loaded by dotted name, so that the core imports none of them."""

ESSENTIAL = frozenset({"formatting", "progress"})
"""Built-ins that can be replaced, but not switched off."""

CORE_KINDS = frozenset({"tool"})
NOT_FOR_AUTOLOAD = ("authenticate",)

Status: TypeAlias = Literal["active", "disabled", "replaced", "off"]
PluginLike: TypeAlias = Any
"""A plugin: an instance, a class (made without arguments), a module, a decorated function; or an operator's word."""


@dataclass(slots=True)
class PluginInfo:
    """One plugin, for reports.

    :ivar origin: ``"built-in"``, ``"plugins="`` or ``"installed"``.
    :ivar distribution: ``"<name> <version>"`` of the distribution that brought it.
    :ivar status: ``"active"``, or why it is not: ``disabled`` by the operator, ``replaced``, ``off`` for a want.
    :ivar place: where it stands in the order; lower runs first.
    """

    name: str
    origin: str
    plugin: Any = None
    distribution: str | None = None
    status: Status = "active"
    reason: str = ""
    place: int = 0
    trusted: bool = True

    @property
    def hooks(self) -> list[str]:
        return sorted({hook for hook, _ in _implementations(self.plugin)}) if self.plugin is not None else []


@dataclass(frozen=True, slots=True)
class Spec:
    """A hook that exists.

    :ivar names: its arguments, ``call_next`` last for a wrapper.
    """

    name: str
    kind: HookKind
    is_async: bool
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Implementation:
    """One implementation, ready to be ordered and compiled."""

    step: Step
    options: HookOptions
    key: tuple[int, int, int, int, int]

    def concerns(self, entry: Entry) -> bool:
        """Whether it belongs in the plan of an entry."""
        options = self.options
        if options.option is not None and entry.options.get(options.option) is None:
            return False
        if options.kinds is not None and not _is_of_kind(entry, options.kinds):
            return False
        return options.tools is None or any(
            fnmatchcase(entry.name, pattern) or fnmatchcase(entry.id, pattern) for pattern in options.tools
        )


def _is_of_kind(entry: Entry, kinds: Sequence[str]) -> bool:
    return entry.kind in kinds or ("tool" in kinds and isinstance(entry, ToolEntry))


class _Pluggy(pluggy.PluginManager):
    """pluggy's registry, which recognises our markers."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        options = _options_of(plugin, name)
        if options is None:
            return None
        return {
            "wrapper": False,
            "hookwrapper": False,
            "optionalhook": False,
            "tryfirst": options.tryfirst,
            "trylast": options.trylast,
            "specname": options.hook,
        }


def _options_of(plugin: Any, name: str) -> HookOptions | None:
    if isinstance(inspect.getattr_static(plugin, name, None), property):
        return None
    found = getattr(getattr(plugin, name, None), HOOK_ATTRIBUTE, None)
    return found if isinstance(found, HookOptions) else None


def _implementations(plugin: Any) -> Iterator[tuple[str, str]]:
    """The hooks a plugin implements: pairs of hook name and attribute name."""
    for name in dir(plugin):
        options = _options_of(plugin, name)
        if options is not None and (name != "declare_options" or getattr(plugin, "options", ())):
            yield options.hook or name, name


class _FunctionPlugin:
    """A plain function decorated with `Will`, `Did`, `Around` or `hookimpl`, as a plugin."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        setattr(self, getattr(function, HOOK_ATTRIBUTE).hook or function.__name__, function)


@dataclass(slots=True)
class PluginSettings:
    """What the operator says about plugins.

    :ivar plugins: plugins and words, in order: ``"no:NAME"`` disables, ``"NAME"`` allows an installed one.
    :ivar order: names of plugins that run first.
    :ivar autoload: load installed plugins that were not named.
    """

    plugins: Sequence[PluginLike] = ()
    order: Sequence[str] = ()
    autoload: bool = True


class PluginManager:
    """The plugins of one server.

    :ivar problems: everything wrong that was found so far, in words.
    :ivar infos: every plugin that was met, active or not.
    """

    def __init__(self, settings: PluginSettings) -> None:
        self.problems: list[str] = []
        self.infos: list[PluginInfo] = []
        self._settings = settings
        self._pluggy = _Pluggy(PROJECT)
        self._specs: dict[str, Spec] = {}
        self._implementations: dict[str, list[Implementation]] = {}
        self._claims: dict[tuple[str, str], tuple[Option, str]] = {}
        self._kinds: dict[str, str] = dict.fromkeys(CORE_KINDS, "core")
        self.add_hookspecs(hookspecs)
        self._collect()
        self._register()
        self._claim()

    # Loading

    def add_hookspecs(self, namespace: Any) -> None:
        """Add the hooks that a module, class or object specifies; for `register_hookspecs`."""
        self._pluggy.add_hookspecs(namespace)
        for name in dir(namespace):
            function = getattr(namespace, name)
            kind = getattr(function, SPEC_ATTRIBUTE, None)
            if kind is None:
                continue
            names = tuple(each for each in inspect.signature(function).parameters if each != "self")
            self._specs[name] = Spec(name, kind, inspect.iscoroutinefunction(function), names)

    def _collect(self) -> None:
        """Find every plugin: the operator's, the installed, the built-in; and settle who is active."""
        given, disabled, named = self._operator_words()
        installed = list(self._installed(named))
        built_in = list(self._built_in(disabled))
        infos = [*given, *sorted(installed, key=lambda info: info.name), *built_in]
        for info in infos:
            if info.name in disabled and info.status == "active":
                info.status, info.reason = "disabled", f"no:{info.name}"
        self._refuse_unknown_words(disabled, infos)
        self._settle_duplicates(infos)
        self._place(infos)
        self.infos = infos
        self._settle_requirements({info.name for info in infos if info.status == "disabled"})

    def _operator_words(self) -> tuple[list[PluginInfo], set[str], list[str]]:
        """``plugins=``, read: plugins given, names disabled, names of installed plugins."""
        given: list[PluginInfo] = []
        disabled: set[str] = set()
        named: list[str] = []
        for item in self._settings.plugins:
            if not isinstance(item, str):
                given.extend(self._from_object(item))
            elif item.startswith("no:"):
                disabled.add(item.removeprefix("no:"))
            elif item in BUILT_IN:
                disabled.discard(item)
            else:
                named.append(item)
        for name in disabled & ESSENTIAL:
            if not any(info.name == name for info in given):
                self.problems.append(f'plugins: "no:{name}": {name} can be replaced by a plugin of that name, not switched off')
        return given, disabled, named

    def _from_object(self, item: Any) -> Iterator[PluginInfo]:
        try:
            plugin = _instance(item)
        except Exception as error:
            self.problems.append(f"plugins: {item!r} can't be made without arguments: {error}; give an instance")
            return
        if isinstance(plugin, ModuleType) or list(_implementations(plugin)) or isinstance(plugin, Plugin):
            yield PluginInfo(plugin_name(plugin), "plugins=", plugin)
        else:
            self.problems.append(f"plugins: {item!r} is no plugin: it has no method marked with @hookimpl, Will, Did or Around")

    def _installed(self, named: Sequence[str]) -> Iterator[PluginInfo]:
        points = {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}
        for name in named:
            if name not in points:
                yield from self._from_dotted_name(name, list(points))
        for name, point in points.items():
            if name in named or self._settings.autoload:
                yield from self._from_entry_point(point, trusted=name in named)

    def _from_dotted_name(self, name: str, points: Sequence[str]) -> Iterator[PluginInfo]:
        try:
            item = load_dotted(name)
        except (ImportError, AttributeError, ValueError):
            self.problems.append(f'plugins: "{name}" is neither an installed plugin nor importable{nearest(name, points)}')
            return
        yield from self._from_object(item)

    def _from_entry_point(self, point: importlib.metadata.EntryPoint, *, trusted: bool) -> Iterator[PluginInfo]:
        distribution = f"{point.dist.name} {point.dist.version}" if point.dist is not None else None
        if f"no:{point.name}" in self._settings.plugins:
            yield PluginInfo(point.name, "installed", None, distribution)
            return
        try:
            plugin = _instance(point.load())
        except Exception as error:
            self.problems.append(f'plugin "{point.name}" of {distribution} can\'t be loaded: {error}')
            return
        own = getattr(plugin, "name", None)
        if isinstance(own, str) and own != point.name:
            self.problems.append(f'plugin "{point.name}" of {distribution}: its class says name = "{own}"; make them equal')
        yield PluginInfo(point.name, "installed", plugin, distribution, trusted=trusted)

    def _built_in(self, disabled: set[str]) -> Iterator[PluginInfo]:
        for name, path in BUILT_IN.items():
            plugin = None if name in disabled and name not in ESSENTIAL else _instance(load_dotted(path))
            yield PluginInfo(name, "built-in", plugin)

    def _refuse_unknown_words(self, disabled: set[str], infos: Sequence[PluginInfo]) -> None:
        names = {info.name for info in infos} | set(BUILT_IN)
        for name in sorted(disabled - names):
            self.problems.append(f'plugins: "no:{name}": there is no plugin of that name{nearest(name, names)}')
        for name in self._settings.order:
            if name not in names:
                self.problems.append(f'plugin_order: there is no plugin "{name}"{nearest(name, names)}')

    def _settle_duplicates(self, infos: Sequence[PluginInfo]) -> None:
        """Two of one name stop the start, but for an operator's plugin that replaces a built-in."""
        first: dict[str, PluginInfo] = {}
        for info in infos:
            if info.status != "active":
                continue
            other = first.setdefault(info.name, info)
            if other is info:
                continue
            if info.origin == "built-in" and (other.origin == "plugins=" or other.trusted):
                info.status, info.reason = "replaced", f"by {other.origin} {other.distribution or ''}".strip()
            elif info.origin == "built-in":
                other.status, other.reason = "off", "replaces a built-in without the operator's word"
                self.problems.append(
                    f'plugin "{info.name}" of {other.distribution} replaces a built-in: '
                    f'name it in plugins= (or -p {info.name}) to allow that, or switch it off with "no:{info.name}"'
                )
            else:
                info.status = "off"
                self.problems.append(f'two plugins are named "{info.name}" ({other.origin} and {info.origin}); rename one')

    def _place(self, infos: Sequence[PluginInfo]) -> None:
        """The operator's order first, then as met; a swap stands where what it replaces stood."""
        replaced = {info.name: index for index, info in enumerate(infos) if info.status == "replaced"}
        preferred = list(self._settings.order)
        for index, info in enumerate(infos):
            info.place = replaced.get(info.name, index)
            if info.name in preferred:
                info.place = preferred.index(info.name) - len(preferred)

    def _settle_requirements(self, disabled: set[str]) -> None:
        """A want of something the operator disabled switches a plugin off; any other want stops the start."""
        changed = True
        while changed:
            changed = False
            active = {info.name for info in self.infos if info.status == "active"}
            off = disabled | {info.name for info in self.infos if info.status == "off"}
            for info in self.infos:
                missing = [name for name in getattr(info.plugin, "requires", ()) if name not in active]
                if info.status != "active" or not missing:
                    continue
                info.status, info.reason, changed = "off", f"needs {missing[0]}", True
                if not off.issuperset(missing):
                    self.problems.append(f'plugin "{info.name}" needs "{missing[0]}", which is not there{nearest(missing[0], active)}')

    # Registration

    def _active(self) -> list[PluginInfo]:
        return sorted((info for info in self.infos if info.status == "active"), key=lambda info: info.place)

    def _register(self) -> None:
        """Let plugins add hooks, then validate and register all of them."""
        for info in self._active():
            add = getattr(info.plugin, "register_hookspecs", None)
            if add is not None and getattr(add, HOOK_ATTRIBUTE, None) is not None:
                add(self)
        for info in self._active():
            problems = list(self._check_plugin(info))
            self.problems.extend(problems)
            if not problems:
                self._pluggy.register(info.plugin, name=info.name)
        self._order()

    def _check_plugin(self, info: PluginInfo) -> Iterator[str]:
        for hook, name in _implementations(info.plugin):
            function = getattr(info.plugin, name)
            where = f'plugin "{info.name}", {_where(function)}'
            spec = self._specs.get(hook)
            if spec is None:
                yield f'{where}: there is no hook "{hook}"{nearest(hook, self._specs)}'
                continue
            yield from self._check_implementation(spec, function, where)
            if info.origin == "installed" and not info.trusted and hook in NOT_FOR_AUTOLOAD:
                yield f'plugin "{info.name}" of {info.distribution} answers {hook}: name it in plugins= (or -p {info.name}) to allow that'
        yield from self._check_forgotten_marks(info)

    def _check_implementation(self, spec: Spec, function: Callable[..., Any], where: str) -> Iterator[str]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            yield f'{where}: a hook is no generator; write "async def {spec.name}(self, call, call_next)" and await call_next()'
            return
        if inspect.iscoroutinefunction(function) and not spec.is_async:
            yield f'{where}: the hook {spec.name} is called synchronously; write "def", not "async def"'
        for argument in _arguments(function):
            if argument not in spec.names:
                given = ", ".join(spec.names)
                yield f'{where}: the hook {spec.name}({given}) has no argument "{argument}"{nearest(argument, spec.names)}'
        if spec.kind == "wrapper" and "call_next" not in _arguments(function):
            yield f'{where}: the hook {spec.name} is a wrapper; take "call_next" and await call_next()'

    def _check_forgotten_marks(self, info: PluginInfo) -> Iterator[str]:
        """A method called like a hook that is no hook would fail open."""
        if isinstance(info.plugin, ModuleType):
            return
        for name in self._specs:
            method = getattr(type(info.plugin), name, None)
            if inspect.isfunction(method) and _options_of(info.plugin, name) is None:
                yield f'plugin "{info.name}", {_where(method)}: "{name}" is called like a hook but not marked; add @hookimpl'

    def _order(self) -> None:
        """Sort what pluggy keeps by our one key."""
        places = {info.name: info.place for info in self._active()}
        for name, spec in self._specs.items():
            caller = getattr(self._pluggy.hook, name)
            found = [
                self._implementation(spec, impl.plugin_name, impl.plugin, impl.function, places[impl.plugin_name])
                for impl in caller.get_hookimpls()
            ]
            self._implementations[name] = sorted(found, key=lambda each: each.key)

    def _implementation(
        self, spec: Spec, plugin_name: str, plugin: Any, function: Callable[..., Any], place: int
    ) -> Implementation:
        options: HookOptions = getattr(function, HOOK_ATTRIBUTE)
        step = Step(
            plugin_name, spec.name, by_position(function, _arguments(function), spec.names), function, spec.is_async
            and inspect.iscoroutinefunction(function),
        )  # fmt: skip
        base, line = _source_order(plugin, function)
        return Implementation(step, options, (options.zone, place, options.priority, base, line))

    # Claims

    def _claim(self) -> None:
        for info in self._active():
            for kind in getattr(info.plugin, "kinds", ()):
                if self._kinds.setdefault(kind, info.name) != info.name:
                    self.problems.append(f'plugins "{self._kinds[kind]}" and "{info.name}" both claim the kind "{kind}"')
            for option in self._declared(info):
                self._claim_option(option, info)
        for implementations in self._implementations.values():
            for each in implementations:
                name = each.options.option
                if name is not None and not self._claimed_by(name):
                    known = {claimed for _, claimed in self._claims}
                    self.problems.append(
                        f'plugin "{each.step.plugin}", {_where(each.step.source)}: option="{name}" is claimed by no plugin{nearest(name, known)}'
                    )

    def _declared(self, info: PluginInfo) -> Iterator[Option]:
        if isinstance(info.plugin, ModuleType):
            yield from getattr(info.plugin, "options", ())
        declare = getattr(info.plugin, "declare_options", None)
        if declare is not None and getattr(declare, HOOK_ATTRIBUTE, None) is not None:
            try:
                yield from declare() or ()
            except Exception as error:
                self.problems.append(f'plugin "{info.name}", {_where(declare)}: declare_options failed: {error}')

    def _claim_option(self, option: Option, info: PluginInfo) -> None:
        for scope in ("server",) if option.server else option.kinds or ("*",):
            rival = self._rival(scope, option.name)
            if rival is not None:
                self.problems.append(f'plugins "{rival}" and "{info.name}" both claim the option "{option.name}"')
            else:
                self._claims[(scope, option.name)] = (option, info.name)

    def _rival(self, scope: str, name: str) -> str | None:
        for (other, claimed), (_, plugin) in self._claims.items():
            overlap = scope == other or ("server" not in (scope, other) and "*" in (scope, other))
            if claimed == name and overlap:
                return plugin
        return None

    def _claimed_by(self, name: str) -> str | None:
        return next((plugin for (_, claimed), (_, plugin) in self._claims.items() if claimed == name), None)

    def check_options(self, scope: str, options: dict[str, Any], where: str) -> list[str]:
        """Check and validate options of an entry (or of the server) in place; what is wrong, in words.

        :param scope: the entry's kind, or ``"server"``.
        :param where: the thing and its place, for messages.
        """
        problems = []
        for name, value in options.items():
            claim = self._claims.get((scope, name)) or (self._claims.get(("*", name)) if scope != "server" else None)
            if claim is None:
                problems.append(f"{where}: {self._unclaimed(scope, name)}")
                continue
            try:
                options[name] = TypeAdapter(claim[0].type).validate_python(value)
            except ValidationError as error:
                detail = "; ".join(_problem(each) for each in error.errors(include_url=False, include_input=False))
                problems.append(f"{where}: option {name}: {detail}")
            except PydanticUserError as error:
                problems.append(f'plugin "{claim[1]}": option {name}: {str(error).splitlines()[0]}')
        return problems

    def _unclaimed(self, scope: str, name: str) -> str:
        known = {claimed for where, claimed in self._claims if (where == "server") == (scope == "server")}
        off = [info.name for info in self.infos if info.status != "active" and _would_claim(info, name)]
        hint = f' (the plugin "{off[0]}", which claims it, is not active)' if off else nearest(name, known)
        return f'no plugin claims the option "{name}"{hint}'

    def check_kind(self, kind: str) -> str | None:
        """What is wrong with an entry of this kind, in words; None when somebody runs it."""
        return None if kind in self._kinds else f"no plugin claims the kind {kind}"

    # Chains

    def steps(self, hook: str, entry: Entry | None = None) -> list[Step]:
        """The implementations of a hook, in order; only those that concern ``entry``, when given."""
        return [
            each.step for each in self._implementations[hook] if entry is None or each.concerns(entry)
        ]

    def unbound_steps(self, hook: str) -> list[Step]:
        """The implementations that are not narrowed to some entries, for a call that found none."""
        return [
            each.step
            for each in self._implementations[hook]
            if each.options.option is None and each.options.kinds is None and each.options.tools is None
        ]

    def chain(self, hook: str, entry: Entry | None = None) -> Callable[..., Any] | None:
        """A hook that is no wrapper, compiled; None when nobody implements it for ``entry``."""
        spec, steps = self._specs[hook], self.steps(hook, entry)
        if spec.is_async:
            return compile_first(steps) if spec.kind == "first" else compile_all(steps)
        return compile_first_sync(steps) if spec.kind == "first" else compile_all_sync(steps)

    def call(self, hook: str, *arguments: Any) -> Any:
        """Call a sync hook by name, a plugin's own included.

        :returns: the first answer, or the list of all answers, by the hook's kind.
        """
        chain = self.chain(hook)
        if chain is None:
            return None if self._specs[hook].kind == "first" else []
        return chain(*arguments)

    @property
    def specs(self) -> dict[str, Spec]:
        """Every hook that exists, by name."""
        return self._specs

    def own_steps(self, entry: Entry, owner: Any, context_of: Callable[[Any, Any], Any]) -> dict[str, list[Implementation]]:
        """The hooks that a tool's class marks with `Will`, `Did` or `Around`, for that tool alone.

        :param owner: the class.
        :param context_of: gives the instance that runs a call.
        :raises ConfigurationError: one of them can't be a hook, in words.
        """
        found: dict[str, list[Implementation]] = {}
        for name in dir(owner):
            options = _options_of(owner, name)
            if options is None:
                continue
            hook, function = options.hook or name, getattr(owner, name)
            spec = self._specs.get(hook)
            where = f'{entry.kind} "{entry.id}", {_where(function)}'
            if spec is None:
                raise ConfigurationError(f'{where}: there is no hook "{hook}"{nearest(hook, self._specs)}')
            if hook not in ("will_execute", "did_execute", "around_execute"):
                raise ConfigurationError(f"{where}: a class can have Will, Did and Around hooks; put {hook} in a plugin")
            if problems := list(self._check_implementation(spec, function, where)):
                raise ConfigurationError(problems)
            found.setdefault(hook, []).append(self._own(spec, entry, owner, function, options, context_of))
        return found

    def _own(
        self, spec: Spec, entry: Entry, owner: type, function: Callable[..., Any], options: HookOptions,
        context_of: Callable[[Any, Any], Any],
    ) -> Implementation:  # fmt: skip
        positional = by_position(function, ("self", *_arguments(function)), ("self", *spec.names))

        def bound(call: Any, *rest: Any) -> Any:
            return positional(context_of(call, owner), call, *rest)

        step = Step(entry.id, spec.name, bound, function, inspect.iscoroutinefunction(function))
        line = function.__code__.co_firstlineno
        return Implementation(step, options, (options.zone, len(self.infos), options.priority, 0, line))

    def ordered(self, hook: str, entry: Entry, own: Iterable[Implementation]) -> list[Step]:
        """`steps`, with a tool's own hooks among them; its own stand nearest to the body."""
        plugins = [each for each in self._implementations[hook] if each.concerns(entry)]
        return [each.step for each in sorted([*plugins, *own], key=lambda each: each.key)]


def _instance(item: Any) -> Any:
    if inspect.isclass(item):
        return item()
    if inspect.isfunction(item) and hasattr(item, HOOK_ATTRIBUTE):
        return _FunctionPlugin(item)
    return item


def plugin_name(plugin: Any) -> str:
    """A plugin's own name, else its class's or module's in snake_case."""
    own = getattr(plugin, "name", None)
    if isinstance(own, str):
        return own
    if isinstance(plugin, ModuleType):
        return plugin.__name__.rpartition(".")[2]
    return snake_case(type(plugin).__name__)


def load_dotted(path: str) -> Any:
    """The object of ``"package.module:attribute"``, or a module.

    :raises ImportError: there is no such module; `AttributeError` for the attribute.
    """
    module, _, attribute = path.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean "…"?`` with the nearest known name, or nothing."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f'; did you mean "{matches[0]}"?' if matches else ""


def _arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name != "self")


def _where(function: Any) -> str:
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(plain, "__code__", None)
    name = getattr(plain, "__name__", repr(plain))
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name


def _source_order(plugin: Any, function: Callable[..., Any]) -> tuple[int, int]:
    """Base classes first, then by line."""
    plain = getattr(function, "__func__", function)
    classes = [] if isinstance(plugin, ModuleType) else list(reversed(type(plugin).__mro__))
    depth = next((i for i, each in enumerate(classes) if plain in vars(each).values()), 0)
    code = getattr(inspect.unwrap(plain), "__code__", None)
    return depth, code.co_firstlineno if code is not None else 0


def _would_claim(info: PluginInfo, name: str) -> bool:
    options: Iterable[Any] = getattr(info.plugin, "options", ()) if info.plugin is not None else ()
    if info.plugin is None and info.name in BUILT_IN:
        options = getattr(load_dotted(BUILT_IN[info.name]), "options", ())
    return any(option.name == name for option in options)


def _problem(issue: Any) -> str:
    path = ".".join(str(step) for step in issue["loc"])
    return f"{path}: {issue['msg']}" if path else str(issue["msg"])
