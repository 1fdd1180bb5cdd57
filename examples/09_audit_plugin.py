"""A plugin: one option for tools, one for the server, and hooks that run for inner calls too.

A tool with ``audit=True`` leaves a line in the log before it runs and one after, with the time it took. For all other
tools the hooks cost nothing: they are not in their plans.
"""

from __future__ import annotations

import time
from typing import Any

from frontmcp import App, Around, Call, CallNext, FrontMcp, Option, Plugin, Tool, ToolContext, Will


class Audit(Plugin):
    name = "acme.audit"
    options = (
        Option("audit", bool, kinds=("tool",)),
        Option("audit_prefix", str, server=True),
    )

    def __init__(self) -> None:
        self.lines: list[str] = []

    @Will("execute", option="audit")
    async def announce(self, call: Call) -> None:
        prefix = call.server.options.get("audit_prefix", "")
        self.lines.append(f"{prefix}{call.caller.sub} calls {call.path}")

    @Around("execute", option="audit")
    async def measure(self, call: Call, call_next: CallNext) -> Any:
        started = time.perf_counter()
        try:
            return await call_next()
        finally:
            self.lines.append(f"{call.entry.name} took {time.perf_counter() - started:.3f} s")


@Tool(description="Refund a customer", audit=True)
class Refund(ToolContext):
    async def execute(self, customer: str, amount: int) -> dict[str, Any]:
        await self.call_tool("book", {"amount": -amount})
        return {"customer": customer, "refunded": amount}


@Tool(description="Book an amount", visibility="internal", audit=True)
async def book(amount: int) -> dict[str, int]:
    return {"booked": amount}


@Tool
async def rates() -> dict[str, float]:
    """Today's exchange rates."""
    return {"EUR": 1.0, "USD": 1.1}


audit = Audit()
billing = App(id="billing", name="Billing", tools=[Refund, book, rates])
server = FrontMcp("billing", apps=[billing], plugins=[audit], audit_prefix="audit: ")

if __name__ == "__main__":
    server.run()
