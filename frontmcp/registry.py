"""What can be called: entries by canonical id and by every exact name, and what a list shows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import pydantic_core
from mcp_types import CallToolResult, ContentBlock, TextContent
from mcp_types import Tool as WireTool

from frontmcp.call import Kind
from frontmcp.content import annotates_content, to_blocks
from frontmcp.definitions.base import Definition
from frontmcp.definitions.tool import Tool
from frontmcp.errors import ConfigurationError, InvalidOutputError
from frontmcp.invoke import Invoke, make_invoke
from frontmcp.providers import Providers
from frontmcp.schema import MISMATCH, json_text, jsonable
from frontmcp.schema.values import unserializable
from frontmcp.threads import Threads


class Entry:
    """One thing that can be called. Made by the registry; plugins read it, and write ``options`` in `prepare_entry`.

    :ivar definition: what the user wrote.
    :ivar options: options that plugins claim, by name.
    :ivar listed_name: its name in lists where several apps have an entry of that name.
    :ivar plan: its stages, compiled; owned by the pipeline.
    """

    kind: ClassVar[Kind]

    def __init__(self, definition: Definition, app_id: str) -> None:
        self.definition = definition
        self.app_id = app_id
        self.name = definition.name
        self.id = f"{app_id}:{self.name}"
        self.listed_name = f"{app_id}.{self.name}"
        self.options: dict[str, Any] = dict(definition.options)
        self.plan: Any = None

    def __repr__(self) -> str:
        return f'<{self.kind} "{self.id}">'


class ToolEntry(Entry):
    """A tool that can be called.

    :ivar invoke: starts the body for a call with validated input.
    :ivar validate: arguments → typed input; raises `InvalidInputError`.
    """

    kind = "tool"
    definition: Tool

    def __init__(self, definition: Tool, app_id: str, *, threads: Threads, providers: Providers) -> None:
        super().__init__(definition, app_id)
        definition.build()
        body = definition.body
        for name, type_ in body.injected.items():
            providers.ask(type_, f"{definition.place}: parameter {name!r}")
        self.input = definition.input
        self.output = definition.output
        self.validate: Callable[[Any], Any] = self.input.validate
        self.invoke: Invoke = make_invoke(
            body,
            model_parameter=definition.model_parameter,
            sync=definition.sync,
            threads=threads,
            providers=providers,
        )
        self._returns_content = annotates_content(body.returns)
        self._wire: dict[tuple[str, bool], WireTool] = {}

    def format(self, value: Any) -> CallToolResult:
        """The result for a raw value (api.md, "Result of a value").

        :raises InvalidOutputError: it does not match the output schema, or is no JSON.
        """
        if isinstance(value, CallToolResult):
            self.check(value)
            return value
        output = self.output
        if output is None:
            return self._plain_result(value)
        data = output.check(value)
        return CallToolResult(content=_text(data), structured_content={"result": data} if output.wraps_null else data)

    def _plain_result(self, value: Any) -> CallToolResult:
        """The result of a tool that does not say what it returns."""
        if (blocks := to_blocks(value, _text_of)) is not None:
            _check_sendable(blocks)
            return CallToolResult(content=blocks)
        if self._returns_content and isinstance(value, list | tuple) and not value:
            return CallToolResult(content=[])
        data = jsonable(value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else value)
        return CallToolResult(content=_text(data), structured_content=data if isinstance(data, dict) else None)

    def check(self, result: CallToolResult) -> None:
        """Check a result that was not made by `format`; an error result has nothing to match.

        :raises InvalidOutputError: its structured content is no JSON, or does not match the output schema.
        """
        _check_sendable([result.content, result.meta])
        if result.is_error:
            return
        data, output = result.structured_content, self.output
        if output is not None and output.wraps_null:
            if not isinstance(data, dict) or set(data) != {"result"}:
                raise InvalidOutputError(MISMATCH, "result")
            data = data["result"]
        data = jsonable(data)
        json_text(data)
        if output is not None:
            output.verify(data)

    def wire(self, *, name: str, modern: bool) -> WireTool:
        """As listed, to clients of 2026-07-28 on or to older ones, whose results are objects."""
        key = (name, modern)
        if key not in self._wire:
            output = self.output
            definition = self.definition
            schema = None if output is None else output.schema if modern else output.object_schema
            self._wire[key] = WireTool(
                name=name,
                title=definition.title,
                description=definition.description,
                input_schema=self.input.schema,
                output_schema=schema,
                annotations=definition.annotations,
                icons=definition.icons or None,
                _meta=_listed_meta(definition),
            )
        return self._wire[key]


def _listed_meta(definition: Definition) -> dict[str, Any] | None:
    meta = dict(definition.meta)
    if definition.tags:
        meta["frontmcp/tags"] = list(definition.tags)
    return meta or None


def _text(data: Any) -> list[ContentBlock]:
    """The text that stands for JSON data: a string as it is, nothing for null."""
    if data is None:
        return []
    return [TextContent(text=_text_of(data))]


def _text_of(value: Any) -> str:
    data = jsonable(value)
    if not isinstance(data, str):
        return json_text(data)
    if not data.isascii():
        _check_sendable(data)
    return data


def _check_sendable(data: Any) -> None:
    """What can't be written as JSON would end the connection: it fails when the result has left us."""
    try:
        pydantic_core.to_json(data)
    except ValueError as error:
        raise unserializable(data) from error


class Registry:
    """The entries of one server. It *settles* when it is complete, and again after every change.

    :ivar version: counts how often it settled.
    """

    def __init__(self, *, threads: Threads, providers: Providers) -> None:
        self._threads = threads
        self._providers = providers
        self._entries: dict[tuple[Kind, str], Entry] = {}
        self._names: dict[str, ToolEntry] = {}
        self._ambiguous: frozenset[str] = frozenset()
        self.version = 0

    def make(self, definition: Definition, app_id: str) -> Entry:
        """An entry of this server, not yet registered.

        :raises ConfigurationError: it can't be served, or its id is taken.
        """
        if not isinstance(definition, Tool):
            raise ConfigurationError(f"{definition.noun} {definition.name!r}: nothing here serves a {definition.kind}")
        return ToolEntry(definition, app_id, threads=self._threads, providers=self._providers)

    def add(self, entry: Entry) -> None:
        """Register an entry.

        :raises ConfigurationError: its app has one of that kind and name.
        """
        key = (entry.kind, entry.id)
        if key in self._entries:
            raise ConfigurationError(
                f'app "{entry.app_id}" has two {entry.kind}s named "{entry.name}" '
                f"({self._entries[key].definition.source} and {entry.definition.source}); rename one"
            )
        self._entries[key] = entry

    def remove(self, entry: Entry) -> None:
        """Forget an entry."""
        del self._entries[(entry.kind, entry.id)]

    def entries(self, kind: Kind | None = None) -> list[Any]:
        """The entries in the order they were registered; all kinds when None."""
        return [entry for entry in self._entries.values() if kind is None or entry.kind == kind]

    @property
    def tools(self) -> list[ToolEntry]:
        """Whatever is listed and called as a tool."""
        return [entry for entry in self._entries.values() if isinstance(entry, ToolEntry)]

    def settle(self) -> list[str]:
        """Build the name tables anew; problems with names, in words."""
        self.version += 1
        self._names = {}
        owners: dict[str, list[ToolEntry]] = {}
        for entry in self.tools:
            owners.setdefault(entry.name, []).append(entry)
        self._ambiguous = frozenset(name for name, entries in owners.items() if len(entries) > 1)
        for entry in self.tools:
            self._names.setdefault(entry.name, entry)
        for entry in self.tools:
            self._names.setdefault(entry.id, entry)
            self._names.setdefault(self._listed_name(entry), entry)
        return list(self._listed_twice())

    def _listed_twice(self) -> Iterator[str]:
        listed: dict[str, ToolEntry] = {}
        for entry in self.tools:
            name = self._listed_name(entry)
            other = listed.setdefault(name, entry)
            if other is not entry:
                yield (
                    f'two tools would be listed as "{name}": {other.id} ({other.definition.source}) and '
                    f"{entry.id} ({entry.definition.source}); rename one"
                )

    def _listed_name(self, entry: ToolEntry) -> str:
        return entry.listed_name if entry.name in self._ambiguous else entry.name

    def find(self, name: str) -> ToolEntry | None:
        """The tool of an exact name: its own (the first registered of several), its canonical or its listed one."""
        return self._names.get(name)

    def listed(self, entries: Iterable[ToolEntry]) -> list[tuple[str, ToolEntry]]:
        """Entries that a caller may see, with the names they are listed under, sorted by name.

        A name that several apps use is listed qualified, even where the caller sees one of them only: by the bare
        name the first registered is called, whoever calls.
        """
        return sorted(((self._listed_name(entry), entry) for entry in entries), key=lambda pair: pair[0])
