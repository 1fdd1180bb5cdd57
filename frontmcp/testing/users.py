"""Who a test client is: a plugin that only the fixture adds, so that nobody can claim to be a user elsewhere."""

from __future__ import annotations

import secrets
from contextvars import ContextVar
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from frontmcp.call import Caller
from frontmcp.hooks import Plugin
from frontmcp.hookspecs import hookimpl
from frontmcp.server import FrontMcp

HEADER = "x-frontmcp-test-user"
"""Carries a ticket over HTTP."""

TICKET: ContextVar[str] = ContextVar("frontmcp.testing.ticket", default="")
"""The ticket of the client at the other end of a connection that has no headers."""

P = TypeVar("P", bound=Plugin)

_INSTALLED: WeakKeyDictionary[FrontMcp, dict[type[Plugin], Plugin]] = WeakKeyDictionary()


class Users(Plugin):
    """Answers `authenticate` for clients with a ticket; all others are left to the server's own plugins."""

    name = "frontmcp.testing.users"

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}

    def admit(self, caller: Caller) -> str:
        """An unguessable ticket by which ``caller`` is known to this server from now on."""
        ticket = secrets.token_urlsafe()
        self._callers[ticket] = caller
        return ticket

    @hookimpl(tryfirst=True)
    def authenticate(self, request: Any) -> Caller | None:
        return self._callers.get(request.headers.get(HEADER) or TICKET.get())


def installed(server: FrontMcp, kind: type[P]) -> P:
    """The one plugin of a kind that tests have on a server; added at its first use."""
    plugins = _INSTALLED.setdefault(server, {})
    if kind not in plugins:
        plugins[kind] = kind()
        server.add_plugin(plugins[kind])
    return cast("P", plugins[kind])
