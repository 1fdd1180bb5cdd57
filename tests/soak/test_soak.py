"""The soak in short: some seconds of what ``python tests/soak/soak.py`` does for minutes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def soak() -> Any:
    spec = importlib.util.spec_from_file_location("soak", Path(__file__).with_name("soak.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak"] = module
    spec.loader.exec_module(module)
    return module


async def test_nothing_is_answered_wrongly_and_nothing_is_kept(soak: Any, tmp_path: Path) -> None:
    with (tmp_path / "server.log").open("w+b") as log:
        report, before, after = await soak.soak(soak.SHORT, log, lambda _: None)
    assert soak.problems(report, before, after) == []
    assert report.done["session dropped"] == soak.SHORT.sessions
