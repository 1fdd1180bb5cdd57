"""Who makes a request: what plugins say of it, and the address it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.responses import Response

from frontmcp.authentication import AuthenticationRequest
from frontmcp.call import Caller
from frontmcp.chain import blame
from frontmcp.errors import PluginError
from frontmcp.pipeline.failures import is_cancellation

if TYPE_CHECKING:
    from frontmcp.plugins import PluginManager

CALLER: Final = "frontmcp.caller"
"""Where an HTTP request's scope has who was found to make it."""

ACCESS: Final = "frontmcp.access"
"""Where an HTTP request's scope has the `Access` of the app that it reached."""


class Access(NamedTuple):
    """How requests reach one app of a server.

    :ivar trusted_proxy_depth: how many proxies in front add to ``X-Forwarded-For``.
    :ivar security: the Host and Origin headers that are accepted; None accepts any.
    """

    trusted_proxy_depth: int = 0
    security: TransportSecuritySettings | None = None


class Callers:
    """Finds who makes requests to one server."""

    def __init__(self, hooks: PluginManager) -> None:
        self._hooks = hooks
        self._authenticate = hooks.chain("authenticate")

    async def identify(self, http: Request) -> None:
        """Ask who makes an HTTP request, and note the answer on it for the message it carries.

        :raises FrontMcpError: it is refused.
        """
        request = AuthenticationRequest("http", http.headers, self.client_ip(http))
        caller = http.scope[CALLER] = await self.find(request)
        if caller is not None and not caller.is_anonymous:
            # By this the SDK lets nobody else use, listen to or end the session.
            http.scope["user"] = AuthenticatedUser(
                AccessToken(
                    token="", client_id=caller.sub, subject=caller.sub, scopes=[], claims={"iss": caller.issuer}
                )
            )

    async def find(self, request: AuthenticationRequest) -> Caller | None:
        """Who a plugin says it is; None where none does.

        :raises FrontMcpError: it is refused.
        """
        if self._authenticate is None:
            return None
        try:
            caller: Caller | None = await self._authenticate(request)
        except BaseException as error:
            if is_cancellation(error) or isinstance(error, MCPError) or getattr(error, "public", False):
                raise
            step = blame(error, self._hooks.steps("authenticate"))
            plugin = step.plugin if step is not None else "?"
            raise PluginError(plugin, "authenticate", error) from error
        return caller

    async def refusal(self, http: Request) -> Response | None:
        """The answer to an HTTP request whose Host or Origin header is not accepted; None for any other.

        The MCP endpoint has this check of its own: it is for what is served beside it.
        """
        return await TransportSecurityMiddleware(_access(http).security).validate_request(http)

    def client_ip(self, http: Request) -> str | None:
        """Who connected; behind trusted proxies, what the outermost of them saw."""
        if depth := _access(http).trusted_proxy_depth:
            # A proxy may add a line of its own instead of a word to the client's.
            said = ",".join(http.headers.getlist("x-forwarded-for"))
            hops = [hop.strip() for hop in said.split(",") if hop.strip()]
            if len(hops) >= depth:
                return _without_port(hops[-depth])
        return http.client.host if http.client is not None else None


def _access(http: Request) -> Access:
    access: Access = http.scope.get(ACCESS, Access())
    return access


def _without_port(hop: str) -> str:
    """The address of a hop: some proxies add the port."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
