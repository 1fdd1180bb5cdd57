"""What a policy may say: pydantic models, read once when the server starts.

Keys are snake_case, their camelCase spellings are accepted, unknown ones are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from plugins_builtin.authorities.patterns import check_pattern

SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
ROOTS = ("user", "claims", "input", "env")

Operator: TypeAlias = Literal[
    "eq", "neq", "in", "not_in", "gt", "gte", "lt", "lte", "contains", "starts_with", "ends_with", "exists", "matches"
]


def snake_case(name: str) -> str:
    """``allOf`` → ``all_of``."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", name)


def _snake_if_text(value: Any) -> Any:
    return snake_case(value) if isinstance(value, str) else value


def _upper_if_text(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, Mapping | BaseModel) else value


def _check_root(path: str) -> str:
    root, _, rest = path.partition(".")
    if root not in ROOTS or not rest:
        raise ValueError("a path begins with user., claims., input. or env.")
    return path


Path: TypeAlias = Annotated[str, AfterValidator(_check_root)]
"""``user.…``, ``claims.…``, ``input.…`` or ``env.…``; see `plugins_builtin.authorities.values`."""

Names: TypeAlias = Annotated[tuple[str, ...], Field(min_length=1)]


class Model(BaseModel):
    """A part of a policy."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _respell(cls, value: Any) -> Any:
        """Take camelCase keys for what they mean; two spellings of one key are left to be refused."""
        if not isinstance(value, Mapping):
            return value
        spelled = {_own_key(cls, key): each for key, each in value.items()}
        return spelled if len(spelled) == len(value) else value


def _own_key(model: type[BaseModel], key: Any) -> Any:
    snake = _snake_if_text(key)
    return next((name for name in (snake, f"{snake}_") if name in model.model_fields), key)


class Quantified(Model):
    """Names to have: every one of ``all``, at least one of ``any``."""

    all: Names | None = None
    any: Names | None = None


class Reference(Model):
    """A value that only a call has: a field of its input, or a claim."""

    from_input: str | None = None
    from_claims: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Reference:
        if (self.from_input is None) == (self.from_claims is None):
            raise ValueError("give either from_input or from_claims")
        return self

    @property
    def path(self) -> str:
        """Where the value is."""
        return f"input.{self.from_input}" if self.from_input is not None else f"claims.{self.from_claims}"


def _is_reference(value: Any) -> bool:
    return (
        isinstance(value, Mapping) and {"from_input", "from_claims"} & {_snake_if_text(key) for key in value} != set()
    )


def _value(value: Any) -> Any:
    return Reference.model_validate(value) if _is_reference(value) else value


Value: TypeAlias = Annotated[Any, BeforeValidator(_value)]
"""A JSON value, or a `Reference` to one."""


class Condition(Model):
    """``path op value``; ``exists`` takes true (the default) or false."""

    path: Path
    op: Annotated[Operator, BeforeValidator(_snake_if_text)]
    value: Value = None

    @model_validator(mode="after")
    def _fits(self) -> Condition:
        if self.op == "matches" and isinstance(self.value, str):
            check_pattern(self.value)
        return self


class Attributes(Model):
    """``match``: paths and the values they must have; ``conditions``: what else must hold."""

    match: dict[Path, Value] = {}
    conditions: tuple[Condition, ...] = ()


class Relationship(Model):
    """The caller is ``type`` (``"owner"``, …) of the ``resource`` with an id."""

    type: str
    resource: str
    resource_id: Annotated[str | Reference, Field(union_mode="left_to_right")]


Guard: TypeAlias = Callable[[Any], Any]


class Policy(Model):
    """Every field that is set must hold, or with ``operator="OR"`` any; an empty policy grants.

    :ivar profiles: policies by name, all of them; what a bare name or a list of names stands for.
    :ivar roles: what the caller's roles must be; ``permissions`` likewise.
    :ivar attributes: what must hold of the caller, the input and the environment.
    :ivar relationships: asked of the ``relationship_resolver``, all of them.
    :ivar custom: settings for evaluators, by the evaluator's name, all of them.
    :ivar guards: functions that are given the context, and answer True, False or a denial's text.
    :ivar any_of: one of these must hold; ``all_of`` all, ``not_`` must not.
    """

    profiles: Names | None = None
    roles: Quantified | None = None
    permissions: Quantified | None = None
    attributes: Attributes | None = None
    relationships: Annotated[tuple[Relationship, ...], BeforeValidator(_listed)] | None = None
    custom: dict[str, Any] | None = None
    guards: tuple[Guard, ...] | None = None
    all_of: tuple[Requirement, ...] | None = None
    any_of: tuple[Requirement, ...] | None = None
    not_: Requirement | None = None
    operator: Annotated[Literal["AND", "OR"], BeforeValidator(_upper_if_text)] = "AND"


def _named(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, str):
        value = {"profiles": [value]}
    elif isinstance(value, Sequence):
        value = {"profiles": value}
    return handler(value)


Requirement: TypeAlias = Annotated[Policy, WrapValidator(_named)]
"""A profile's name, a list of such, or a policy."""

Policy.model_rebuild()


def asks_who_calls(policy: Policy, profiles: Mapping[str, Policy]) -> bool:
    """Whether nobody anonymous can pass, as roles, permissions or claims are asked for in any case."""
    inner = {
        "profiles": (asks_who_calls(profiles[name], profiles) for name in policy.profiles or ()),
        "all_of": (asks_who_calls(each, profiles) for each in policy.all_of or ()),
        "roles": (policy.roles != Quantified(),),
        "permissions": (policy.permissions != Quantified(),),
        "attributes": _asks_for_claims(policy.attributes or Attributes()),
        "any_of": (all(asks_who_calls(each, profiles) for each in policy.any_of or ()),),
    }
    given = [name for name in Policy.model_fields if name != "operator" and getattr(policy, name) is not None]
    asked = [any(inner.get(name, ())) for name in given]
    return any(asked) if policy.operator == "AND" else bool(asked) and all(asked)


def _asks_for_claims(attributes: Attributes) -> Iterator[bool]:
    return (path.startswith("claims.") and value is not None for path, value in attributes.match.items())


def _check_scope(scope: str) -> str:
    if SCOPE.fullmatch(scope) is None:
        raise ValueError("a scope has no spaces, quotes or backslashes, and only characters of ASCII")
    return scope


Scope: TypeAlias = Annotated[str, AfterValidator(_check_scope)]
"""A scope-token (RFC 6749, 3.3): it is told in a header, where a quote would end what it stands in."""


class ScopeMapping(Model):
    """The scopes that would bring what a denial found missing, by role, permission or profile."""

    roles: dict[str, tuple[Scope, ...]] = {}
    permissions: dict[str, tuple[Scope, ...]] = {}
    profiles: dict[str, tuple[Scope, ...]] = {}


def _check_resolver(value: Any) -> Any:
    if value is not None and not callable(getattr(value, "check", None)):
        raise ValueError("it needs a method check(type, resource, resource_id, sub, ctx)")
    return value


class AuthoritiesOptions(Model):
    """The server option ``authorities``.

    :ivar claims_mapping: where ``roles``, ``permissions`` and ``user_id`` stand among the claims, as dotted paths; any
        other key becomes ``user.<key>``.
    :ivar claims_resolver: given the caller, tells ``roles``, ``permissions`` and ``claims`` in place of all that.
    :ivar profiles: policies by name.
    :ivar relationship_resolver: has ``check(type, resource, resource_id, sub, ctx)``; without it no relationship holds.
    :ivar evaluators: functions ``(config, ctx)`` by name, for ``custom``.
    """

    claims_mapping: dict[Annotated[str, BeforeValidator(_snake_if_text)], str] = {}
    claims_resolver: Callable[[Any], Any] | None = None
    profiles: dict[str, Requirement] = {}
    relationship_resolver: Annotated[Any, AfterValidator(_check_resolver)] = None
    evaluators: dict[str, Callable[[Any, Any], Any]] = {}
    scope_mapping: ScopeMapping = ScopeMapping()
