"""JSON data from a value, its text, and where a part stands that is no JSON."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import pydantic_core
from pydantic import BaseModel

from frontmcp.errors import InvalidOutputError

Path: TypeAlias = tuple[Any, ...]

MAX_DEPTH: Final = 200
"""How deep a value may be nested; the serializer beneath gives up a little deeper."""

PLAIN: Final = frozenset({str, int, bool, type(None)})
"""Types whose values are JSON whatever they are."""


def jsonable(value: Any) -> Any:
    """A value as JSON data: models, dataclasses, dates, sets and the like as pydantic's JSON mode has them.

    :raises InvalidOutputError: a part of it is no JSON, named by its path.
    """
    try:
        return pydantic_core.to_jsonable_python(value, fallback=as_object)
    except Exception as error:
        raise unserializable(value) from error


def as_object(value: Any) -> Any:
    """What pydantic does not know, but can be read as an object."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def json_text(data: Any) -> str:
    """Compact JSON of JSON data.

    :raises InvalidOutputError: a number in it is not finite, or a string no text, named by its path.
    """
    try:
        encoded = pydantic_core.to_json(data, inf_nan_mode="constants")
    except ValueError as error:
        raise unserializable(data) from error
    if (b"NaN" in encoded or b"Infinity" in encoded) and (found := flaw(data)) is not None:
        raise InvalidOutputError(found[0], dotted(found[1]))
    return encoded.decode()


def dotted(path: Iterable[Any]) -> str:
    """A path as one word: ``tickets.0.status``."""
    return ".".join(map(str, path))


def is_sound(data: Any) -> bool:
    """Whether data surely is JSON that can travel; `flaw`, much slower, says what is wrong when it is not."""
    try:
        encoded = pydantic_core.to_json(data, inf_nan_mode="constants")
    except Exception:
        return False
    return b"NaN" not in encoded and b"Infinity" not in encoded


def flaw(data: Any) -> tuple[str, Path] | None:
    """What keeps data from being JSON that can travel: a number that is not finite, or too many levels; and where.

    Level by level instead of by recursion, since the data may be deeper than the stack.
    """
    level: list[tuple[Any, Path]] = [(data, ())]
    for _ in range(MAX_DEPTH):
        below: list[tuple[Any, Path]] = []
        for value, path in level:
            if isinstance(value, float) and not math.isfinite(value):
                return "number is not finite", path
            below += [(item, (*path, key)) for key, item in children(value) if type(item) not in PLAIN]
        if not below:
            return None
        level = below
    return "nested too deeply", ()


def children(value: Any) -> Iterable[tuple[Any, Any]]:
    """The parts of a mapping, a list, a model or a dataclass, by key, index or field."""
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, list | tuple):
        return enumerate(value)
    if isinstance(value, BaseModel):
        return value.__dict__.items()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)]
    return ()


def unserializable(value: Any) -> InvalidOutputError:
    """The error for a value that is no JSON, naming the innermost part that is none."""
    path, part = _unserializable_part(value)
    if inspect.iscoroutine(part):
        part.close()
        return InvalidOutputError(f"{part.__qualname__}() was not awaited", dotted(path))
    if len(path) == MAX_DEPTH:
        return InvalidOutputError("nested too deeply")
    return InvalidOutputError("not serializable as JSON", dotted(path))


def _unserializable_part(value: Any) -> tuple[Path, Any]:
    """The innermost part that is no JSON, and where it stands; `MAX_DEPTH` levels down at most."""
    path: Path = ()
    seen: set[int] = set()
    while id(value) not in seen and len(path) < MAX_DEPTH:
        seen.add(id(value))
        for key, item in children(value):
            if not _is_json(item):
                path, value = (*path, key), item
                break
    return path, value


def _is_json(value: Any) -> bool:
    try:
        pydantic_core.to_json(value, fallback=as_object)
    except Exception:
        return False
    return True
