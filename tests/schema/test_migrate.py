"""The migrator on a small sql directory of the test's own: what it builds, rebuilds and leaves alone."""

from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.schema.sample import APART, CODE, MIGRATIONS, write_sample
from tests.schema.snapshot import snapshot
from tests.support import Database, Server
from windlass.db.migrate import MigrationReport, migrate
from windlass.db.script import LOCK_KEY
from windlass.errors import InvalidInput, SchemaMismatch, Unavailable, WindlassError

pytestmark = pytest.mark.every_version

ALL = ("0001_thing", "0002_note", "0003_index")


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "sql", {**MIGRATIONS, "0003_index": APART})


def test_everything_is_installed_without_a_superuser(empty_db: Database, sample: Path) -> None:
    role = empty_db.fetch_row(
        "select rolsuper, rolbypassrls, rolcreaterole from pg_roles where rolname = current_user",
        role="owner",
    )
    assert tuple(role) == (False, False, False)
    assert migrate(empty_db.url("owner"), source=sample) == MigrationReport(ALL, code_replaced=True)
    tenant = "00000000-0000-7000-8000-00000000000a"
    added = empty_db.fetch_value("select windlass.add_thing(%s, 1)", tenant, role="producer")
    assert added == 0, "the engine wrote the row, the owner does not see another tenant's"
    assert empty_db.fetch("select note from windlass_data.thing", role="superuser") == [("note 2",)]
    assert empty_db.fetch_value("select windlass.count_through()", role="worker") == 0
    assert empty_db.fetch_value("select things from windlass.a_summary", role="reader") == 0


def test_only_the_granted_roles_may_call(empty_db: Database, sample: Path) -> None:
    migrate(empty_db.url("owner"), source=sample)
    rights = empty_db.fetch(
        """select r.rolname, p.proname, has_function_privilege(r.oid, p.oid, 'execute') as allowed
        from pg_proc p, pg_roles r
        where p.pronamespace = 'windlass'::regnamespace and r.rolname ~ '^test_'""",
        role="superuser",
    )
    assert {(role, name) for role, name, allowed in rights if allowed} == {
        ("test_producer", "add_thing"),
        ("test_operator", "add_thing"),
        ("test_reader", "count_things"),
        ("test_worker", "count_through"),
    }
    engine = empty_db.fetch(
        """select proname, has_schema_privilege(proowner, 'windlass', 'create') from pg_proc
        where pronamespace = 'windlass'::regnamespace and proowner = 'windlass_engine'::regrole""",
        role="superuser",
    )
    assert engine == [("add_thing", False)]


def test_twice_is_a_no_op_that_waits_for_nobody(empty_db: Database, sample: Path) -> None:
    migrate(empty_db.url("owner"), source=sample)
    before = snapshot(empty_db.connection("superuser"))
    with empty_db.connect("superuser") as other, other.transaction():
        other.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
        other.execute("lock table windlass_data.thing in access exclusive mode")
        for role in ("owner", "app", "reader"):
            assert not migrate(empty_db.url(role), source=sample, wait_seconds=0.1).changed
    assert snapshot(empty_db.connection("superuser")) == before


@pytest.mark.parametrize("target", ALL)
def test_step_by_step_gives_the_same_as_at_once(server: Server, sample: Path, target: str) -> None:
    with server.empty_database() as fresh, server.empty_database() as stepped:
        migrate(fresh.url("owner"), source=sample)
        first = migrate(stepped.url("owner"), source=sample, target=target)
        assert first.applied == ALL[: ALL.index(target) + 1]
        assert not migrate(stepped.url("owner"), source=sample, target=target).changed
        migrate(stepped.url("owner"), source=sample)
        assert snapshot(stepped.connection("superuser")) == snapshot(fresh.connection("superuser"))


def test_short_of_the_newest_migration_there_is_no_code(empty_db: Database, sample: Path) -> None:
    report = migrate(empty_db.url("owner"), source=sample, target="0001_thing")
    assert report == MigrationReport(("0001_thing",), code_replaced=False)
    count = "select count(*) from pg_proc where pronamespace = 'windlass'::regnamespace"
    assert empty_db.fetch_value(count, role="owner") == 0


def test_changed_code_is_rebuilt_where_replacing_would_fail(empty_db: Database, tmp_path: Path) -> None:
    migrate(empty_db.url("owner"), source=write_sample(tmp_path / "old"))
    code = {path: text for path, text in CODE.items() if not path.startswith("views/")}
    code["thing/_note"] = (
        CODE["thing/_note"]
        .replace(
            "_note(p_id integer) returns text", "_note(p_thing bigint, p_more text default '') returns jsonb"
        )
        .replace("'note ' || windlass_data.double(p_id)", "to_jsonb(p_thing)")
    )
    report = migrate(empty_db.url("owner"), source=write_sample(tmp_path / "new", code=code))
    assert report == MigrationReport((), code_replaced=True)
    names = empty_db.fetch(
        "select proname from pg_proc where pronamespace = 'windlass'::regnamespace order by proname",
        role="owner",
    )
    assert [name for (name,) in names] == ["_note", "add_thing", "count_things", "count_through"]
    views = "select relname from pg_class where relnamespace = 'windlass'::regnamespace and relkind = 'v'"
    assert empty_db.fetch(views, role="owner") == [("schema_version",)]


def test_a_failing_file_is_named_and_leaves_nothing(empty_db: Database, tmp_path: Path) -> None:
    bad = write_sample(tmp_path, {**MIGRATIONS, "0003_bad": "create table windlass_data.thing ();"})
    with pytest.raises(WindlassError, match=r"migrations/0003_bad\.sql: relation .* already exists"):
        migrate(empty_db.url("owner"), source=bad)
    assert empty_db.fetch_value("select to_regnamespace('windlass_data')", role="owner") is None


def test_unqualified_names_are_not_found(empty_db: Database, tmp_path: Path) -> None:
    bad = write_sample(tmp_path, {**MIGRATIONS, "0003_bad": "create table thing ();"})
    with pytest.raises(WindlassError, match=r"migrations/0003_bad\.sql"):
        migrate(empty_db.url("owner"), source=bad)


def test_a_migration_apart_is_recorded_only_when_it_succeeds(empty_db: Database, tmp_path: Path) -> None:
    sample = write_sample(tmp_path, {**MIGRATIONS, "0003_index": APART})
    migrate(empty_db.url("owner"), source=sample, target="0002_note")
    empty_db.execute("create index thing_note on windlass_data.thing (id)", role="owner")
    with pytest.raises(WindlassError, match=r"migrations/0003_index\.sql: relation .* already exists"):
        migrate(empty_db.url("owner"), source=sample)
    empty_db.execute("drop index windlass_data.thing_note", role="owner")
    assert migrate(empty_db.url("owner"), source=sample) == MigrationReport(("0003_index",))
    assert not migrate(empty_db.url("owner"), source=sample).changed


def test_a_table_in_use_makes_it_give_up_unchanged(empty_db: Database, sample: Path) -> None:
    migrate(empty_db.url("owner"), source=sample, target="0001_thing")
    before = snapshot(empty_db.connection("superuser"))
    with empty_db.connect("owner") as other, other.transaction():
        other.execute("select from windlass_data.thing")
        with pytest.raises(Unavailable, match=r"0002_note\.sql: a lock was not free in time"):
            migrate(empty_db.url("owner"), source=sample, lock_seconds=0.05)
    assert snapshot(empty_db.connection("superuser")) == before


def test_what_others_built_on_a_view_is_never_dropped(empty_db: Database, tmp_path: Path) -> None:
    migrate(empty_db.url("owner"), source=write_sample(tmp_path / "old"))
    empty_db.execute("create schema theirs", role="superuser")
    empty_db.execute("create view theirs.report as select * from windlass.things", role="superuser")
    new = write_sample(tmp_path / "new", code={"thing/_note": CODE["thing/_note"]})
    with pytest.raises(SchemaMismatch, match=r"view theirs\.report depends on view windlass\.things"):
        migrate(empty_db.url("owner"), source=new)
    assert empty_db.fetch("select * from theirs.report", role="superuser") == []


def test_code_dropped_by_hand_comes_back(empty_db: Database, sample: Path) -> None:
    migrate(empty_db.url("owner"), source=sample)
    before = snapshot(empty_db.connection("superuser"))
    empty_db.execute("drop schema windlass cascade", role="owner")
    assert migrate(empty_db.url("owner"), source=sample) == MigrationReport((), code_replaced=True)
    assert snapshot(empty_db.connection("superuser")) == before


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_given_connection_is_left_as_it_was(empty_db: Database, sample: Path, autocommit: bool) -> None:
    with psycopg.connect(empty_db.url("owner"), autocommit=autocommit, row_factory=dict_row) as conn:
        conn.execute("set statement_timeout = '7s'")
        conn.commit()
        assert migrate(conn, source=sample).applied == ALL
        shown: Any = conn.execute(
            "select current_user, current_setting('statement_timeout') as timeout"
        ).fetchone()
        assert shown == {"current_user": "windlass_owner", "timeout": "7s"}
        assert conn.autocommit is autocommit


def test_a_connection_inside_a_transaction_is_refused(empty_db: Database, sample: Path) -> None:
    with psycopg.connect(empty_db.url("owner")) as conn:
        conn.execute("select 1")
        with pytest.raises(InvalidInput, match="not inside a transaction"):
            migrate(conn, source=sample)


def test_an_unknown_target_is_refused(empty_db: Database, sample: Path) -> None:
    with pytest.raises(InvalidInput, match="no migration named 0009_nothing"):
        migrate(empty_db.url("owner"), source=sample, target="0009_nothing")
