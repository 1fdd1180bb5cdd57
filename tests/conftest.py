"""What all tests share: async tests run on asyncio, unless a module asks for trio as well."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

OF_PYTHON = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_configure() -> None:
    """Let no settings of who runs the tests reach servers in them, and let those that they start see an interrupt:
    who runs the tests in the background has it ignored, for all.
    """
    for name in [name for name in os.environ if name.startswith("FRONTMCP_") or name in OF_PYTHON]:
        del os.environ[name]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let reports travel from the processes that run tests: what was logged may be no text that UTF-8 can carry."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
