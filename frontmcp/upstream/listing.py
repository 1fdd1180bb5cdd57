"""What a server lists, all pages of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from frontmcp.call import HOPS, SERVED_BY
from frontmcp.upstream.connection import Connection

logger = logging.getLogger("frontmcp.upstream")

MOST_PAGES: Final = 1000
"""How many pages of a list are read: one that never ends must not hang the start."""

PAGE_SECONDS: Final = 30.0
"""How long a page may take."""


VIA: Final = "frontmcp/via"
"""Where the ``_meta`` of what is listed has the servers that it came through, its own first."""


def came_through(listed: Any) -> tuple[str, ...]:
    """The servers that something listed came through, as far as they tell."""
    via = (listed.meta or {}).get(VIA)
    return tuple(via) if isinstance(via, list) and all(isinstance(each, str) for each in via) else ()


async def everything(connection: Connection) -> list[Any]:
    """Its tools, resources, templates and prompts, as far as it has such lists."""
    client = connection.client
    return [
        *await every_tool(connection),
        *await _all(client.list_resources, "resources"),
        *await _all(client.list_resource_templates, "resource_templates"),
        *await _all(client.list_prompts, "prompts"),
    ]


async def every_tool(connection: Connection) -> list[types.Tool]:
    """Its tools; from then on the SDK's client knows which arguments it repeats in headers."""
    return await _all(connection.client.list_tools, "tools")


async def _all(fetch: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        try:
            with anyio.fail_after(PAGE_SECONDS):
                page = await fetch(cursor=cursor, meta={HOPS: 1})
        except MCPError as error:
            if error.code == types.METHOD_NOT_FOUND:
                return found
            raise
        listed = getattr(page, field)
        _note_server(listed, (page.meta or {}).get(SERVED_BY))
        found += listed
        cursor = page.next_cursor
        if cursor is None:
            return found
    logger.warning("a list of %s has more than %d pages; what stands on further ones is not served", field, MOST_PAGES)
    return found


def _note_server(listed: Iterable[Any], server: Any) -> None:
    """Note on what a server lists that it came through there, if it says who it is."""
    if isinstance(server, str):
        for each in listed:
            each.meta = {**(each.meta or {}), VIA: [*came_through(each), server]}
