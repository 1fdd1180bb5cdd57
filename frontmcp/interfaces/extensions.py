"""Extensions of the protocol (from 2026-07-28 on): methods of their own, for clients that declare them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from frontmcp.call import RequestContext

Handler: TypeAlias = Callable[[RequestContext, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Given the request and its params as JSON data, gives the result as JSON data; what it raises is told as for
resources."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method that an extension serves.

    :param name: such as ``tasks/get``.
    :param required: the params, all texts, that a request must have.
    :param header: the param that the HTTP header ``Mcp-Name`` repeats.
    """

    name: str
    handler: Handler
    required: Sequence[str] = ()
    header: str | None = None


@dataclass(frozen=True, slots=True)
class Extension:
    """What a server offers beyond the protocol. Answered through the hook ``provide_extensions(server)``.

    :param identifier: such as ``io.modelcontextprotocol/tasks``.
    :param settings: as the server declares them.
    """

    identifier: str
    methods: Sequence[Method] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capability(self) -> dict[str, Any]:
        """What a client that knows it declares."""
        return {"extensions": {self.identifier: {}}}
