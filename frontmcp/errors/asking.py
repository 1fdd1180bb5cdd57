"""Errors of questions to the client and its user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY

from frontmcp.errors.tree import PublicMcpError


class CapabilityNotSupportedError(PublicMcpError):
    """The client does not offer what a body asks it for; a tool may catch it and go on without."""


class ElicitationNotSupportedError(CapabilityNotSupportedError):
    """The client's user can't be asked here."""

    code = "ELICITATION_NOT_SUPPORTED"

    def __init__(self, message: str = "Client does not support elicitation") -> None:
        super().__init__(message)


class SamplingNotSupportedError(CapabilityNotSupportedError):
    """The client's model can't be asked here."""

    code = "SAMPLING_NOT_SUPPORTED"

    def __init__(self, message: str = "Client does not support sampling") -> None:
        super().__init__(message)


class RootsNotSupportedError(CapabilityNotSupportedError):
    """The client has no roots to list here."""

    code = "ROOTS_NOT_SUPPORTED"

    def __init__(self, message: str = "Client does not support roots") -> None:
        super().__init__(message)


class MissingCapabilityError(PublicMcpError):
    """Raised by what can't serve a client at all that lacks a capability.

    Unlike the errors above it refuses the request: from 2026-07-28 on the client gets the protocol's own error, over
    HTTP a 400, which tells it what to declare. Older clients read it like any other.

    :param required: client capabilities as the protocol writes them: ``{"sampling": {}}``.
    """

    code = "MISSING_CAPABILITY"
    rpc_code = MISSING_REQUIRED_CLIENT_CAPABILITY

    def __init__(self, required: Mapping[str, Any]) -> None:
        names = ", ".join(".".join([name, *parts]) for name, parts in required.items())
        super().__init__(f"Client does not declare: {names}", data={"requiredCapabilities": dict(required)})


class ClientAnswerError(PublicMcpError):
    """The client answered what it was asked with an error, or with something else than was asked for."""

    code = "CLIENT_ANSWER_ERROR"


class ElicitationInvalidError(PublicMcpError):
    """The user's answer does not fit the form; the message names paths, never values."""

    code = "ELICITATION_INVALID"


class ElicitationStateTooLargeError(PublicMcpError):
    """What an inner call returned can't be kept while the user is asked."""

    code = "ELICITATION_STATE_TOO_LARGE"
