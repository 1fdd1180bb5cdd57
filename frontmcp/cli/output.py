"""What commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout


def say(text: str) -> None:
    """A line for the person at the terminal, on stderr."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def clean_stdout() -> Iterator[None]:
    """Send to stderr whatever the user's code prints inside, its child processes included."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text, cut at the terminal's width where there is a terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if not sys.stdout.isatty():
        return "\n".join(lines)
    limit = shutil.get_terminal_size().columns
    return "\n".join(line if len(line) <= limit else line[: limit - 1] + "…" for line in lines)
