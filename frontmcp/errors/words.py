"""Errors in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pydantic_core


def describe(error: BaseException | None) -> str:
    """The error's message; its class's name when it has none, or can't say it."""
    try:
        text = "Unknown error" if error is None else str(error) or type(error).__name__
    except Exception:
        return type(error).__name__
    if isinstance(error, KeyError):
        return f"KeyError: {text}"
    forgotten = "'coroutine'" in text and isinstance(error, AttributeError | TypeError)
    return f"{text}; is an await missing?" if forgotten else text


def shorten(text: str, limit: int = 128) -> str:
    """``text`` fit for a one-line message: control characters escaped, cut at ``limit`` characters."""
    if len(text) > limit:
        text = text[:limit] + "…"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean "…"?`` with the `closest` known name, or nothing."""
    found = closest(name, known)
    return f'; did you mean "{found}"?' if found is not None else ""


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that one that is not known was most likely meant as; None where none is near."""
    import difflib  # nothing needs it until something is wrong

    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.61)), None)


def unknown_store(store: Any, interface: str, example: str, hint: Callable[[str], str]) -> str:
    """What is wrong with a ``"store"`` of which no plugin makes anything, without what it holds: a URL may carry a
    password.

    :param interface: what plugins make of it.
    :param example: a URL that it could be.
    :param hint: what helps, by the scheme of a URL; or nothing.
    """
    if not isinstance(store, str):
        return f'no plugin makes a {interface} of {type(store).__name__}; "store" takes a URL or a {interface}'
    scheme, separator, _ = store.partition("://")
    if not separator:
        return f'"store" takes a URL such as "{example}", "memory", or a {interface}'
    return f"no plugin knows the store {scheme}://…{hint(scheme)}"


def unwrap_group(error: BaseException) -> BaseException:
    """The first leaf of an exception group; any other error is itself (api.md, "In a task group")."""
    while isinstance(error, BaseExceptionGroup):
        # On trio a cancellation may travel beside the error that it led to.
        error = next((each for each in error.exceptions if isinstance(each, Exception)), error.exceptions[0])
    return error


def sendable(text: str) -> str:
    """``text`` with what UTF-8 can't carry, such as half of a surrogate pair, escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def sendable_data(data: Any) -> Any:
    """``data`` as JSON that can be written: what is none is shown as Python shows it."""
    if isinstance(data, str):
        return sendable(data)
    try:
        written = pydantic_core.to_json(data, fallback=repr, inf_nan_mode="strings")
    except ValueError:
        written = json.dumps(data, default=repr, skipkeys=True, ensure_ascii=False).encode("utf-8", "replace")
    return json.loads(written)
