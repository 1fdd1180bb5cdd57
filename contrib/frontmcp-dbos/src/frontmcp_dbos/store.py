"""The database of the runs, as tasks ask it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from sqlalchemy.exc import SQLAlchemyError

from frontmcp import PublicMcpError
from frontmcp_dbos.execution import LeftError
from frontmcp_dbos.records import why

logger = logging.getLogger("frontmcp.jobs")

T = TypeVar("T")


class StoreUnavailableError(PublicMcpError):
    """The database of the runs does not answer."""

    code = "JOB_STORE_UNAVAILABLE"

    def __init__(self) -> None:
        super().__init__("The store of jobs does not answer. Try again later")


async def asked(function: Callable[..., T], *arguments: Any) -> T:
    """What the records say.

    :raises StoreUnavailableError: they do not answer.
    """
    try:
        return await anyio.to_thread.run_sync(function, *arguments)
    except SQLAlchemyError as error:
        logger.warning("the store of jobs does not answer: %s", why(error))
        raise StoreUnavailableError from error


async def patiently(is_stopping: Callable[[], bool], function: Callable[..., T], *arguments: Any) -> T:
    """The same, however long it takes.

    :raises LeftError: the server stops meanwhile.
    """
    pause = 0.1
    while True:
        try:
            return await _undisturbed(function, *arguments)
        except SQLAlchemyError as error:
            if is_stopping():
                raise LeftError from None
            if pause == 0.1:
                logger.warning("the store of jobs does not answer, a run waits for it: %s", why(error))
            await anyio.sleep(pause)
            pause = min(pause * 2, 5)


async def _undisturbed(function: Callable[..., T], *arguments: Any) -> T:
    with anyio.CancelScope(shield=True):
        return await anyio.to_thread.run_sync(function, *arguments)
    raise AssertionError("a shielded scope is never cancelled")
