"""The engine passes what every durable one must, on both databases."""

from __future__ import annotations

import pytest
from frontmcp_dbos.engine import DbosJobEngine

from frontmcp.interfaces.jobs import JobsConfig
from frontmcp.testing import DurableEngineKit


class _Kit(DurableEngineKit):
    @pytest.fixture
    def engine(self, store: str) -> DbosJobEngine:
        return DbosJobEngine(JobsConfig(store=store, max_running=2, max_queued=3, max_kept=4))

    @pytest.fixture
    def durable_factory(self, store: str) -> tuple[str, str]:
        return "worker:make", store


class TestSqlite(_Kit):
    @pytest.fixture
    def store(self, sqlite_store: str) -> str:
        return sqlite_store


class TestPostgres(_Kit):
    @pytest.fixture
    def store(self, postgres_store: str) -> str:
        return postgres_store
