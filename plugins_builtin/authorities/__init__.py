"""`authorities`: who calls, and who may call what (docs/auth.md, docs/authorities.md).

``authorities=`` of an entry names profiles or is a policy; the server option of the same name defines profiles, and
where roles and permissions stand among a caller's claims. Every call is judged anew, by the caller it carries.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from frontmcp import Call, Caller, ConfigurationError, Option, Plugin, hookimpl
from plugins_builtin.authorities.errors import AuthorityDeniedError as AuthorityDeniedError
from plugins_builtin.authorities.errors import Denial as Denial


def _load(module: str) -> Any:
    """A module of this package; loaded when an option first needs it, so that servers without one don't wait for it."""
    return import_module(f"{__name__}.{module}")


class Authorities(Plugin):
    """Answers `check_authorities`, for lists and calls, of clients and of tools alike; and `authenticate`."""

    name = "authorities"
    options = (
        Option("authorities", f"{__name__}.policy:Requirement"),
        Option("authorities", f"{__name__}.policy:AuthoritiesOptions", server=True),
        Option("auth", f"{__name__}.auth:AuthOptions", server=True),
    )

    def __init__(self) -> None:
        self._engine: Any = None
        self._authenticator: Any = None

    @hookimpl
    def settled(self, server: Any) -> None:
        guarded = [entry for entry in server.entries() if entry.options.get("authorities") is not None]
        options = server.options.get("authorities")
        if guarded or options is not None:
            self._engine = _load("engine").Engine(options, guarded)
            if self._engine.problems:
                raise ConfigurationError(self._engine.problems)
        auth = server.options.get("auth")
        if auth is not None and self._authenticator is None:
            mapping = {} if options is None else options.claims_mapping
            self._authenticator = _load("auth").Authenticator(auth, mapping, lambda: not server.production)

    @hookimpl
    async def authenticate(self, request: Any) -> Caller | None:
        if self._authenticator is None:
            return None
        caller: Caller | None = await self._authenticator.caller(request)
        return caller

    @hookimpl
    def provide_routes(self, server: Any) -> Any:
        if self._authenticator is not None:
            return self._authenticator.routes(server.name)
        if self._engine is not None and all(step.plugin == self.name for step in server.hooks.steps("authenticate")):
            self._engine.warn_of_strangers()
        return None

    @hookimpl(option="authorities")
    async def check_authorities(self, call: Call) -> None:
        try:
            await self._engine.judge(call)
        except AuthorityDeniedError as error:
            if self._authenticator is not None and _is_a_clients_request(call):
                error.challenge = self._authenticator.step_up(call.caller, error.required_scopes)
            raise


def _is_a_clients_request(call: Call) -> bool:
    """Whether an HTTP request is for this call alone, so that its answer may be a refusal in HTTP."""
    return call.origin == "client" and not call.listing and call.request.transport == "http"
