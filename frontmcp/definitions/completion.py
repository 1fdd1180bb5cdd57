"""Completion: values for a prompt's arguments and a template's variables, by functions of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from frontmcp.arguments import called
from frontmcp.definitions.base import Definition, F, caller_namespace, place_of
from frontmcp.definitions.body import Body, read_body
from frontmcp.errors import ConfigurationError

GIVEN: Final = frozenset({"value", "arguments"})
"""What a completer may take, besides its context and what is injected."""


class Completer(NamedTuple):
    """A function that completes one argument.

    :ivar namespace: local names that its annotations may use.
    """

    function: Callable[..., Any]
    namespace: Mapping[str, Any] | None


class Completable(Definition):
    """A definition whose arguments can be completed.

    :ivar completers: by argument.
    """

    def _configure(self, **shared: Any) -> None:
        super()._configure(**shared)
        self.completers: dict[str, Completer] = {}

    def complete(self, argument: str) -> Callable[[F], F]:
        """Complete an argument by the decorated function, sync or async.

        It takes any of ``value`` (what was typed so far), ``arguments`` (those already chosen, by name), the context
        and what providers inject; it gives strings, the best first. ``Prompt.of(handover).complete("id")``, or, since
        what is decorated gets it too, ``handover.complete("id")``.

        :param argument: the name of a prompt's argument, or of a template's variable.
        :raises ConfigurationError: it has a completer already, or ``argument`` is no name.
        """
        if not isinstance(argument, str):
            raise ConfigurationError(
                f'{self.place}: complete names no argument for {called(argument)}; write complete("id")'
            )

        def define(function: F) -> F:
            if argument in self.completers:
                raise ConfigurationError(f"{self.place}: {argument!r} has two completers; drop one")
            self.completers[argument] = Completer(function, caller_namespace())
            return function

        return define

    def attach(self, target: Any) -> None:
        super().attach(target)
        # One that is there may be the user's own, or that of a definition on a base class.
        inherited = getattr(target, "complete", None)
        if inherited is None or isinstance(getattr(inherited, "__self__", None), Completable):
            target.complete = self.complete

    def completer_bodies(self) -> dict[str, Body]:
        """The completers, read.

        :raises ConfigurationError: one completes nothing that there is, or takes what it can't be given.
        """
        return {name: self._completer_body(name, each) for name, each in self.completers.items()}

    def _completer_body(self, argument: str, completer: Completer) -> Body:
        where = f"complete({argument!r}), {place_of(completer.function)}"
        if argument not in self.completable:
            known = ", ".join(map(repr, sorted(self.completable))) or "none"
            raise ConfigurationError(f"{where}: there is no such argument, only {known}")
        try:
            body = read_body(completer.function, completer.namespace, self.context_class)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error}") from error
        if unknown := sorted(set(body.fields) - GIVEN):
            raise ConfigurationError(f"{where}: it takes {', '.join(unknown)}, but is given value and arguments")
        return body

    @property
    def completable(self) -> set[str]:
        """The arguments that may be completed."""
        raise NotImplementedError

    def _check(self) -> None:
        super()._check()
        self.completer_bodies()
