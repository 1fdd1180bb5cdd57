"""How a guard refuses: always in public, in the same words in production."""

from __future__ import annotations

from frontmcp import PublicMcpError


class ConcurrencyLimitError(PublicMcpError):
    """Every slot is taken.

    :param name: of the tool, or of the server.
    :param limit: how many calls may run at once.
    """

    code = "CONCURRENCY_LIMIT"

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(f'Concurrency limit reached for "{name}" (max: {limit})')


class QueueTimeoutError(PublicMcpError):
    """No slot became free in time."""

    code = "QUEUE_TIMEOUT"

    def __init__(self, name: str, waited_ms: int) -> None:
        super().__init__(f'Queue timeout for "{name}" after waiting {waited_ms}ms for a concurrency slot')


class ExecutionTimeoutError(PublicMcpError):
    """The body and the hooks around it took too long."""

    code = "EXECUTION_TIMEOUT"

    def __init__(self, name: str, after_ms: int) -> None:
        super().__init__(f'Execution of "{name}" timed out after {after_ms}ms')


class IpBlockedError(PublicMcpError):
    """The client's address is on the deny list."""

    code = "IP_BLOCKED"

    def __init__(self, address: str) -> None:
        super().__init__(f'IP address "{address}" is blocked')


class IpNotAllowedError(PublicMcpError):
    """The client's address is on no list, and what is on none is refused."""

    code = "IP_NOT_ALLOWED"

    def __init__(self, address: str) -> None:
        super().__init__(f'IP address "{address}" is not allowed')


class GuardUnavailableError(PublicMcpError):
    """The store of a limit does not answer, and the limit does not let calls pass uncounted."""

    code = "GUARD_UNAVAILABLE"

    def __init__(self, name: str) -> None:
        super().__init__(f'The limit of "{name}" can\'t be checked: its store does not answer. Try again later')
