"""What goes wrong on the command line: one line that names the thing, the place and the fix, and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from frontmcp.errors import ConfigurationError, describe, is_ours


class Failure(Exception):
    """A command failed: its message goes to stderr, and the process exits with ``exit_code``."""

    exit_code = 1


class UsageFailure(Failure):
    """What was typed can't be done."""

    exit_code = 2


def explain(error: BaseException, folder: Path) -> str:
    """``file:line: Type: message`` for an error raised by code of the user's.

    :param folder: where the user's code is; the innermost frame in it is the place.
    """
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{shown(error.filename)}:{error.lineno}: {type(error).__name__}: {error.msg}"
    place = place_of(error, folder)
    where = f"{place}: " if place else ""
    if isinstance(error, BaseExceptionGroup):
        leaves = list(_leaves(error))
        told = "; ".join(explain(each, folder) if each.__traceback__ else where + _said(each) for each in leaves)
        return told if len(leaves) == 1 else f"{where}{error.message}: {told}"
    if isinstance(error, ConfigurationError):
        return where + str(error)
    if isinstance(error, SystemExit):
        return f"{where}it exits with {error.code!r} when it is imported"
    return where + _said(error) + _advice(error)


def _said(error: BaseException) -> str:
    name, text = type(error).__name__, describe(error)
    return text if text.startswith(name) else f"{name}: {text}"


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _leaves(each)
        elif isinstance(each, Exception) or not any(isinstance(other, Exception) for other in group.exceptions):
            # On trio a cancellation may travel beside the error that it led to.
            yield each


def place_of(error: BaseException, folder: Path) -> str | None:
    """``file:line`` of the innermost frame in the user's code, else of the innermost that is a file and not ours."""
    files = (frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<"))
    frames = [frame for frame in files if not is_ours(frame.filename)]
    own = [frame for frame in frames if _is_own(Path(frame.filename), folder)]
    for frame in (own or frames)[-1:]:
        return f"{shown(frame.filename)}:{frame.lineno}"
    return None


def _is_own(file: Path, folder: Path) -> bool:
    return file.is_relative_to(folder) and "site-packages" not in file.parts and not is_ours(file)


def _advice(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"; install it into the environment of {sys.executable}"
    if isinstance(error, ImportError) and "relative import" in str(error):
        return "; give the target as a module, like package.module"
    return ""


@contextmanager
def failing_with_place(folder: Path) -> Iterator[None]:
    """Make an error of the user's code, such as its lifespan's, a failure with its place.

    :param folder: where the user's code is.
    """
    try:
        yield
    except (Failure, ConfigurationError):
        raise
    except Exception as error:
        raise Failure(explain(error, folder)) from error


def shown(file: str | Path) -> str:
    """A file as people read it: relative to the working directory where it is below it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
