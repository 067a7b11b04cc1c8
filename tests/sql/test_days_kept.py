"""What an outcome or a move of a job costs does not grow with the days that are kept."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.days import Past, make_id
from tests.sql.steps import Session
from tests.sql.two import Running
from tests.sql.whole import assert_whole, lapse
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

MORE_DAYS = 40
Call = Callable[[Session], Any]


def claimed(jobs: Session, n: int, **fields: Any) -> list[Any]:
    kind = f"k{uuid4().hex}"
    for _ in range(n):
        jobs.enqueue(kind, **fields)
    held = jobs.claim(n, kinds=[kind])
    assert len(held) == n
    return held


def expire(db: Database, jobs: Session, n: int) -> Call:
    claimed(jobs, n)
    lapse(db)
    return lambda s: s.expire()


def redrive(jobs: Session, n: int) -> Call:
    held = claimed(jobs, n, max_attempts=1)
    jobs.fail(*held)
    query = "select * from windlass.redrive_jobs(%s, %s)"
    return lambda s: s.call(query, s.tenant, [h.job_id for h in held])


def promote(db: Database, jobs: Session, n: int) -> Call:
    for _ in range(n):
        jobs.enqueue("later", run_at="2100-01-01Z")
    db.execute("update windlass_data.scheduled set run_at = '2000-01-01Z'", role="superuser")
    return lambda s: s.call("select * from windlass.survey_lanes(%s, '{default}')", s.node)


def calls(db: Database, jobs: Session, n: int) -> dict[str, Call]:
    """Each call, about n jobs where it takes several; what it is about is there already."""
    key = {"concurrency_key": "a", "concurrency_limit": 9}
    failed, snoozed, released, ended = (claimed(jobs, n) for _ in range(4))
    keyed, keyed_too, part = claimed(jobs, n, **key), claimed(jobs, n, **key), claimed(jobs, n + 1)
    waiting, moved = jobs.enqueue(), jobs.enqueue()
    again = "select windlass.reschedule_job(%s, %s, clock_timestamp() + interval '1 h')"
    return {
        "fail": lambda s: s.fail(*failed),
        "fail for good, with a key": lambda s: s.fail(*keyed, outcomes=["canceled"] * n),
        "fail some of a lease": lambda s: s.fail(*part[1:]),
        "snooze": lambda s: s.snooze(*snoozed, delays=[60] * n),
        "release": lambda s: s.release(*released),
        "complete": lambda s: s.complete(*ended),
        "complete, with a key": lambda s: s.complete(*keyed_too),
        "cancel": lambda s: s.cancel(waiting),
        "reschedule": lambda s: s.call(again, s.tenant, moved),
        "enqueue": lambda s: s.enqueue("mail"),
        "enqueue, of a new kind": lambda s: s.enqueue(f"new-{uuid4()}"),
        "enqueue, with a key": lambda s: s.enqueue("x", concurrency_key="b"),
        "redrive": redrive(jobs, n),
        "expire": expire(db, jobs, n),
        "promote": promote(db, jobs, n),
    }


def locks(db: Database, jobs: Session, n: int) -> dict[str, int]:
    """How many tables and indexes each call locks, said by a session of its own."""
    counted = {}
    for name, call in calls(db, jobs, n).items():
        conn = db.connect()
        with conn.transaction():
            call(Session(conn))
            query = "select count(*) from pg_locks where pid = %s and locktype = 'relation'"
            counted[name] = db.fetch_value(query, conn.info.backend_pid, role="superuser")
        conn.close()
    return counted


@pytest.mark.parametrize("n", [1, 3])
def test_no_call_locks_more_for_more_days(db: Database, clock: Clock, jobs: Session, n: int) -> None:
    before = locks(db, jobs, n)
    assert_whole(db)
    Past(db, clock, jobs).make(*range(1, MORE_DAYS + 1))
    after = locks(db, jobs, n)
    assert {name: (before[name], count) for name, count in after.items() if count > before[name]} == {}
    assert_whole(db)


def scattered(past: Past) -> list[UUID]:
    """Ids of several days, some of which have no table, and some that are no times."""
    past.make(1, 3)
    noon = past.noon(0)
    ids = [make_id(noon - timedelta(days=age)) for age in (0, 1, 1, 2, 3, 900)]
    return [*ids, make_id(noon + timedelta(days=20)), UUID(int=1 << 77), UUID(int=(1 << 128) - 1), uuid4()]


def test_one_word_about_jobs_of_many_days(db: Database, clock: Clock, jobs: Session, other: Session) -> None:
    past = Past(db, clock, jobs)
    ids = scattered(past)
    twins = (jobs, other)  # the same ids in two tenants: each has its own job
    for session in twins:
        for job_id in ids:
            session.enqueue("k", id=job_id)
    for outcome in ("release", "snooze", "fail", "expire"):
        held = jobs.claim(2 * len(ids), kinds=["k"])
        assert len(held) == 2 * len(ids)
        if outcome == "expire":
            lapse(db)
            assert len(jobs.expire()) == len(held)
        else:
            delays = {} if outcome == "release" else {"delays": [60] * len(held)}
            told = getattr(jobs, outcome)(*held, **delays)
            assert [(row.job_id, row.code, row.state) for row in told] == [
                (h.job_id, "ok", "queued") for h in held
            ]
        assert_whole(db)
        db.execute("update windlass_data.scheduled set run_at = '2000-01-01Z'", role="superuser")
    for session in twins:
        for job_id in ids:
            assert session.cancel(job_id) == "canceled"
    assert_whole(db)


@pytest.mark.parametrize("many", [False, True])
def test_a_promotion_passes_over_a_job_that_somebody_holds(db: Database, jobs: Session, many: bool) -> None:
    held = [jobs.enqueue("k", run_at="2100-01-01Z") for _ in range(100 if many else 1)]
    db.execute("update windlass_data.scheduled set run_at = '1999-01-01Z'", role="superuser")
    free = jobs.enqueue("k", run_at="2100-01-01Z")
    query = "update windlass_data.scheduled set run_at = '2000-01-01Z' where job_id = %s"
    db.execute(query, free, role="superuser")
    holder = db.connect("superuser", autocommit=False)
    holder.execute("select from windlass_data.job where id = any (%s) for no key update", [held])
    assert [row.job_id for row in jobs.claim(5, kinds=["k"])] == [free]
    holder.rollback()
    assert len(jobs.claim(200, kinds=["k"])) == len(held)


@pytest.mark.parametrize("n", [1, 3])
def test_a_word_goes_by_what_a_job_is_after_it_waited_for_it(db: Database, jobs: Session, n: int) -> None:
    held = claimed(jobs, n)
    holder = db.connect("superuser", autocommit=False)
    for allowed, word in enumerate(held, 1):  # and each row lies elsewhere from now on
        holder.execute("update windlass_data.job set max_attempts = %s where id = %s", [allowed, word.job_id])
    session = Session(db.connect())
    running = Running(db, session, lambda s: s.fail(*held, delays=[0] * n))
    assert running.waits()
    holder.commit()
    told = running.result()
    if isinstance(told, psycopg.errors.LockNotAvailable):  # it waited too long: said again
        told = session.fail(*held, delays=[0] * n)
    states = ["dead"] + ["queued"] * (n - 1)
    assert [row.state for row in told] == states
    assert_whole(db)
    for word, state in zip(held[1:], states[1:], strict=True):
        assert jobs.state(word.job_id) == state
        assert jobs.cancel(word.job_id) == "canceled"
