"""snooze_jobs: put off without counting the attempt."""

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_snoozed_job_comes_back_at_its_time(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue(max_attempts=1)
    (row,) = jobs.snooze(jobs.claim_one(), delays=[90], costs=[3])
    due = now + timedelta(seconds=90)
    assert tuple(row) == (job_id, "ok", "queued", due)
    job = jobs.get(job_id)
    assert (job.state, job.run_at, job.version, job.counted, job.cost_cents) == ("queued", due, 1, 0, 3)
    clock.freeze(due - timedelta(microseconds=1))
    assert jobs.claim() == []
    clock.freeze(due)
    again = jobs.claim_one()
    assert (again.job_id, again.version, again.counted) == (job_id, 2, 0)
    assert_whole(db)


def test_a_job_may_snooze_for_ever(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue(max_attempts=1)
    for _ in range(20):
        jobs.snooze(jobs.claim_one(), delays=[0])
    assert jobs.get(job_id).version == 20
    jobs.complete(jobs.claim_one())
    job = jobs.get(job_id)
    assert (job.state, job.version, job.counted) == ("succeeded", 21, 1)
    assert_whole(db)


def test_one_job_twice_in_a_batch_is_snoozed_once(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    assert [row.code for row in jobs.snooze(held, held, delays=[5, 9])] == ["ok", "lease_lost"]
    assert_whole(db)


def test_bad_input_is_refused(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    wrongs: list[Any] = [None, [], [None], [1, 2], [-1], [float("nan")], [float("inf")], [315360001]]
    for delays in wrongs:
        with subtests.test(delays=delays), nothing_changed(db), refused("WL007"):
            jobs.snooze(held, delays=delays)
    with nothing_changed(db), refused("WL007"):
        jobs.snooze(held, delays=[1], costs=[-1])
    with nothing_changed(db):
        assert jobs.snooze(delays=[]) == []
