"""Whether a server is in development or in production."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OPEN_ENVIRONMENTS: Final = frozenset({"development", "test"})
"""Environments that show errors whole; any other masks what is not public."""


class Environment:
    """The environment of one server.

    :param given: what `FrontMcp` was given.
    """

    def __init__(self, given: str | None) -> None:
        self._given = given
        self._public_roads = 0

    @property
    def name(self) -> str:
        """What was given, else ``FRONTMCP_ENV``, else production while `serving_publicly`, else development."""
        default = "production" if self._public_roads else "development"
        return self._given or os.environ.get("FRONTMCP_ENV") or default

    @property
    def is_production(self) -> bool:
        """Whether errors that are not public are masked."""
        return self.name not in OPEN_ENVIRONMENTS

    @contextmanager
    def serving_publicly(self) -> Iterator[None]:
        """The server serves HTTP, or a server that is in production, or is about to. May be entered again meanwhile."""
        self._public_roads += 1
        try:
            yield
        finally:
            self._public_roads -= 1
