"""What all definitions share: names, descriptions, options, and how they are found on what they decorate."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from mcp_types import Icon

from frontmcp.call import Kind
from frontmcp.contexts.base import Context
from frontmcp.errors import ConfigurationError

Self = TypeVar("Self", bound="Definition")

NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ATTRIBUTE = "__frontmcp__"


def snake_case(name: str) -> str:
    """``CloseTicket`` → ``close_ticket``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class Definition:
    """How a class or function is served. Subclasses are the nouns: `Tool`, and so on.

    :ivar target: what was decorated; None before.
    :ivar options: options that plugins claim, such as ``visibility``.
    """

    kind: ClassVar[Kind]
    noun: ClassVar[str]
    context_class: ClassVar[type[Context]]

    def _configure(
        self,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.given_name = name
        self.title = title
        self.given_description = description
        self.icons = list(icons)
        self.meta = dict(meta or {})
        self.tags = tuple(tags)
        self.options = {key: value for key, value in (options or {}).items() if value is not None}
        self.target: Any = None
        self.namespace: Mapping[str, Any] | None = None
        if name is not None:
            self._check_name(name)

    @classmethod
    def of(cls: type[Self], target: Any) -> Self:
        """The definition on what it decorated; a subclass does not have its parent's.

        :raises ConfigurationError: there is none.
        """
        found = definitions_of(target).get(cls.kind)
        if not isinstance(found, cls):
            raise ConfigurationError(f"{_called(target)} is not decorated with @{cls.noun}")
        return found

    @property
    def name(self) -> str:
        if self.given_name is not None:
            return self.given_name
        return self._default_name()

    def _default_name(self) -> str:
        own: str = getattr(self.target, "__name__", "")
        if not inspect.isclass(self.target):
            return own
        stripped = own.removesuffix(self.noun)
        return snake_case(stripped or own)

    @property
    def description(self) -> str | None:
        if self.given_description is not None:
            return self.given_description
        return inspect.cleandoc(self.target.__doc__) if self.target is not None and self.target.__doc__ else None

    @property
    def source(self) -> str:
        """Where the decorated thing stands, for messages."""
        return _called(self.target)

    def bind(self, target: Any, namespace: Mapping[str, Any] | None) -> None:
        """Take the class or function that is served.

        :param namespace: local names that its annotations may use.
        :raises ConfigurationError: it can't be served as this noun.
        """
        if self.target is not None:
            raise ConfigurationError(f"this {self.noun} already decorates {self.source}: make another")
        if inspect.isclass(target) and not issubclass(target, self.context_class):
            raise ConfigurationError(
                f"class {target.__name__} decorated with @{self.noun} must derive from {self.context_class.__name__}"
            )
        if not callable(target):
            raise ConfigurationError(f"@{self.noun} decorates a class or a function, not {target!r}")
        self.target = target
        self.namespace = namespace
        self._check_name(self.name)

    def attach(self, target: Any) -> None:
        """Let `of` find this definition on ``target``."""
        if _ATTRIBUTE not in getattr(target, "__dict__", {}):
            setattr(target, _ATTRIBUTE, {})
        target.__dict__[_ATTRIBUTE][self.kind] = self

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            raise ConfigurationError(
                f"{self.noun} name {name!r} is not allowed: 1 to 128 of the characters A-Z a-z 0-9 _ . -"
                + (f" (at {self.source}; give it a name=)" if self.target is not None else "")
            )


def definitions_of(target: Any) -> dict[str, Definition]:
    """The definitions on a class or function itself, by kind."""
    found: dict[str, Definition] = getattr(target, "__dict__", {}).get(_ATTRIBUTE, {})
    return found


def caller_namespace(depth: int = 2) -> Mapping[str, Any] | None:
    """The local names where a decorator stands, for annotations that name a local class."""
    frame = sys._getframe(depth)
    return None if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def _called(target: Any) -> str:
    name = getattr(target, "__qualname__", None)
    if name is None:
        return repr(target)
    code = getattr(inspect.unwrap(target) if callable(target) else target, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    return f"{target.__module__}.{name}{where}"


def as_execute(target: Any) -> Callable[..., Any]:
    """The function that runs: ``execute`` of a class, else the target itself."""
    function: Callable[..., Any] = target.execute if inspect.isclass(target) else target
    return function
