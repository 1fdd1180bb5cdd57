"""Which process is which executor of DBOS, and whether it lives: a slot is a number that one living process holds."""

from __future__ import annotations

import fcntl
import itertools
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol

import sqlalchemy as sql
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool


class Slots(Protocol):
    """The slots of the processes that work on one database. Its methods wait: they are for worker threads."""

    number: int

    def claim(self) -> None:
        """Take the first slot that is free."""
        ...

    def renew(self) -> bool:
        """Whether it is still held, or held again."""
        ...

    def dead(self, number: int) -> Any:
        """A context manager: whether nobody holds a slot; nobody takes it while the block runs."""
        ...

    def release(self) -> None:
        """Give it back."""
        ...


class FileSlots:
    """Slots of the processes of one machine, as locks on files beside the database."""

    def __init__(self, url: URL) -> None:
        self._base = url.database
        self._held: IO[str] | None = None
        self.number = -1

    def claim(self) -> None:
        for number in itertools.count():
            if (held := self._lock(number)) is not None:
                self.number, self._held = number, held
                return

    def _lock(self, number: int) -> IO[str] | None:
        file = open(f"{self._base}.{number}.lock", "w")  # noqa: SIM115 (it is held as long as the lock)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        return file

    def renew(self) -> bool:
        return True

    @contextmanager
    def dead(self, number: int) -> Iterator[bool]:
        held = self._lock(number) if os.path.exists(f"{self._base}.{number}.lock") else None
        try:
            yield held is not None
        finally:
            if held is not None:
                held.close()

    def release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None


class ServerSlots:
    """Slots of the processes of many machines, as advisory locks of sessions in PostgreSQL."""

    def __init__(self, url: URL, app: str) -> None:
        self._space = zlib.crc32(f"frontmcp-dbos {app}".encode()) - 2**31
        self._engine = sql.create_engine(
            url, isolation_level="AUTOCOMMIT", poolclass=NullPool, connect_args={"connect_timeout": 5}
        )
        self._session: sql.Connection | None = None
        self._using = threading.Lock()
        self.number = -1

    def claim(self) -> None:
        self._close()
        self._session = self._engine.connect()
        self.number = next(number for number in itertools.count() if self._lock(self._session, number))

    def _lock(self, session: sql.Connection, number: int) -> bool:
        taken = session.execute(sql.text("SELECT pg_try_advisory_lock(:space, :number)"), self._of(number)).scalar()
        return bool(taken)

    def _of(self, number: int) -> dict[str, int]:
        return {"space": self._space, "number": number}

    def renew(self) -> bool:
        with self._using:
            if self._session is not None:
                try:
                    self._session.execute(sql.text("SELECT 1"))
                except DBAPIError:
                    # The session is gone, and the lock with it: another may have it by now.
                    self._close()
                else:
                    return True
            self._session = self._engine.connect()
            if not self._lock(self._session, self.number):
                self._close()
                return False
            return True

    @contextmanager
    def dead(self, number: int) -> Iterator[bool]:
        with self._engine.connect() as session:
            yield self._lock(session, number)

    def release(self) -> None:
        with self._using:
            self._close()
        self._engine.dispose()

    def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.invalidate()
            session.close()


def slots_of(url: URL, app: str) -> Slots:
    """The slots of a database."""
    return FileSlots(url) if url.drivername == "sqlite" else ServerSlots(url, app)
