"""The runs as people ask for them: one row each, beside the tables in which DBOS keeps how to go on with them."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    IntegrityError,
    InternalError,
    OperationalError,
)

from frontmcp import ConfigurationError
from frontmcp.errors import describe
from frontmcp.interfaces.jobs import Run, RunQuery

_TABLES = sql.MetaData()
RUNS: Final = sql.Table(
    "frontmcp_runs",
    _TABLES,
    sql.Column("app", sql.String, primary_key=True),
    sql.Column("id", sql.String, primary_key=True),
    sql.Column("owner", sql.String, nullable=False, comment="a digest"),
    sql.Column("entry", sql.String, nullable=False),
    sql.Column("key", sql.String, nullable=True, comment="a digest; None once the run has ended"),
    sql.Column("waits", sql.Boolean, nullable=False, comment="for a place in the queue"),
    sql.Column("state", sql.String, nullable=False),
    sql.Column("created_at", sql.Float, nullable=False),
    sql.Column("completed_at", sql.Float, nullable=True),
    sql.Column("record", sql.Text, nullable=False),
    sql.Index("frontmcp_runs_key", "app", "key", unique=True),
    sql.Index("frontmcp_runs_owner", "app", "owner", "created_at"),
    sql.Index("frontmcp_runs_completed", "app", "completed_at"),
    sql.Index("frontmcp_runs_waits", "app", "waits"),
)
_GOING = RUNS.c.completed_at.is_(None)


def is_away(error: BaseException) -> bool:
    """Whether an error is of the database itself, not of what it was asked: the same may go well later."""
    return type(error) in (DatabaseError, InternalError, OperationalError)


def why(error: BaseException) -> str:
    """What is wrong with the database, such as "database or disk is full"; of other errors, which may hold what was to
    be kept, the name."""
    return first_line(error) if is_away(error) else type(error).__name__


def first_line(error: BaseException) -> str:
    """What a driver says, without the statement."""
    return describe(getattr(error, "orig", None) or error).splitlines()[0]


class FullError(Exception):
    """As many runs wait as may."""


def _digest(text: str) -> str:
    """What an index takes: text of any length, and of any characters."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def url_of(store: str) -> URL:
    """A store's URL, with the driver that is installed.

    :raises ConfigurationError: it is none.
    """
    try:
        url = make_url(store)
    except (ArgumentError, ValueError):
        raise _no_store("is no URL") from None
    if "@" in (url.host or ""):
        # What is shown of such a URL is a part of the password.
        raise ConfigurationError('jobs_config: "store" has more than one "@": write that of a password as %40')
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername != "sqlite":
        raise _no_store(f"is of {url.drivername}")
    if url.database in (None, "", ":memory:"):
        raise ConfigurationError('jobs_config: runs need a file: write "sqlite:///jobs.db"')
    return url


def _no_store(what: str) -> ConfigurationError:
    return ConfigurationError(f'jobs_config: "store" {what}: write sqlite:///jobs.db or postgresql://…')


class Records:
    """The rows of one server's runs. Its methods wait for the database: they are for worker threads.

    :param app: tells servers that share a database apart.
    """

    def __init__(self, url: URL, app: str) -> None:
        options: dict[str, Any] = {"timeout": 30} if url.drivername == "sqlite" else {"connect_timeout": 5}
        self._app = app
        self._engine = sql.create_engine(
            url, isolation_level="AUTOCOMMIT", pool_pre_ping=url.drivername != "sqlite", connect_args=options
        )
        self._mine = RUNS.c.app == app
        self._count_waiting = sql.select(sql.func.count()).where(self._mine, RUNS.c.waits)
        # Locks of one number are none of `ServerSlots`, which have two.
        self._queue_lock = zlib.crc32(f"frontmcp-dbos {app} queue".encode())

    def create(self) -> None:
        """Make the table unless it is there."""
        with self._engine.connect() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            try:
                _TABLES.create_all(connection)
            except DBAPIError:
                # Another process that starts now was faster.
                if not sql.inspect(connection).has_table(RUNS.name):
                    raise

    def close(self) -> None:
        self._engine.dispose()

    def _run(self, statement: sql.Executable) -> Any:
        with self._engine.connect() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA synchronous=NORMAL")
            result = connection.execute(statement)
            return result.all() if result.returns_rows else result.rowcount

    def insert(self, run: Run, places: int | None = None) -> Run | None:
        """Keep a new run; the one that has its id, or its key, where there is one.

        :param places: how many runs may wait, this one included; any number where it is None. Processes that insert
            at once are counted one after the other.
        :raises FullError: as many wait.
        """
        row = self._row(run)
        while True:
            try:
                is_kept = self._insert(row, places)
            except IntegrityError:
                is_kept = False
            if is_kept:
                return None
            if (there := self._rival(run)) is not None:
                return there
            if places is not None and self.waiting() >= places:
                raise FullError
            # Who held the key, or a place, has just ended.

    def _row(self, run: Run) -> dict[str, Any]:
        return {
            "id": run.id,
            "app": self._app,
            "owner": _digest(run.owner.key),
            "entry": run.entry,
            "key": None if run.key is None else _digest(run.key),
            "waits": not run.foreground,
            "state": run.state,
            "created_at": run.created_at,
            "record": run.model_dump_json(),
        }

    def _insert(self, row: Mapping[str, Any], places: int | None) -> bool:
        """Whether there was a place."""
        if places is None:
            return bool(self._run(sql.insert(RUNS).values(row)))
        values = [sql.literal(value, RUNS.c[name].type) for name, value in row.items()]
        waiting = self._count_waiting.scalar_subquery()
        statement = sql.insert(RUNS).from_select(list(row), sql.select(*values).where(waiting < places))
        statement = statement.execution_options(preserve_rowcount=True)
        if self._engine.dialect.name == "sqlite":
            # One writer at a time, which sees what the one before it wrote.
            return bool(self._run(statement))
        with self._engine.connect() as connection:
            connection.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                connection.execute(sql.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": self._queue_lock})
                return bool(connection.execute(statement).rowcount)

    def _rival(self, run: Run) -> Run | None:
        same_key = RUNS.c.key == _digest(run.key) if run.key is not None else sql.false()
        rows = self._run(sql.select(RUNS.c.record).where(self._mine, sql.or_(RUNS.c.id == run.id, same_key)))
        return Run.model_validate_json(rows[0].record) if rows else None

    def waiting(self) -> int:
        """How many runs wait for a place."""
        count: int = self._run(self._count_waiting)[0][0]
        return count

    def begin(self, run_id: str) -> bool:
        """A run waits no more; whether it has not ended."""
        return bool(self._run(sql.update(RUNS).where(self._mine, RUNS.c.id == run_id, _GOING).values(waits=False)))

    def save(self, runs: Iterable[Run]) -> None:
        """Bring rows of runs that go on up to date."""
        for run in runs:
            self._run(
                sql.update(RUNS)
                .where(self._mine, RUNS.c.id == run.id, _GOING)
                .values(state=run.state, record=run.model_dump_json())
            )

    def end(self, run: Run) -> bool:
        """Bring the row of a run that ended up to date; False when it had ended before."""
        values = {
            "state": run.state,
            "completed_at": run.completed_at,
            "key": None,
            "waits": False,
            "record": run.model_dump_json(),
        }
        return bool(self._run(sql.update(RUNS).where(self._mine, RUNS.c.id == run.id, _GOING).values(values)))

    def get(self, run_id: str) -> Run | None:
        if not run_id.isprintable():
            # Not what databases take, and no run's.
            return None
        rows = self._run(sql.select(RUNS.c.record).where(self._mine, RUNS.c.id == run_id))
        return Run.model_validate_json(rows[0].record) if rows else None

    def ended(self, run_ids: Sequence[str]) -> set[str]:
        """Which of some runs have ended."""
        statement = sql.select(RUNS.c.id).where(self._mine, RUNS.c.id.in_(run_ids), ~_GOING)
        return {row.id for row in self._run(statement)}

    def going(self, before: float) -> list[str]:
        """The runs that were submitted before a moment and have not ended."""
        rows = self._run(sql.select(RUNS.c.id).where(self._mine, _GOING, RUNS.c.created_at < before))
        return [row.id for row in rows]

    def query(self, query: RunQuery) -> list[Run]:
        """The runs that a query means, the newest first."""
        statement = sql.select(RUNS.c.record).where(self._mine)
        if query.owner is not None:
            statement = statement.where(RUNS.c.owner == _digest(query.owner))
        if query.entry is not None:
            statement = statement.where(RUNS.c.entry == query.entry)
        if query.states is not None:
            statement = statement.where(RUNS.c.state.in_(query.states))
        rows = self._run(statement.order_by(RUNS.c.created_at.desc()).limit(query.limit))
        return [Run.model_validate_json(row.record) for row in rows]

    def forget(self, *, keep: int, seconds: float) -> list[str]:
        """Forget the oldest of the runs that have ended; which they were."""
        ended = sql.select(RUNS.c.id, RUNS.c.completed_at).where(self._mine, ~_GOING)
        too_many = ended.order_by(RUNS.c.completed_at.desc()).offset(keep).limit(1000)
        too_old = ended.where(RUNS.c.completed_at < time.time() - seconds).limit(1000)
        ids = sorted({row.id for statement in (too_many, too_old) for row in self._run(statement)})
        if ids:
            self._run(sql.delete(RUNS).where(self._mine, RUNS.c.id.in_(ids)))
        return ids
