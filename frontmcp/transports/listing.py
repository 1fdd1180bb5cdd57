"""Lists, a page at a time, behind sealed cursors."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import mcp_types as types
from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState
from mcp.shared.exceptions import MCPError

from frontmcp.call import RequestContext
from frontmcp.pipeline import Pipeline
from frontmcp.registry import ListName, Registry

logger = logging.getLogger("frontmcp.server")

MOST_PAGES: Final = 256
"""How many pages that are the same for everybody are kept."""

RESULTS: Final[Mapping[ListName, tuple[type[Any], str]]] = {
    "tools": (types.ListToolsResult, "tools"),
    "resources": (types.ListResourcesResult, "resources"),
    "templates": (types.ListResourceTemplatesResult, "resource_templates"),
    "prompts": (types.ListPromptsResult, "prompts"),
}


class ListOptions(NamedTuple):
    """How lists are served.

    :ivar page_size: None never pages.
    :ivar ttl_ms: how long a client may keep a page.
    :ivar is_public: whether anybody may be shown it, where it does not depend on the caller.
    """

    page_size: int | None
    ttl_ms: int = 0
    is_public: bool = False


def warn_of_missing_descriptions(registry: Registry) -> None:
    """Name the tools that a model is shown without a word on what they are for; those that may be hidden aside."""
    bare = [entry.name for entry in registry.tools if not entry.definition.description and entry.plan.visible is None]
    if bare:
        logger.warning("without a description a model can't tell when to call these tools: %s", ", ".join(bare))


class Lists:
    """The pages of one server's lists."""

    def __init__(self, pipeline: Pipeline, options: ListOptions, cursors: AESGCMRequestStateCodec) -> None:
        self._pipeline = pipeline
        self._options = options
        self._cursors = cursors
        self._pages: dict[tuple[ListName, bool, str | None], dict[str, Any]] = {}
        self._version = 0

    async def page(
        self, name: ListName, request: RequestContext, cursor: str | None, *, modern: bool
    ) -> dict[str, Any]:
        """The page that a cursor leads to, of what the caller may see, as it goes to the client.

        :raises MCPError: the cursor is none of ours.
        """
        listed = await self._pipeline.list_entries(name, request)
        if listed is not self._pipeline.shared_list(name):
            return self._page(name, listed, cursor, modern=modern, is_shared=False)
        if self._version != self._pipeline.registry.version or len(self._pages) > MOST_PAGES:
            self._pages.clear()
            self._version = self._pipeline.registry.version
        key = (name, modern, cursor)
        if key not in self._pages:
            self._pages[key] = self._page(name, listed, cursor, modern=modern, is_shared=True)
        return self._pages[key]

    def _page(
        self, name: ListName, listed: list[tuple[str, Any]], cursor: str | None, *, modern: bool, is_shared: bool
    ) -> dict[str, Any]:
        options = self._options
        if cursor is not None:
            after = self._opened(name, cursor)
            listed = [pair for pair in listed if pair[0] > after]
        page = listed if options.page_size is None else listed[: options.page_size]
        more = len(page) < len(listed)
        result, field = RESULTS[name]
        made = result(
            **{field: [entry.wire(name=listed_as, modern=modern) for listed_as, entry in page]},
            next_cursor=self._cursors.seal(f"{name}:{page[-1][0]}".encode()) if more else None,
            ttl_ms=options.ttl_ms,
            cache_scope="public" if options.is_public and is_shared else "private",
        )
        dumped: dict[str, Any] = made.model_dump(by_alias=True, mode="json", exclude_none=True)
        return dumped

    def _opened(self, name: ListName, cursor: str) -> str:
        try:
            sealed_for, _, after = self._cursors.unseal(cursor).decode().partition(":")
        except (InvalidRequestState, ValueError):
            sealed_for, after = "", ""
        if sealed_for != name:
            raise MCPError(types.INVALID_PARAMS, "Invalid cursor")
        return after
