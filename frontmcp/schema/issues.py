"""What is wrong with data, said without the data: no text here carries a value, or a key of its own, that was sent."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Container, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from frontmcp.schema.raw import MAX_ISSUES, Json, property_names

logger = logging.getLogger("frontmcp.schema")

E = TypeVar("E", bound=BaseException)

UNTOLD: Final = "Value is not valid"
"""Stands for a message that could repeat what was sent."""

_REPHRASED: Final[Mapping[str, str]] = {
    "bytes_invalid_encoding": "Data is not in the expected encoding",
    "get_attribute_error": UNTOLD,
    "iteration_error": UNTOLD,
    "json_invalid": "Invalid JSON",
    "mapping_type": "Input should be a valid mapping",
    "no_such_attribute": UNTOLD,
    "timezone_offset": "Another timezone offset is required",
    "url_parsing": "Input should be a valid URL",
    "url_syntax_violation": "Input should be a valid URL",
    "uuid_parsing": "Input should be a valid UUID",
}
"""pydantic's messages that quote a part of the input."""

_TOLD: Final = "frontmcp_told"
"""Marks an issue that was told anew already."""

_KNOWN: Final = frozenset(get_args(core_schema.ErrorType))


def issues(error: ValidationError, data: Any, declared: Container[str]) -> list[Json]:
    """The issues of an error, each with ``path``, ``message`` and ``type``.

    :param data: what was validated.
    :param declared: names of the schema, which may be named; any other key is the caller's own.
    """
    found = islice(error.errors(include_url=False, include_input=False), MAX_ISSUES)
    return [{"path": data_path(each, data, declared), **_told(each)} for each in found]


def broken_validator(error: Exception) -> Json:
    """The issue for a validator of the schema's author that raised what is no validation error.

    The log has the kind of error and where it was raised; its text may hold what was sent.
    """
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    logger.error("a validator raised %s at %s:%d", type(error).__name__, frame.f_code.co_filename, line)
    return {"path": [], "message": UNTOLD, "type": "validator_error"}


def data_path(issue: Any, data: Any, declared: Container[str]) -> list[str | int]:
    """Where in the data an issue is: pydantic's location without its labels of union members and validators.

    A key that the schema does not declare is shown as ``*``.
    """
    location: Sequence[str | int] = issue["loc"]
    path: list[str | int] = []
    for step in location:
        if isinstance(data, Mapping):
            if step not in data:
                continue
            path.append(step if step in declared else "*")
            data = data[step]
        elif isinstance(step, int):
            path.append(step)
            data = data[step] if isinstance(data, list | tuple) and step < len(data) else None
    if issue["type"] == "missing" and location[-1] in declared:
        path.append(location[-1])
    return path


def _told(issue: Any) -> Json:
    """The message and type of an issue; pydantic's own, unless they could repeat what was sent."""
    kind, context = issue["type"], issue.get("ctx", {})
    if _TOLD in context:
        return {"message": context[_TOLD], "type": kind}
    if kind not in _KNOWN or not _is_pydantics(issue):
        # Made by a validator of the schema's author: its text may hold anything.
        return {"message": UNTOLD, "type": "value_error"}
    if kind in ("value_error", "assertion_error"):
        return {"message": _constant_text(context["error"]), "type": kind}
    if kind == "union_tag_invalid":
        return {"message": f"Input tag is none of the expected tags: {context['expected_tags']}", "type": kind}
    return {"message": _REPHRASED.get(kind, issue["msg"]), "type": kind}


def _is_pydantics(issue: Any) -> bool:
    """Whether the message is the one that pydantic has for the type."""
    try:
        message: str = PydanticKnownError(issue["type"], issue.get("ctx")).message()
    except (TypeError, ValueError):
        return False
    return bool(message == issue["msg"])


def _constant_text(error: BaseException) -> str:
    """An error's text if it is written out in the code that raised it, so that no value can be in it."""
    text = str(error)
    frames = traceback.walk_tb(error.__traceback__)
    return text if text and any(text in frame.f_code.co_consts for frame, _ in frames) else UNTOLD


def scrub(error: E) -> E:
    """The error without the input values that pydantic's errors show: its own, and those in its causes and groups."""
    scrubbed: E = _scrubbed(error, {})
    return scrubbed


def _scrubbed(error: BaseException, done: dict[int, BaseException]) -> Any:
    if id(error) in done:
        return done[id(error)]
    clean = done[id(error)] = _bare(error) if isinstance(error, ValidationError) else error
    if isinstance(error, BaseExceptionGroup):
        leaves = [_scrubbed(leaf, done) for leaf in error.exceptions]
        if any(leaf is not given for leaf, given in zip(leaves, error.exceptions, strict=True)):
            clean = done[id(error)] = error.derive(leaves).with_traceback(error.__traceback__)
    suppressed = error.__suppress_context__
    for link in ("__cause__", "__context__", "original_error"):
        if isinstance(linked := getattr(error, link, None), BaseException):
            setattr(clean, link, _scrubbed(linked, done))
    clean.__suppress_context__ = suppressed
    return clean


def _bare(error: ValidationError) -> ValidationError:
    declared = _declared_by(error)
    told: list[Any] = []
    for each in error.errors(include_url=False, include_input=False):
        text = _told(each)
        told.append({
            "type": PydanticCustomError(text["type"], f"{{{_TOLD}}}", {_TOLD: text["message"]}),
            "loc": tuple(step if isinstance(step, int) or step in declared else "*" for step in each["loc"]),
            "input": None,
        })  # fmt: skip
    bare = ValidationError.from_exception_data(error.title, told, hide_input=True)
    return bare.with_traceback(error.__traceback__)


def _declared_by(error: ValidationError) -> Container[str]:
    """The field names of what raised the error, which is found in the frame that it was raised in."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    names = frames[-1].f_locals if frames else {}
    owner = names.get("cls", names.get("self"))
    try:
        if isinstance(owner, TypeAdapter):
            return property_names(owner.json_schema())
        model = owner if isinstance(owner, type) else type(owner)
        return property_names(model.model_json_schema()) if issubclass(model, BaseModel) else ()
    except Exception:
        return ()
