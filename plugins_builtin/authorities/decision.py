"""Policies as functions: a context goes in, and comes out granted, denied, or undecided for want of input.

A list has no input, and a call may have an invalid one. What doesn't need it decides all the same: a denial
counts whatever the undecided rest would say, so that lists and calls agree.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from frontmcp import Call, Caller, InvalidInputError
from frontmcp.interfaces import Undecided
from plugins_builtin.authorities.errors import Denial
from plugins_builtin.authorities.identity import Identity, claims_of
from plugins_builtin.authorities.policy import (
    Attributes,
    AuthoritiesOptions,
    Condition,
    Guard,
    Policy,
    Quantified,
    Reference,
    Relationship,
)
from plugins_builtin.authorities.values import OPERATORS, lookup, same, shown

Outcome: TypeAlias = Denial | Undecided | InvalidInputError | None
"""Denied, undecided (by the error that reading the input raised), or granted."""


class Context:
    """What evaluators, guards and the relationship resolver are given.

    :ivar call: the call that is judged.
    :ivar identity: whose claims count.
    """

    __slots__ = ("call", "identity")

    def __init__(self, call: Call, identity: Identity) -> None:
        self.call = call
        self.identity = identity

    @property
    def caller(self) -> Caller:
        """Who is judged, with the roles and permissions that the claims give."""
        return self.identity.caller

    @property
    def input(self) -> Any:
        """The validated input; let what this raises pass, it says that there is none."""
        return self.call.input

    @property
    def env(self) -> dict[str, Any]:
        """``environment``, ``transport``, ``surface`` and ``client_ip``."""
        call, request = self.call, self.call.request
        return {
            "environment": call.server.environment,
            "transport": request.transport,
            "surface": call.surface,
            "client_ip": request.client_ip,
        }

    @property
    def user(self) -> dict[str, Any]:
        """What paths that begin with ``user.`` look into."""
        caller = self.caller
        return {
            "sub": caller.sub,
            "name": caller.name,
            "email": caller.email,
            "roles": list(caller.roles),
            "permissions": list(caller.permissions),
            "scopes": list(caller.scopes),
            "claims": self.claims,
            **self.identity.more,
        }

    @property
    def claims(self) -> dict[str, Any]:
        """What paths that begin with ``claims.`` look into."""
        return claims_of(self.caller)

    def value(self, path: str) -> Any:
        """The value at a path of a policy; None where there is none."""
        root, _, rest = path.partition(".")
        if root == "input":
            return lookup(self.input, rest, whole=_declares(self.call.entry, rest))
        return lookup(getattr(self, root), rest)


def _declares(entry: Any, name: str) -> bool:
    """Whether an entry has an argument of that name: others are the caller's to invent."""
    given = getattr(entry, "input", None)
    return given is not None and name in given.schema.get("properties", ())


Check: TypeAlias = Callable[[Context], Awaitable[Outcome]]


class Compiler:
    """Turns policies into checks.

    :ivar problems: what can't be checked: unknown profiles and evaluators, in words.
    """

    def __init__(self, options: AuthoritiesOptions) -> None:
        self._options = options
        self._trail: list[str] = []
        self.problems: list[str] = []

    def compile(self, policy: Policy) -> Check:
        """The check of a policy, and of all that it refers to."""
        checks = list(self._fields(policy))
        if policy.operator == "AND" or not checks:
            return every(checks)
        return some(checks, "first", Denial("operator", "operator", "all policies denied (OR)"))

    def _fields(self, policy: Policy) -> Iterator[Check]:
        """The check of each field that is set, in the order of evaluation."""
        if policy.profiles is not None:
            yield every([self._profile(name) for name in policy.profiles])
        for kind in ("roles", "permissions"):
            if (names := getattr(policy, kind)) is not None:
                yield _held(kind, names)
        if policy.attributes is not None:
            yield every(list(_attributes(policy.attributes)))
        if policy.relationships is not None:
            resolver = self._options.relationship_resolver
            yield every([_related(each, resolver) for each in policy.relationships])
        if policy.custom is not None:
            yield every([self._custom(name, config) for name, config in policy.custom.items()])
        if policy.guards is not None:
            yield every([_guarded(index, guard) for index, guard in enumerate(policy.guards)])
        if policy.all_of is not None:
            yield every([self.compile(each) for each in policy.all_of])
        if policy.any_of is not None:
            alternatives = [self.compile(each) for each in policy.any_of]
            yield some(alternatives, "last", Denial("any_of", "any_of", "no policies in anyOf"))
        if policy.not_ is not None:
            yield negated(self.compile(policy.not_))

    def _profile(self, name: str) -> Check:
        policy = self._options.profiles.get(name)
        if policy is None:
            hint = "; define profiles= in the server's authorities option"
            return self._unknown(f"profile '{name}' is not registered", self._options.profiles, hint)
        if name in self._trail:
            path = " → ".join([*self._trail[self._trail.index(name) :], name])
            return self._unknown(f"profile '{name}' refers to itself: {path}")
        self._trail.append(name)
        check = self.compile(policy)
        self._trail.pop()
        return _within(name, check)

    def _custom(self, name: str, config: Any) -> Check:
        evaluator = self._options.evaluators.get(name)
        if evaluator is None:
            return self._unknown(f"custom evaluator '{name}' is not registered", self._options.evaluators)

        async def check(context: Context) -> Outcome:
            answer = await _answer(evaluator(config, context))
            return _verdict(answer, Denial("custom", f"custom.{name}", f"custom.{name}"), "denied")

        return awaiting_input(check)

    def _unknown(self, text: str, known: Iterable[str] = (), hint: str = "") -> Check:
        names = ", ".join(f"'{each}'" for each in known)
        self.problems.append(f"{text}; there are {names}" if names else text + hint)
        return _refusing(Denial("policy", "policy", text))


# Combining


def every(checks: Sequence[Check]) -> Check:
    """All must grant; the first denial is reported."""
    if len(checks) == 1:
        return checks[0]

    async def check(context: Context) -> Outcome:
        undecided: Outcome = None
        for each in checks:
            outcome = await each(context)
            if isinstance(outcome, Denial):
                return outcome
            undecided = undecided or outcome
        return undecided

    return check


def some(checks: Sequence[Check], reported: Literal["first", "last"], otherwise: Denial) -> Check:
    """One must grant; the first or last denial is reported."""

    async def check(context: Context) -> Outcome:
        undecided: Outcome = None
        denials = []
        for each in checks:
            outcome = await each(context)
            if outcome is None:
                return None
            if isinstance(outcome, Denial):
                denials.append(outcome)
            else:
                undecided = undecided or outcome
        if undecided is not None or not denials:
            return undecided or otherwise
        return denials[0 if reported == "first" else -1]

    return check


def negated(inner: Check) -> Check:
    """The other way round; what is undecided stays so."""
    granted = Denial("not", "not", "not: inner policy was granted (negated to denied)")

    async def check(context: Context) -> Outcome:
        outcome = await inner(context)
        if isinstance(outcome, Denial):
            return None
        return granted if outcome is None else outcome

    return check


def awaiting_input(inner: Check) -> Check:
    """Undecided where the input that a check reads isn't there."""

    async def check(context: Context) -> Outcome:
        try:
            return await inner(context)
        except (Undecided, InvalidInputError) as missing:
            return missing

    return check


def _within(profile: str, inner: Check) -> Check:
    async def check(context: Context) -> Outcome:
        outcome = await inner(context)
        if not isinstance(outcome, Denial):
            return outcome
        return replace(outcome, text=f"profile:{profile}: {outcome.text}", profiles=(profile, *outcome.profiles))

    return check


def _refusing(denial: Denial) -> Check:
    async def check(context: Context) -> Outcome:
        return denial

    return check


# Fields


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _held(kind: str, names: Quantified) -> Check:
    async def check(context: Context) -> Outcome:
        held = context.identity.names(kind)
        missing = tuple(name for name in names.all or () if name not in held)
        if missing:
            return Denial(kind, f"{kind}.all", f"{kind}.all: missing {_quoted(missing)}", missing)
        if names.any is not None and not any(name in held for name in names.any):
            return Denial(kind, f"{kind}.any", f"{kind}.any: user has none of {_quoted(names.any)}", names.any)
        return None

    return check


def _attributes(attributes: Attributes) -> Iterator[Check]:
    for path, expected in attributes.match.items():
        yield awaiting_input(_matching(path, expected))
    for condition in attributes.conditions:
        yield awaiting_input(_conditional(condition))


def _expected(value: Any, context: Context) -> tuple[Any, bool]:
    """The value of a policy, and whether there is one: a reference may lead nowhere."""
    if not isinstance(value, Reference):
        return value, True
    found = context.value(value.path)
    return found, found is not None


def _is_input(path: str) -> bool:
    """Whether a path leads to what the caller sent, which no denial may repeat."""
    return path.startswith("input.")


def _told(found: Any, value: Any) -> tuple[str, Any]:
    """What a denial tells of a policy's value, in words and as data: of input only where it stands.

    :param found: the value, resolved.
    :param value: as the policy has it.
    """
    if isinstance(value, Reference) and _is_input(value.path):
        return value.path, None
    return shown(found), found


def _matching(path: str, value: Any) -> Check:
    async def check(context: Context) -> Outcome:
        actual = context.value(path)
        expected, known = _expected(value, context)
        if known and same(actual, expected):
            return None
        said, expected = _told(expected, value)
        got, actual = ("another value", None) if _is_input(path) else (f"'{shown(actual)}'", actual)
        text = f"attributes.match: '{path}' expected '{said}' but got {got}"
        return Denial("attributes", "attributes.match", text, expected=expected, actual=actual)

    return check


def _conditional(condition: Condition) -> Check:
    holds = OPERATORS[condition.op]

    async def check(context: Context) -> Outcome:
        actual = context.value(condition.path)
        expected, known = _expected(condition.value, context)
        if known and holds(actual, expected):
            return None
        said, expected = _told(expected, condition.value)
        text = f"attributes.conditions: '{condition.path}' failed '{condition.op}' check against '{said}'"
        actual = None if _is_input(condition.path) else actual
        return Denial("attributes", "attributes.conditions", text, expected=expected, actual=actual)

    return check


def _related(wanted: Relationship, resolver: Any) -> Check:
    async def check(context: Context) -> Outcome:
        resource_id = wanted.resource_id
        if isinstance(resource_id, Reference):
            resource_id = context.value(resource_id.path)
        if not isinstance(resource_id, str):
            text = f"could not resolve resourceId for {wanted.resource}"
            return Denial("relationships", "relationships", f"relationships: {text}")
        sub = context.caller.sub
        if resolver is not None:
            answer = await _answer(resolver.check(wanted.type, wanted.resource, resource_id, sub, context))
            if answer is True:
                return None
        said, _ = _told(resource_id, wanted.resource_id)
        text = f"user '{shown(sub)}' is not '{wanted.type}' of {wanted.resource}:{said}"
        return Denial("relationships", "relationships", f"relationships: {text}")

    return awaiting_input(check)


def _guarded(index: int, guard: Guard) -> Check:
    async def check(context: Context) -> Outcome:
        answer = await _answer(guard(context))
        place = f"guards[{index}]"
        return _verdict(answer, Denial("guards", place, place), f"guard[{index}] denied")

    return awaiting_input(check)


async def _answer(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _verdict(answer: Any, denial: Denial, otherwise: str) -> Outcome:
    """Only True grants; a text says why not."""
    if answer is True:
        return None
    said = answer if isinstance(answer, str) and answer else otherwise
    return replace(denial, text=f"{denial.text}: {said}")


def required_scopes(denial: Denial, mapping: Mapping[str, Mapping[str, Sequence[str]]]) -> list[str]:
    """The scopes that could have helped, sorted.

    :param mapping: by kind and name.
    """
    found = {scope for name in denial.missing for scope in mapping.get(denial.kind, {}).get(name, ())}
    found.update(scope for name in denial.profiles for scope in mapping["profiles"].get(name, ()))
    return sorted(found)
