"""Migrating on a server that has never seen Windlass: who may make the roles, what others are told."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.schema.sample import MIGRATIONS, write_sample
from tests.schema.snapshot import snapshot
from tests.support import providers_by_major
from windlass.db.embedded import EmbeddedServer
from windlass.db.migrate import ROLES, migrate
from windlass.errors import Forbidden

pytestmark = pytest.mark.every_version


class BareServer:
    """A server of its own whose roles of Windlass can be taken away."""

    def __init__(self, embedded: EmbeddedServer) -> None:
        self._embedded = embedded
        self.admin = psycopg.connect(self.url("windlass_superuser", "postgres"), autocommit=True)
        self.admin.execute("create role test_admin login createrole")
        self.admin.execute("create role test_plain login")

    def url(self, role: str, database: str = "test_bare") -> str:
        return self._embedded.url(role=role, database=database)

    def clear(self, owner: str) -> None:
        """No database but an empty one of `owner`, and none of our roles."""
        self.admin.execute("drop database if exists windlass with (force)")
        self.admin.execute("drop database if exists test_bare with (force)")
        for role in ("windlass_app", *ROLES):
            self.admin.execute(f"drop role if exists {role}".encode())
        self.admin.execute(f"create database test_bare owner {owner}".encode())

    def stop(self) -> None:
        self.admin.close()
        self._embedded.stop()


@pytest.fixture
def bare(pg_version: int) -> Iterator[BareServer]:
    bin_dir = providers_by_major()[pg_version].bin_dir
    server = BareServer(EmbeddedServer.start(ephemeral=True, bin_dir=bin_dir))
    yield server
    server.stop()


def test_who_may_install_and_what_the_others_are_told(bare: BareServer, tmp_path: Path) -> None:
    sample = write_sample(tmp_path)

    # A role that may create roles needs nobody's help.
    bare.clear("test_admin")
    assert migrate(bare.url("test_admin"), source=sample).applied == tuple(MIGRATIONS)
    assert not migrate(bare.url("test_admin"), source=sample).changed
    with psycopg.connect(bare.url("windlass_superuser")) as conn:
        by_admin = snapshot(conn)

    # Neither does a superuser, and what it makes belongs to the same owner.
    bare.clear("windlass_superuser")
    migrate(bare.url("windlass_superuser"), source=sample)
    with psycopg.connect(bare.url("windlass_superuser")) as conn:
        assert snapshot(conn) == by_admin

    # A plain role is told what to have run; having had exactly that run, it succeeds.
    bare.clear("test_plain")
    with pytest.raises(
        Forbidden, match=r"roles windlass_owner, .* are missing and test_plain may not"
    ) as caught:
        migrate(bare.url("test_plain"), source=sample)
    bare.admin.execute(caught.value.details["statements"].encode())
    assert caught.value.details["statements"] in str(caught.value)
    assert migrate(bare.url("test_plain"), source=sample).changed
    with psycopg.connect(bare.url("windlass_superuser")) as conn:
        assert snapshot(conn) == by_admin

    # The same where the database is not its own, so that it may not create schemas either.
    bare.clear("windlass_superuser")
    statements = []
    for _ in range(2):
        with pytest.raises(Forbidden) as caught:
            migrate(bare.url("test_plain"), source=sample)
        statements.append(caught.value.details["statements"])
        with psycopg.connect(bare.url("windlass_superuser"), autocommit=True) as conn:
            conn.execute(statements[-1].encode())
    assert "create schema windlass authorization windlass_owner;" in statements[1]
    assert migrate(bare.url("test_plain"), source=sample).changed


def test_a_role_that_was_dropped_comes_back_with_its_rights(bare: BareServer, tmp_path: Path) -> None:
    sample = write_sample(tmp_path)
    bare.clear("test_admin")
    migrate(bare.url("test_admin"), source=sample)
    with psycopg.connect(bare.url("windlass_superuser"), autocommit=True) as conn:
        before = snapshot(conn)
        conn.execute("drop owned by windlass_reader")
        conn.execute("drop role windlass_reader")
        assert snapshot(conn) != before
        assert migrate(bare.url("test_admin"), source=sample).code_replaced
        assert snapshot(conn) == before


def test_the_owner_does_not_inherit_the_engine(bare: BareServer) -> None:
    """Otherwise the engine's policies would show the owner every tenant."""
    held = bare.admin.execute("select pg_has_role('windlass_owner', 'windlass_engine', 'usage')").fetchone()
    may = bare.admin.execute("select pg_has_role('windlass_owner', 'windlass_engine', 'member')").fetchone()
    assert (held, may) == ((False,), (True,))
