"""The apps of a server, its own among them, and everything they define."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from frontmcp.arguments import several_or_problem
from frontmcp.definitions.app import App, as_definition, slug
from frontmcp.definitions.base import Definition
from frontmcp.errors import ConfigurationError


class Apps:
    """The apps of one server.

    :param name: the server's.
    :param entries: of its own app, by noun.
    :param others: `App` objects and classes decorated with `App`.
    :param problems: takes what is wrong, in words.
    :param added: is told of what is defined later, and of the id of its app.
    :ivar own: the server's own app.
    :ivar all: its own first.
    :ivar definitions: everything defined, with the id of its app, in order.
    """

    def __init__(
        self,
        name: str,
        entries: Mapping[str, Iterable[Any]],
        others: Iterable[Any],
        problems: list[str],
        added: Callable[[Definition, str], None],
    ) -> None:
        self._added = added
        self.own = _own_app(name, entries, problems)
        self.all = [self.own, *_read_apps(others, problems)]
        self.definitions: list[tuple[str, Definition]] = []
        for app in self.all:
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


def _own_app(name: str, entries: Mapping[str, Iterable[Any]], problems: list[str]) -> App:
    try:
        app = App(id=slug(name))
    except ConfigurationError as error:
        problems.append(str(error))
        app = App(id="server")
    for noun, targets in entries.items():
        for target in several_or_problem(noun, targets, problems):
            try:
                app.add(as_definition(target, noun))
            except ConfigurationError as error:
                problems.extend(error.problems)
    return app


def _read_apps(apps: Iterable[Any], problems: list[str]) -> list[App]:
    found: list[App] = []
    for given in several_or_problem("apps", apps, problems):
        try:
            app = App.of(given)
            if app.id in {other.id for other in found}:
                problems.append(f'apps=: two apps have the id "{app.id}"; rename one')
            found.append(app)
        except ConfigurationError as error:
            problems.extend(error.problems)
    return found
