"""Real databases for the tests: windlass.testing's, with more logins, on each version found here."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection, sql
from psycopg.pq import ExecStatus
from psycopg.rows import namedtuple_row

from tests.pooler import LocalPooler, Pooling
from tests.reuse import Pristine, is_calm
from windlass.db.embedded import Provider, find_providers
from windlass.testing import Clock, TemporaryServer

__all__ = ["Clock", "Database", "Server", "Servers", "providers_by_major"]

# The short names that tests use.  Those called test_* can log in and are in one group, or in none.
LOGINS = {
    "superuser": "windlass_superuser",
    "owner": "windlass_owner",
    "app": "windlass_app",
    "producer": "test_producer",
    "worker": "test_worker",
    "operator": "test_operator",
    "reader": "test_reader",
    "outsider": "test_outsider",
}


def providers_by_major() -> dict[int, Provider]:
    """The preferred binaries of each major version found here; the default version comes first."""
    found: dict[int, Provider] = {}
    for provider in find_providers():
        found.setdefault(provider.major, provider)
    return found


@dataclass
class Database:
    """One test's own database."""

    server: "Server"
    name: str
    pooled: bool = True
    """Whether the product goes through the pooler, in a run that has one."""
    _open: dict[str, Connection[Any]] = field(default_factory=dict)
    _more: list[Connection[Any]] = field(default_factory=list)

    @cached_property
    def clock(self) -> Clock:
        return Clock(self.direct_url("owner"))

    @property
    def version(self) -> int:
        return self.server.major

    def url(self, role: str = "app") -> str:
        """What the product connects with."""
        direct, pooler = self.direct_url(role), self.server.pooler
        return direct if pooler is None or not self.pooled else pooler.url(direct)

    def direct_url(self, role: str = "app") -> str:
        """What tests connect with, to look on."""
        return self.server.url(role, self.name)

    def connect(self, role: str = "app", *, autocommit: bool = True) -> Connection[Any]:
        """A connection of its own, for a test with several sessions; closed with the database."""
        conn = psycopg.connect(self.direct_url(role), autocommit=autocommit, row_factory=namedtuple_row)
        self._more.append(conn)
        return conn

    async def connect_async(self, role: str = "app", *, autocommit: bool = True) -> AsyncConnection[Any]:
        """An asyncio connection; the test closes it on its own loop."""
        return await AsyncConnection.connect(
            self.direct_url(role), autocommit=autocommit, row_factory=namedtuple_row
        )

    def connection(self, role: str = "app") -> Connection[Any]:
        """The one connection that `fetch` and `execute` share for a role."""
        if role not in self._open or self._open[role].closed:
            self._open[role] = self.connect(role)
        return self._open[role]

    def fetch(self, query: str, *parameters: Any, role: str = "app") -> list[Any]:
        """All rows, as named tuples; without columns, as after `select from`, empty ones."""
        cursor = self.connection(role).execute(query.encode(), parameters or None)
        result = cursor.pgresult
        return cursor.fetchall() if result is not None and result.status == ExecStatus.TUPLES_OK else []

    def fetch_row(self, query: str, *parameters: Any, role: str = "app") -> Any:
        """The only row."""
        rows = self.fetch(query, *parameters, role=role)
        assert len(rows) == 1, f"expected one row, got {len(rows)}"
        return rows[0]

    def fetch_value(self, query: str, *parameters: Any, role: str = "app") -> Any:
        """The only column of the only row."""
        (value,) = self.fetch_row(query, *parameters, role=role)
        return value

    def execute(self, query: str, *parameters: Any, role: str = "app") -> None:
        self.connection(role).execute(query.encode(), parameters or None)

    def close(self) -> None:
        for conn in self._more:
            conn.close()

    def calm_down(self) -> list[Connection[Any]]:
        """Close all sessions but those that may serve another test; these."""
        self._open = {role: conn for role, conn in self._open.items() if is_calm(conn)}
        kept = list(self._open.values())
        for conn in self._more:
            if conn not in kept:
                conn.close()
        self._more = list(kept)
        self.__dict__.pop("clock", None)
        return kept


class Server:
    """A temporary server with the tests' logins."""

    def __init__(self, provider: Provider, pooling: Pooling | None = None) -> None:
        self.major = provider.major
        self.bin_dir: Path = provider.bin_dir
        self._temporary = TemporaryServer(bin_dir=provider.bin_dir)
        self._reused: tuple[Database, Pristine, ExitStack] | None = None
        with psycopg.connect(self.url("superuser", "postgres"), autocommit=True) as admin:
            _make_logins(admin)
        address = self.url("app", "postgres")
        self.pooler = LocalPooler(address, polls=pooling == "polls") if pooling is not None else None

    @property
    def data_dir(self) -> Path:
        return self._temporary.data_dir

    def url(self, role: str, database: str) -> str:
        return self._temporary.url(LOGINS.get(role, role), database)

    def stop(self) -> None:
        self._give_up()
        if self.pooler is not None:
            self.pooler.stop()
        self._temporary.stop()

    @contextmanager
    def reused_database(self) -> Iterator[Database]:
        """One that served other tests before, and shows nothing of it; see tests/reuse.py."""
        if self._reused is None:
            stack = ExitStack()
            database = stack.enter_context(self.database())
            self._reused = (database, Pristine(database.direct_url("superuser")), stack)
        database, pristine, _ = self._reused
        try:
            yield database
        finally:
            if not pristine.restore(database.calm_down()):
                self._give_up()

    def _give_up(self) -> None:
        if self._reused is not None:
            (_, pristine, stack), self._reused = self._reused, None
            pristine.close()
            stack.close()

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A clone of the migrated template."""
        with self._temporary.database() as clone, self._opened(clone.name) as database:
            yield database

    @contextmanager
    def empty_database(self) -> Iterator[Database]:
        """A database in which nothing was ever installed."""
        with self._temporary.empty_database() as empty, self._opened(empty.name) as database:
            yield database

    @contextmanager
    def _opened(self, name: str) -> Iterator[Database]:
        database = Database(self, name)
        try:
            yield database
        finally:
            database.close()


def _make_logins(admin: Connection[Any]) -> None:
    for short, login in LOGINS.items():
        if not login.startswith("test_"):
            continue
        admin.execute(sql.SQL("create role {} login").format(sql.Identifier(login)))
        if short != "outsider":
            group = sql.Identifier(f"windlass_{short}")
            admin.execute(sql.SQL("grant {} to {}").format(group, sql.Identifier(login)))


class Servers:
    """The servers of one test process, each started when first needed."""

    def __init__(self, pooling: Pooling | None = None) -> None:
        self._providers = providers_by_major()
        self._pooling = pooling
        self._running: dict[int, Server] = {}

    def get(self, major: int) -> Server:
        if major not in self._running:
            self._running[major] = Server(self._providers[major], self._pooling)
        return self._running[major]

    def stop(self) -> None:
        for server in self._running.values():
            server.stop()
