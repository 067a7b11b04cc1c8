"""The tables of the days: made ahead, out of the time to come, and nobody waits while rows are read."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

import pytest
from psycopg.errors import Diagnostic

from tests.sql.days import Past, make_id
from tests.sql.operate import waiting
from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole
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


def test_ids_that_are_no_times_stand_in_no_days_way(db: Database, past: Past) -> None:
    """Such as random ones, of which one in fifty lies somewhere in the time to come."""
    first = past.enqueue(-900).int
    ids = [str(UUID(int=first + n)) for n in range(1, 5001)]
    for start in range(0, 5000, 1000):
        past.jobs.enqueue_many(
            [{"kind": "mail", "payload": {}, "id": job_id} for job_id in ids[start : start + 1000]]
        )
    row = maintain(past, -9)
    assert (row.made, row.missing) == ([past.day(-9)], [])
    assert_whole(db)
    past.jobs.cancel(UUID(int=first), "one too many")
    with past.at(-9):
        assert past.prune(canceled=0).removed == 1, "what is over goes from there too"
    assert maintain(past, -10).made == [past.day(-10)]


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

    def unread(self) -> dict[str, int]:
        """How often it attached a table that it knew to have rows of its bounds only."""
        said = (re.match(r'partition constraint for table "(\w+)" is implied', line) for line in self.lines)
        return dict(Counter(match[1] for match in said if match))


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


def pollute(past: Past, *ages: int) -> list[UUID]:
    """So many jobs of these days, which have no tables, that they cannot be moved while everybody waits."""
    ids = []
    for age in ages:
        first = make_id(past.noon(age)).int
        ids += [UUID(int=first + n) for n in range(5100 // len(ages))]
    for start in range(0, len(ids), 1000):
        new = [{"kind": "mail", "payload": {}, "id": str(job_id)} for job_id in ids[start : start + 1000]]
        past.jobs.enqueue_many(new)
    return ids


def test_a_time_to_come_that_has_grown_large_becomes_one_long_day(db: Database, past: Past) -> None:
    """Nobody made days for a week while jobs came in; a few are of days behind it."""
    ids = pollute(past, -5, -8, -10)
    done, ahead = past.end(-6, key="done"), [past.enqueue(-11), past.end(-900)]
    others = [done, past.enqueue(-7, key="waits"), past.end(-7, "dead", key="dead"), *ahead]
    before = [past.tell(job_id) for job_id in others]
    reader = db.connect("superuser", autocommit=False)
    reader.execute("select count(*) from windlass_data.attempt_ahead")
    assert maintain(past, -10).missing == days(past, 10, 10), (
        "a lock is waited for 50 ms, and asked for another time"
    )
    reader.commit()
    scans = Scans(past.jobs)
    row = maintain(past, -10, ahead=2)
    assert (row.made, row.missing) == (days(past, 10, 10), days(past, 11, 12)), "the others at the next call"
    assert scans.unread() == names(past, job10=1, attempt10=1)
    assert maintain(past, -10, ahead=2).made == days(past, 11, 12)
    assert maintain(past, -10, ahead=2).missing == []
    past.end(-12)
    kept = {"job_ahead": 1, "attempt_ahead": 1} | names(past, job11=1, job12=1, attempt12=1)
    assert past.tables() == kept | names(past, job10=len(ids) + 3, attempt10=2)
    assert [past.tell(job_id) for job_id in others] == before
    assert_whole(db)


def test_a_long_day_is_dropped_when_its_last_one_is_past(db: Database, past: Past) -> None:
    """With all days in it; what waits or is kept for longer stays, from each of them."""
    pollute(past, -5, -8, -10)
    db.execute(
        "update windlass_data.job_ahead set ended_state = 'canceled', ended_at = %s",
        past.noon(-10),
        role="superuser",
    )
    for place in ("ready", "busy_lane"):
        db.execute(f"delete from windlass_data.{place}", role="superuser")
    gone = [past.end(age, key=f"gone{age}") for age in (-5, -8, -10)]
    stay = [past.enqueue(age, key=f"stays{age}") for age in (-5, -8, -10)] + [
        past.end(-6, "dead", key="dead")
    ]
    assert maintain(past, -10).made == days(past, 10, 10)
    before = [past.tell(job_id) for job_id in stay]
    with past.at(-40):
        assert past.day(-10) not in past.prune_all(dead=None)[0], "its last day is not past"
    assert set(gone) <= past.listed(states=["succeeded"])
    with past.at(-42):
        assert past.day(-10) in past.prune_all(dead=None)[0]
    assert past.tables() == {"job_rest": 4, "attempt_rest": 1}
    assert [past.tell(job_id) for job_id in stay] == before
    assert db.fetch_value("select count(*) from windlass_data.idempotency_key", role="superuser") == 4
    forgotten = db.fetch(
        "select day from windlass_data.dropped_day where day >= %s", past.day(-4), role="superuser"
    )
    assert sorted(row.day for row in forgotten) == days(past, 4, 10)
    assert_whole(db)


def test_a_long_day_ends_behind_the_many_jobs_of_clocks_that_run_ahead(db: Database, past: Past) -> None:
    """No later than in 30 days; and who reads with an old snapshot does not know where they end."""
    ids = pollute(past, -14)
    with past.at(-10), past.jobs.conn.transaction():
        past.jobs.call("set transaction isolation level repeatable read")
        assert past.jobs.call("select made from windlass.maintain(5)")[0].made == []
    row = maintain(past, -10, ahead=5)
    assert (row.made, row.missing) == (days(past, 14, 14), [*days(past, 10, 13), past.day(-15)])
    assert past.tables() == names(past, job14=len(ids))
    row = maintain(past, -10, ahead=5)
    assert (row.made, row.missing) == (days(past, 15, 15), [])
    past.enqueue(-12)
    past.enqueue(-15)
    assert past.tables() == names(past, job14=len(ids) + 1, job15=1)
    assert_whole(db)


def test_nobody_waits_while_a_time_to_come_is_read_to_close_it_off(db: Database, past: Past) -> None:
    """All that it holds when it asks for the lock lets others read, enqueue and report."""
    pollute(past, -10)
    db.execute("alter function windlass._make_days set lock_timeout = '30s'", role="owner")
    query = (
        "select distinct l.mode from pg_locks as l join pg_class as c on c.oid = l.relation "
        "where l.pid = %s and l.granted and c.relnamespace = 'windlass_data'::regnamespace"
    )
    reader = db.connect("superuser", autocommit=False)
    reader.execute("lock table only windlass_data.job in access share mode")
    with (
        past.at(-10),
        waiting(db, past.jobs.conn, lambda: past.jobs.call("select * from windlass.maintain(0)")) as row,
    ):
        held = {mode for (mode,) in db.fetch(query, past.jobs.conn.info.backend_pid, role="superuser")}
        assert "ShareUpdateExclusiveLock" in held, "the tables were read"
        assert held <= {"AccessShareLock", "RowShareLock", "RowExclusiveLock", "ShareUpdateExclusiveLock"}
        reader.commit()
        assert row.result(30)[0].made == days(past, 10, 10)
