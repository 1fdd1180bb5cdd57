"""A report on tickets: a workflow that runs every night, and that a tool starts when somebody can't wait.

frontmcp call examples/nightly_report.py report_now day=2026-11-30
"""

from __future__ import annotations

from typing import Any

from frontmcp import FrontMcp, Job, JobContext, PublicMcpError, Step, Tool, ToolContext, Workflow

TICKETS = {"2026-11-30": {"open": 12, "closed": 31}, "2026-11-29": {"open": 9, "closed": 0}}
OUTBOX: list[str] = []


@Tool(visibility="internal", available_when={"surface": ["job"]})
async def count_tickets(day: str) -> dict[str, int]:
    """How many tickets there were. Only jobs reach it."""
    if day not in TICKETS:
        raise PublicMcpError(f"There are no tickets of {day}.", "NO_TICKETS")
    return TICKETS[day]


@Job
class Count(JobContext):
    """Count the tickets of a day, as whoever asked for the report."""

    async def execute(self, day: str = "2026-11-30") -> dict[str, int]:
        counted: dict[str, int] = (await self.call_tool("count_tickets", {"day": day})).structured_content
        self.log(f"{sum(counted.values())} tickets on {day}")
        return counted


@Job(retry={"max_attempts": 3, "backoff_ms": 50})
class Weather(JobContext):
    """Ask a service that fails now and then."""

    async def execute(self) -> str:
        if self.attempt < 2:
            raise ConnectionError("the weather service does not answer")
        return "rain"


@Job
async def mail(text: str) -> str:
    """Send a mail."""
    OUTBOX.append(text)
    return f"mail-{len(OUTBOX)}"


def in_words(steps: Any) -> dict[str, str]:
    counted = steps.get("count").outputs
    return {
        "text": f"{counted['closed']} closed, {counted['open']} open; {steps.get('weather').outputs or 'no weather'}"
    }


nightly = Workflow(
    name="nightly_report",
    description="Count the tickets of a day, and mail the figures",
    trigger={"schedule": "0 3 * * *", "timezone": "Europe/Berlin", "run_as": {"sub": "reporter", "roles": ["reader"]}},
    steps=[
        Step("count", "count"),
        Step("weather", "weather", input={}, continue_on_error=True),
        Step(
            "mail",
            "mail",
            depends_on=["count", "weather"],
            condition=lambda steps: steps.get("count").outputs["closed"] > 0,
            input=in_words,
        ),
    ],
)


@Tool
class ReportNow(ToolContext):
    """Report on the tickets of a day, without waiting for the night."""

    async def execute(self, day: str) -> dict[str, Any]:
        run = (
            await self.call_tool("execute_workflow", {"name": "nightly_report", "input": {"day": day}})
        ).structured_content
        steps = run["result"]["stepResults"]
        return {
            "state": run["state"],
            "run_id": run["runId"],
            "steps": {id: step["state"] for id, step in steps.items()},
        }


server = FrontMcp("reports", tools=[count_tickets, ReportNow], jobs=[Count, Weather, mail], workflows=[nightly])

if __name__ == "__main__":
    server.run()
