"""Where events come from, as a channel's ``source=`` says it."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, field_validator

from frontmcp.errors import nearest

AGENT_COMPLETED: Final = "agent.completed"
JOB_COMPLETED: Final = "job.completed"


class _Source(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    def wants(self, channel: str, event: str, payload: Any) -> bool:
        """Whether a channel is told of an event of the application."""
        return False


class WebhookSource(_Source):
    """Whoever posts to ``path``; with a ``secret``, who signs the body with it as GitHub does.

    :ivar secret: text, or ``{"env": "VARIABLE"}``.
    :ivar signature_header: where the hexadecimal HMAC-SHA256 of the body is, after ``signature_prefix``.
    :ivar max_body: in bytes; a larger body gets 413.
    :ivar max_concurrent: events handled at a time; a further one gets 503.
    """

    type: Literal["webhook"]
    path: str
    secret: SecretStr | None = None
    signature_header: str = "x-hub-signature-256"
    signature_prefix: str = "sha256="
    max_body: int = Field(1024 * 1024, gt=0)
    max_concurrent: int = Field(100, gt=0)

    @field_validator("path")
    @classmethod
    def _is_path(cls, value: str) -> str:
        if not value.startswith("/"):
            raise ValueError('a path begins with "/"')
        if re.search(r"[\s{}?#]", value):
            raise ValueError("a path has no spaces, and none of { } ? #")
        return value

    @field_validator("secret", mode="before")
    @classmethod
    def _from_environment(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        if set(value) != {"env"} or not isinstance(value["env"], str):
            raise ValueError('takes text, or {"env": "VARIABLE"}')
        if not (secret := os.environ.get(value["env"])):
            raise ValueError(f"the environment has no {value['env']}")
        return secret

    @field_validator("secret")
    @classmethod
    def _not_empty(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value():
            raise ValueError("is empty, and an empty secret is known to everybody")
        return value

    def is_signed(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether a body was signed with the secret; any is where there is none."""
        if self.secret is None:
            return True
        digest = hmac.new(self.secret.get_secret_value().encode(), body, hashlib.sha256).hexdigest()
        given = headers.get(self.signature_header, "")
        return hmac.compare_digest(given.encode(), f"{self.signature_prefix}{digest}".encode())


class AppEventSource(_Source):
    """``await server.emit(event, payload)``."""

    type: Literal["app-event"]
    event: str = Field(min_length=1)

    def wants(self, channel: str, event: str, payload: Any) -> bool:
        return event == self.event


class ManualSource(_Source):
    """``await server.emit(<the channel's name>, payload)``."""

    type: Literal["manual"]

    def wants(self, channel: str, event: str, payload: Any) -> bool:
        return event == channel


class AgentCompletionSource(_Source):
    """An agent is done: one of these, or any."""

    type: Literal["agent-completion"]
    agents: Sequence[str] | None = None

    def wants(self, channel: str, event: str, payload: Any) -> bool:
        return event == AGENT_COMPLETED and _is_one_of(self.agents, payload, "agent")


class JobCompletionSource(_Source):
    """A run of a job has ended: of one of these, or of any."""

    type: Literal["job-completion"]
    jobs: Sequence[str] | None = None

    def wants(self, channel: str, event: str, payload: Any) -> bool:
        return event == JOB_COMPLETED and _is_one_of(self.jobs, payload, "jobName")


def _is_one_of(names: Sequence[str] | None, payload: Any, key: str) -> bool:
    """Whether a payload is of one of these. Anybody may emit an event of this name, with any payload."""
    return names is None or (isinstance(payload, Mapping) and payload.get(key) in names)


class Replay(BaseModel):
    """How many events are kept for clients that come later."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_events: int = Field(50, ge=0, le=10_000)


Source: TypeAlias = WebhookSource | AppEventSource | ManualSource | AgentCompletionSource | JobCompletionSource
SOURCE: Final[TypeAdapter[Source]] = TypeAdapter(Annotated[Source, Field(discriminator="type")])
TYPES: Final = {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(Source)}


def told(issue: Mapping[str, Any]) -> str:
    """What is wrong with a source or a replay, in words, with the nearest name that is known."""
    match issue["type"]:
        case "extra_forbidden":
            model = TYPES.get(issue["loc"][0], Replay)
            return f"there is no such key{nearest(str(issue['loc'][-1]), model.model_fields)}"
        case "union_tag_not_found":
            return f'it needs a "type": one of {", ".join(TYPES)}'
        case "union_tag_invalid":
            return f"type: it is one of {', '.join(TYPES)}{nearest(issue['ctx']['tag'], TYPES)}"
    return str(issue["msg"]).removeprefix("Value error, ")
