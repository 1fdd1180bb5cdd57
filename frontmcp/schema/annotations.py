"""Which return annotations say something that a result can be held to (api.md, "Output schema")."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import is_typeddict

from frontmcp.content import CONTENT_TYPES, annotates_content

CONTAINERS = (Mapping, Sequence, Set)


def output_type(annotation: Any) -> Any:
    """The type to hold results to, for a return annotation; None when it says nothing."""
    return annotation if _says_something(annotation) else None


def _says_something(annotation: Any) -> bool:
    named = getattr(annotation, "__value__", None) or getattr(annotation, "__supertype__", None)
    if named is not None:
        # A `type X = …` alias or a `NewType`.
        return _says_something(named)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        return _says_something(arguments[0])
    if origin is Literal:
        return True
    if origin in (Union, types.UnionType):
        members = [member for member in arguments if member is not type(None)]
        return bool(members) and all(map(_says_something, members))
    if isinstance(origin, type) and issubclass(origin, CONTAINERS):
        return not annotates_content(annotation) and _element(arguments) is not Any
    type_ = origin or annotation
    return isinstance(type_, type) and _is_data(type_)


def _element(arguments: tuple[Any, ...]) -> Any:
    """What a container holds: the values of a mapping, the items of a list or tuple; `Any` when nothing is said."""
    named = [argument for argument in arguments if argument is not Ellipsis]
    return Any if not named or isinstance(named[-1], TypeVar) else named[-1]


def _is_data(type_: type) -> bool:
    if issubclass(type_, CONTENT_TYPES):
        return False
    return (
        issubclass(type_, int | float | BaseModel | enum.Enum)
        or dataclasses.is_dataclass(type_)
        or is_typeddict(type_)
        or (issubclass(type_, tuple) and hasattr(type_, "_fields"))
    )
