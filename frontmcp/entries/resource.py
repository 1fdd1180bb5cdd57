"""`ResourceEntry` and `TemplateEntry`: what a resource's value becomes, how a URI is read, and how they are listed."""

from __future__ import annotations

import base64
import os
import re
from typing import Any, ClassVar, Final, TypeAlias, cast

import mcp_types as types
from mcp_types import BlobResourceContents, ReadResourceResult, TextResourceContents

from frontmcp.call import Call, Kind
from frontmcp.content import MEDIA_TYPES
from frontmcp.definitions.resource import Addressed, Resource, ResourceTemplate
from frontmcp.entries.base import Entry, ListName, check_sendable, listed_meta, text_of, validating
from frontmcp.entries.completion import CompletableEntry
from frontmcp.errors import FrontMcpError, InvalidOutputError, ResourceReadError
from frontmcp.providers import Providers
from frontmcp.threads import Threads

Contents: TypeAlias = TextResourceContents | BlobResourceContents

BINARY: Final = (bytes, bytearray, memoryview)
CONTENTS: Final = (TextResourceContents, BlobResourceContents, types.EmbeddedResource, *MEDIA_TYPES, *BINARY)
PATHS: Final = ("+", "#")
"""The operators of variables that take paths."""

_ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:[/\\]" + ("|[A-Za-z]:" if os.name == "nt" else ""))


class ResourceEntry(Entry):
    """A resource that can be read."""

    kind: ClassVar[Kind] = "resource"
    kinds: ClassVar[tuple[Kind, ...]] = ("resource",)
    sought = "resource"
    list_name: ClassVar[ListName] = "resources"
    result_type = ReadResourceResult
    passes_all = False
    definition: Resource | ResourceTemplate

    def __init__(self, definition: Addressed, app_id: str, *, threads: Threads, providers: Providers) -> None:
        super().__init__(definition, app_id, threads=threads, providers=providers)
        self.address = definition.address
        self.validate = validating(self.validate, "Invalid resource URI")

    @property
    def addresses(self) -> tuple[str, ...]:
        return (self.address,)

    def format(self, call: Call, value: Any) -> ReadResourceResult:
        """The result for a raw value: text, JSON, bytes, contents, or several of those.

        :raises InvalidOutputError: a part of it is no JSON.
        """
        try:
            if isinstance(value, ReadResourceResult):
                check_sendable(value)
                return value
            several = value if _is_several(value) else [value]
            return ReadResourceResult(
                contents=[self._contents(call.input["uri"], each) for each in several],
                ttl_ms=self.definition.ttl_ms,
                cache_scope=self._cache_scope,
            )
        except InvalidOutputError as error:
            raise error.of("Resource output") from error.__cause__

    @property
    def _cache_scope(self) -> Any:
        """Public by choice, and only where everybody may read it."""
        for_all = self.plan.visible is None and self.plan.authorize is None
        return "public" if self.definition.is_public and for_all else "private"

    def _contents(self, uri: str, value: Any) -> Contents:
        mime_type = self.definition.mime_type
        if isinstance(value, MEDIA_TYPES):
            return value.to_contents(uri)
        if isinstance(value, BINARY):
            blob = base64.b64encode(value).decode("ascii")
            return BlobResourceContents(uri=uri, mime_type=mime_type or "application/octet-stream", blob=blob)
        if isinstance(value, CONTENTS):
            contents: Any = value.resource if isinstance(value, types.EmbeddedResource) else value
            check_sendable(contents)
            return cast("Contents", contents)
        default = "text/plain" if isinstance(value, str) else "application/json"
        text = text_of(value) if value is not None else "null"
        return TextResourceContents(uri=uri, mime_type=mime_type or default, text=text)

    def check(self, result: ReadResourceResult) -> None:
        try:
            check_sendable(result)
        except InvalidOutputError as error:
            raise error.of("Resource output") from error.__cause__

    def failed(self, call: Call, error: BaseException | None) -> FrontMcpError:
        return ResourceReadError(call.name, error)

    def listed(self, name: str, *, modern: bool) -> types.Resource:
        definition = self.definition
        assert isinstance(definition, Resource)
        return types.Resource(
            uri=self.address,
            name=self.name,
            title=definition.title,
            description=definition.description,
            mime_type=definition.mime_type,
            size=definition.size,
            annotations=definition.annotations,
            icons=definition.icons or None,
            _meta=listed_meta(definition),
        )


class TemplateEntry(ResourceEntry, CompletableEntry):
    """Resources of one template that can be read."""

    kind = "resource_template"
    kinds = ("resource_template", "resource")
    list_name = "templates"
    definition: ResourceTemplate

    def match(self, uri: str) -> dict[str, Any] | None:
        """The variables of a URI; None when it is none of the template's, or a variable leaves its place as a path."""
        found = self.definition.template.match(uri)
        if found is None:
            return None
        paths = {each.name for each in self.definition.template.variables if each.explode or each.operator in PATHS}
        is_safe = all(_is_safe(value, is_path=name in paths) for name, value in found.items())
        return found if is_safe else None

    def listed(self, name: str, *, modern: bool) -> Any:
        definition = self.definition
        return types.ResourceTemplate(
            uri_template=self.address,
            name=self.name,
            title=definition.title,
            description=definition.description,
            mime_type=definition.mime_type,
            annotations=definition.annotations,
            icons=definition.icons or None,
            _meta=listed_meta(definition),
        )


def _is_several(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(each, CONTENTS) for each in value)


def _is_safe(value: str | list[str], *, is_path: bool) -> bool:
    """Whether a variable, joined to a directory, stays below it.

    :param is_path: the template says that it is a path, which may be absolute but not climb.
    """
    if isinstance(value, list):
        return all(_is_safe(each, is_path=False) for each in value)
    if "\0" in value or ".." in re.split(r"[/\\]", value):
        return False
    return is_path or _ABSOLUTE.match(value) is None
