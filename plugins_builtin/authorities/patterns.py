"""Regular expressions of policies, matched in linear time: pydantic's engine never backtracks."""

from __future__ import annotations

from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

LONGEST = 256


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> SchemaValidator:
    schema = core_schema.str_schema(pattern=pattern, strict=True, regex_engine="rust-regex")
    return SchemaValidator(schema)


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that can't be matched.

    :raises ValueError: it can't.
    """
    if len(pattern) > LONGEST:
        raise ValueError("a pattern has at most 256 characters")
    try:
        _compiled(pattern)
    except SchemaError:
        raise ValueError("the pattern is no regular expression that can be matched in linear time") from None


def matches(text: str, pattern: str) -> bool:
    """Whether a part of the text matches; False for a pattern that can't be matched."""
    try:
        check_pattern(pattern)
    except ValueError:
        return False
    return _compiled(pattern).isinstance_python(text)
