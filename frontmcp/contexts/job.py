"""`JobContext`: the base class of class jobs, and the ``ctx`` parameter of function ones."""

from __future__ import annotations

from frontmcp.call import Attempt
from frontmcp.contexts.base import Context


class JobContext(Context):
    """A job's view of the attempt that runs it. Subclass it and define ``execute``, or take it as a parameter."""

    @property
    def run_id(self) -> str:
        """The id of the run; of the whole workflow, where the job is a step of one."""
        return self._attempt.run_id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._attempt.number

    def log(self, message: str) -> None:
        """Add a line to the run's log, which `get_job_status` shows. From any thread, without waiting."""
        self._attempt.log(message)

    @property
    def _attempt(self) -> Attempt:
        attempt = self.call.attempt_of_run
        if attempt is None:
            raise RuntimeError(f'job "{self.name}" was called outside a run: start it with execute_job')
        return attempt
