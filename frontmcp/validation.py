"""What is wrong with the value of an option, in words, and without the value: it could be a secret."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, ValidationError

from frontmcp.errors import nearest
from frontmcp.schema import scrub

Path: TypeAlias = Sequence[int | str]
"""The keys that lead to a part of a value."""

NAMES_CHOICES: Final = ("literal_error", "enum", "too_short")
"""pydantic's errors that name what is allowed, and nothing of what was given but how much it was."""


class Issue(NamedTuple):
    """One thing that is wrong.

    :ivar path: the keys that lead to it, from the option's value on.
    """

    path: Path
    text: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (".".join(map(str, self.path)), self.text)))


def issues(error: Exception, type_: Any) -> list[Issue]:
    """What the validation of an option says; for a key that is not known, the nearest that is.

    :param type_: what the option's value should have been.
    """
    if not isinstance(error, ValidationError):
        return [Issue((), f"its check failed with {type(error).__name__}")]
    spoken = zip(error.errors(include_url=False), scrub(error).errors(include_url=False), strict=True)
    return [
        Issue(raw["loc"], _text(raw if raw["type"] in NAMES_CHOICES else clean, raw["loc"], type_))
        for raw, clean in spoken
    ]


def _text(issue: Any, path: Path, type_: Any) -> str:
    """What is wrong, in words of whoever writes an option: they know keys and lists, no models and tuples."""
    match issue["type"]:
        case "model_type":
            return f"Input should be a dict with some of the keys {', '.join(sorted(_keys(type_, path)))}"
        case "tuple_type" | "sequence_str":
            return "Input should be a list"
        case "is_instance_of" if issue["msg"].endswith(" Sequence"):
            return "Input should be a list"
        case "extra_forbidden":
            *above, key = path
            return "there is no such key" + nearest(str(key), _keys(type_, above))
        case "too_short":
            least = issue["ctx"]["min_length"]
            return f"it needs at least {least} {'entry' if least == 1 else 'entries'}"
    return str(issue["msg"])


def _keys(type_: Any, path: Path) -> set[str]:
    """The keys that a table has at a path; a step that is no key, such as an index, leads nowhere else."""
    models = set(_models(type_))
    for step in path:
        fields = [model.model_fields[step] for model in models if step in model.model_fields]
        models = {model for field in fields for model in _models(field.annotation)} or models
    return {key for model in models for key in model.model_fields}


def _models(type_: Any) -> Iterator[type[BaseModel]]:
    """The models that values of a type may be, or may hold."""
    if inspect.isclass(type_) and issubclass(type_, BaseModel):
        yield type_
    for argument in get_args(type_):
        yield from _models(argument)
