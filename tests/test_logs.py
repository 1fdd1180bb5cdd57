"""Logs: every record of a call carries its request, caller and path; no arguments, no tokens."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from frontmcp import FrontMcp, FrontMcpError, Tool, ToolContext, create_direct
from frontmcp.logs import JsonFormatter, LogOptions, TextFormatter, configure_logging


@Tool
async def greet(ctx: ToolContext, name: str) -> dict[str, str]:
    ctx.logger.info("greeting somebody")
    return {"name": name}


@Tool
async def outer(ctx: ToolContext, name: str) -> None:
    await ctx.call_tool("greet", {"name": name})


async def test_a_tools_log_records_carry_request_caller_and_path(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="frontmcp")
    async with create_direct(FrontMcp("logs", tools=[greet, outer])) as direct:
        user = {"user": {"sub": "nour"}, "token": "t0ken"}
        await direct.call_tool("outer", {"name": "4rgument"}, auth_context=user)
    (record,) = [each for each in caplog.records if each.name == "frontmcp.tool.greet"]
    assert record.__dict__["caller"] == "nour"
    assert record.__dict__["path"] == "outer → greet"
    assert record.__dict__["request_id"]
    line = JsonFormatter().format(record)
    assert json.loads(line)["message"] == "greeting somebody"
    assert "4rgument" not in line
    assert "t0ken" not in line
    assert "path=outer → greet" in TextFormatter().format(record)


async def test_a_json_record_has_the_traceback(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise FrontMcpError("broken")
    except FrontMcpError:
        logging.getLogger("frontmcp.test").exception("it failed")
    line = json.loads(JsonFormatter().format(caplog.records[-1]))
    assert line["level"] == "ERROR"
    assert "FrontMcpError: broken" in line["traceback"]


@pytest.fixture
def frontmcp_logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("frontmcp")
    kept = (logger.level, list(logger.handlers), logger.propagate)
    yield logger
    logger.level, logger.handlers, logger.propagate = kept


def test_a_program_that_set_up_logging_keeps_its_own(frontmcp_logger: logging.Logger) -> None:
    logging.getLogger().addHandler(handler := logging.NullHandler())
    try:
        configure_logging(LogOptions(level="DEBUG"))
        assert frontmcp_logger.handlers == []
        assert frontmcp_logger.level == logging.DEBUG
    finally:
        logging.getLogger().removeHandler(handler)
