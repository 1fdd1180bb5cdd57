"""What all definitions share: names, descriptions, options, and how they are found on what they decorate."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import FrameType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from mcp_types import Icon

from frontmcp.arguments import called, keywords_of, several
from frontmcp.call import Kind
from frontmcp.contexts.base import Context
from frontmcp.definitions.body import Body, read_body
from frontmcp.errors import ConfigurationError
from frontmcp.schema import Input

F = TypeVar("F", bound=Callable[..., Any])
Self = TypeVar("Self", bound="Definition")
Sync: TypeAlias = Literal["thread", "inline"]

NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ATTRIBUTE = "__frontmcp__"


def snake_case(name: str) -> str:
    """``CloseTicket`` → ``close_ticket``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class Definition:
    """How a class or function is served. Subclasses are the nouns: `Tool`, and so on.

    :ivar target: what was decorated; None before.
    :ivar options: options that plugins claim, such as ``visibility``.
    :ivar members: definitions that belong to this one, and are served to nobody else.
    :ivar exports: those of the members that are also served where this one is.
    """

    kind: ClassVar[Kind]
    noun: ClassVar[str]
    context_class: ClassVar[type[Context]]
    suffix: ClassVar[str | None] = None

    sync: Sync
    input: Input
    model_parameter: str | None = None
    members: Sequence[Definition] = ()
    exports: Sequence[Definition] = ()

    def _configure(
        self,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        sync: Sync = "thread",
        **options: Any,
    ) -> None:
        if sync not in ("thread", "inline"):
            raise ConfigurationError(f'{self.noun}: sync={sync!r} must be "thread" or "inline"')
        self.sync = sync
        self.given_name = name
        self.title = title
        self.given_description = description
        self.icons = several("icons", icons)
        self.meta = dict(meta or {})
        self.tags = tuple(several("tags", tags))
        self.options = {key: value for key, value in options.items() if value is not None}
        for keyword, text in (("title", title), ("description", description)):
            if not isinstance(text, str | None):
                raise ConfigurationError(f"{self.noun}: {keyword}= is text, not {called(text)}")
        self.target: Any = None
        self.namespace: Mapping[str, Any] | None = None
        if name is not None:
            self._check_name(name)

    def __call__(self, target: F) -> F:
        self.bind(target, caller_namespace())
        self.attach(target)
        return target

    @classmethod
    def keywords(cls) -> set[str]:
        """The keywords it takes, but for options that plugins claim."""
        steps = [vars(each)["_configure"] for each in cls.__mro__ if "_configure" in vars(each)]
        return {name for each in (cls.__init__, *steps) for name in keywords_of(each)}

    @classmethod
    def from_callable(cls: type[Self], target: Any) -> Self:
        """A definition for a plain function, which stays unmarked."""
        definition = cls()
        definition.bind(target, caller_namespace())
        return definition

    @classmethod
    def of(cls: type[Self], target: Any) -> Self:
        """The definition on what it decorated; a subclass does not have its parent's.

        :raises ConfigurationError: there is none.
        """
        found = definitions_of(target).get(cls.kind)
        if not isinstance(found, cls):
            raise ConfigurationError(f"{place_of(target)} is not decorated with @{cls.noun}")
        return found

    @property
    def is_complete(self) -> bool:
        """Whether it can be served as it is."""
        return self.target is not None

    @property
    def name(self) -> str:
        if self.given_name is not None:
            return self.given_name
        written = _beneath_partials(self.target)
        if inspect.isroutine(written):
            return written.__name__
        own = (written if inspect.isclass(written) else type(written)).__name__
        return snake_case(own.removesuffix(self.suffix or self.noun) or own)

    @property
    def entry_name(self) -> str:
        """The name that it is called by."""
        return self.name

    @property
    def description(self) -> str | None:
        if self.given_description is not None:
            return self.given_description
        written = _beneath_partials(self.target)
        text = None if written is None else written.__doc__ or getattr(as_execute(written), "__doc__", None)
        return inspect.cleandoc(text) if text else None

    @property
    def source(self) -> str:
        """Where the decorated thing stands, for messages."""
        return place_of(self.target)

    @property
    def place(self) -> str:
        """The definition in messages: noun, name and where it stands."""
        return f'{self.noun} "{self.name}" ({self.source})'

    def bind(self, target: Any, namespace: Mapping[str, Any] | None) -> None:
        """Take the class or function that is served.

        :param namespace: local names that its annotations may use.
        :raises ConfigurationError: it can't be served as this noun.
        """
        if self.target is not None:
            raise ConfigurationError(f"this {self.noun} already decorates {self.source}: make another")
        if inspect.isclass(target) and not issubclass(target, self.context_class):
            raise ConfigurationError(
                f"class {place_of(target)} decorated with @{self.noun} must derive from {self.context_class.__name__}"
            )
        if not callable(target):
            hint = f"; did you mean {self.noun}(name={target!r})?" if isinstance(target, str) else ""
            raise ConfigurationError(f"@{self.noun} decorates a class or a function, not {target!r}{hint}")
        self.target = target
        self.namespace = namespace
        self._check_name(self.name)
        try:
            self._placed(self._check_annotations)
        except NameError:
            # An annotation of something that is defined further down: read again when the entry is registered.
            return

    @cached_property
    def body(self) -> Body:
        return read_body(self.target, self.namespace, self.context_class)

    def build(self) -> None:
        """Read the body and build every schema now.

        :raises ConfigurationError: something of it can't be served, named with place and fix.
        """
        try:
            self._placed(self._check)
        except NameError as error:
            raise ConfigurationError(f"{self.place}: annotation: {error}; define it above, or in the module") from error

    def _placed(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except ConfigurationError as error:
            raise ConfigurationError([f"{self.place}: {problem}" for problem in error.problems]) from error

    def _check_annotations(self) -> None:
        """Check what can be checked when the body is decorated."""
        _ = self.body

    def _check(self) -> None:
        """Check the rest."""
        _ = self.input

    def attach(self, target: Any) -> None:
        """Let `of` find this definition on ``target``.

        :raises ConfigurationError: nothing can be noted on it, as on a bound method.
        """
        if _ATTRIBUTE not in getattr(target, "__dict__", {}):
            try:
                setattr(target, _ATTRIBUTE, {})
            except AttributeError:
                raise ConfigurationError(
                    f"{place_of(target)} can't be decorated: list it as it is, or write a function that calls it"
                ) from None
        target.__dict__[_ATTRIBUTE][self.kind] = self

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            raise ConfigurationError(
                f"{self.noun} name {name!r} is not allowed: 1 to 128 of the characters A-Z a-z 0-9 _ . -"
                + (f" (at {self.source}; give it a name=)" if self.target is not None else "")
            )


def definitions_of(target: Any) -> dict[str, Definition]:
    """The definitions on a class or function itself, by kind."""
    if inspect.ismethod(target):
        # A method shows the attributes of its function, whose definition knows nothing of the instance.
        return {}
    found: dict[str, Definition] = getattr(target, "__dict__", {}).get(_ATTRIBUTE, {})
    return found


def caller_namespace() -> Mapping[str, Any] | None:
    """The local names where a decorator stands, for annotations that name a local class; None in a module."""
    frame = _caller()
    return None if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def caller_place() -> str:
    """The file and line where a decorator or an object of ours is written."""
    frame = _caller()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _caller() -> FrameType:
    """The innermost frame that is not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "frontmcp":
        frame = frame.f_back
    return frame


def _beneath_partials(target: Any) -> Any:
    while isinstance(target, functools.partial):
        target = target.func
    return target


def place_of(target: Any) -> str:
    """What something is called and where it is written, for messages."""
    written = _beneath_partials(target)
    name = getattr(written, "__qualname__", None)
    if name is None:
        return f"an instance of {place_of(type(written))}"
    code = getattr(inspect.unwrap(_function_of(written)), "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    return f"{written.__module__}.{name}{where}"


def _function_of(target: Any) -> Any:
    """A function that stands where the target does: ``execute``, or any other of a class; else the target itself."""
    execute = as_execute(target)
    # The loop that an agent inherits is not where the user wrote it.
    is_ours = (getattr(execute, "__module__", None) or "").startswith("frontmcp.contexts.")
    if not inspect.isclass(target) or (inspect.isroutine(execute) and not is_ours):
        return execute
    return next(filter(inspect.isfunction, vars(target).values()), target)


def as_execute(target: Any) -> Any:
    """The function that runs: ``execute`` of a class (``on_event`` of a channel), else the target itself."""
    return getattr(target, getattr(target, "_body", "execute"), None) if inspect.isclass(target) else target
