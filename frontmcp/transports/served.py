"""What the wire needs of a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from frontmcp.pipeline import Pipeline
from frontmcp.transports.listing import ListOptions

if TYPE_CHECKING:
    from frontmcp.interfaces import StateStore
    from frontmcp.plugins import PluginManager


class Served(Protocol):
    """A `FrontMcp`, as the wire sees it."""

    info: dict[str, Any]

    @property
    def identity(self) -> str: ...
    @property
    def instructions(self) -> str | None: ...
    @property
    def list_options(self) -> ListOptions: ...
    @property
    def pipeline(self) -> Pipeline: ...
    @property
    def hooks(self) -> PluginManager: ...
    @property
    def state_store(self) -> StateStore: ...
    @property
    def production(self) -> bool: ...
    def running(self) -> Any: ...
    def on_change(self, listener: Any) -> Callable[[], None]: ...
