"""What users give to our classes and decorators, checked before it can go wrong further down."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from types import ModuleType
from typing import Any, TypeVar, cast

from frontmcp.errors import ConfigurationError, nearest

F = TypeVar("F", bound=Callable[..., Any])


def known_keywords(target: F) -> F:
    """Let a class or a function refuse a keyword that it does not have, with the nearest one that it has.

    :raises ConfigurationError: by what it decorates.
    """
    if inspect.isclass(target):
        target.__init__ = _refusing_unknown(target.__init__, None)  # type: ignore[method-assign]
        return target
    return cast("F", _refusing_unknown(target, target.__name__))


def _refusing_unknown(function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    """
    :param name: None for an ``__init__``, which speaks of the class that is made.
    """
    known = keywords_of(function)

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        if unknown := keywords.keys() - known:
            given = sorted(unknown)[0]
            who = name or type(arguments[0]).__name__
            hint = nearest(given, known) or f"; it has {', '.join(known)}"
            raise ConfigurationError(f'{who}(…) has no keyword "{given}"{hint}')
        return function(*arguments, **keywords)

    return checked


def keywords_of(function: Callable[..., Any]) -> list[str]:
    """The names by which a function, or a method, takes keywords."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind in named and each.name != "self"]


def several(keyword: str, given: Iterable[Any]) -> list[Any]:
    """What was given under a keyword that takes several things, as a list.

    :raises ConfigurationError: it is one thing, or no list.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ConfigurationError(f"{keyword}= takes a list, not {called(given)}: write {keyword}=[…]")
    return list(given)


def several_or_problem(keyword: str, given: Iterable[Any], problems: list[str]) -> list[Any]:
    """`several`, where what is wrong is told later, together with all else.

    :param problems: takes what is wrong, in words.
    """
    try:
        return several(keyword, given)
    except ConfigurationError as error:
        problems.extend(error.problems)
        return []


def keys_of(where: str, given: Any, known: Collection[str]) -> dict[str, Any]:
    """What was given where a dict with some of these keys belongs.

    :raises ConfigurationError: it is no dict, or has another key.
    """
    keys = ", ".join(known)
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{where} takes a dict with some of the keys {keys}, not {called(given)}")
    if unknown := [str(key) for key in given if key not in known]:
        hint = nearest(unknown[0], known) or f"; there are {keys}"
        raise ConfigurationError(f'{where} has no key "{unknown[0]}"{hint}')
    return dict(given)


def called(thing: Any) -> str:
    """What a thing is called, for messages that may not show the values in it."""
    if isinstance(thing, ModuleType) or inspect.isclass(thing) or inspect.isroutine(thing):
        return getattr(thing, "__qualname__", thing.__name__)
    return f"an object of {type(thing).__qualname__}"


def missing_attribute(owner: object, name: str, instead: Mapping[str, str]) -> Any:
    """For ``__getattr__``: what looking up a name that was not found ends with.

    :param instead: what to write, by names that other frameworks have.
    :raises AttributeError: it is not there; what a property of that name raised, where one did.
    """
    if name in instead and not hasattr(type(owner), name):
        raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}; use {instead[name]}")
    return object.__getattribute__(owner, name)


def info_of(name: Any, version: str | None, info: Any) -> dict[str, Any]:
    """What clients are told of the server.

    :raises ConfigurationError: the name is no text, or ``info`` no mapping.
    """
    if info is not None and not isinstance(info, Mapping):
        raise ConfigurationError(f'FrontMcp: info= is like {{"name": "desk", "version": "1.0.0"}}, not {called(info)}')
    name = (info or {}).get("name", name)
    if name is not None and not isinstance(name, str):
        raise ConfigurationError(f"FrontMcp: the name is text, not {called(name)}; what is served goes to tools=[…]")
    said = {} if name is None else {"name": name}
    return {**said, "version": version or "0.0.0", **(info or {})}
