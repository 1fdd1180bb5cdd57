"""`create_direct`: the server in-process, as the user you name."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp_types import (
    CallToolResult,
    Completion,
    GetPromptResult,
    Prompt,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    Tool,
)

from frontmcp.abort import AbortSignal
from frontmcp.call import Caller, RequestContext, Sought, Surface
from frontmcp.registry import ListName
from frontmcp.server import FrontMcp

DIRECT_CALLER = Caller("direct")


class Direct:
    """A server in this process. Its calls are a client's calls, on the surface ``mcp``; errors are raised as they are.

    Made by `create_direct`; it is open inside ``async with``.
    """

    def __init__(self, server: FrontMcp) -> None:
        self.server = server
        self.session_id = f"direct:{uuid.uuid4()}"
        self._pipeline: Any = None
        self._running: AbstractAsyncContextManager[None] = server.running()

    async def __aenter__(self) -> Direct:
        await self._running.__aenter__()
        self._pipeline = self.server.pipeline
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._pipeline = None
        await self._running.__aexit__(*error)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        auth_context: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        signal: AbortSignal | None = None,
        surface: Surface | None = "mcp",
    ) -> CallToolResult:
        """Call a tool as a client would.

        :param auth_context: ``{"user": {"sub": …, "roles": […]}, "session_id": …, "token": …, "extra": {…}}``.
        :param metadata: ``{"client_ip": …, "user_agent": …, "headers": {…}}``.
        :param signal: aborting it aborts the tool's ``self.signal``.
        :raises FrontMcpError: what went wrong, with its ``code``.
        """
        pipeline = self._open()
        request = self._request(auth_context, metadata)
        result: CallToolResult = await pipeline.run(
            pipeline.client_call(request, name, arguments, surface=surface, budget=signal)
        )
        return result

    async def execute_job(
        self,
        name: str,
        input: Mapping[str, Any] | None = None,
        background: bool = False,
        *,
        auth_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Run a job, as the tool ``execute_job`` does.

        :param background: do not wait for its end.
        :returns: ``runId`` and ``state``; once it has ended ``result`` and ``logs`` too.
        :raises FrontMcpError: what it failed with, with its ``code``.
        """
        return await self._structured(
            "execute_job", {"name": name, "input": dict(input or {}), "background": background}, auth_context
        )

    async def get_job_status(self, run_id: str, *, auth_context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """How far a run of a job is.

        :raises InvalidInputError: there is none, or it is somebody else's.
        """
        return await self._structured("get_job_status", {"runId": run_id}, auth_context)

    async def cancel_job(self, run_id: str, *, auth_context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Cancel a run of a job or a workflow.

        :returns: ``runId`` and ``state``, which is not ``"cancelled"`` where it had ended before.
        :raises InvalidInputError: there is none, or it is somebody else's.
        """
        return await self._structured("cancel_job", {"runId": run_id}, auth_context)

    async def execute_workflow(
        self,
        name: str,
        input: Mapping[str, Any] | None = None,
        background: bool = False,
        *,
        auth_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Run a workflow, as the tool ``execute_workflow`` does; parameters as those of `execute_job`."""
        return await self._structured(
            "execute_workflow", {"name": name, "input": dict(input or {}), "background": background}, auth_context
        )

    async def get_workflow_status(
        self, run_id: str, *, auth_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """How far a run of a workflow is, and what its steps gave.

        :raises InvalidInputError: there is none, or it is somebody else's.
        """
        return await self._structured("get_workflow_status", {"runId": run_id}, auth_context)

    async def _structured(
        self, tool: str, arguments: Mapping[str, Any], auth_context: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        result = await self.call_tool(tool, arguments, auth_context=auth_context)
        content: dict[str, Any] = result.structured_content or {}
        return content

    async def list_tools(
        self, *, auth_context: Mapping[str, Any] | None = None, surface: Surface | None = "mcp"
    ) -> list[Tool]:
        """The tools the user sees."""
        return await self._list("tools", auth_context, surface)

    async def read_resource(
        self,
        uri: str,
        *,
        auth_context: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        surface: Surface | None = "mcp",
    ) -> ReadResourceResult:
        """Read a resource as a client would; parameters as those of `call_tool`.

        :raises FrontMcpError: what went wrong, with its ``code``.
        """
        pipeline, request = self._open(), self._request(auth_context, metadata)
        call = pipeline.client_call(request, uri, {"uri": uri}, surface=surface, kind="resource")
        result: ReadResourceResult = await pipeline.run(call)
        return result

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        auth_context: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        surface: Surface | None = "mcp",
    ) -> GetPromptResult:
        """Get a prompt as a client would; parameters as those of `call_tool`.

        :raises FrontMcpError: what went wrong, with its ``code``.
        """
        pipeline, request = self._open(), self._request(auth_context, metadata)
        call = pipeline.client_call(request, name, arguments, surface=surface, kind="prompt")
        result: GetPromptResult = await pipeline.run(call)
        return result

    async def complete(
        self,
        kind: Sought,
        name: str,
        argument: str,
        value: str = "",
        *,
        arguments: Mapping[str, str] | None = None,
        auth_context: Mapping[str, Any] | None = None,
        surface: Surface | None = "mcp",
    ) -> Completion:
        """Values for an argument of a prompt, or a variable of a template.

        :param kind: ``"prompt"`` or ``"resource"``.
        :param name: the prompt's name, or the template as it was written.
        :param value: what was typed so far.
        :param arguments: those already chosen.
        :raises FrontMcpError: what went wrong, with its ``code``.
        """
        pipeline, request = self._open(), self._request(auth_context, None)
        call = pipeline.client_call(request, name, None, surface=surface, kind=kind)
        completion: Completion = await pipeline.complete(call, argument, value, arguments or {})
        return completion

    async def list_resources(
        self, *, auth_context: Mapping[str, Any] | None = None, surface: Surface | None = "mcp"
    ) -> list[Resource]:
        """The resources the user sees."""
        return await self._list("resources", auth_context, surface)

    async def list_resource_templates(
        self, *, auth_context: Mapping[str, Any] | None = None, surface: Surface | None = "mcp"
    ) -> list[ResourceTemplate]:
        """The resource templates the user sees."""
        return await self._list("templates", auth_context, surface)

    async def list_prompts(
        self, *, auth_context: Mapping[str, Any] | None = None, surface: Surface | None = "mcp"
    ) -> list[Prompt]:
        """The prompts the user sees."""
        return await self._list("prompts", auth_context, surface)

    async def _list(self, name: ListName, auth_context: Mapping[str, Any] | None, surface: Surface | None) -> list[Any]:
        listed = await self._open().list_entries(name, self._request(auth_context, None), surface=surface)
        return [entry.wire(name=listed_as, modern=True) for listed_as, entry in listed]

    def _open(self) -> Any:
        if self._pipeline is None:
            raise RuntimeError("this direct server is not open: use it inside `async with create_direct(server)`")
        return self._pipeline

    def _request(self, auth_context: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None) -> RequestContext:
        request = RequestContext(DIRECT_CALLER if auth_context is None else caller_of(auth_context))
        request.session_id = self.session_id
        if auth_context is not None:
            request.session_id = auth_context.get("session_id", self.session_id)
        if metadata is not None:
            _describe(request, metadata)
        return request


def _describe(request: RequestContext, metadata: Mapping[str, Any]) -> None:
    headers = {key.lower(): value for key, value in metadata.get("headers", {}).items()}
    if "user_agent" in metadata:
        headers["user-agent"] = metadata["user_agent"]
    request.headers = headers
    request.client_ip = metadata.get("client_ip")


def caller_of(auth_context: Mapping[str, Any]) -> Caller:
    """The caller an ``auth_context`` describes; ``sub="direct"`` when it names nobody."""
    user = dict(auth_context.get("user") or {})
    return Caller(
        sub=user.get("sub", "direct"),
        roles=tuple(user.get("roles", ())),
        permissions=tuple(user.get("permissions", ())),
        scopes=tuple(user.get("scopes", ())),
        claims={**user, **auth_context.get("extra", {})},
        name=user.get("name"),
        email=user.get("email"),
        token=auth_context.get("token"),
    )


def create_direct(server: FrontMcp) -> Direct:
    """A server in-process: ``async with`` runs it, its lifespan and start hooks included.

    :raises ConfigurationError: inside ``async with``; the server can't start.
    """
    return Direct(server)
