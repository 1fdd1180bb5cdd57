"""How runs end that did not complete, and who may not have them: always in public."""

from __future__ import annotations

from collections.abc import Collection

from frontmcp import FrontMcpError, InvalidInputError, PublicMcpError
from frontmcp.errors import nearest, shorten


class RunNotFoundError(InvalidInputError):
    """There is no run of that id, or the caller may not know of it."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f'Run "{shorten(run_id)}" not found')


class RunCancelledError(PublicMcpError):
    """The run that was waited for was cancelled."""

    code = "RUN_CANCELLED"

    def __init__(self, run_id: str) -> None:
        super().__init__(f'Run "{run_id}" was cancelled')


class JobTimeoutError(PublicMcpError):
    """An attempt took longer than ``timeout_ms``."""

    code = "JOB_TIMEOUT"

    def __init__(self, name: str, after_ms: int) -> None:
        super().__init__(f'Job "{name}" timed out after {after_ms}ms')


class WorkflowTimeoutError(PublicMcpError):
    """A workflow took longer than its ``timeout_ms``."""

    code = "WORKFLOW_TIMEOUT"

    def __init__(self, name: str, after_ms: int) -> None:
        super().__init__(f'Workflow "{name}" timed out after {after_ms}ms')


class WorkflowStepNotFoundError(FrontMcpError):
    """A condition or an input asked for a step that has not ended, or is not there.

    :param known: the ids of the workflow's steps.
    """

    code = "WORKFLOW_STEP_NOT_FOUND"

    def __init__(self, step: str, known: Collection[str]) -> None:
        name = shorten(str(step))
        hint = f'has not completed yet: add depends_on=["{name}"]'
        super().__init__(f'Step "{name}" {hint if step in known else "does not exist" + nearest(name, known)}')


class RunFailedError(FrontMcpError):
    """What a run failed with, in the words it was kept in."""
