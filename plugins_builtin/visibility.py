"""`visibility`: who sees an entry, and where it is available (spec/call-tool.md, "Calling a tool clients can't call").

``visibility="hidden"`` leaves it out of lists, ``"internal"`` refuses clients too; ``available_when={…}`` ties it to
surfaces (per call) and to where the process runs (os, runtime, deployment, provider, target, env).
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from frontmcp import Call, Option, Plugin, ToolEntry, hookimpl

Surface = Literal["mcp", "agent", "job", "http-trigger", "cli"]


class AvailableWhen(BaseModel):
    """All fields that are set must hold; one of each list. An empty list is never true."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    surface: Sequence[Surface] | None = None
    os: Sequence[str] | None = None
    runtime: Sequence[str] | None = None
    deployment: Sequence[str] | None = None
    provider: Sequence[str] | None = None
    target: Sequence[str] | None = None
    env: Sequence[str] | None = None

    def holds(self, surface: str | None, process: Mapping[str, str]) -> bool:
        """Whether it is so here and now.

        :param surface: where the call comes from; None, inside the server, satisfies any but an empty list.
        :param process: the other fields as they are.
        """
        if self.surface is not None and surface not in self.surface and (surface is not None or not self.surface):
            return False
        return all(
            allowed is None or process.get(field) in allowed
            for field, allowed in self.__dict__.items()
            if field != "surface"
        )


class Visibility(Plugin):
    """Answers `entry_visible`, for lists and calls alike.

    :param process: where the process runs, by the fields of `AvailableWhen`; found out by default.
    """

    name = "visibility"
    options = (
        Option("visibility", Literal["public", "hidden", "internal"]),
        Option("available_when", AvailableWhen),
    )

    def __init__(self, process: Mapping[str, str] | None = None) -> None:
        self._process = dict(process) if process is not None else process_facts(os.environ)

    @hookimpl(option="visibility")
    def entry_visible(self, call: Call, entry: ToolEntry) -> bool:
        visibility = entry.options["visibility"]
        if visibility == "internal":
            return call.origin != "client" and not call.listing
        return not (visibility == "hidden" and call.listing)

    @hookimpl(option="available_when", specname="entry_visible")
    def available(self, call: Call, entry: ToolEntry) -> bool:
        when: AvailableWhen = entry.options["available_when"]
        return when.holds(call.surface, {"env": call.server.environment, **self._process})


def process_facts(environ: Mapping[str, str]) -> dict[str, str]:
    """Where this process runs: the dimensions of ``available_when`` that never change."""
    return {
        "os": sys.platform,
        "runtime": platform.python_implementation().lower(),
        "deployment": environ.get("FRONTMCP_DEPLOYMENT_MODE") or _deployment(environ),
        "provider": _provider(environ),
        "target": environ.get("FRONTMCP_TARGET", "unknown"),
    }


PROVIDERS = {
    "VERCEL": "vercel",
    "AWS_LAMBDA_FUNCTION_NAME": "lambda",
    "NETLIFY": "netlify",
    "CF_PAGES": "cloudflare",
    "FLY_APP_NAME": "fly",
    "K_SERVICE": "cloud-run",
    "KUBERNETES_SERVICE_HOST": "kubernetes",
}
SERVERLESS = frozenset({"vercel", "lambda", "netlify", "cloudflare", "cloud-run"})


def _provider(environ: Mapping[str, str]) -> str:
    for variable, provider in PROVIDERS.items():
        if variable in environ:
            return provider
    return "docker" if os.path.exists("/.dockerenv") else "bare"


def _deployment(environ: Mapping[str, str]) -> str:
    return "serverless" if _provider(environ) in SERVERLESS else "standalone"
