"""Who claims which option and which kind of entry, so that nothing a user writes is silently ignored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter

from frontmcp.checks import KINDS, is_sound, source
from frontmcp.errors import describe, nearest
from frontmcp.hooks import Option, marks
from frontmcp.hookspecs import Spec
from frontmcp.loading import BUILT_IN, PluginInfo, load_dotted
from frontmcp.validation import Issue, Path, issues

CORE_KINDS = ("tool", "resource", "resource_template", "prompt")
SERVER = "server"

INSTALLABLE: Final = {"change_bus": "frontmcp-redis", "state_store": "frontmcp-redis"}
"""Options whose hooks are the core's, and who claims them."""


class Claim:
    """An option that a plugin claims, ready to validate values; a type that is named loads with the first of them."""

    def __init__(self, option: Option, plugin: str) -> None:
        self.option = option
        self.plugin = plugin
        self._is_named = isinstance(option.type, str) and ":" in option.type
        self._adapter = None if self._is_named else _adapter(option.type)

    @cached_property
    def type(self) -> Any:
        """What values are validated as."""
        return load_dotted(self.option.type) if self._is_named else self.option.type

    def validate(self, value: Any) -> Any:
        """The value as its type; raises whatever the type's validation does."""
        if self._adapter is None:
            self._adapter = _adapter(self.type)
        return self._adapter.validate_python(value)


class Claims:
    """The options and kinds that the plugins of a server claim.

    :param infos: every plugin that was met; what is not active claims nothing.
    :ivar problems: everything wrong that was found, in words.
    """

    def __init__(self, infos: Iterable[PluginInfo], specs: Mapping[str, Spec]) -> None:
        self.problems: list[str] = []
        self._infos = list(infos)
        self._specs = specs
        self._claims: dict[str, dict[str, Claim]] = {scope: {} for scope in (SERVER, *KINDS)}
        self._kinds: dict[str, str] = dict.fromkeys(CORE_KINDS, "frontmcp")
        for info in self._infos:
            if info.is_active:
                self._claim_kinds(info)
                for option in self._declared(info):
                    self._claim(option, info)

    def _claim_kinds(self, info: PluginInfo) -> None:
        for kind in getattr(info.plugin, "kinds", ()):
            if kind not in KINDS:
                self.problems.append(
                    f'{info.title} claims the kind "{kind}", which does not exist{nearest(kind, KINDS)}'
                )
            elif (other := self._kinds.setdefault(kind, info.name)) != info.name:
                self.problems.append(f'plugins "{other}" and "{info.name}" both claim the kind "{kind}"')

    def _declared(self, info: PluginInfo) -> Iterator[Option]:
        yield from getattr(info.plugin, "options", ())
        for mark in marks(info.plugin):
            if mark.hook != "declare_options" or not is_sound(info.plugin, mark, self._specs):
                continue
            where = f"{info.title}, {source(mark.function)}"
            try:
                declared = list(getattr(info.plugin, mark.attribute)() or ())
            except Exception as error:
                self.problems.append(f"{where}: declare_options failed: {describe(error)}")
                continue
            if not all(isinstance(option, Option) for option in declared):
                self.problems.append(f"{where}: declare_options must return Option objects")
            yield from (option for option in declared if isinstance(option, Option))

    def _claim(self, option: Option, info: PluginInfo) -> None:
        where = f'{info.title}, option "{option.name}"'
        try:
            claim = Claim(option, info.name)
        except Exception as error:
            self.problems.append(f"{where}: its type can't be validated: {describe(error).splitlines()[0]}")
            return
        rivals = set()
        for scope in (SERVER,) if option.server else _scopes(option):
            if scope not in self._claims:
                self.problems.append(f'{where}: there is no kind "{scope}"{nearest(scope, KINDS)}')
            elif (other := self._claims[scope].setdefault(option.name, claim)) is not claim:
                rivals.add(other.plugin)
        for rival in rivals:
            self.problems.append(f'plugins "{rival}" and "{info.name}" both claim the option "{option.name}"')

    def names(self, scope: str | None = None) -> set[str]:
        """The options claimed for the server or for a kind of entries; for any kind when None."""
        scopes = (scope,) if scope is not None else KINDS
        return {name for each in scopes for name in self._claims[each]}

    def owner(self, name: str) -> str | None:
        """The plugin that claims a setting of the server."""
        claim = self._claims[SERVER].get(name)
        return claim.plugin if claim is not None else None

    def is_foreign(self, name: str) -> bool:
        """Whether no plugin, active or not, claims a server option of this name or one like it."""
        if name in self._claims[SERVER] or name in INSTALLABLE or nearest(name, self.names(SERVER)):
            return False
        return not any(_would_claim(info, name) for info in self._infos)

    def check_options(
        self,
        scope: str,
        options: dict[str, Any],
        where: str | Callable[[Path], str],
        keywords: Collection[str] = (),
    ) -> list[str]:
        """Check and validate options of an entry (or of the server) in place; what is wrong, in words.

        :param scope: the entry's kind, or ``"server"``.
        :param where: the thing and its place, for messages; of a part of an option's value, when it is a function.
        :param keywords: what else could have been meant by an option that nobody claims.
        """
        place: Callable[[Path], str] = where if callable(where) else lambda path: where
        problems = []
        for name, value in options.items():
            claim = self._claims[scope].get(name)
            if claim is None:
                problems.append(f"{place(())}: {self._unclaimed(scope, name, keywords)}")
                continue
            try:
                options[name] = claim.validate(value)
            except Exception as error:
                problems += _told(name, issues(error, claim.type), place)
        return problems

    def _unclaimed(self, scope: str, name: str, keywords: Collection[str]) -> str:
        said = f'no plugin claims the option "{name}"'
        if off := next((info for info in self._infos if not info.is_active and _would_claim(info, name)), None):
            ways = "; take the option out, or leave the plugin on" if off.status == "disabled" else ""
            return f"{said}: {off.title}, which does, is {off.status} ({off.reason}){ways}"
        if elsewhere := [other for other, claims in self._claims.items() if name in claims]:
            return f"{said} for a {scope}, only for {' and '.join(elsewhere)}"
        if scope == SERVER and name in INSTALLABLE:
            return f"{said}: pip install {INSTALLABLE[name]}, or another that does"
        return f"{said}{nearest(name, {*self.names(scope), *keywords}) or self._perhaps()}"

    def _perhaps(self) -> str:
        """What is switched off and was never loaded may claim anything."""
        unread = (info for info in self._infos if info.status == "disabled" and info.origin == "installed")
        return "".join(f"; {info.title} is {info.status} ({info.reason}): perhaps it claims it" for info in unread)

    def check_kind(self, kind: str) -> str | None:
        """What is wrong with an entry of this kind, in words; None when somebody runs it."""
        if kind in self._kinds:
            return None
        off = next((info for info in self._infos if not info.is_active and kind in _declares(info, "kinds")), None)
        hint = f": {off.title}, which does, is {off.status} ({off.reason})" if off is not None else ""
        return f"no plugin claims the kind {kind}{hint}"


def _scopes(option: Option) -> Sequence[str]:
    """The kinds of entries that may set an option; templates are resources."""
    if "resource" in option.kinds and "resource_template" not in option.kinds:
        return (*option.kinds, "resource_template")
    return option.kinds or KINDS


def _adapter(type_: Any) -> TypeAdapter[Any]:
    """Validates values of a type; of a class that pydantic does not know, by being its instance."""
    try:
        adapter = TypeAdapter(type_)
    except PydanticSchemaGenerationError:
        if not inspect.isclass(type_):
            raise
        adapter = TypeAdapter(type_, config=ConfigDict(arbitrary_types_allowed=True))
    if not adapter.pydantic_complete:
        raise NameError(f"{type_!r} is not defined")
    return adapter


def _told(name: str, found: Iterable[Issue], place: Callable[[Path], str]) -> list[str]:
    """What is wrong with an option, in one sentence for each place it came from."""
    by_place: dict[str, list[str]] = {}
    for issue in found:
        by_place.setdefault(place(issue.path), []).append(str(issue))
    return [f"{where}: option {name}: {'; '.join(told)}" for where, told in by_place.items()]


def _would_claim(info: PluginInfo, name: str) -> bool:
    return any(isinstance(option, Option) and option.name == name for option in _declares(info, "options"))


def _declares(info: PluginInfo, attribute: str) -> Sequence[Any]:
    """What an inactive plugin declares; a built-in one need not be made for that."""
    plugin = load_dotted(BUILT_IN[info.name]) if info.plugin is None and info.origin == "built-in" else info.plugin
    given = getattr(plugin, attribute, ())
    return given if isinstance(given, list | tuple) else ()
