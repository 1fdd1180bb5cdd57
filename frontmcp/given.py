"""What a server was given in code: its name, its apps and what they define."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from frontmcp.arguments import called, several
from frontmcp.definitions.app import App, as_definition, slug
from frontmcp.definitions.base import Definition
from frontmcp.errors import ConfigurationError


class Given:
    """The apps of one server, its own among them, and what they define.

    :param name: the server's.
    :param entries: of its own app, by noun.
    :param problems: takes what is wrong, in words.
    :param added: is told of what is defined later, and of the id of its app.
    :ivar own: the server's own app.
    :ivar definitions: everything defined, with the id of its app, in order.
    """

    def __init__(
        self,
        name: str,
        entries: Mapping[str, Iterable[Any]],
        apps: Iterable[Any],
        problems: list[str],
        added: Callable[[Definition, str], None],
    ) -> None:
        self._added = added
        self.own = _own_app(name, entries, problems)
        self.apps = [self.own, *_read_apps(apps, problems)]
        self.definitions: list[tuple[str, Definition]] = []
        for app in self.apps:
            self.definitions.extend((app.id, definition) for definition in app.definitions)
            app.subscribe(self._define)

    def _define(self, app: App, definition: Definition) -> None:
        self._added(definition, app.id)
        self.keep(definition, app.id)

    def keep(self, definition: Definition, app_id: str) -> None:
        """Remember what is served now, for when the server is put together anew."""
        self.definitions.append((app_id, definition))

    def forget(self, definition: Definition) -> None:
        """It is served no more."""
        self.definitions = [(app, each) for app, each in self.definitions if each is not definition]


def taken(problems: list[str], keyword: str, given: Iterable[Any]) -> list[Any]:
    """`several`, where what is wrong is told later, together with all else."""
    try:
        return several(keyword, given)
    except ConfigurationError as error:
        problems.extend(error.problems)
        return []


def _own_app(name: str, entries: Mapping[str, Iterable[Any]], problems: list[str]) -> App:
    try:
        app = App(id=slug(name))
    except ConfigurationError as error:
        problems.append(str(error))
        app = App(id="server")
    for noun, targets in entries.items():
        for target in taken(problems, noun, targets):
            try:
                app.add(as_definition(target, noun))
            except ConfigurationError as error:
                problems.extend(error.problems)
    return app


def _read_apps(apps: Iterable[Any], problems: list[str]) -> list[App]:
    found: list[App] = []
    for given in taken(problems, "apps", apps):
        try:
            app = App.of(given)
            if app.id in {other.id for other in found}:
                problems.append(f'apps=: two apps have the id "{app.id}"; rename one')
            found.append(app)
        except ConfigurationError as error:
            problems.extend(error.problems)
    return found


def info_of(name: Any, version: str | None, info: Any) -> dict[str, Any]:
    """What clients are told of the server.

    :raises ConfigurationError: the name is no text, or ``info`` no mapping.
    """
    if info is not None and not isinstance(info, Mapping):
        raise ConfigurationError(f'FrontMcp: info= is like {{"name": "desk", "version": "1.0.0"}}, not {called(info)}')
    name = (info or {}).get("name", name)
    if name is not None and not isinstance(name, str):
        raise ConfigurationError(f"FrontMcp: the name is text, not {called(name)}; what is served goes to tools=[…]")
    said = {} if name is None else {"name": name}
    return {**said, "version": version or "0.0.0", **(info or {})}
