"""What an HTTP answer of a model's provider means, and what adapters read of an agent's options."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from frontmcp import ConfigurationError
from frontmcp.interfaces import (
    ModelAccessError,
    ModelConfig,
    ModelError,
    ModelRateLimitError,
    ModelRequestError,
    ModelUnavailableError,
    error_of_status,
)
from frontmcp.interfaces.models import ProviderAdapter


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
        ({"temperatur": 1}, ['temperatur: there is no such key; did you mean "temperature"?']),
        ({"xyz": 1}, ["xyz: there is no such key; there are model, api_key, base_url, temperature, timeout"]),
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


class Client:
    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Adapter(ProviderAdapter):
    provider, key_variable, example = "acme", "ACME_API_KEY", "acme-large"

    def connect(self, **settings: Any) -> Client:
        return Client(**settings)

    def error_of(self, error: Exception) -> ModelError:
        return ModelUnavailableError() if isinstance(error, TimeoutError) else super().error_of(error)


class TestProviderAdapter:
    def test_everything_wrong_is_told_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ACME_API_KEY", raising=False)
        with pytest.raises(ConfigurationError) as raised:
            Adapter.of(ModelConfig("acme", extra={"timeout": "s3cret", "tempature": 1}))
        assert raised.value.problems[:2] == [
            '"model" is missing, such as "acme-large"',
            'there is no key: set ACME_API_KEY, or give "api_key"',
        ]
        assert [problem.partition(":")[0] for problem in raised.value.problems[2:]] == ["timeout", "tempature"]
        assert "s3cret" not in str(raised.value)
        with pytest.raises(ConfigurationError, match="max_retries"):
            Adapter("acme-large", max_retries=-1)

    async def test_it_connects_late_with_the_key_of_the_environment_and_again_after_closing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        adapter = Adapter("acme-large", base_url="http://127.0.0.1:1", timeout=5)
        monkeypatch.setenv("ACME_API_KEY", "k-env")
        first = adapter.client
        assert first.settings == {
            "api_key": "k-env",
            "base_url": "http://127.0.0.1:1",
            "timeout": 5,
            "max_retries": 2,
            "http_client": None,
        }
        await adapter.aclose()
        await adapter.aclose()
        assert first.closed
        assert adapter.client is not first
        assert repr(adapter) == "<Adapter acme-large>"

    async def test_who_gives_a_client_closes_it(self) -> None:
        adapter = Adapter("acme-large", api_key="k", http_client=object())
        client = adapter.client
        await adapter.aclose()
        assert not client.closed

    @pytest.mark.parametrize(
        ("raised", "expected", "reason"),
        [
            (TimeoutError("What of T-1?"), ModelUnavailableError, None),
            (KeyError("What of T-1?"), ModelError, "KeyError"),
            (ModelRateLimitError(7), ModelRateLimitError, None),
        ],
    )
    def test_errors_become_ours_without_what_was_asked(
        self, raised: Exception, expected: type[ModelError], reason: str | None
    ) -> None:
        with pytest.raises(ModelError) as became, Adapter("acme-large").our_errors():
            raise raised
        assert type(became.value) is expected
        assert became.value.reason == reason
        assert "T-1" not in f"{became.value} {became.value.__cause__}"
