"""The policies of one server, ready to judge calls. Loaded when the first option of `authorities` is read."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, Final
from weakref import WeakKeyDictionary

from frontmcp import Call, Caller
from plugins_builtin.authorities.decision import Check, Compiler, Context, required_scopes
from plugins_builtin.authorities.errors import AuthorityDeniedError, Denial
from plugins_builtin.authorities.identity import Identity, resolved
from plugins_builtin.authorities.policy import AuthoritiesOptions, Policy, asks_who_calls

logger = logging.getLogger("frontmcp.authorities")

RUN_AS: Final = ("job", "workflow")
"""Kinds whose schedules say who calls."""

WORDS: Final = {"resource_template": "Resource"}


class Engine:
    """Judges calls by the policies of their entries.

    :ivar problems: policies that can't be checked, in words.
    """

    def __init__(self, options: AuthoritiesOptions | None, entries: Iterable[Any]) -> None:
        self._options = AuthoritiesOptions() if options is None else options
        self._scopes = self._options.scope_mapping.model_dump()
        self._checks: dict[Any, Check] = {}
        self._resolved: WeakKeyDictionary[Any, tuple[Caller, Identity]] = WeakKeyDictionary()
        self.problems: list[str] = []
        for name, policy in self._options.profiles.items():
            self._compile(policy, f"authorities: profiles.{name}")
        for entry in entries:
            self._checks[entry] = self._compile(entry.options["authorities"], f"{entry.definition.place}: authorities")

    def _compile(self, policy: Policy, place: str) -> Check:
        compiler = Compiler(self._options)
        check = compiler.compile(policy)
        self.problems += [f"{place}: {problem}" for problem in compiler.problems]
        return check

    def warn_of_strangers(self) -> None:
        """Name the entries that no client can call as long as nothing says who calls."""
        options = self._options
        if options.claims_resolver is not None:
            return
        closed = [
            entry.name
            for entry in self._checks
            if entry.kind not in RUN_AS and asks_who_calls(entry.options["authorities"], options.profiles)
        ]
        if closed:
            logger.warning(
                "no client can call %s: their authorities ask who calls, and nothing here says it; "
                "give auth= (docs/auth.md), for stdio with local, or a plugin that answers authenticate",
                ", ".join(closed),
            )

    async def judge(self, call: Call) -> None:
        """Refuse a call whose caller may not make it.

        :raises AuthorityDeniedError: the policy says no.
        """
        outcome = await self._checks[call.entry](Context(call, await self._identity(call)))
        if outcome is None:
            return
        if not isinstance(outcome, Denial):
            raise outcome
        entry = call.entry
        what = f'{WORDS.get(entry.kind, entry.kind.capitalize())} "{entry.id}"'
        raise AuthorityDeniedError(what, outcome, required_scopes(outcome, self._scopes))

    async def _identity(self, call: Call) -> Identity:
        """Who is judged: the call's own caller, by the claims. A resolver is asked once a request."""
        caller, resolver = call.caller, self._options.claims_resolver
        if resolver is None:
            return Identity(caller, self._options.claims_mapping)
        known = self._resolved.get(call.request)
        if known is None or known[0] is not caller:
            known = self._resolved[call.request] = (caller, await resolved(caller, resolver))
        return known[1]
