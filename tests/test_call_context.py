"""Who calls, and the request they sent."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from frontmcp import Caller, RequestContext


def test_the_start_of_a_request_is_one_moment() -> None:
    before = datetime.now(UTC)
    request = RequestContext(Caller("nour"))
    time.sleep(0.02)
    started = request.started_at
    assert before - timedelta(milliseconds=5) <= started < datetime.now(UTC) - timedelta(milliseconds=10)
    time.sleep(0.001)
    assert request.started_at == started
    assert request.elapsed() >= 0.02


@pytest.mark.parametrize(("kind", "field"), [("role", "roles"), ("permission", "permissions"), ("scope", "scopes")])
def test_a_caller_has_any_of_what_is_named(kind: str, field: str) -> None:
    caller = Caller("nour", **{field: ["read", "write"]})
    has = getattr(caller, f"has_{kind}")
    assert has("read")
    assert has("delete", "write")
    assert not has("delete")
    assert not has("rea")
    assert not has()
    assert not any(
        getattr(caller, f"has_{other}")("read") for other in ("role", "permission", "scope") if other != kind
    )
    assert getattr(caller, field) == ("read", "write")


@pytest.mark.parametrize(
    ("one", "other"), [(("a|b", "c"), ("a", "b|c")), (("a%7Cb", "c"), ("a|b", "c")), ((None, "a|b"), ("a", "b"))]
)
def test_two_issuers_users_are_never_one(one: Any, other: Any) -> None:
    keys = {Caller(sub, claims={"iss": issuer}).key for issuer, sub in (one, other)}
    assert len(keys) == 2
