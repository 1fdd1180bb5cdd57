"""An export that goes on in the background, or is waited for with a bar that shows how far it is:

frontmcp call examples/background_export.py export_now customer=acme
frontmcp call examples/background_export.py execute_job name=export_tickets 'input={"customer": "acme"}'
"""

from __future__ import annotations

from typing import Any

import anyio

from frontmcp import FrontMcp, Job, JobContext, Tool, ToolContext

TICKETS = {"acme": 430, "globex": 20}
AT_ONCE = 50


@Job(retry={"max_attempts": 3, "backoff_ms": 100}, timeout_ms=60_000, tags=["export"])
class ExportTickets(JobContext):
    """Export a customer's tickets."""

    async def execute(self, customer: str) -> dict[str, int]:
        total = TICKETS.get(customer, 0)
        self.log(f"{total} tickets of {customer}, attempt {self.attempt}")
        for done in range(0, total, AT_ONCE):
            await anyio.sleep(0.02)
            await self.progress(min(done + AT_ONCE, total), total, f"Exporting {customer}")
        return {"rows": total}


@Tool
class StartExport(ToolContext):
    """Start exporting a customer's tickets; get_job_status tells how far it is."""

    async def execute(self, customer: str) -> dict[str, Any]:
        # A second request while the first one runs gives that one: its key is the customer.
        job = {"name": "export_tickets", "input": {"customer": customer}, "background": True, "key": customer}
        run = (await self.call_tool("execute_job", job)).structured_content
        return {"customer": customer, "run_id": run["runId"], "state": run["state"]}


@Tool
class ExportNow(ToolContext):
    """Export a customer's tickets, and wait for it."""

    async def execute(self, customer: str) -> dict[str, Any]:
        job = {"name": "export_tickets", "input": {"customer": customer}}
        run = (await self.call_tool("execute_job", job)).structured_content
        return {"customer": customer, **run["result"]}


server = FrontMcp("exports", tools=[StartExport, ExportNow], jobs=[ExportTickets])

if __name__ == "__main__":
    server.run()
