"""What an HTTP answer of a model's provider means, and what adapters read of an agent's options."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from frontmcp.interfaces import (
    ModelAccessError,
    ModelConfig,
    ModelError,
    ModelRateLimitError,
    ModelRequestError,
    ModelUnavailableError,
    error_of_status,
)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, ModelRequestError),
        (401, ModelAccessError),
        (403, ModelAccessError),
        (404, ModelRequestError),
        (408, ModelUnavailableError),
        (413, ModelRequestError),
        (429, ModelRateLimitError),
        (500, ModelUnavailableError),
        (529, ModelUnavailableError),
    ],
)
def test_each_status_is_an_error(status: int, expected: type[ModelError]) -> None:
    assert type(error_of_status(status, {})) is expected


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": formatdate(0, usegmt=True)}, 0),
        ({}, None),
    ],
)
def test_when_to_come_back(headers: Mapping[str, str], seconds: float | None) -> None:
    error = error_of_status(429, headers)
    assert isinstance(error, ModelRateLimitError)
    assert error.retry_after == seconds


def test_a_date_to_come_back() -> None:
    error = error_of_status(429, {"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert isinstance(error, ModelRateLimitError)
    assert error.retry_after == pytest.approx(60, abs=5)


def test_a_reason_is_a_word_or_left_out() -> None:
    assert "(400, context_length_exceeded)" in str(error_of_status(400, {}, "context_length_exceeded"))
    assert "secret" not in str(error_of_status(400, {}, "you asked: my secret"))
    assert "(400)" in str(error_of_status(400, {}, None))


class Options(BaseModel):
    """Those of an adapter."""

    model_config = ConfigDict(extra="forbid")

    temperature: float | None = None
    timeout: int = 120


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"temperature": 1, "timeout": 3}, []),
        ({"temperatur": 1}, ['temperatur: Extra inputs are not permitted; did you mean "temperature"?']),
        ({"xyz": 1}, ["xyz: Extra inputs are not permitted; there are model, api_key, base_url, temperature, timeout"]),
    ],
)
def test_options_of_an_adapter_that_are_wrong_are_told(extra: Mapping[str, object], said: list[str]) -> None:
    assert ModelConfig("acme", extra=extra).problems(Options) == said


def test_but_not_their_values() -> None:
    [problem] = ModelConfig("acme", extra={"timeout": "my secret"}).problems(Options)
    assert problem.startswith("timeout: ")
    assert "secret" not in problem


def test_a_key_that_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "from outside")
    assert ModelConfig("acme", api_key=SecretStr("given")).key("ACME_KEY") == "given"
    assert ModelConfig("acme").key("ACME_KEY") == "from outside"
    assert ModelConfig("acme").key("OTHER_KEY") is None
