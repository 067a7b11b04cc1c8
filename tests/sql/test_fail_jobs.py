"""fail_jobs: again after a wait, or dead when the attempts are used up."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database
from windlass.model.retry import MAX_DELAY_SECONDS

pytestmark = pytest.mark.every_version

STEADY = {"base": 10, "factor": 3, "cap": 60, "jitter": "none"}


def outcomes(db: Database, job_id: UUID) -> list[tuple[Any, ...]]:
    query = (
        "select version, counted, outcome, ends from windlass_data.attempt where job_id = %s order by version"
    )
    return [tuple(row) for row in db.fetch(query, job_id, role="superuser")]


def test_the_retry_policy_sets_the_wait(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue(retry=STEADY, max_attempts=5)
    for wait in (10, 30, 60, 60):
        ((failed, code, state, run_at),) = jobs.fail(jobs.claim_one(), errors=[{"message": str(wait)}])
        assert (failed, code, state, run_at) == (job_id, "ok", "queued", now + timedelta(seconds=wait))
        assert jobs.get(job_id).run_at == run_at
        assert jobs.claim() == []
        now = clock.freeze(run_at)
        assert_whole(db)
    (row,) = jobs.fail(jobs.claim_one(), errors=[{"message": "last"}])
    assert (row.code, row.state, row.run_at) == ("ok", "dead", None)
    assert jobs.get(job_id).error == {"message": "last"}
    assert jobs.claim() == []
    assert [counted for _, counted, _, _ in outcomes(db, job_id)] == [1, 2, 3, 4, 5]
    assert_whole(db)


@pytest.mark.parametrize("outcome", ["failed", "timed_out"])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_than_max_attempts_are_counted(db: Database, jobs: Session, most: int, outcome: str) -> None:
    job_id = jobs.enqueue(max_attempts=most)
    for _ in range(most):
        assert jobs.state(job_id) == "queued"
        jobs.fail(jobs.claim_one(), outcomes=[outcome], delays=[0])
    assert jobs.state(job_id) == "dead"
    assert jobs.claim() == []
    assert outcomes(db, job_id)[-1] == (most, most, outcome, "dead")
    assert_whole(db)


def test_snoozed_and_released_attempts_do_not_count(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue(max_attempts=2)
    jobs.snooze(jobs.claim_one(), delays=[0])
    jobs.fail(jobs.claim_one(), delays=[0])
    jobs.release(jobs.claim_one())
    jobs.snooze(jobs.claim_one(), delays=[0])
    assert jobs.get(job_id).counted == 1
    jobs.fail(jobs.claim_one(), outcomes=["timed_out"])
    assert jobs.state(job_id) == "dead"
    assert outcomes(db, job_id) == [
        (1, 0, "snoozed", None),
        (2, 1, "failed", None),
        (3, 1, "released", None),
        (4, 1, "snoozed", None),
        (5, 2, "timed_out", "dead"),
    ]
    assert_whole(db)


def test_a_job_that_kills_its_worker_each_time_ends_dead_and_says_why(
    db: Database, jobs: Session, clock: Clock
) -> None:
    job_id = jobs.enqueue(max_attempts=3)
    for _ in range(3):
        assert jobs.claim_one(lease=10).job_id == job_id
        clock.advance(11)
    assert jobs.claim() == []
    job = jobs.get(job_id)
    assert (job.state, job.counted, job.error["type"]) == ("dead", 3, "LeaseExpired")
    assert [outcome for _, _, outcome, _ in outcomes(db, job_id)] == ["crashed"] * 3
    assert_whole(db)


def test_a_given_delay_overrides_the_policy(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    for _ in range(3):
        jobs.enqueue(retry=STEADY)
    rows = jobs.fail(*jobs.claim(3), delays=[0, 0.5, None])
    assert [row.run_at - now for row in rows] == [timedelta(seconds=s) for s in (0, 0.5, 10)]
    assert [row.job_id for row in jobs.claim(3)] == [rows[0].job_id]


def test_a_delay_gives_no_attempt_beyond_the_last(db: Database, jobs: Session) -> None:
    jobs.enqueue(max_attempts=1)
    (row,) = jobs.fail(jobs.claim_one(), delays=[5])
    assert (row.state, row.run_at) == ("dead", None)


def test_an_attempt_may_end_the_job_as_canceled(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    (row,) = jobs.fail(jobs.claim_one(), outcomes=["canceled"], errors=[{"message": "not needed"}])
    assert (row.code, row.state) == ("ok", "canceled")
    assert (jobs.state(job_id), jobs.get(job_id).error) == ("canceled", {"message": "not needed"})
    assert_whole(db)


def test_a_batch_answers_word_by_word_in_order(db: Database, jobs: Session) -> None:
    for kind, most in (("a", 1), ("b", 5), ("c", 5), ("a", 1)):
        jobs.enqueue(kind, max_attempts=most)
    held = jobs.claim(4)
    jobs.complete(held[2])
    rows = jobs.fail(*held, delays=[1, 0, 1, 1], costs=[1, 2, 3, 4], errors=[1, 2, 3, None])
    assert [row.job_id for row in rows] == [row.job_id for row in held]
    assert [(row.code, row.state) for row in rows] == [
        ("ok", "dead"),
        ("ok", "queued"),
        ("lease_lost", None),
        ("ok", "dead"),
    ]
    assert_whole(db)


@pytest.mark.parametrize("delay", [0, 60])
def test_one_job_twice_in_a_batch_fails_once(db: Database, jobs: Session, delay: int) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    rows = jobs.fail(held, held, delays=[delay, delay], errors=[{"n": 1}, {"n": 2}])
    assert [row.code for row in rows] == ["ok", "lease_lost"]
    assert jobs.get(job_id).error == {"n": 1}
    assert_whole(db)


@pytest.mark.parametrize("number", [31, 32, 63, 64, 1023, 1024, 10**6])
@pytest.mark.parametrize(
    "retry", [None, {"base": 1e15, "factor": 1e15}, {"base": 1e-6, "factor": 1.0000001, "cap": 7}], ids=str
)
def test_no_number_of_attempts_keeps_a_failure_from_being_recorded(
    db: Database, jobs: Session, clock: Clock, number: int, retry: Any
) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue(max_attempts=32767, retry=retry)
    db.execute("update windlass_data.ready set counted = %s", min(number, 32767) - 1, role="superuser")
    held = jobs.claim_one()
    db.execute("update windlass_data.lease set versions = %s", [number], role="superuser")
    (row,) = jobs.fail(held)
    assert (row.code, row.state) == ("ok", "dead" if number >= 32767 else "queued")
    if row.run_at is not None:
        cap = (retry or {}).get("cap", 3600)
        assert timedelta() <= row.run_at - now <= timedelta(seconds=cap)
    assert jobs.get(job_id).version == number


def test_bad_input_is_refused(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    jobs.enqueue()
    jobs.enqueue()
    held = jobs.claim(2)
    wrongs: list[dict[str, Any]] = [
        {"errors": [1]},
        {"errors": [1, "x" * 4_200_000]},
        {"outcomes": ["failed"]},
        {"outcomes": ["failed"] * 3},
        {"outcomes": ["failed", None]},
        {"outcomes": ["failed", "succeeded"]},
        {"outcomes": ["failed", "crashed"]},
        {"delays": [1]},
        {"delays": [1, 1, 1]},
        {"delays": [1, -1]},
        {"delays": [1, float("nan")]},
        {"delays": [1, float("inf")]},
        {"delays": [1, MAX_DELAY_SECONDS + 1]},
        {"costs": [1]},
        {"costs": [1, -1]},
    ]
    for wrong in wrongs:
        with subtests.test(wrong=str(wrong)[:80]), nothing_changed(db), refused("WL007"):
            jobs.fail(*held, **wrong)
    rows = jobs.fail(*held, delays=[0, MAX_DELAY_SECONDS])
    assert [row.code for row in rows] == ["ok", "ok"]
    assert_whole(db)


def test_a_rolled_back_failure_leaves_the_job_running(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue(max_attempts=1)
    held = jobs.claim_one()
    with nothing_changed(db), jobs.conn.transaction(force_rollback=True):
        jobs.fail(held)
        assert jobs.state(job_id) == "dead"
    assert jobs.state(job_id) == "running"
