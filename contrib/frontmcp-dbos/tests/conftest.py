"""A real PostgreSQL of the test run's own, on a free port of the loopback device, and databases that are ready."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from worker import make

from frontmcp.testing.runs import echo, started

PATIENCE = 30
BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def binary(name: str) -> str | None:
    """A program of PostgreSQL: Debian does not put those of the server on the path."""
    return shutil.which(name) or next((str(each / name) for each in BINARIES if (each / name).exists()), None)


class PostgresServer:
    """A PostgreSQL that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._data = folder / "data"
        # It refuses to run as root.
        self._user = "postgres" if os.getuid() == 0 else None
        if self._user is not None:
            user = pwd.getpwnam(self._user)
            os.chown(folder, user.pw_uid, user.pw_gid)
        self._run("initdb", "-D", str(self._data), "-U", "frontmcp", "-A", "trust", "--no-sync")

    def _run(self, name: str, *arguments: str) -> None:
        program = binary(name)
        assert program is not None
        subprocess.run(
            [program, *arguments], check=True, user=self._user, cwd=self._data.parent, stdout=subprocess.DEVNULL
        )

    def url(self, database: str) -> str:
        return f"postgresql://frontmcp@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        log = str(self._data.parent / "log")
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", str(PATIENCE), "-l", log, "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def new_database(self, template: str = "template1") -> str:
        """The name of a database that is made of another."""
        name = f"d{uuid.uuid4().hex}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
        return name


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    if binary("initdb") is None:
        pytest.skip("there is no PostgreSQL here: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="frontmcp-postgres-"))
    try:
        server = PostgresServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
async def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which everything is made: DBOS takes a second to see a queue that is new."""
    path = tmp_path_factory.mktemp("template") / "jobs.db"
    async with started(make(f"sqlite:///{path}"), echo, grace=0):
        pass
    return path


@pytest.fixture(scope="session")
async def postgres_template(postgres: PostgresServer) -> str:
    """The same, in PostgreSQL."""
    name = postgres.new_database()
    async with started(make(postgres.url(name)), echo, grace=0):
        pass
    return name


@pytest.fixture
def sqlite_store(sqlite_template: Path, tmp_path: Path) -> str:
    """The URL of a new database."""
    shutil.copy(sqlite_template, tmp_path / "jobs.db")
    return f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def postgres_store(postgres: PostgresServer, postgres_template: str) -> str:
    """The URL of a new database."""
    return postgres.url(postgres.new_database(postgres_template))


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    """The URL of a new database, of each kind."""
    store: str = request.getfixturevalue(f"{request.param}_store")
    return store
