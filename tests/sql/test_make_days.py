"""The tables of the days: made ahead, out of the time to come, and nobody waits while rows are read."""

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

import pytest
from psycopg.errors import Diagnostic

from tests.sql.days import Past
from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


@pytest.fixture
def past(db: Database, clock: Clock, jobs: Session) -> Past:
    """Its days have ages; those to come are negative, and the four from today on have tables."""
    return Past(db, clock, jobs)


def maintain(past: Past, age: int, *, ahead: int = 0) -> Any:
    with past.at(age):
        return past.jobs.call("select * from windlass.maintain(%s)", ahead)[0]


def names(past: Past, **counts: int) -> dict[str, int]:
    """The tables by name: job7 is the one of the day in a week."""
    found = {}
    for name, count in counts.items():
        kind = name.rstrip("0123456789")
        found[f"{kind}_{past.day(-int(name[len(kind) :])):%Y%m%d}"] = count
    return found


def days(past: Past, first: int, last: int) -> list[date]:
    return [past.day(-n) for n in range(first, last + 1)]


def is_known(db: Database) -> list[bool]:
    """Whether PostgreSQL knows of each table of the rest that it has no row of days to be made."""
    query = "select convalidated from pg_constraint where conname = 'outside' order by conrelid"
    return [row.convalidated for row in db.fetch(query, role="superuser")]


def test_a_new_day_is_closed_to_all_but_the_engine(db: Database, past: Past) -> None:
    """Through the parent a tenant sees its own rows; the table itself shows no row to anybody."""
    assert maintain(past, -10).made == [past.day(-10)]
    past.end(-10)
    assert past.tables() == names(past, job10=1, attempt10=1)
    name = past.day(-10).strftime("%Y%m%d")
    with db.connection("owner").transaction():
        db.execute("select set_config('windlass.tenant_id', %s, true)", str(past.jobs.tenant), role="owner")
        for table in ("job", "attempt"):
            seen = f"select count(*) from windlass_data.{table}"
            assert db.fetch_value(seen, role="owner") == 1
            assert db.fetch_value(f"{seen}_{name}", role="owner") == 0
    with refused("42501"):
        db.fetch(f"select * from windlass_data.job_{name}")


def test_jobs_of_a_day_to_come_move_to_its_tables(db: Database, past: Past) -> None:
    """Ids made by a clock that runs ahead; one of a day that nobody will make goes to the rest."""
    between, waiting, done = past.enqueue(-6), past.enqueue(-9), past.end(-9)
    retrying, later = past.enqueue(-9), past.enqueue(-11)
    past.jobs.fail(past.claim(retrying), delays=[0])
    everything = (between, waiting, done, retrying, later)
    assert past.tables() == {"job_ahead": 5, "attempt_ahead": 2}
    before = [past.tell(job_id) for job_id in everything]
    assert maintain(past, -9, ahead=1).made == days(past, 9, 10)
    assert past.tables() == {"job_rest": 1, "job_ahead": 1} | names(past, job9=3, attempt9=2)
    assert [past.tell(job_id) for job_id in everything] == before
    past.jobs.complete(past.claim(waiting), past.claim(retrying), past.claim(between))
    assert_whole(db)


def test_where_the_time_to_come_has_many_rows_nobody_is_made_to_wait(db: Database, past: Past) -> None:
    first = past.enqueue(-900).int
    ids = [str(UUID(int=first + n)) for n in range(1, 5001)]
    for start in range(0, 5000, 1000):
        past.jobs.enqueue_many(
            [{"kind": "mail", "payload": {}, "id": job_id} for job_id in ids[start : start + 1000]]
        )
    with past.at(-9), nothing_changed(db):
        row = past.jobs.call("select * from windlass.maintain(0)")[0]
    assert (row.made, row.missing) == ([], [past.day(-9)])
    past.jobs.cancel(UUID(int=first), "one too many")
    with past.at(-9):
        assert past.prune(canceled=0).removed == 1, "what is over goes from there too"
    assert maintain(past, -9).made == [past.day(-9)]


class Scans:
    """What the server says about rows that it reads, or need not read, to make a partition."""

    def __init__(self, session: Session) -> None:
        self.lines: list[str] = []
        session.conn.add_notice_handler(self._note)
        session.call("set client_min_messages = debug1")

    def _note(self, notice: Diagnostic) -> None:
        self.lines.append(notice.message_primary or "")

    def known(self, table: str) -> int:
        said = f'for default partition "{table}" is implied by existing constraints'
        return sum(line.endswith(said) for line in self.lines)


def assert_rest_unread(past: Past, scans: Scans, made: Sequence[date]) -> None:
    """For each day, and for the time to come once more."""
    for table in ("job_rest", "attempt_rest"):
        assert scans.known(table) == len(made) + 1, scans.lines


def test_days_are_made_without_reading_the_rest(db: Database, past: Past) -> None:
    past.end(100)
    past.jobs.enqueue(id=UUID("f0000000-0000-4000-8000-000000000000"))
    assert past.tables() == {"job_rest": 2, "attempt_rest": 1}
    scans = Scans(past.jobs)
    assert_rest_unread(past, scans, maintain(past, -1, ahead=5).made)


def test_days_that_nobody_made_are_the_rests(db: Database, past: Past) -> None:
    """After a long rest of all nodes the rest is read once more, before anybody is made to wait."""
    scans = Scans(past.jobs)
    assert_rest_unread(past, scans, maintain(past, -20, ahead=1).made)
    assert is_known(db) == [False, False]
    past.end(-12)
    assert past.tables() == {"job_rest": 1, "attempt_rest": 1}
    scans.lines.clear()
    assert_rest_unread(past, scans, maintain(past, -21, ahead=1).made)
    assert is_known(db) == [True, True]


def test_what_outlives_a_later_day_fits_into_the_rest(db: Database, past: Past) -> None:
    """The rest ends where the time to come begins, and that was long before the day was made."""
    maintain(past, -4)
    waiting = past.enqueue(-4)
    past.end(-4)
    with past.at(-60):
        assert past.day(-4) in past.prune_all()[0]
    assert past.tables() == {"job_rest": 1}
    assert is_known(db) == [False, False]
    scans = Scans(past.jobs)
    assert_rest_unread(past, scans, maintain(past, -5).made)
    assert is_known(db) == [True, True]
    assert past.claim(waiting).version == 1
    assert_whole(db)
