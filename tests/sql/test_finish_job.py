"""finish_job: the success commits with the handler's own writes, or neither does."""

import time
from uuid import uuid4

import psycopg
import pytest

from tests.sql.operate import waiting
from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_the_handlers_writes_and_the_success_commit_together(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    with jobs.conn.transaction():
        follow_up = jobs.enqueue("follow-up")
        jobs.finish(held, {"n": 1}, 9)
    job = jobs.get(job_id)
    assert (job.state, job.result, job.cost_cents, job.counted) == ("succeeded", {"n": 1}, 9, 1)
    assert jobs.state(follow_up) == "queued"
    assert_whole(db, exact_leases=False)


def test_a_rollback_takes_the_success_along(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    with nothing_changed(db), jobs.conn.transaction(force_rollback=True):
        jobs.enqueue("follow-up")
        jobs.finish(held)
    assert jobs.state(job_id) == "running"
    assert jobs.complete(held) == []
    assert_whole(db)


def test_a_lost_lease_rolls_the_handlers_writes_back(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue()
    held = jobs.claim_one(lease=5)
    clock.advance(6)
    jobs.expire()
    with nothing_changed(db), refused("WL003"), jobs.conn.transaction():
        jobs.enqueue("follow-up")
        jobs.finish(held)


def test_the_lease_is_settled_by_the_workers_report(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    jobs.enqueue()
    a, b = jobs.claim(2)
    jobs.finish(a, 1)
    assert_whole(db, exact_leases=False)
    assert jobs.complete(a, results=[2], tenants=[jobs.tenant]) == []
    assert jobs.get(a.job_id).result == 1
    assert_whole(db)
    jobs.finish(b)
    assert jobs.complete(b, tenants=[jobs.tenant]) == []
    assert db.fetch("select * from windlass_data.lease", role="superuser") == []


def test_the_lease_of_a_worker_that_died_after_the_commit_is_cleaned_away(
    db: Database, jobs: Session, clock: Clock
) -> None:
    jobs.enqueue()
    jobs.enqueue()
    a, b = jobs.claim(2, lease=5)
    jobs.finish(a)
    clock.advance(6)
    assert jobs.expire() == [(b.job_id, "queued")]
    assert jobs.state(a.job_id) == "succeeded"
    assert db.fetch("select * from windlass_data.lease", role="superuser") == []
    assert_whole(db)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_no_isolation_level_lets_a_lost_lease_finish(
    db: Database, jobs: Session, clock: Clock, level: str
) -> None:
    """The handler's snapshot still sees its lease; the job has long been taken by another."""
    job_id = jobs.enqueue()
    jobs.enqueue()
    held, sibling = jobs.claim(2, lease=5)
    handler = Session(db.connect(autocommit=False))
    handler.call(f"set transaction isolation level {level}")
    assert handler.state(job_id) == "running"
    jobs.fail(held, delays=[0])
    again = Session(jobs.conn, node=uuid4()).claim_one()
    with pytest.raises(psycopg.OperationalError) as caught:
        handler.finish(held)
    assert caught.value.sqlstate == "40001"
    handler.conn.rollback()
    assert jobs.get(job_id).version == again.version == 2
    assert jobs.complete(again, sibling) == []
    assert_whole(db)


def test_bad_input_is_refused(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    with nothing_changed(db), refused("WL007"):
        jobs.finish(held, "x" * 4_200_000)
    with nothing_changed(db), refused("WL007"):
        jobs.finish(held, None, -1)
    with nothing_changed(db), refused("WL007"):
        jobs.call("select windlass.finish_job(null, null)")


def test_a_batch_is_complete_however_many_of_its_jobs_finish_themselves_meanwhile(
    db: Database, jobs: Session
) -> None:
    """One after the other, each while the batch waits for it: what is left of the batch still counts."""
    db.execute("alter function windlass.complete_jobs set lock_timeout = '30s'", role="superuser")
    for _ in range(5):
        jobs.enqueue()
    held = sorted(jobs.claim(5), key=lambda row: row.job_id)
    handlers = [db.connect(autocommit=False) for _ in held[:-1]]
    for handler, row in zip(handlers, held, strict=False):
        Session(handler, node=jobs.node).finish(row)
    with waiting(db, jobs.conn, lambda: jobs.complete(*held, tenants=[jobs.tenant] * 5)) as batch:
        for number, handler in enumerate(handlers):
            blocked = "select %s = any (pg_blocking_pids(%s))"
            pids = handler.info.backend_pid, jobs.conn.info.backend_pid
            deadline = time.monotonic() + 30
            while not db.fetch_value(blocked, *pids, role="superuser"):
                assert time.monotonic() < deadline, f"the batch does not wait for handler {number}"
                assert not batch.done(), batch.result()
            handler.commit()
        assert batch.result(30) == []  # this very token said so already
    assert {jobs.state(row.job_id) for row in held} == {"succeeded"}
    assert_whole(db)
