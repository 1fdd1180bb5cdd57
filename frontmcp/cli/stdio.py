"""``frontmcp run``: serve over stdio, without loading what serves over HTTP."""

from __future__ import annotations

import sys

from frontmcp.cli.failures import failing_with_place
from frontmcp.cli.output import clean_stdout, say
from frontmcp.cli.target import Source


def serve_stdio(source: Source) -> None:
    """Serve over stdin and stdout, which stay clean of whatever else is printed."""
    with clean_stdout():
        server = source.load(serving=True)
    if sys.stdin.isatty():
        say(f"{server.name} speaks MCP over stdin and stdout, for a client that starts it; add --http to serve a port")
    with failing_with_place(source.folder):
        server.run("stdio")
