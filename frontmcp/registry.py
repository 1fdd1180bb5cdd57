"""What there is: entries by canonical id, how each is addressed, and what a list shows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, Protocol

from frontmcp.call import Call, Kind
from frontmcp.definitions.base import Definition
from frontmcp.entries import (
    AgentEntry,
    ChannelEntry,
    JobEntry,
    PromptEntry,
    ResourceEntry,
    TemplateEntry,
    WorkflowEntry,
)
from frontmcp.entries import CompletableEntry as CompletableEntry
from frontmcp.entries import Entry as Entry
from frontmcp.entries import ListName as ListName
from frontmcp.entries import ToolEntry as ToolEntry
from frontmcp.errors import (
    ChannelNotFoundError,
    ConfigurationError,
    FrontMcpError,
    JobNotFoundError,
    PromptNotFoundError,
    ResourceNotFoundError,
    ToolNotFoundError,
    WorkflowNotFoundError,
)
from frontmcp.providers import Providers
from frontmcp.threads import Threads

SERVED: Final[Mapping[Kind, Callable[..., Entry]]] = {
    "tool": ToolEntry,
    "resource": ResourceEntry,
    "resource_template": TemplateEntry,
    "prompt": PromptEntry,
    "agent": AgentEntry,
    "channel": ChannelEntry,
    "job": JobEntry,
    "workflow": WorkflowEntry,
}
"""The entry that is made of a definition."""


class Directory(Protocol):
    """How the entries of some lists are addressed, by clients and in lists."""

    @property
    def lists(self) -> tuple[ListName, ...]:
        """The lists whose entries these are."""
        ...

    def settle(self, entries: Sequence[Entry]) -> Iterable[str]:
        """Build the tables anew; problems with addresses, in words."""
        ...

    def find(self, call: Call) -> Entry | None:
        """What a call is addressed to: the exact address, in the call's scope."""
        ...

    def not_found(self, address: str) -> FrontMcpError:
        """The error for an address that leads nowhere."""
        ...

    def address(self, entry: Entry) -> str:
        """What an entry is listed under."""
        ...


class Names:
    """Entries addressed by name: their own (the first registered of several), their canonical or their listed one.

    A name that several apps use is listed qualified, even where the caller sees one of them only: by the bare name the
    first registered is called, whoever calls.
    """

    def __init__(self, list_name: ListName, not_found: Callable[[str], FrontMcpError]) -> None:
        self.lists: tuple[ListName, ...] = (list_name,)
        self._not_found = not_found
        self._exact: dict[str, Entry] = {}
        self._ambiguous: frozenset[str] = frozenset()

    def settle(self, entries: Sequence[Entry]) -> Iterable[str]:
        self._exact = {}
        owners: dict[str, list[Entry]] = {}
        for entry in entries:
            owners.setdefault(entry.name, []).append(entry)
            self._exact.setdefault(entry.name, entry)
        self._ambiguous = frozenset(name for name, several in owners.items() if len(several) > 1)
        for entry in entries:
            self._exact.setdefault(entry.id, entry)
            self._exact.setdefault(self.address(entry), entry)
        return self._listed_twice(entries)

    def _listed_twice(self, entries: Sequence[Entry]) -> Iterator[str]:
        listed: dict[str, Entry] = {}
        for entry in entries:
            name = self.address(entry)
            other = listed.setdefault(name, entry)
            if other is not entry:
                yield (
                    f'two {self.lists[0]} would be listed as "{name}": {other.id} ({other.definition.source}) and '
                    f"{entry.id} ({entry.definition.source}); rename one"
                )

    def get(self, name: str) -> Entry | None:
        """The entry of an exact name."""
        return self._exact.get(name)

    def not_found(self, address: str) -> FrontMcpError:
        return self._not_found(address)

    def find(self, call: Call) -> Entry | None:
        if call.scope is None:
            return self._exact.get(call.name)
        found: Any = call.scope.get(call.name)
        return found if found is not None and found.list_name in self.lists else None

    def address(self, entry: Entry) -> str:
        return entry.listed_name if entry.name in self._ambiguous else entry.name


class Addresses:
    """Resources addressed by URI: the exact one, else the first template that it fits, in the order of registration."""

    lists: tuple[ListName, ...] = ("resources", "templates")

    def __init__(self) -> None:
        self._by_address: dict[str, ResourceEntry] = {}
        self._exact: dict[str, ResourceEntry] = {}
        self._templates: list[TemplateEntry] = []

    def settle(self, entries: Sequence[Any]) -> Iterable[str]:
        self._by_address, self._exact, self._templates = {}, {}, []
        problems = []
        for entry in entries:
            other = self._by_address.setdefault(entry.address, entry)
            if other is not entry:
                problems.append(
                    f'two resources have the URI "{entry.address}": {other.id} ({other.definition.source}) and '
                    f"{entry.id} ({entry.definition.source}); change one"
                )
            elif isinstance(entry, TemplateEntry):
                self._templates.append(entry)
            else:
                self._exact[entry.address] = entry
        return problems

    def get(self, address: str) -> ResourceEntry | None:
        """The resource of a URI, or the template that is written so."""
        return self._by_address.get(address)

    def find(self, call: Call) -> Entry | None:
        table = self
        if call.scope is not None:
            table = Addresses()
            table.settle([entry for entry in dict.fromkeys(call.scope.values()) if isinstance(entry, ResourceEntry)])
        for entry, variables in table._candidates(call.name):
            call.arguments = {**variables, "uri": call.name}
            return entry
        return None

    def _candidates(self, uri: str) -> Iterator[tuple[ResourceEntry, Mapping[str, Any]]]:
        if uri in self._exact:
            yield self._exact[uri], {}
        for template in self._templates:
            if (variables := template.match(uri)) is not None:
                yield template, variables

    def not_found(self, address: str) -> FrontMcpError:
        return ResourceNotFoundError(address)

    def address(self, entry: Entry) -> str:
        address: str = entry.address  # type: ignore[attr-defined]
        return address


class Registry:
    """The entries of one server. It *settles* when it is complete, and again after every change.

    :ivar version: counts how often it settled.
    :ivar directories: how what a call asks for is addressed, by `Call.kind`.
    """

    def __init__(self, *, threads: Threads, providers: Providers) -> None:
        self._threads = threads
        self._providers = providers
        self._entries: dict[tuple[Kind, str], Entry] = {}
        self.tools_by_name = Names("tools", ToolNotFoundError)
        self.prompts_by_name = Names("prompts", PromptNotFoundError)
        self.resources_by_uri = Addresses()
        self.channels_by_name = Names("channels", ChannelNotFoundError)
        self.directories: Mapping[str, Directory] = {
            "tool": self.tools_by_name,
            "prompt": self.prompts_by_name,
            "resource": self.resources_by_uri,
            "channel": self.channels_by_name,
            "job": Names("jobs", JobNotFoundError),
            "workflow": Names("workflows", WorkflowNotFoundError),
        }
        self._directory_of = {name: each for each in self.directories.values() for name in each.lists}
        self.version = 0

    def make(self, definition: Definition, app_id: str) -> Entry:
        """An entry of this server, not yet registered.

        :raises ConfigurationError: it can't be served, or its id is taken.
        """
        served = SERVED.get(definition.kind)
        if served is None:
            raise ConfigurationError(f"{definition.noun} {definition.name!r}: nothing here serves a {definition.kind}")
        return served(definition, app_id, threads=self._threads, providers=self._providers)

    def add(self, entry: Entry) -> None:
        """Register an entry.

        :raises ConfigurationError: its app has one of that kind and name.
        """
        key = (entry.kind, entry.id)
        if (other := self._entries.get(key)) is not None:
            if other.definition.target is entry.definition.target:
                raise ConfigurationError(f'app "{entry.app_id}": {entry.definition.place} is listed twice; drop one')
            raise ConfigurationError(
                f'app "{entry.app_id}" has two {entry.kind}s named "{entry.name}" '
                f"({other.definition.source} and {entry.definition.source}); rename one"
            )
        self._entries[key] = entry

    def remove(self, entry: Entry) -> None:
        """Forget an entry, and what belongs to it."""
        del self._entries[(entry.kind, entry.id)]
        for member in dict.fromkeys(entry.members.values()):
            self.remove(member)

    def entries(self, kind: Kind | None = None) -> list[Any]:
        """The entries in the order they were registered, owned ones included; all kinds when None."""
        return [entry for entry in self._entries.values() if kind is None or entry.kind == kind]

    def of_list(self, *names: ListName) -> list[Any]:
        """The entries that stand in some lists of the server's, in the order they were registered."""
        return [entry for entry in self._entries.values() if entry.list_name in names and entry.owner is None]

    @property
    def tools(self) -> list[ToolEntry]:
        """Whatever is listed and called as a tool."""
        return self.of_list("tools")

    def settle(self) -> list[str]:
        """Build the tables of addresses anew; problems with addresses, in words."""
        self.version += 1
        settled = (each.settle(self.of_list(*each.lists)) for each in self.directories.values())
        return [*chain.from_iterable(settled), *self._settle_workflows()]

    def _settle_workflows(self) -> Iterator[str]:
        jobs = [entry for entry in self._entries.values() if isinstance(entry, JobEntry)]
        for entry in self._entries.values():
            if isinstance(entry, WorkflowEntry):
                yield from entry.settle(jobs)

    def find(self, name: str) -> ToolEntry | None:
        """The tool of an exact name."""
        found = self.tools_by_name.get(name)
        return found if isinstance(found, ToolEntry) else None

    def listed(self, list_name: ListName, entries: Iterable[Any]) -> list[tuple[str, Any]]:
        """Entries that a caller may see, with what they are listed under, sorted by that."""
        address = self._directory_of[list_name].address
        return sorted(((address(entry), entry) for entry in entries), key=lambda pair: pair[0])
