"""`authorities`: who may call what (docs/authorities.md).

``authorities=`` of an entry names profiles or is a policy; the server option of the same name defines profiles, and
where roles and permissions stand among a caller's claims. Every call is judged anew, by the caller it carries.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from frontmcp import Call, Caller, ConfigurationError, Option, Plugin, hookimpl
from plugins_builtin.authorities.decision import Check, Compiler, Context, required_scopes
from plugins_builtin.authorities.errors import AuthorityDeniedError as AuthorityDeniedError
from plugins_builtin.authorities.errors import Denial as Denial
from plugins_builtin.authorities.identity import Identity, mapped, resolved
from plugins_builtin.authorities.policy import AuthoritiesOptions, Requirement

WORDS = {"resource_template": "Resource"}


class Authorities(Plugin):
    """Answers `check_authorities`, for lists and calls, of clients and of tools alike."""

    name = "authorities"
    options = (Option("authorities", Requirement), Option("authorities", AuthoritiesOptions, server=True))

    def __init__(self) -> None:
        self._options = AuthoritiesOptions()
        self._checks: WeakKeyDictionary[Any, Check] = WeakKeyDictionary()
        self._resolved: WeakKeyDictionary[Any, tuple[Caller, Identity]] = WeakKeyDictionary()

    @hookimpl
    def settled(self, server: Any) -> None:
        self._options = server.options.get("authorities", AuthoritiesOptions())
        problems = []
        for name, policy in self._options.profiles.items():
            compiler = Compiler(self._options)
            compiler.compile(policy)
            problems += [f"authorities: profiles.{name}: {problem}" for problem in compiler.problems]
        for entry in server.entries():
            if (policy := entry.options.get("authorities")) is not None:
                compiler = Compiler(self._options)
                self._checks[entry] = compiler.compile(policy)
                problems += [f"{entry.definition.place}: authorities: {problem}" for problem in compiler.problems]
        if problems:
            raise ConfigurationError(problems)

    @hookimpl(option="authorities")
    async def check_authorities(self, call: Call) -> None:
        outcome = await self._checks[call.entry](Context(call, await self._identity(call)))
        if outcome is None:
            return
        if not isinstance(outcome, Denial):
            raise outcome
        entry, mapping = call.entry, self._options.scope_mapping
        what = f'{WORDS.get(entry.kind, entry.kind.capitalize())} "{entry.id}"'
        raise AuthorityDeniedError(what, outcome, required_scopes(outcome, mapping.model_dump()))

    async def _identity(self, call: Call) -> Identity:
        """Who is judged: the call's own caller, by the claims."""
        caller = call.caller
        if self._options.claims_resolver is not None:
            known = self._resolved.get(call.request)
            if known is None or known[0] is not caller:
                known = (caller, await resolved(caller, self._options.claims_resolver))
                self._resolved[call.request] = known
            return known[1]
        mapping = self._options.claims_mapping
        return mapped(caller, mapping) if mapping else Identity(caller)
