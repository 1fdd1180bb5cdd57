"""The body of an entry, read: which parameters are input, which is the context, which are injected."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, get_args, get_origin

from frontmcp.contexts.base import Context
from frontmcp.errors import ConfigurationError, closest
from frontmcp.providers import Inject

Parameters: TypeAlias = dict[str, inspect.Parameter]


class Body(NamedTuple):
    """What was read from a class's ``execute`` or from a function.

    :ivar context_class: for a class: the class itself; a new instance runs each call.
    :ivar context_parameter: for a function: the parameter that takes the context.
    :ivar context_type: the class of what it takes.
    :ivar injected: parameters that providers fill, with their types.
    :ivar fields: the parameters that are input.
    :ivar others: the annotation of ``**kwargs``; None without it.
    :ivar returns: the return annotation.
    """

    function: Callable[..., Any]
    is_async: bool
    context_class: type[Context] | None
    context_parameter: str | None
    context_type: type[Context] | None
    injected: Mapping[str, Any]
    fields: Mapping[str, inspect.Parameter]
    others: Any
    returns: Any

    @property
    def takes_any(self) -> bool:
        return self.others is not None

    @property
    def required(self) -> set[str]:
        """The input parameters without a default."""
        return {name for name, parameter in self.fields.items() if parameter.default is parameter.empty}

    def field_shape(self) -> dict[str, Any]:
        """The input parameters as a shape: ``{name: (type, default)}``."""
        required = self.required
        return {
            name: (parameter.annotation, ... if name in required else parameter.default)
            for name, parameter in self.fields.items()
        }

    def parameter_of(self, type_: Any) -> str | None:
        """The parameter annotated with exactly this type."""
        return next((name for name, parameter in self.fields.items() if parameter.annotation is type_), None)


def read_body(target: Any, namespace: Mapping[str, Any] | None, context_class: type[Context]) -> Body:
    """Read the body of a decorated class or function.

    :param namespace: local names that annotations may use.
    :param context_class: the noun's context.
    :raises ConfigurationError: it can't be run, or has a parameter that can't be served.
    :raises NameError: an annotation names something that does not exist (yet).
    """
    is_class = inspect.isclass(target)
    function = _execute_of(target) if is_class else target
    found, returns = _signature(function, namespace)
    _refuse_generators(function)
    context, context_type = None, None
    if is_class:
        _drop_self(found)
    else:
        context, context_type = _context_parameter(found, context_class)
    injected = {name: type_ for name, each in found.items() if (type_ := injected_type(each.annotation)) is not None}
    extra = [parameter.annotation for parameter in found.values() if parameter.kind is parameter.VAR_KEYWORD]
    return Body(
        function=function,
        is_async=_is_async(function),
        context_class=target if is_class else None,
        context_parameter=context,
        context_type=context_type,
        injected=injected,
        fields=_fields(found, {context, *injected}),
        others=extra[0] if extra else None,
        returns=returns,
    )


def _execute_of(cls: type[Context]) -> Callable[..., Any]:
    name = cls._body
    execute = getattr(cls, name, None)
    if execute is None:
        near = closest(name, vars(cls))
        raise ConfigurationError(f"the class has no method {name}" + (f"; rename its {near} to {name}" if near else ""))
    if not callable(execute) or isinstance(inspect.getattr_static(cls, name), staticmethod | classmethod):
        raise ConfigurationError(f"{name} must be a plain method, whose first parameter is self")
    if any(each.default is each.empty for each in _named(inspect.signature(cls).parameters)):
        raise ConfigurationError("__init__ takes arguments, but nobody passes any: Annotated[X, Inject()] gets an X")
    return typing.cast("Callable[..., Any]", execute)


def _named(parameters: Mapping[str, inspect.Parameter]) -> list[inspect.Parameter]:
    return [each for each in parameters.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def _signature(function: Callable[..., Any], namespace: Mapping[str, Any] | None) -> tuple[Parameters, Any]:
    """The parameters of a function with their annotations resolved, and what it returns."""
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(_written(function), localns=_local(namespace), include_extras=True)
    except (TypeError, ValueError, SyntaxError) as error:
        raise ConfigurationError(f"its signature can't be read: {error}") from error
    found = {
        name: parameter.replace(annotation=hints.get(name, _unquoted(parameter.annotation)))
        for name, parameter in signature.parameters.items()
    }
    return found, hints.get("return", _unquoted(signature.return_annotation))


def _local(namespace: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return dict(namespace) if namespace else None


def _unquoted(annotation: Any) -> Any:
    """An annotation that came with the signature alone; `Any` where there is none."""
    return Any if annotation is inspect.Parameter.empty or isinstance(annotation, str) else annotation


def _written(function: Any) -> Any:
    """The function as it was written, beneath partials, bound methods, decorators and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    return inspect.unwrap(function)


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _refuse_generators(function: Any) -> None:
    written = _written(function)
    if inspect.isgeneratorfunction(written) or inspect.isasyncgenfunction(written):
        raise ConfigurationError("the body yields: return a list, and report what happens on the way by progress")


def _drop_self(found: Parameters) -> None:
    first = next(iter(found.values()), None)
    if first is None or first.kind in (first.KEYWORD_ONLY, first.VAR_KEYWORD) or _is_input(first):
        raise ConfigurationError("execute is a method: its first parameter is self")
    if first.kind is not first.VAR_POSITIONAL:
        del found[first.name]
    for each in found.values():
        if _context_class(each.annotation) is not None:
            raise ConfigurationError(f"parameter {each.name!r}: in a class the context is self; drop it")


def _is_input(parameter: inspect.Parameter) -> bool:
    """Whether a first parameter is meant as an argument: annotated, and not with what an instance is."""
    named_self = parameter.name == "self" or parameter.annotation is Any
    return not named_self and parameter.kind is not parameter.VAR_POSITIONAL


def _context_class(annotation: Any) -> type[Context] | None:
    """The context that an annotation stands for, alone or ``| None``."""
    if get_origin(annotation) in (typing.Union, types.UnionType):
        members = [each for each in get_args(annotation) if each is not type(None)]
        annotation = members[0] if len(members) == 1 else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, Context) else None


def _refuse_foreign_context(name: str, annotation: Any, context_class: type[Context]) -> None:
    """What looks like the context of another framework would become an argument that the model must give."""
    unsaid = name in ("ctx", "context") and annotation in (Any, inspect.Parameter.empty)
    if unsaid or getattr(annotation, "__name__", "") == "Context":
        raise ConfigurationError(
            f"parameter {name!r} looks like a context: annotate it with {context_class.__name__}, "
            "or give an argument another name"
        )


def _context_parameter(found: Parameters, context_class: type[Context]) -> tuple[str | None, type[Context] | None]:
    taken: tuple[str | None, type[Context] | None] = None, None
    for name, parameter in found.items():
        annotation = _context_class(parameter.annotation)
        if annotation is None:
            _refuse_foreign_context(name, parameter.annotation, context_class)
        elif taken[0] is not None:
            raise ConfigurationError(f"parameters {taken[0]!r} and {name!r} both take the context; drop one")
        elif issubclass(annotation, context_class):
            taken = name, annotation
        elif issubclass(context_class, annotation):
            taken = name, context_class
        else:
            raise ConfigurationError(f"parameter {name!r}: the context here is a {context_class.__name__}")
    return taken


def injected_type(annotation: Any) -> Any:
    """The type of a parameter marked with `Inject`, else None."""
    if get_origin(annotation) is not typing.Annotated:
        return None
    type_, *marks = get_args(annotation)
    return type_ if any(mark is Inject or isinstance(mark, Inject) for mark in marks) else None


def _refuse_misplaced_inject(name: str, parameter: inspect.Parameter) -> None:
    """A mark that stands elsewhere would be served as a default, or asked of the model."""
    for place in (parameter.default, parameter.annotation):
        if place is Inject or isinstance(place, Inject):
            raise ConfigurationError(f"parameter {name!r}: Inject belongs into the annotation: Annotated[X, Inject()]")


def _fields(found: Parameters, taken: set[str | None]) -> Parameters:
    fields: Parameters = {}
    for name, parameter in found.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise ConfigurationError(f"parameter {name!r} can't be given by name, and arguments have names")
        if parameter.kind is parameter.VAR_KEYWORD or name in taken:
            continue
        _refuse_misplaced_inject(name, parameter)
        if name in ("self", "cls") and parameter.annotation is Any and not fields:
            raise ConfigurationError("it is a method: list it bound, as tools=[thing.method], and undecorated")
        fields[name] = parameter
    return fields
