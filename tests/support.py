"""Real databases for the tests: one server per version, one migrated template on it, one clone per test."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection, sql
from psycopg.rows import namedtuple_row

from windlass.db.embedded import EmbeddedServer, Provider, find_providers
from windlass.db.migrate import migrate

TEMPLATE = "windlass_template"

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


class Clock:
    """Moves the time that Windlass sees in one database; the server's own clock runs on."""

    def __init__(self, database: "Database") -> None:
        self._database = database
        self._offset = timedelta()

    def advance(self, by: timedelta | float) -> None:
        """Move time by so much (seconds, if a number), on top of what was moved before."""
        self._offset += by if isinstance(by, timedelta) else timedelta(seconds=by)
        self._replace(
            sql.SQL("select pg_catalog.clock_timestamp() + interval {}").format(
                f"{self._offset.total_seconds()} s"
            )
        )

    def freeze(self, at: datetime | None = None) -> datetime:
        """Stop time, now or at a moment; `advance` lets it run again."""
        moment: datetime = self.now() if at is None else at
        self._replace(sql.SQL("select {}::timestamptz").format(moment.isoformat()))
        return moment

    def now(self) -> datetime:
        value = self._database.fetch_value("select windlass_data.clock()", role="owner")
        assert isinstance(value, datetime)
        return value

    def _replace(self, body: sql.Composed) -> None:
        text = sql.SQL(
            "create or replace function windlass_data.clock() returns timestamptz language sql volatile "
            "parallel safe set search_path = pg_catalog, pg_temp as {}"
        ).format(body.as_string())
        self._database.connection("owner").execute(text)


@dataclass
class Database:
    """One test's own database."""

    server: "Server"
    name: str
    _open: dict[str, Connection[Any]] = field(default_factory=dict)
    _more: list[Connection[Any]] = field(default_factory=list)

    @property
    def clock(self) -> Clock:
        return Clock(self)

    @property
    def version(self) -> int:
        return self.server.major

    def url(self, role: str = "app") -> str:
        return self.server.url(role, self.name)

    def connect(self, role: str = "app", *, autocommit: bool = True) -> Connection[Any]:
        """A connection of its own, for a test with several sessions; closed with the database."""
        conn = psycopg.connect(self.url(role), autocommit=autocommit, row_factory=namedtuple_row)
        self._more.append(conn)
        return conn

    async def connect_async(self, role: str = "app", *, autocommit: bool = True) -> AsyncConnection[Any]:
        """An asyncio connection; the test closes it on its own loop."""
        return await AsyncConnection.connect(
            self.url(role), autocommit=autocommit, row_factory=namedtuple_row
        )

    def connection(self, role: str = "app") -> Connection[Any]:
        """The one connection that `fetch` and `execute` share for a role."""
        if role not in self._open or self._open[role].closed:
            self._open[role] = self.connect(role)
        return self._open[role]

    def fetch(self, query: str, *parameters: Any, role: str = "app") -> list[Any]:
        """All rows, as named tuples."""
        cursor = self.connection(role).execute(query.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []

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


class Server:
    """A running ephemeral server with the test logins and the migrated template."""

    def __init__(self, provider: Provider) -> None:
        self.major = provider.major
        self.bin_dir: Path = provider.bin_dir
        self._embedded = EmbeddedServer.start(ephemeral=True, bin_dir=provider.bin_dir)
        self._numbers = itertools.count(1)
        self._template_ready = False
        self._admin = psycopg.connect(self.url("superuser", "postgres"), autocommit=True)
        self._make_logins()

    def url(self, role: str, database: str) -> str:
        return self._embedded.url(role=LOGINS.get(role, role), database=database)

    def stop(self) -> None:
        self._admin.close()
        self._embedded.stop()

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A clone of the migrated template."""
        if not self._template_ready:
            self._create(TEMPLATE, "template0")
            migrate(self.url("owner", TEMPLATE))
            self._template_ready = True
        with self._temporary(TEMPLATE) as database:
            yield database

    @contextmanager
    def empty_database(self) -> Iterator[Database]:
        """A database in which nothing was ever installed."""
        with self._temporary("template0") as database:
            yield database

    @contextmanager
    def _temporary(self, template: str) -> Iterator[Database]:
        name = f"test_{next(self._numbers)}"
        self._create(name, template)
        database = Database(self, name)
        try:
            yield database
        finally:
            database.close()
            self._admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))

    def _create(self, name: str, template: str) -> None:
        create = sql.SQL("create database {} owner windlass_owner template {} strategy file_copy")
        self._admin.execute(create.format(sql.Identifier(name), sql.Identifier(template)))

    def _make_logins(self) -> None:
        for short, login in LOGINS.items():
            if not login.startswith("test_"):
                continue
            self._admin.execute(sql.SQL("create role {} login").format(sql.Identifier(login)))
            if short != "outsider":
                grant = sql.SQL("grant {} to {}")
                group = sql.Identifier(f"windlass_{short}")
                self._admin.execute(grant.format(group, sql.Identifier(login)))


class Servers:
    """The servers of one test process, each started when first needed."""

    def __init__(self) -> None:
        self._providers = providers_by_major()
        self._running: dict[int, Server] = {}

    def get(self, major: int) -> Server:
        if major not in self._running:
            self._running[major] = Server(self._providers[major])
        return self._running[major]

    def stop(self) -> None:
        for server in self._running.values():
            server.stop()
