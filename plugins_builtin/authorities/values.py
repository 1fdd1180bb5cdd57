"""The values that conditions look at, and how they are compared. None stands for what is not there."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from pydantic import BaseModel, RootModel
from pydantic_core import to_jsonable_python

from frontmcp.errors import shorten
from plugins_builtin.authorities.patterns import matches

PLAIN: Final = (str, int, float, bool, type(None))


def lookup(data: Any, path: str, *, whole: bool = True) -> Any:
    """The value at a dotted path, as JSON has it.

    :param whole: look for the whole path as one key first, as claims have names like URLs. Not where the caller may
        name keys: one that is spelled like a path would be judged in place of what the path leads to.
    """
    found = _literal(data, path) if whole else None
    if found is None:
        found = data
        for step in path.split("."):
            found = _literal(found, step)
    return found if isinstance(found, PLAIN) else to_jsonable_python(found, fallback=str)


def _literal(data: Any, key: str) -> Any:
    if isinstance(data, dict | Mapping):
        return data.get(key)
    if isinstance(data, RootModel):
        return _literal(data.root, key)
    return getattr(data, key) if key in _fields(data) else None


def _fields(data: Any) -> Collection[str]:
    """The names under which a typed value has others."""
    if isinstance(data, BaseModel):
        return {*type(data).model_fields, *(data.model_extra or ())}
    if isinstance(data, tuple):
        return getattr(data, "_fields", ())
    return getattr(type(data), "__dataclass_fields__", ())


def shown(value: Any) -> str:
    """A value in a denial: text as it is, anything else as JSON, cut short."""
    return shorten(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def same(actual: Any, expected: Any) -> bool:
    """Equality of JSON values: true is not 1."""
    return isinstance(actual, bool) == isinstance(expected, bool) and bool(actual == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numeric(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda actual, expected: _is_number(actual) and _is_number(expected) and compare(actual, expected)


def _textual(compare: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    return lambda actual, expected: isinstance(actual, str) and isinstance(expected, str) and compare(actual, expected)


def _among(actual: Any, expected: Any) -> bool:
    return any(same(actual, each) for each in expected)


def _contains(actual: Any, expected: Any) -> bool:
    if isinstance(actual, str):
        return isinstance(expected, str) and expected in actual
    return isinstance(actual, list | tuple) and _among(expected, actual)


OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "eq": same,
    "neq": lambda actual, expected: not same(actual, expected),
    "in": lambda actual, expected: isinstance(expected, list | tuple) and _among(actual, expected),
    "not_in": lambda actual, expected: isinstance(expected, list | tuple) and not _among(actual, expected),
    "gt": _numeric(lambda actual, expected: actual > expected),
    "gte": _numeric(lambda actual, expected: actual >= expected),
    "lt": _numeric(lambda actual, expected: actual < expected),
    "lte": _numeric(lambda actual, expected: actual <= expected),
    "contains": _contains,
    "starts_with": _textual(str.startswith),
    "ends_with": _textual(str.endswith),
    "exists": lambda actual, expected: (actual is not None) is (expected is not False),
    "matches": _textual(matches),
}
"""What ``op`` of a condition means, given the actual and the expected value."""
