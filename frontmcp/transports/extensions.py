"""Extensions of the protocol on the wire: declared by the server, served to clients that declare them too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.jsonrpc import HEADER_MISMATCH, METHOD_NOT_FOUND
from pydantic import ConfigDict

from frontmcp.call import RequestContext
from frontmcp.errors import MissingCapabilityError
from frontmcp.transports.sdk import Ctx, is_modern

if TYPE_CHECKING:
    from frontmcp.interfaces.extensions import Extension, Method
    from frontmcp.plugins import PluginManager


@cache
def _params() -> type[types.RequestParams]:
    """Params of any shape. Made with the first extension: others don't wait for it."""

    class Params(types.RequestParams):
        model_config = ConfigDict(extra="allow")

    return Params


def extensions_of(hooks: PluginManager, server: Any) -> Iterable[Extension]:
    """What the plugins of a server bring."""
    for given in hooks.call("provide_extensions", server):
        yield from given or ()


def extend(
    server: Server[Any],
    extension: Extension,
    request_of: Callable[[Ctx], Awaitable[RequestContext]],
    told: Callable[[Exception], MCPError],
) -> None:
    """Serve an extension.

    :param request_of: the request's context, or an error of the protocol.
    :param told: what a client is told of an error.
    """
    server.extensions[extension.identifier] = dict(extension.settings)
    for method in extension.methods:
        server.add_request_handler(method.name, _params(), _serve(extension, method, request_of, told))


def _serve(
    extension: Extension,
    method: Method,
    request_of: Callable[[Ctx], Awaitable[RequestContext]],
    told: Callable[[Exception], MCPError],
) -> Any:
    async def serve(ctx: Ctx, params: types.RequestParams) -> Mapping[str, Any]:
        if not is_modern(ctx):
            raise MCPError(METHOD_NOT_FOUND, "Method not found", method.name)
        given = params.model_dump(mode="json", by_alias=True)
        request = await request_of(ctx)
        try:
            if not request.offers(extension.capability):
                raise MissingCapabilityError(extension.capability)
            _check(method, given, request.headers if ctx.request is not None else None)
            return await method.handler(request, given)
        except MCPError:
            raise
        except Exception as error:
            raise told(error) from None

    return serve


def _check(method: Method, params: Mapping[str, Any], headers: Mapping[str, str] | None) -> None:
    for name in method.required:
        if not isinstance(params.get(name), str):
            raise MCPError(types.INVALID_PARAMS, f"Invalid params: {name} must be a string")
    if headers is None or method.header is None:
        return
    if decode_header_value(headers.get(MCP_NAME_HEADER)) != params[method.header]:
        said = f"{MCP_NAME_HEADER} header does not match the request body's {method.header!r} parameter"
        raise MCPError(HEADER_MISMATCH, said)
