"""What a call gets instead of another server's answer."""

from __future__ import annotations

from typing import Final

from frontmcp.errors import PublicMcpError

MOST_HOPS: Final = 8
"""How many servers may pass on one request."""


class UpstreamError(PublicMcpError):
    """The server behind an app of `App.from_mcp` refused a call, or answered with what is no result.

    :param app: the app's id.
    :param wrong: what is wrong, in words that tell nothing of that server.
    """

    code = "UPSTREAM_ERROR"

    def __init__(self, app: str, wrong: str) -> None:
        super().__init__(f'The server behind app "{app}" {wrong}')


class UpstreamUnavailableError(UpstreamError):
    """The server behind an app can't be reached, or the connection to it was lost."""

    code = "UPSTREAM_UNAVAILABLE"


class UpstreamTimeoutError(UpstreamError):
    """The server behind an app did not answer in time."""

    code = "UPSTREAM_TIMEOUT"


class UpstreamLoopError(UpstreamError):
    """The server behind an app is not asked: too many servers passed the request on, so they may do so in a circle."""

    code = "UPSTREAM_LOOP"

    def __init__(self, app: str) -> None:
        super().__init__(
            app, f"is not asked: {MOST_HOPS} servers passed this request on already, and may be serving each other"
        )
