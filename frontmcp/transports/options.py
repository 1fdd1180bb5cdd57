"""The options of the HTTP transport, from whatever source. Every server reads them; the transport itself loads late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from frontmcp.errors import ConfigurationError
from frontmcp.validation import issues


class HttpOptions(BaseModel):
    """The options of the HTTP transport: ``FrontMcp(http={…})``, ``http_app(…)``, ``run("http", …)``.

    :ivar host: the address to bind; loopback checks Host and Origin headers by itself.
    :ivar port: the port to bind.
    :ivar path: where the MCP endpoint is; ``/healthz`` and ``/readyz`` stand beside it.
    :ivar stateless: no sessions for clients up to 2025-11-25, so that any worker can answer them; they can't be asked
        anything then, and hear of no changes.
    :ivar json_response: answer with JSON only: no progress, no log messages, no cancellation by a closed connection.
    :ivar allowed_hosts: values of the Host header to accept, like ``"mcp.example.com"`` or ``"localhost:*"``.
    :ivar allowed_origins: values of the Origin header to accept.
    :ivar cors_origins: browser origins that may read answers.
    :ivar max_body: the largest request body, in bytes; a larger one gets 413.
    :ivar body_timeout: seconds that a request's body may take to arrive; a slower one gets 408.
    :ivar session_idle_timeout: seconds without a request or an open stream after which a session of a client up to
        2025-11-25 ends; None never ends one.
    :ivar max_sessions: such sessions at a time; who would open another gets 503.
    :ivar event_store: keep the latest messages of each such session, so that a client whose stream broke fetches what
        it missed, and a call may close its stream and go on (`Context.close_stream`).
    :ivar retry_interval: seconds after which a client with a closed stream is to come back, where there is an event
        store.
    :ivar limit_concurrency: connections and requests at a time, idle connections among them; further ones get 503.
    :ivar trusted_proxy_depth: how many proxies in front add to ``X-Forwarded-For``; 0 ignores the header.
    :ivar grace: seconds that calls in flight get at shutdown.
    """

    # The environment's 1 is a number where a text is wanted too.
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True, defer_build=True)

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    path: str = Field("/mcp", pattern="^/")
    stateless: bool = False
    json_response: bool = False
    allowed_hosts: Sequence[str] | None = None
    allowed_origins: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    max_body: int = Field(4 * 1024 * 1024, gt=0)
    body_timeout: float = Field(30, gt=0, allow_inf_nan=False)
    session_idle_timeout: float | None = Field(1800, gt=0, allow_inf_nan=False)
    max_sessions: int = Field(10_000, gt=0)
    event_store: bool = False
    retry_interval: float = Field(1, ge=0, allow_inf_nan=False)
    limit_concurrency: int | None = Field(1000, gt=0)
    trusted_proxy_depth: int = Field(0, ge=0)
    grace: int = Field(10, ge=0)

    @field_validator("allowed_hosts", "allowed_origins", "cors_origins", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        # The environment has lists of names as text.
        return [each.strip() for each in value.split(",") if each.strip()] if isinstance(value, str) else value

    @field_validator("event_store")
    @classmethod
    def _needs_sessions(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("stateless"):
            raise ValueError("it keeps messages of sessions, and stateless=True has none; drop one of the two")
        return value


def options_from(options: HttpOptions, overrides: Mapping[str, Any]) -> HttpOptions:
    """Options with others over them, where those are not None.

    :raises ConfigurationError: an option is unknown or has a wrong value, each named.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return HttpOptions(**{**options.model_dump(), **given}) if given else options
    except ValidationError as error:
        raise ConfigurationError(f"http option {issue}" for issue in issues(error, HttpOptions)) from None
