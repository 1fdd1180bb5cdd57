"""FRONTMCP_STATE_KEYS: what is wrong with it stops the start, and says how to make a good one."""

from __future__ import annotations

import pytest

from frontmcp import ConfigurationError, FrontMcp
from frontmcp.transports.keys import ADVICE, VARIABLE

GOOD = "k" * 32


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("s3cret", f"{VARIABLE}: key 1 has 6 bytes, and 32 are needed; {ADVICE}"),
        (f"{GOOD}, s3cret", f"{VARIABLE}: key 2 has 6 bytes, and 32 are needed; {ADVICE}"),
        (f"{GOOD}\udcff", f"{VARIABLE}: key 1 is no UTF-8 text; {ADVICE}"),
        (f"{GOOD},{GOOD}", f"{VARIABLE}: key 2 is there twice; drop one"),
    ],
)
def test_a_bad_key_stops_the_start_and_is_not_shown(monkeypatch: pytest.MonkeyPatch, text: str, problem: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ConfigurationError) as refused:
        FrontMcp("keys").check()
    assert refused.value.problems == [problem]
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("text", ["", " , ", GOOD, f"{GOOD} ,{'n' * 32}", "ключ" * 4])
def test_good_keys_seal(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert FrontMcp("keys").lowlevel is not None


@pytest.mark.parametrize(("workers", "refused"), [("2", True), ("1", False), ("many", False)])
def test_several_workers_need_a_key_that_they_share(
    monkeypatch: pytest.MonkeyPatch, workers: str, refused: bool
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("WEB_CONCURRENCY", workers)
    server = FrontMcp("keys")
    if refused:
        with pytest.raises(ConfigurationError, match=f"{VARIABLE} is not set, and WEB_CONCURRENCY .*token_hex"):
            server.http_app()
        monkeypatch.setenv(VARIABLE, GOOD)
    assert server.http_app() is not None


def test_a_server_is_the_same_in_all_processes_that_share_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"{GOOD}, {'o' * 32}")
    shared = FrontMcp("desk").identity
    assert FrontMcp("desk").identity == shared
    assert FrontMcp("other").identity != shared
    monkeypatch.setenv(VARIABLE, "o" * 32)
    assert FrontMcp("desk").identity != shared
    monkeypatch.delenv(VARIABLE)
    mine = FrontMcp("desk")
    assert mine.identity == mine.identity != FrontMcp("desk").identity
