"""MCP over streamable HTTP: a Starlette app, and uvicorn to serve it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frontmcp.errors import ConfigurationError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

logger = logging.getLogger("frontmcp.http")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
GRACE_SECONDS = 10


def http_app(
    served: Any,
    *,
    path: str = "/mcp",
    stateless: bool = False,
    json_response: bool = False,
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] | None = None,
    allowed_origins: Sequence[str] = (),
    max_body: int = 4 * 1024 * 1024,
    **unknown: Any,
) -> Starlette:
    """An ASGI app that serves MCP; its lifespan starts the server.

    :param path: where the MCP endpoint is; ``/healthz`` is beside it.
    :param stateless: no sessions for clients up to 2025-11-25, so that any worker can answer; they then can't be
        asked anything, and hear of no changes.
    :param json_response: answer with JSON only: no progress, no log messages, no cancellation.
    :param host: the address that will be bound; loopback checks the Host and Origin headers by itself.
    :param allowed_hosts: values of the Host header to accept, like ``"mcp.example.com"`` or ``"localhost:*"``.
    :param allowed_origins: values of the Origin header to accept.
    :param max_body: the largest request body, in bytes; a larger one gets 413.
    :raises ConfigurationError: an option is unknown, or the server can't start.
    """
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.routing import Route

    if unknown:
        raise ConfigurationError([f'http: there is no option "{name}"' for name in unknown])
    served.check()
    security = None
    if allowed_hosts is not None:
        security = TransportSecuritySettings(allowed_hosts=list(allowed_hosts), allowed_origins=list(allowed_origins))
    elif host not in LOOPBACK:
        logger.warning(
            "serving on %s without a check of the Host header; name the hosts clients use with http={'allowed_hosts': […]}",
            host,
        )
    routes = [route for provided in served.hooks.call("provide_routes", served) for route in provided]
    app: Starlette = served.wire.server.streamable_http_app(
        streamable_http_path=path,
        stateless_http=stateless,
        json_response=json_response,
        transport_security=security,
        host=host,
        max_request_body_size=max_body,
        custom_starlette_routes=[Route("/healthz", _healthy), *routes],
    )
    return app


async def _healthy(request: Request) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse("ok\n")


def run_http(served: Any, *, host: str = "127.0.0.1", port: int = 8000, **options: Any) -> None:
    """Serve over HTTP until SIGINT or SIGTERM; calls in flight get a grace of ten seconds.

    :param options: those of `http_app`.
    """
    import uvicorn

    class _Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: Any) -> None:
            served.wire.close_streams()
            super().handle_exit(sig, frame)

    app = http_app(served, host=host, **options)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=GRACE_SECONDS,
        proxy_headers=False,
        server_header=False,
    )
    _Server(config).run()
