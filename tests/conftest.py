"""What all tests share: async tests run on asyncio, unless a module asks for trio as well."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
