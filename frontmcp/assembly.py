"""The parts of one server put together: its plugins, its entries, the pipeline; and everything wrong with them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from frontmcp.configuration import CoreSettings, sources_of_words
from frontmcp.definitions.app import any_definition
from frontmcp.definitions.base import Definition
from frontmcp.entries import Entry
from frontmcp.errors import ConfigurationError
from frontmcp.loading import PluginSettings
from frontmcp.pipeline import Pipeline
from frontmcp.plugins import PluginManager
from frontmcp.providers import Providers
from frontmcp.registry import Registry
from frontmcp.threads import Threads

logger = logging.getLogger("frontmcp.server")


class Assembly:
    """Built whenever a server is checked for the first time, or was configured anew.

    :param server: whose parts these are; plugins are given it.
    :ivar problems: everything wrong, in words; what has problems does not serve.
    """

    def __init__(self, server: Any, core: CoreSettings, *, threads: Threads, providers: Providers) -> None:
        self._server = server
        sources = sources_of_words(server.settings)
        self.plugins = PluginManager(PluginSettings(core.plugins, core.plugin_order, core.autoload_plugins, sources))
        self.problems = list(self.plugins.problems)
        self.registry = Registry(threads=threads, providers=providers)
        self.pipeline = Pipeline(server, self.registry, self.plugins, providers, max_call_depth=core.max_call_depth)

    def fill(self, definitions: Iterable[tuple[str, Definition]], own_app: str) -> None:
        """Register what users defined and plugins provide, and settle."""
        for app_id, definition in definitions:
            self._register(definition, app_id, self.problems)
        if self.plugins.problems:
            return
        for provided in self.plugins.collect(self.problems, "provide_entries", self._server):
            for target in provided:
                try:
                    self._register(any_definition(target), own_app, self.problems)
                except ConfigurationError as error:
                    self.problems.extend(error.problems)
        self._settle(self.problems)
        for told in self.plugins.unmatched(self.registry.entries()):
            logger.warning("%s", told)

    def add(self, definition: Definition, app_id: str) -> Entry:
        """Register one more entry, and settle anew.

        :raises ConfigurationError: it can't be served; nothing was added.
        """
        return self.replace((), (definition,), app_id)[0]

    def remove(self, entry: Entry) -> None:
        """Forget an entry, and settle anew."""
        self.replace((entry,), (), entry.app_id)

    def replace(self, gone: Sequence[Entry], new: Sequence[Definition], app_id: str) -> list[Entry]:
        """Forget entries and register others, all or none of it, and settle anew.

        :raises ConfigurationError: one can't be served; nothing was changed.
        """
        problems: list[str] = []
        for entry in gone:
            self.registry.remove(entry)
        made = [self._register(definition, app_id, problems) for definition in new]
        added = [entry for entry in made if entry is not None]
        if not problems:
            self._settle(problems)
        if problems and new:
            for entry in added:
                self.registry.remove(entry)
            for entry in gone:
                self.registry.add(entry)
            self._settle([])
            raise ConfigurationError(problems)
        return added

    def _register(
        self, definition: Definition, app_id: str, problems: list[str], owner: Entry | None = None
    ) -> Entry | None:
        """Make, prepare and register an entry and what belongs to it, or say what is wrong with it.

        :param owner: the only one that finds it.
        """
        where = definition.place
        if (wrong := self.plugins.claims.check_kind(definition.kind)) is not None:
            problems.append(f"{where}: {wrong}")
            return None
        try:
            entry = self.registry.make(definition, app_id)
            if owner is not None:
                entry.belong_to(owner)
            self.registry.add(entry)
        except ConfigurationError as error:
            problems.extend(error.problems)
            return None
        if not self.plugins.problems:
            self.plugins.collect(problems, "prepare_entry", entry, self._server)
        problems.extend(self.plugins.claims.check_options(entry.kind, entry.options, where, definition.keywords()))
        for member in definition.members:
            exported = any(member is each for each in definition.exports)
            made = self._register(member, app_id, problems, owner=owner if exported else entry)
            if made is not None:
                problems.extend(f"{where}: {twice}" for twice in entry.adopt(made))
        return entry

    def _settle(self, problems: list[str]) -> None:
        problems.extend(self.registry.settle())
        problems.extend(self.pipeline.compile())
        if not problems:
            self.plugins.collect(problems, "settled", self._server)
