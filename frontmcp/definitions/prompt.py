"""`Prompt`: how a class or function is served as a prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

from mcp_types import Icon

from frontmcp.call import Kind
from frontmcp.contexts.base import Context
from frontmcp.contexts.prompt import PromptContext
from frontmcp.definitions.base import F, Sync
from frontmcp.definitions.completion import Completable
from frontmcp.errors import ConfigurationError
from frontmcp.schema import Input, input_from_shape

if TYPE_CHECKING:
    from frontmcp.definitions.options import AvailableWhen, Concurrency, RateLimit, Timeout, Visibility


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt, as it is listed.

    :param required: a prompt without it is refused.
    """

    name: str
    description: str | None = None
    required: bool = False


class Prompt(Completable):
    """Serve a class (derived from `PromptContext`) or a function as a prompt.

    ``@Prompt`` alone takes name, description and arguments from what it decorates.

    :param name: 1 to 128 of ``A-Z a-z 0-9 _ . -``; by default the function's name, or the class's in snake_case.
    :param description: what people read; by default the docstring.
    :param arguments: `PromptArgument` objects; by default the signature. Clients send text: annotations of the
        signature say what it is read as, lists and models from JSON.
    :param sync: where a ``def`` body runs: in a worker ``"thread"``, or ``"inline"`` on the event loop.
    :param options: options that plugins claim; one that nobody claims stops the start.
    """

    kind: ClassVar[Kind] = "prompt"
    noun: ClassVar[str] = "Prompt"
    context_class: ClassVar[type[Context]] = PromptContext

    given_arguments: Sequence[PromptArgument] | None

    # Type checkers take a decorated thing for what `__new__` returns: the bare form gives it back as it is.
    @overload
    def __new__(cls, target: F, /) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(
        cls,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        arguments: Sequence[PromptArgument] | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        sync: Sync = "thread",
        visibility: Visibility | None = None,
        available_when: AvailableWhen | None = None,
        authorities: Any = None,
        rate_limit: RateLimit | None = None,
        concurrency: Concurrency | None = None,
        timeout: Timeout | None = None,
        **options: Any,
    ) -> Prompt: ...
    def __new__(cls, target: Any = None, /, **keywords: Any) -> Any:
        prompt = super().__new__(cls)
        prompt._configure(**keywords)
        return prompt if target is None else prompt(target)

    def _configure(self, *, arguments: Sequence[PromptArgument] | None = None, **shared: Any) -> None:
        super()._configure(**shared)
        self.given_arguments = None if arguments is None else list(arguments)
        names = [_argument_name(each) for each in arguments or ()]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ConfigurationError(f"Prompt: arguments= has {twice!r} twice")

    @cached_property
    def arguments(self) -> Sequence[PromptArgument]:
        """The arguments, as they are listed."""
        if self.given_arguments is not None:
            return self.given_arguments
        properties, required = self.input.schema["properties"], self.input.schema.get("required", ())
        return [
            PromptArgument(name, properties[name].get("description"), name in required) for name in self.body.fields
        ]

    @property
    def completable(self) -> set[str]:
        return {each.name for each in self.arguments}

    @cached_property
    def input(self) -> Input:  # type: ignore[override]
        made = input_from_shape(self._shape(), self.name, others=self.body.others)
        structured = frozenset(name for name, each in made.schema["properties"].items() if not _takes_text(each))
        validate = made.validate
        return Input(made.schema, lambda arguments: validate(_parsed(arguments, structured))) if structured else made

    def _shape(self) -> dict[str, Any]:
        shape = self.body.field_shape()
        for each in self.given_arguments or ():
            annotation, default = shape.get(each.name, (str, ...))
            if each.required:
                shape[each.name] = (annotation, ...)
            elif default is ...:
                shape[each.name] = (annotation | None, None)
        return shape

    def _check(self) -> None:
        super()._check()
        if self.given_arguments is None:
            return
        body, given = self.body, {each.name: each.required for each in self.given_arguments}
        if not body.takes_any and (unknown := sorted(given.keys() - body.fields.keys())):
            raise ConfigurationError(f"the body has no parameter for {_listed(unknown)} of arguments=")
        if missing := sorted(name for name in body.required if not given.get(name)):
            raise ConfigurationError(
                f"the body requires {_listed(missing)}, which arguments= lacks or does not require: give it a default"
            )


def _argument_name(argument: Any) -> str:
    if not isinstance(argument, PromptArgument) or not isinstance(argument.name, str) or not argument.name:
        raise ConfigurationError(f"Prompt: arguments= takes PromptArgument(name, …) objects, not {argument!r}")
    return argument.name


def _takes_text(schema: Any) -> bool:
    """Whether text may be meant as it is: anything but lists and objects."""
    members = schema.get("anyOf", [schema])
    return not any(each.get("type") in ("array", "object") for each in members) or any(
        each.get("type") == "string" or not each for each in members
    )


def _parsed(arguments: Any, structured: frozenset[str]) -> Any:
    """Arguments with the text of lists and objects read as JSON; what is none is left to validation."""
    if not isinstance(arguments, Mapping):
        return arguments
    return {name: _from_json(value) if name in structured else value for name, value in arguments.items()}


def _from_json(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
