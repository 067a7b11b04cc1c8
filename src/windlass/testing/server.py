"""Real databases for tests: one temporary server, one migrated template on it, one clone per test."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from windlass.db.connect import connect, translated
from windlass.db.embedded import EmbeddedServer
from windlass.db.migrate import migrate
from windlass.testing.clock import Clock

__all__ = ["TemporaryDatabase", "TemporaryServer"]

_TEMPLATE = "windlass_test_template"
_SUPERUSER = "windlass_superuser"
_OWNER = "windlass_owner"


@dataclass(frozen=True, slots=True)
class TemporaryDatabase:
    """One test's own database, migrated; `url` is what the product connects with."""

    name: str
    url: str
    owner_url: str

    def clock(self) -> Clock:
        return Clock(self.owner_url)


class TemporaryServer:
    """A PostgreSQL server that ends with this process and leaves nothing behind; use as `with`.

    Its data lie in memory where the machine has a directory for that with a gigabyte to spare, else in a
    temporary directory: a clone is then several times slower on a busy disk.
    """

    def __init__(self, *, bin_dir: Path | None = None, in_memory: bool = True) -> None:
        self._server = EmbeddedServer.start(ephemeral=True, bin_dir=bin_dir, in_memory=in_memory)
        self._admin = connect(self.url(_SUPERUSER, "postgres"), application_name="windlass tests")
        self._numbers = itertools.count(1)
        self._template_ready = False

    @property
    def data_dir(self) -> Path:
        """Where its data are, for as long as it runs."""
        return self._server.data_dir

    @property
    def bin_dir(self) -> Path:
        """Its programs, psql among them where the provider ships it."""
        return self._server.bin_dir

    @property
    def major_version(self) -> int:
        return self._server.major_version

    def url(self, role: str, database: str) -> str:
        """A URL for any role and any database of it; nobody needs a password."""
        return self._server.url(role, database)

    @contextmanager
    def database(self) -> Iterator[TemporaryDatabase]:
        """A database of its own, dropped at the end together with whatever is still connected to it."""
        if not self._template_ready:
            self._create(_TEMPLATE, "template0")
            migrate(self.url(_OWNER, _TEMPLATE))
            self._template_ready = True
        with self._clone(_TEMPLATE) as database:
            yield database

    @contextmanager
    def empty_database(self) -> Iterator[TemporaryDatabase]:
        """The same without the schema: nothing was ever installed in it."""
        with self._clone("template0") as database:
            yield database

    def stop(self) -> None:
        self._admin.close()
        self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @contextmanager
    def _clone(self, template: str) -> Iterator[TemporaryDatabase]:
        name = f"windlass_test_{next(self._numbers)}"
        self._create(name, template)
        try:
            yield TemporaryDatabase(name, self._server.url(database=name), self.url(_OWNER, name))
        finally:
            self._administer(f"drop database if exists {name} with (force)")

    def _create(self, name: str, template: str) -> None:
        # Copying files is several times quicker than the default, which writes everything to the log too.
        self._administer(f"create database {name} owner {_OWNER} template {template} strategy file_copy")

    def _administer(self, statement: str) -> None:
        with translated():
            self._admin.execute(statement.encode())
