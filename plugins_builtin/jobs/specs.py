"""The hook that jobs bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontmcp import hookspec

if TYPE_CHECKING:
    from frontmcp.interfaces.jobs import JobEngine, JobsConfig


@hookspec(kind="first")
def job_engine(config: JobsConfig) -> JobEngine | None:
    """Who keeps runs and executes them.

    :param config: ``jobs_config={…}`` of the server, a `frontmcp.interfaces.jobs.JobsConfig`; ``config.store`` says
        whom it is for.
    :returns: the engine, not started; None when ``config`` is for somebody else.
    """
