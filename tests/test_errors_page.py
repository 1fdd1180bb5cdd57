"""The page of errors lists every code that a client may meet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from frontmcp import FrontMcpError, errors, llm
from frontmcp.authentication import AuthenticationError
from frontmcp.upstream.errors import (
    UpstreamError,
    UpstreamLoopError,
    UpstreamTimeoutError,
    UpstreamUnavailableError,
)

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "errors.md").read_text()
ROW = re.compile(r"^\| (?P<codes>[^|]+) \| (?P<classes>`[^|]+`) \| (?P<public>[^| ]+) \|", re.MULTILINE)
LITERAL = re.compile(r"PublicMcpError\([^()]*, \"([A-Z_]+)\"\)")

FOUND = [*vars(errors).values(), *vars(llm).values()]
CLASSES = [each for each in FOUND if isinstance(each, type) and issubclass(each, FrontMcpError)]
ROWS = [row.groupdict() for row in ROW.finditer(PAGE)]


UPSTREAM = [UpstreamError, UpstreamLoopError, UpstreamTimeoutError, UpstreamUnavailableError]


@pytest.mark.parametrize("error", [*CLASSES, AuthenticationError, *UPSTREAM])
def test_every_code_is_listed_with_whether_it_is_public(error: type[FrontMcpError]) -> None:
    rows = [row for row in ROWS if f"`{error.code}`" in row["codes"]]
    assert rows, f"{error.code} is not in docs/errors.md"
    if error.code != "CONFIGURATION_ERROR":
        assert {row["public"] for row in rows} == {"yes" if error.public else "no"}


def test_every_code_without_a_class_is_listed() -> None:
    sources = [path.read_text() for path in (ROOT / "frontmcp").rglob("*.py") if path.parent.name != "errors"]
    codes = {code for source in sources for code in LITERAL.findall(source)}
    assert codes
    assert {code for code in codes if f"`{code}`" not in PAGE} == set()
