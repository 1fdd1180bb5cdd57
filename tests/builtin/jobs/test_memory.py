"""The memory engine passes the kit of job engines, on asyncio and trio."""

from __future__ import annotations

import pytest

from frontmcp.interfaces.jobs import JobsConfig
from frontmcp.testing import JobEngineKit
from plugins_builtin.jobs.memory import MemoryJobEngine


class TestMemoryJobEngine(JobEngineKit):
    @pytest.fixture
    def engine(self) -> MemoryJobEngine:
        return MemoryJobEngine(JobsConfig(max_running=2, max_queued=3, max_kept=4))
