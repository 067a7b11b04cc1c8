"""When the database is not what this release expects, the migrator and every process at its start say so."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.schema.sample import APART, CODE, MIGRATIONS, write_sample
from tests.support import Database, Server
from windlass.db.migrate import check_schema, check_schema_async, migrate
from windlass.errors import Forbidden, SchemaMismatch

pytestmark = pytest.mark.every_version


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "sql")


def refused(database: Database, source: Path, complaint: str) -> None:
    """Both the migrator and the check at start refuse, for the same reason."""
    with pytest.raises(SchemaMismatch, match=complaint):
        migrate(database.url("owner"), source=source)
    with pytest.raises(SchemaMismatch, match=complaint):
        check_schema(database.connection("app"), source=source)


def test_a_newer_database(empty_db: Database, sample: Path, tmp_path: Path) -> None:
    newer = write_sample(tmp_path / "newer", {**MIGRATIONS, "0003_more": "select 1;"})
    migrate(empty_db.url("owner"), source=newer)
    refused(empty_db, sample, "has migration 0003_more, which this release does not know: upgrade windlass")


def test_an_older_release_leaves_the_functions_of_a_newer_one_alone(
    empty_db: Database, sample: Path, tmp_path: Path
) -> None:
    migrate(empty_db.url("owner"), source=sample)
    changed = CODE["thing/_note"].replace("note '", "a note '")
    other = write_sample(tmp_path / "other", code={**CODE, "thing/_note": changed})
    later = "update windlass_data.schema_version set release = '99.10' where name = 'code'"
    empty_db.execute(later, role="superuser")
    with pytest.raises(SchemaMismatch, match=r"those of release 99\.10, and this is 0\."):
        migrate(empty_db.url("owner"), source=other)
    assert not migrate(empty_db.url("owner"), source=sample).changed, "its own it knows"
    empty_db.execute(later.replace("99.10", "0.0.9"), role="superuser")
    assert migrate(empty_db.url("owner"), source=other).code_replaced


def test_a_changed_migration(empty_db: Database, sample: Path, tmp_path: Path) -> None:
    migrate(empty_db.url("owner"), source=sample)
    changed = write_sample(tmp_path / "changed", {**MIGRATIONS, "0002_note": "select 1;"})
    refused(empty_db, changed, "migration 0002_note was changed after it was applied")


def test_a_schema_of_somebody_else(server: Server, sample: Path) -> None:
    for name in ("windlass", "windlass_data"):
        with server.empty_database() as database:
            database.execute(f"create schema {name}", role="superuser")
            with pytest.raises(SchemaMismatch, match=f"schema {name} belongs to windlass_superuser"):
                migrate(database.url("owner"), source=sample)


def test_tables_without_a_record(empty_db: Database, sample: Path) -> None:
    empty_db.execute("create schema windlass_data; create table windlass_data.job ()", role="owner")
    with pytest.raises(SchemaMismatch, match="holds tables but no record of migrations"):
        migrate(empty_db.url("owner"), source=sample)


def test_an_empty_schema_made_by_an_administrator_is_used(empty_db: Database, sample: Path) -> None:
    empty_db.execute("create schema windlass_data authorization windlass_owner", role="superuser")
    assert migrate(empty_db.url("owner"), source=sample).changed


@pytest.fixture
def ascii_url(server: Server) -> Iterator[str]:
    with psycopg.connect(server.url("superuser", "postgres"), autocommit=True) as admin:
        admin.execute(
            "create database test_ascii owner windlass_owner template template0 encoding 'SQL_ASCII' "
            "lc_collate 'C' lc_ctype 'C'"
        )
        yield server.url("owner", "test_ascii")
        admin.execute("drop database test_ascii with (force)")


def test_another_encoding(ascii_url: str, sample: Path) -> None:
    with pytest.raises(SchemaMismatch, match="encoding is SQL_ASCII: Windlass needs UTF8"):
        migrate(ascii_url, source=sample)


def test_the_check_asks_for_a_migration_where_there_is_none(empty_db: Database, sample: Path) -> None:
    with pytest.raises(SchemaMismatch, match="not installed in this database: run `windlass migrate`"):
        check_schema(empty_db.connection("app"), source=sample)


def test_the_check_names_what_is_missing(empty_db: Database, tmp_path: Path) -> None:
    sample = write_sample(tmp_path, {**MIGRATIONS, "0003_index": APART})
    migrate(empty_db.url("owner"), source=sample, target="0001_thing")
    with pytest.raises(SchemaMismatch, match="it lacks 0002_note, 0003_index: run `windlass migrate`"):
        check_schema(empty_db.connection("app"), source=sample)


def test_the_check_notices_other_code(empty_db: Database, sample: Path, tmp_path: Path) -> None:
    migrate(empty_db.url("owner"), source=sample)
    other = write_sample(tmp_path / "other", code={"thing/_note": CODE["thing/_note"]})
    with pytest.raises(SchemaMismatch, match="not those of this release: run `windlass migrate`"):
        check_schema(empty_db.connection("app"), source=other)


async def test_the_check_passes_for_every_role_of_windlass(db: Database) -> None:
    for role in ("app", "producer", "worker", "operator", "reader", "owner"):
        check_schema(db.connection(role))
        async with await db.connect_async(role, autocommit=False) as conn:
            await check_schema_async(conn)
    with pytest.raises(Forbidden, match="grant it windlass_producer"):
        check_schema(db.connection("outsider"))


async def test_the_check_refuses_through_asyncio_too(empty_db: Database) -> None:
    async with await empty_db.connect_async("app") as conn:
        with pytest.raises(SchemaMismatch, match="not installed"):
            await check_schema_async(conn)
        cursor = await conn.execute("select 1")
        assert await cursor.fetchone() == (1,), "the connection is still usable"


@pytest.mark.parametrize("role", ["app", "worker", "outsider"])
def test_a_role_that_may_not_migrate_is_told_what_is_missing(
    empty_db: Database, sample: Path, tmp_path: Path, role: str
) -> None:
    migrate(empty_db.url("owner"), source=sample)
    newer = write_sample(tmp_path / "newer", {**MIGRATIONS, "0003_more": "select 1;"})
    login = empty_db.fetch_value("select current_user", role=role)
    with pytest.raises(Forbidden, match=f'grant windlass_owner to "{login}";') as caught:
        migrate(empty_db.url(role), source=newer)
    empty_db.execute(caught.value.details["statements"], role="superuser")
    try:
        assert migrate(empty_db.url(role), source=newer).applied == ("0003_more",)
    finally:
        empty_db.execute(f"revoke windlass_owner from {login}", role="superuser")
