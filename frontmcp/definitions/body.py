"""The body of an entry, read: which parameters are input, which is the context, which are injected."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from frontmcp.contexts.base import Context
from frontmcp.errors import ConfigurationError
from frontmcp.providers import Inject
from frontmcp.schema import parameters

Parameters = dict[str, inspect.Parameter]


@dataclass(frozen=True, slots=True)
class Body:
    """What was read from a class's ``execute`` or from a function.

    :ivar context_class: for a class: the class itself; a new instance runs each call.
    :ivar context_parameter: for a function: the parameter that takes the context.
    :ivar injected: parameters that providers fill, with their types.
    :ivar fields: the parameters that are input.
    :ivar takes_any: it has ``**kwargs``.
    :ivar returns: the return annotation.
    """

    function: Callable[..., Any]
    is_async: bool
    context_class: type[Context] | None
    context_parameter: str | None
    injected: Mapping[str, type]
    fields: Mapping[str, inspect.Parameter]
    takes_any: bool
    returns: Any

    def field_shape(self) -> dict[str, Any]:
        """The input parameters as a shape: ``{name: (type, default)}``."""
        empty = inspect.Parameter.empty
        return {
            name: (parameter.annotation, ... if parameter.default is empty else parameter.default)
            for name, parameter in self.fields.items()
        }

    def parameter_of(self, type_: Any) -> str | None:
        """The parameter annotated with exactly this type."""
        return next((name for name, parameter in self.fields.items() if parameter.annotation is type_), None)


def read_body(target: Any, namespace: Mapping[str, Any] | None, noun: str) -> Body:
    """Read the body of a decorated class or function.

    :raises ConfigurationError: it has a parameter that can't be served.
    :raises NameError: an annotation names something that does not exist yet.
    """
    is_class = inspect.isclass(target)
    if is_class and not callable(getattr(target, "execute", None)):
        raise ConfigurationError(f"class {target.__name__} has no execute method")
    function = target.execute if is_class else target
    found = parameters(_unwrapped(function), namespace)
    returns = found.pop("return").annotation
    if is_class and isinstance(inspect.getattr_static(target, "execute", None), staticmethod | classmethod):
        raise ConfigurationError(f"{target.__name__}.execute must be a plain method")
    context = None if is_class else _context_parameter(found)
    injected = {name: type_ for name, each in found.items() if (type_ := injected_type(each.annotation)) is not None}
    return Body(
        function=target if not is_class else function,
        is_async=_is_async(function),
        context_class=target if is_class else None,
        context_parameter=context,
        injected=injected,
        fields=_fields(found, {context, *injected}, noun, target),
        takes_any=any(each.kind is each.VAR_KEYWORD for each in found.values()),
        returns=returns,
    )


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    if isinstance(function, functools.partial):
        return function
    if not inspect.isroutine(function) and callable(function):
        call: Callable[..., Any] = type(function).__call__
        return call
    return function


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _context_parameter(found: Parameters) -> str | None:
    for name, parameter in found.items():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Context):
            return name
    return None


def injected_type(annotation: Any) -> type | None:
    """The type of a parameter marked with `Inject`, else None."""
    if get_origin(annotation) is not typing.Annotated:
        return None
    type_, *marks = get_args(annotation)
    return type_ if any(mark is Inject or isinstance(mark, Inject) for mark in marks) else None


def _fields(found: Parameters, taken: set[str | None], noun: str, target: Any) -> Parameters:
    fields = {}
    for name, parameter in found.items():
        if parameter.kind is parameter.VAR_POSITIONAL or parameter.kind is parameter.POSITIONAL_ONLY:
            raise ConfigurationError(
                f"{noun} {target.__qualname__}: parameter {name!r} can't be given by name; arguments are named"
            )
        if parameter.kind is parameter.VAR_KEYWORD or name in taken:
            continue
        if name.startswith("_") or name.startswith("model_"):
            raise ConfigurationError(
                f"{noun} {target.__qualname__}: parameter {name!r} can't be an argument; choose a name without that prefix"
            )
        fields[name] = parameter
    return fields
