"""A database that served a test may serve the next one only if nothing can be seen of it."""

from contextlib import closing

import pytest

from tests.reuse import Pristine
from tests.sql.whole import read_tables
from tests.support import Database

pytestmark = [pytest.mark.every_version, pytest.mark.direct]

PUT_RIGHT = [
    "insert into windlass_data.tenant (id, slug, name) values (gen_random_uuid(), 'other', 'Other')",
    "select nextval('windlass_data.lane_id_seq')",
    "create or replace function windlass_data.clock() returns timestamptz language sql as 'select now()'",
    "create table public.orders (name text primary key); create view public.open as table public.orders",
    "create temp table mine (n int)",
]
GIVEN_UP = [
    "update windlass_data.schema_version set sha256 = sha256",
    "create table windlass_data.extra (n int)",
    "create function public.extra() returns int language sql as 'select 1'",
    "alter function windlass.list_gates set work_mem = '1MB'",
    "drop function windlass.list_gates",
    "grant select on windlass_data.job to windlass_reader",
    "grant execute on function windlass_data.clock to public",
    "alter table windlass_data.job add column extra int",
    "alter table windlass_data.job alter column payload set default '1'",
    "alter table windlass_data.job no force row level security",
    "alter table windlass_data.event disable trigger all",
    "create index on windlass_data.job (created_at)",
    "create schema extra",
    "drop view windlass.jobs",
    "alter role windlass_app in database {name} set work_mem = '1MB'",
    "alter database {name} connection limit 7",
]


def what_is_there(db: Database) -> tuple[object, ...]:
    clock = db.fetch("select pg_get_functiondef('windlass_data.clock()'::regprocedure)", role="superuser")
    lane = db.fetch("select last_value, is_called from windlass_data.lane_id_seq", role="superuser")
    guests = db.fetch("select from pg_class where relname in ('orders', 'open', 'mine')", role="superuser")
    rows = {table: len(lines) for table, lines in read_tables(db).items()}
    return clock, lane, guests, rows


def test_rows_sequences_the_clock_and_guests_are_put_right(db: Database) -> None:
    before = what_is_there(db)
    with closing(Pristine(db.direct_url("superuser"))) as pristine:
        for statement in PUT_RIGHT:
            db.execute(statement, role="superuser")
        assert what_is_there(db) != before
        assert pristine.restore(db.calm_down())
    assert what_is_there(db) == before


def test_whatever_else_changes_is_noticed(db: Database) -> None:
    for statement in GIVEN_UP:
        with closing(Pristine(db.direct_url("superuser"))) as pristine:
            db.execute(statement.format(name=db.name), role="superuser")
            assert not pristine.restore(db.calm_down()), statement
