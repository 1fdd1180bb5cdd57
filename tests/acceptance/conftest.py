"""The page of `call_tool`, over every road: both protocol eras, in memory, over stdio and over HTTP."""

from __future__ import annotations

import pytest

from frontmcp.testing import TRANSPORTS, Road


@pytest.fixture(
    params=[Road(era, transport) for era in ("2026-07-28", "2025-11-25") for transport in TRANSPORTS], ids=str
)
def mcp_road(request: pytest.FixtureRequest) -> Road:
    return request.param
