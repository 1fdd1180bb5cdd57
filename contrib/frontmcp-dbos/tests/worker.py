"""Engines for processes of their own."""

from __future__ import annotations

from frontmcp_dbos.engine import DbosJobEngine

from frontmcp.interfaces.jobs import JobsConfig


def make(store: str) -> DbosJobEngine:
    """An engine with room for what the kit submits to it."""
    return DbosJobEngine(JobsConfig(store=store, max_running=2, max_queued=10, max_kept=20))
