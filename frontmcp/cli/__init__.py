"""The command line, ``frontmcp``. Needs the extra ``cli``: ``pip install "frontmcp[cli]"``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

EXTRA = ("typer", "rich", "watchfiles")
"""What the extra ``cli`` installs."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script: run a command and exit with 0, 1 for a failure, or 2 for wrong usage.

    :param arguments: instead of the process's own.
    """
    try:
        from frontmcp.cli.app import run

        code = run(arguments)
    except ImportError as error:
        if not _is_ours(error):
            raise
        print('frontmcp: the command line needs its extra; run: pip install "frontmcp[cli]"', file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _is_ours(error: ImportError) -> bool:
    """Whether what can't be imported is part of the extra, however the import was refused."""
    return (error.name or "").partition(".")[0] in EXTRA or any(name in str(error) for name in EXTRA)
