"""expire_leases: what a dead worker held is recovered, job by job."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, lapse, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_an_expired_job_is_queued_at_once_and_the_attempt_counts(
    db: Database, jobs: Session, clock: Clock
) -> None:
    job_id = jobs.enqueue(retry={"base": 1000, "jitter": "none"})
    jobs.claim_one(lease=10)
    with nothing_changed(db):
        assert jobs.expire() == []
    clock.advance(11)
    assert jobs.expire() == [(job_id, "queued")]
    job = jobs.get(job_id)
    assert (job.state, job.version, job.counted, job.error["type"]) == ("queued", 1, 1, "LeaseExpired")
    assert job.error["message"]
    (attempt,) = db.fetch("select * from windlass_data.attempt", role="superuser")
    assert (attempt.outcome, attempt.ends, attempt.node_id) == ("crashed", None, jobs.node)
    assert jobs.claim_one().version == 2
    assert_whole(db)


def test_what_ran_out_long_ago_is_left_by_those_who_look_back_a_minute(
    db: Database, jobs: Session, clock: Clock
) -> None:
    jobs.enqueue()
    jobs.claim_one(lease=10)
    clock.advance(60)
    old = jobs.enqueue()
    jobs.claim_one(lease=10)
    clock.advance(11)
    recent = "select job_id from windlass.expire_leases(100, interval '30 s')"
    assert [row.job_id for row in jobs.call(recent)] == [old]
    assert jobs.call(recent) == []
    assert len(jobs.expire()) == 1, "and found by those who look at all"
    assert_whole(db)


def test_jobs_that_somebody_holds_hold_up_no_others(db: Database, jobs: Session, clock: Clock) -> None:
    ids = [jobs.enqueue() for _ in range(12)]
    for _ in ids:
        jobs.claim_one()
    clock.advance(31)
    operator = Session(db.connect(autocommit=False))
    for job_id in ids[:9]:
        operator.cancel(job_id)
    recovered = "select job_id from windlass.expire_leases(3)"
    assert {row.job_id for row in jobs.call(recovered)} == set(ids[9:])
    assert jobs.call(recovered) == []
    operator.conn.rollback()
    assert {row.job_id for row in jobs.call(recovered)} == set(ids[:3])
    assert_whole(db)


def test_only_the_unreported_jobs_of_a_lease_are_moved(db: Database, jobs: Session, clock: Clock) -> None:
    for n in range(6):
        jobs.enqueue(payload=n, max_attempts=1 if n == 5 else 3)
    a, b, c, d, e, f = jobs.claim(6, lease=10)
    jobs.complete(a)
    jobs.fail(b, delays=[60])
    jobs.release(c)
    jobs.cancel(e.job_id)
    clock.advance(11)
    assert sorted(jobs.expire()) == sorted([(d.job_id, "queued"), (e.job_id, "canceled"), (f.job_id, "dead")])
    states = [jobs.state(row.job_id) for row in (a, b, c, d, e, f)]
    assert states == ["succeeded", "queued", "queued", "queued", "canceled", "dead"]
    with nothing_changed(db):
        assert jobs.expire() == []
    assert_whole(db)


def test_a_job_that_two_expired_leases_name_is_moved_once(db: Database, jobs: Session) -> None:
    """It left the first lease, which lives on for its other job, and runs under the second."""
    jobs.enqueue()
    jobs.enqueue()
    twice, once = jobs.claim(2)
    jobs.fail(twice, delays=[0])
    assert jobs.claim_one().job_id == twice.job_id
    lapse(db)
    assert sorted(jobs.expire()) == sorted([(twice.job_id, "queued"), (once.job_id, "queued")])
    assert_whole(db)


def test_a_limit_bounds_the_leases_of_one_call(db: Database, jobs: Session, clock: Clock) -> None:
    for n in range(5):
        jobs.enqueue(f"k{n}")
    jobs.claim(5, lease=10)
    clock.advance(11)
    assert [len(jobs.expire(2)) for _ in range(4)] == [2, 2, 1, 0]
    assert_whole(db)


def test_the_longest_overdue_come_first(db: Database, jobs: Session, clock: Clock) -> None:
    for lease in (30, 10, 20):
        jobs.enqueue(payload=lease)
        jobs.claim_one(lease=lease)
    clock.advance(60)
    payloads = [jobs.get(jobs.expire(1)[0][0]).payload for _ in range(3)]
    assert payloads == [10, 20, 30]


def test_recovered_jobs_line_up_in_the_order_in_which_they_were_enqueued(
    db: Database, jobs: Session, clock: Clock
) -> None:
    made = [jobs.enqueue(f"k{n % 3}", id=UUID(int=n)) for n in range(1, 10)]
    Session(jobs.conn, node=uuid4()).claim(4, lease=20)
    jobs.claim(9, lease=10)
    clock.advance(21)
    assert [job_id for job_id, _ in jobs.expire()] == made
    assert [row.job_id for row in jobs.claim(9)] == made


def test_bad_input_is_refused(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue()
    jobs.claim_one(lease=10)
    clock.advance(11)
    wrongs: list[Any] = [None, 0, -1, 10001]
    for limit in wrongs:
        with nothing_changed(db), refused("WL007"):
            jobs.expire(limit)


def test_a_rolled_back_expiry_leaves_the_lease(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one(lease=10)
    clock.advance(11)
    with nothing_changed(db), jobs.conn.transaction(force_rollback=True):
        assert jobs.expire() == [(job_id, "queued")]
    assert jobs.complete(held) == []
    assert_whole(db)
