"""What all tests share: async tests run on asyncio, unless a module asks for trio as well."""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let reports travel from the processes that run tests: what was logged may be no text that UTF-8 can carry."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
