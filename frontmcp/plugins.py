"""The plugins of one server, and their hooks compiled into chains.

Built on pluggy's public API: it keeps the registry and validates; ordering and awaiting are ours (`chain`).
Nothing here raises for a mistake of configuration: problems are collected, so that all are told at once.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeAlias

import pluggy

from frontmcp import hookspecs
from frontmcp.chain import (
    Step,
    add_note,
    blame,
    by_position,
    compile_all,
    compile_all_sync,
    compile_first,
    compile_first_sync,
    compile_wrappers,
)
from frontmcp.checks import arguments, check_hook, check_plugin, is_sound, source
from frontmcp.claims import Claims
from frontmcp.errors import ConfigurationError, closest, describe, nearest
from frontmcp.hooks import Mark, marks
from frontmcp.hookspecs import PROJECT, HookOptions, Spec, read_specs
from frontmcp.loading import Loader, PluginSettings
from frontmcp.loading import PluginInfo as PluginInfo
from frontmcp.registry import Entry

NOT_FOR_AUTOLOAD = ("authenticate",)
SHORTEST_STEM = 3
"""What a pattern shorter than this, but for its stars, was meant as can't be told."""
ON_CLASSES = ("will_execute", "did_execute", "around_execute")

Chain: TypeAlias = Callable[..., Any]
ContextOf: TypeAlias = Callable[[Any, Any], Any]
"""Gives the context that runs a call, an instance of the class."""


class Implementation(NamedTuple):
    """One implementation, ready to be ordered and compiled.

    :ivar key: its zone, its plugin's place, its priority, its place in the source.
    """

    step: Step
    options: HookOptions
    key: tuple[int, int, int, int]

    def concerns(self, entry: Entry) -> bool:
        """Whether it belongs in the plan of an entry."""
        options = self.options
        if options.option is not None and entry.options.get(options.option) is None:
            return False
        if options.kinds is not None and set(options.kinds).isdisjoint(entry.kinds):
            return False
        return options.tools is None or any(
            fnmatchcase(entry.name, pattern) or fnmatchcase(entry.id, pattern) for pattern in options.tools
        )


class _Pluggy(pluggy.PluginManager):
    """pluggy's registry, which recognises our marks and keeps each beside its implementation."""

    def register_marked(self, plugin: Any, name: str) -> None:
        self._marks = {mark.attribute: mark for mark in marks(plugin)}
        self.register(plugin, name)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        mark = self._marks.get(name)
        if mark is None:
            return None
        return {
            "wrapper": False,
            "hookwrapper": False,
            "optionalhook": False,
            "tryfirst": mark.options.zone < 0,
            "trylast": mark.options.zone > 0,
            "specname": mark.hook,
            "mark": mark,
        }


class PluginManager:
    """The plugins of one server.

    :ivar problems: everything wrong that was found so far, in words.
    :ivar infos: every plugin that was met, active or not.
    :ivar claims: the options and kinds they claim.
    """

    def __init__(self, settings: PluginSettings) -> None:
        loader = Loader(settings)
        self.problems = loader.problems
        self.infos = loader.infos
        self._pluggy = _Pluggy(PROJECT)
        self._specs: dict[str, Spec] = {}
        self._implementations: dict[str, list[Implementation]] = {}
        self._chains: dict[str, Chain | None] = {}
        self.add_hookspecs(hookspecs)
        for info in loader.active:
            self._add_hookspecs_of(info)
        for info in loader.active:
            self._register(info)
        self._sort()
        self.claims = Claims(self.infos, self._specs)
        self.problems.extend(self.claims.problems)
        self.problems.extend(self._unclaimed_narrowing())

    # Registration

    def add_hookspecs(self, namespace: Any) -> None:
        """Add the hooks that a module, class or object specifies; for `register_hookspecs`.

        :raises ConfigurationError: one of them exists already, or can't be a hook.
        """
        found = list(read_specs(namespace))
        for spec in found:
            if spec.name in self._specs:
                raise ConfigurationError(f'the hook "{spec.name}" exists already; choose another name')
            if spec.kind == "wrapper" and not (spec.is_async and spec.names[1:][-1:] == ("call_next",)):
                raise ConfigurationError(
                    f'the wrapper hook "{spec.name}" must be "async def {spec.name}(…, call_next)"'
                )
        self._pluggy.add_hookspecs(namespace)
        self._specs.update((spec.name, spec) for spec in found)

    def _add_hookspecs_of(self, info: PluginInfo) -> None:
        for mark in marks(info.plugin):
            if mark.hook == "register_hookspecs" and is_sound(info.plugin, mark, self._specs):
                try:
                    getattr(info.plugin, mark.attribute)(self)
                except Exception as error:
                    self.problems.append(f"{info.title}, {source(mark.function)}: {describe(error)}")

    def _register(self, info: PluginInfo) -> None:
        """Let pluggy keep a plugin that has no problem."""
        problems = list(check_plugin(info.plugin, info.title, self._specs))
        if not info.trusted:
            problems += [
                f"{info.title} answers {hook}: name it in plugins= (or -p {info.name}) to allow that"
                for hook in NOT_FOR_AUTOLOAD
                if hook in info.hooks
            ]
        self.problems.extend(problems)
        if not problems:
            try:
                self._pluggy.register_marked(info.plugin, info.name)
            except ValueError as error:
                self.problems.append(f"{info.title}: {describe(error)}")

    def _sort(self) -> None:
        """Sort what pluggy keeps by our one key."""
        infos = {info.name: info for info in self.infos if info.is_active}
        for name, spec in self._specs.items():
            kept = getattr(self._pluggy.hook, name).get_hookimpls()
            found = [self._implementation(spec, infos[each.plugin_name], each.opts["mark"]) for each in kept]
            self._implementations[name] = sorted(found, key=lambda each: each.key)

    def _implementation(self, spec: Spec, info: PluginInfo, mark: Mark) -> Implementation:
        function, options = getattr(info.plugin, mark.attribute), mark.options
        names = [parameter.name for parameter in arguments(info.plugin, mark)]
        positional = by_position(function, names, spec.names)
        step = Step(info.name, spec.name, positional, function, inspect.iscoroutinefunction(function))
        return Implementation(step, options, (options.zone, info.place, options.priority, mark.position))

    def _unclaimed_narrowing(self) -> Iterator[str]:
        known = self.claims.names()
        for each in itertools.chain.from_iterable(self._implementations.values()):
            name = each.options.option
            if name is not None and name not in known:
                where = f'plugin "{each.step.plugin}", {source(each.step.source)}'
                yield f'{where}: option="{name}": no plugin claims that option{nearest(name, known)}'

    # Chains

    @property
    def specs(self) -> Mapping[str, Spec]:
        """Every hook that exists, by name."""
        return self._specs

    def steps(self, hook: str, entry: Entry | None = None) -> list[Step]:
        """The implementations of a hook, in order; only those that concern ``entry``, when given."""
        return [each.step for each in self._implementations[hook] if entry is None or each.concerns(entry)]

    def is_built_in(self, name: str) -> bool:
        """Whether the active plugin of a name is the built-in one, not what replaces it."""
        return any(info.is_active and info.name == name and info.origin == "built-in" for info in self.infos)

    def unmatched(self, entries: Sequence[Entry]) -> Iterator[str]:
        """Hooks narrowed by ``tools=`` to patterns that match no entry: most likely misspelt, in words."""
        names = [entry.name for entry in entries]
        for each in itertools.chain.from_iterable(self._implementations.values()):
            patterns = each.options.tools
            if patterns and not any(each.concerns(entry) for entry in entries):
                near = next(filter(None, (_meant(pattern, names) for pattern in patterns)), "")
                told = f"tools={', '.join(map(repr, patterns))} matches no tool{near}"
                yield f'plugin "{each.step.plugin}", {each.step.place}: {told}'

    def unbound_steps(self, hook: str) -> list[Step]:
        """The implementations that are not narrowed to some entries, for a call that found none."""
        return [each.step for each in self._implementations[hook] if not each.options.narrows]

    def chain(self, hook: str, entry: Entry | None = None) -> Chain | None:
        """A hook that is no wrapper, compiled; None when nobody implements it for ``entry``.

        Which plugins there are does not change: for no entry it is compiled once.
        """
        if entry is not None:
            return _compile(self._specs[hook], self.steps(hook, entry))
        if hook not in self._chains:
            self._chains[hook] = _compile(self._specs[hook], self.steps(hook))
        return self._chains[hook]

    def call(self, hook: str, *arguments: Any) -> Any:
        """Call a hook by name, a plugin's own included; an async one is to be awaited.

        Implementations that are narrowed to some entries run where ``call`` or ``entry`` among the arguments is one
        of those. Of a wrapper hook the last argument is the ``call_next`` that its implementations surround.

        :returns: the first answer, the list of all answers that are not None, or what the wrappers give.
        :raises LookupError: there is no such hook.
        """
        spec = self._specs.get(hook)
        if spec is None:
            raise LookupError(f'there is no hook "{hook}"{nearest(hook, self._specs)}')
        if len(arguments) != len(spec.names):
            raise TypeError(f"the hook {spec.signature} takes {len(spec.names)} arguments, not {len(arguments)}")
        steps = self.steps(hook, _entry_among(spec, arguments))
        if spec.is_async:
            return _call_async(spec, steps, arguments)
        try:
            return _call(spec, steps, arguments)
        except Exception as error:
            _blame(error, steps)
            raise

    def collect(self, problems: list[str], hook: str, *arguments: Any) -> list[Any]:
        """Call a hook of the start, every implementation; what one raises becomes a problem that names its place.

        :returns: the answers of those that did not fail.
        """
        answers = []
        for step in self.steps(hook, _entry_among(self._specs[hook], arguments)):
            try:
                answer = step.function(*arguments)
            except ConfigurationError as error:
                problems.extend(error.problems)
            except Exception as error:
                where = f'plugin "{step.plugin}", {source(step.source)}'
                problems.append(f"{where}: failed: {type(error).__name__}: {error}")
            else:
                if answer is not None:
                    answers.append(answer)
        return answers

    # Hooks of a tool's own class

    def own_steps(self, entry: Entry, owner: type, context_of: ContextOf) -> dict[str, list[Implementation]]:
        """The hooks that a tool's class marks with `Will`, `Did` or `Around`, for that tool alone.

        :param owner: the class.
        :param context_of: gives the instance that runs a call.
        :raises ConfigurationError: they can't be hooks; lists every problem.
        """
        found: dict[str, list[Implementation]] = {}
        problems: list[str] = []
        for mark in marks(owner):
            title = f'{entry.kind} "{entry.id}"'
            wrong = [*check_hook(owner, mark, title, self._specs), *_not_for_classes(mark, title)]
            problems.extend(wrong)
            if not wrong:
                found.setdefault(mark.hook, []).append(self._own(entry, owner, mark, context_of))
        if problems:
            raise ConfigurationError(problems)
        return found

    def _own(self, entry: Entry, owner: type, mark: Mark, context_of: ContextOf) -> Implementation:
        spec, names = self._specs[mark.hook], [parameter.name for parameter in arguments(owner, mark)]
        positional = by_position(mark.function, ("self", *names), ("self", *spec.names))

        def bound(call: Any, *rest: Any) -> Any:
            return positional(context_of(call, owner), call, *rest)

        step = Step(entry.id, spec.name, bound, mark.function, inspect.iscoroutinefunction(mark.function))
        return Implementation(
            step, mark.options, (mark.options.zone, len(self.infos), mark.options.priority, mark.position)
        )

    def ordered(self, hook: str, entry: Entry, own: Iterable[Implementation]) -> list[Step]:
        """`steps`, with a tool's own hooks among them; its own stand nearest to the body."""
        plugins = [each for each in self._implementations[hook] if each.concerns(entry)]
        return [each.step for each in sorted([*plugins, *own], key=lambda each: each.key)]


def _not_for_classes(mark: Mark, title: str) -> Iterator[str]:
    where, options = f"{title}, {source(mark.function)}", mark.options
    if mark.hook not in ON_CLASSES:
        yield f"{where}: a class can have Will, Did and Around hooks; put {mark.hook} in a plugin"
    if isinstance(mark.function, staticmethod | classmethod):
        yield f"{where}: a hook of a class is a plain method"
    if options.tools is not None or options.option is not None:
        yield f"{where}: a hook of a class is for that class alone; drop tools= and option="


def _entry_among(spec: Spec, arguments: Sequence[Any]) -> Any:
    """The entry that a hook is called for, if it is for one."""
    if "entry" in spec.names:
        return arguments[spec.names.index("entry")]
    return getattr(arguments[spec.names.index("call")], "entry", None) if "call" in spec.names else None


def _compile(spec: Spec, steps: Sequence[Step]) -> Chain | None:
    if spec.is_async:
        return compile_first(steps) if spec.kind == "first" else compile_all(steps)
    return compile_first_sync(steps) if spec.kind == "first" else compile_all_sync(steps)


def _call(spec: Spec, steps: Sequence[Step], arguments: Sequence[Any]) -> Any:
    chain = _compile(spec, steps)
    if chain is None:
        return None if spec.kind == "first" else []
    return chain(*arguments)


async def _call_async(spec: Spec, steps: Sequence[Step], arguments: Sequence[Any]) -> Any:
    try:
        if spec.kind == "wrapper":
            *subject, call_next = arguments
            return await compile_wrappers(steps, lambda *_: _resume(call_next))(*subject)
        answer = _call(spec, steps, arguments)
        return await answer if steps else answer
    except Exception as error:
        _blame(error, steps)
        raise


async def _resume(call_next: Callable[[], Awaitable[Any]]) -> Any:
    return await call_next()


def _blame(error: Exception, steps: Sequence[Step]) -> None:
    if (step := blame(error, steps, (_resume.__code__,))) is not None:
        add_note(error, step)


def _meant(pattern: str, names: Sequence[str]) -> str:
    """The nearest name to a pattern, else to its beginning: what it leaves open may be long."""
    stem = pattern.rstrip("*")
    begins = {name[: len(stem)]: name for name in names} if len(stem) >= SHORTEST_STEM else {}
    near = closest(stem, begins)
    return nearest(pattern, names) or (f'; did you mean "{begins[near]}"?' if near is not None else "")
