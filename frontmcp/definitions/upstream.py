"""`App.from_mcp`: which server an app stands for, and how it is reached."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from mcp.server import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from frontmcp.call import Caller
from frontmcp.errors import ConfigurationError

Headers: TypeAlias = Mapping[str, str]
HeadersOf: TypeAlias = Callable[[Caller], Headers | Awaitable[Headers | None] | None]

LOWLEVEL: Final = ("_lowlevel_server", "_mcp_server")
"""Where the high-level servers of the SDK and of FastMCP have the SDK's low-level one."""

MODES: Final = ("auto", "legacy", *MODERN_PROTOCOL_VERSIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamOptions:
    """What `App.from_mcp` was given; see there."""

    target: Any = field(repr=False)
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prompts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    headers: Headers | HeadersOf | None = field(default=None, repr=False)
    discovery_headers: Headers | None = field(default=None, repr=False)
    auth: Any = field(default=None, repr=False)
    mode: str = "auto"
    required: bool = True
    connect_timeout: float = 10.0
    call_timeout: float | None = 300.0
    max_connections: int = 100
    idle_timeout: float = 300.0

    def __post_init__(self) -> None:
        if not (self.is_url or self.command is not None or is_server(self.target)):
            raise ConfigurationError(
                "App.from_mcp takes a server object, an http(s) URL, or a command (a list, a string, "
                f"StdioServerParameters), not an object of {type(self.target).__qualname__}"
            )
        if not self.is_url and (self.headers is not None or self.auth is not None):
            raise ConfigurationError("App.from_mcp: headers= and auth= are for servers behind a URL")
        if self.max_connections < 1:
            raise ConfigurationError("App.from_mcp: max_connections= must be at least 1")
        if self.mode not in MODES:
            raise ConfigurationError(f"App.from_mcp: mode={self.mode!r} must be one of {', '.join(map(repr, MODES))}")

    @property
    def is_url(self) -> bool:
        return isinstance(self.target, str) and self.target.startswith(("http://", "https://"))

    @property
    def command(self) -> tuple[str, ...] | None:
        """The words of a command that starts a server."""
        if isinstance(self.target, str):
            return None if self.is_url else tuple(shlex.split(self.target)) or None
        if isinstance(self.target, Sequence):
            return tuple(map(str, self.target)) or None
        command = getattr(self.target, "command", None)
        return (command, *self.target.args) if isinstance(command, str) else None

    @property
    def server(self) -> Server[Any] | None:
        """The SDK's low-level server beneath an object in this process."""
        if isinstance(self.target, Server):
            return self.target
        found = [getattr(self.target, name) for name in (*LOWLEVEL, "lowlevel") if hasattr(self.target, name)]
        return found[0] if found else None

    @property
    def is_shared(self) -> bool:
        """Whether one connection serves every caller: to a server in this process, where no request knows another."""
        return not self.is_url and self.command is None and self.mode != "legacy"

    @property
    def label(self) -> str:
        """Names the server in messages of the start: no secret that a URL or a command may have."""
        if self.is_url:
            return str(self.target).partition("?")[0].rpartition("@")[2]
        if self.command is not None:
            return f'the command "{self.command[0]}"'
        return f'the server "{getattr(self.target, "name", "?")}"'


def is_server(target: Any) -> bool:
    """Whether something is a server object in this process, of whatever make."""
    return (
        isinstance(target, Server)
        or any(isinstance(getattr(target, name, None), Server) for name in LOWLEVEL)
        or hasattr(type(target), "lowlevel")
    )


def mode_of(target: Any) -> str:
    """How a target is best spoken to. FastMCP's tools can neither ask nor tell by 2026-07-28."""
    return "legacy" if isinstance(getattr(target, "_mcp_server", None), Server) else "auto"


def patterns(given: str | Sequence[str]) -> tuple[str, ...]:
    """One pattern or several, as several."""
    return (given,) if isinstance(given, str) else tuple(given)
