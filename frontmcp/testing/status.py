"""Following the runs of jobs and workflows, as a client does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from frontmcp.testing.results import ToolResult

ENDED = frozenset({"completed", "failed", "cancelled", "timed_out"})

CallTool = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]


class Jobs:
    """A client's runs."""

    def __init__(self, call_tool: CallTool) -> None:
        self._call_tool = call_tool

    async def wait(self, run_id: str, *, timeout: float = 5) -> dict[str, Any]:
        """Wait until a run of a job or a workflow has ended.

        :returns: what ``get_job_status`` says of it, or ``get_workflow_status``.
        :raises TimeoutError: it has not after so many seconds.
        :raises AssertionError: the client can't see such a run.
        """
        status: dict[str, Any] = {}
        with anyio.move_on_after(timeout):
            pause = 0.002
            while (status := await self.status(run_id))["state"] not in ENDED:
                await anyio.sleep(pause)
                pause = min(2 * pause, 0.1)
            return status
        raise TimeoutError(f"run {run_id} has not ended after {timeout} s: it is {status.get('state', 'not known')}")

    async def status(self, run_id: str) -> dict[str, Any]:
        """Where a run of a job or a workflow stands.

        :raises AssertionError: the client can't see such a run.
        """
        __tracebackhide__ = True
        of_job = await self._call_tool("get_job_status", {"runId": run_id})
        of_workflow = await self._call_tool("get_workflow_status", {"runId": run_id}) if of_job.is_error else of_job
        found = of_workflow if of_workflow.code != "TOOL_NOT_FOUND" else of_job
        status: dict[str, Any] = found.assert_ok().json()
        return status
