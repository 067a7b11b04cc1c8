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

    url: str
    owner_url: str

    def clock(self) -> Clock:
        return Clock(self.owner_url)


class TemporaryServer:
    """A PostgreSQL server that ends with this process and leaves nothing behind; use as `with`."""

    def __init__(self, *, bin_dir: Path | None = None) -> None:
        self._server = EmbeddedServer.start(ephemeral=True, bin_dir=bin_dir)
        self._admin = connect(self._server.url(_SUPERUSER, "postgres"), application_name="windlass tests")
        self._numbers = itertools.count(1)
        self._template_ready = False

    @contextmanager
    def database(self) -> Iterator[TemporaryDatabase]:
        """A database of its own, dropped at the end together with whatever is still connected to it."""
        if not self._template_ready:
            self._make_template()
        name = f"windlass_test_{next(self._numbers)}"
        self._clone(name, _TEMPLATE)
        try:
            yield TemporaryDatabase(self._server.url(database=name), self._server.url(_OWNER, name))
        finally:
            self._administer(f"drop database if exists {name} with (force)")

    def stop(self) -> None:
        self._admin.close()
        self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _make_template(self) -> None:
        self._clone(_TEMPLATE, "template0")
        migrate(self._server.url(_OWNER, _TEMPLATE))
        self._template_ready = True

    def _clone(self, name: str, template: str) -> None:
        # Copying files is several times quicker than the default, which writes everything to the log too.
        self._administer(f"create database {name} owner {_OWNER} template {template} strategy file_copy")

    def _administer(self, statement: str) -> None:
        with translated():
            self._admin.execute(statement.encode())
