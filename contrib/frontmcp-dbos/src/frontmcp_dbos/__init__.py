"""Durable jobs and workflows for frontmcp servers, in SQLite or PostgreSQL, on DBOS."""

from __future__ import annotations

from importlib import import_module

from frontmcp import Plugin, hookimpl
from frontmcp.interfaces.jobs import JobEngine, JobsConfig

__all__ = ("DbosJobs",)

SCHEMES = ("sqlite:", "sqlite+", "postgresql:", "postgresql+", "postgres:")


class DbosJobs(Plugin):
    """Makes the engine of ``jobs_config={"store": "sqlite:///jobs.db"}``, or ``"postgresql://…"``; DBOS loads then."""

    name = "dbos"
    requires = ("jobs",)

    @hookimpl
    def job_engine(self, config: JobsConfig) -> JobEngine | None:
        if not isinstance(config.store, str) or not config.store.startswith(SCHEMES):
            return None
        engine: JobEngine = import_module("frontmcp_dbos.engine").DbosJobEngine(config)
        return engine
