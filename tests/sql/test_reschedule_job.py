"""reschedule_job: another time or priority for a waiting job, and for no other."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.operate import bind, call, call_value, events, kill, waiting
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def reschedule(db: Database, job_id: UUID, tenant: UUID = DEFAULT_TENANT, **arguments: Any) -> Any:
    return call_value(db, "reschedule_job", tenant=tenant, job=job_id, **arguments)


def test_a_job_in_line_is_put_off(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue()
    run_at = clock.now() + timedelta(hours=1)
    assert reschedule(db, job_id, run_at=run_at) == run_at
    job = jobs.get(job_id)
    assert (job.state, job.run_at) == ("queued", run_at)
    assert_whole(db)
    assert jobs.claim() == []
    clock.advance(timedelta(hours=1))
    assert jobs.claim_one().job_id == job_id
    assert_whole(db)


@pytest.mark.parametrize("past", [True, False])
def test_a_job_put_off_is_called_back(db: Database, jobs: Session, clock: Clock, past: bool) -> None:
    job_id = jobs.enqueue(run_at=clock.now() + timedelta(days=300))
    now = clock.freeze()
    run_at = now - timedelta(days=1) if past else None
    assert reschedule(db, job_id, run_at=run_at) == now
    assert jobs.get(job_id).run_at == now
    assert jobs.claim_one().job_id == job_id
    assert_whole(db)


def test_a_retry_is_called_back_with_its_attempts_kept(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue(max_attempts=3)
    jobs.fail(jobs.claim_one(), delays=[3600])
    reschedule(db, job_id)
    claimed = jobs.claim_one()
    assert (claimed.job_id, claimed.version, claimed.counted) == (job_id, 2, 1)
    assert_whole(db)


def test_another_priority_is_another_place_in_line(db: Database, jobs: Session, clock: Clock) -> None:
    first, second, third = (jobs.enqueue() for _ in range(3))
    reschedule(db, third, priority=10)
    reschedule(db, first, priority=-10)
    assert jobs.get(third).priority == 10
    assert_whole(db)
    assert [row.job_id for row in jobs.claim(3)] == [third, second, first]


def test_another_priority_of_a_job_that_stays_put_off(db: Database, jobs: Session, clock: Clock) -> None:
    run_at = clock.now() + timedelta(hours=1)
    job_id = jobs.enqueue(run_at=run_at)
    reschedule(db, job_id, run_at=run_at, priority=3)
    assert (jobs.get(job_id).priority, jobs.get(job_id).run_at) == (3, run_at)
    assert_whole(db)


def test_a_priority_alone_leaves_the_time(db: Database, jobs: Session, clock: Clock) -> None:
    run_at = clock.now() + timedelta(hours=1)
    later, failed, ready = jobs.enqueue(run_at=run_at), jobs.enqueue("frail"), jobs.enqueue("due")
    retried = jobs.fail(jobs.claim_one(kinds=["frail"]), delays=[3600])[0].run_at
    due = jobs.get(ready).run_at
    for job_id, time in ((later, run_at), (failed, retried), (ready, due)):
        assert reschedule(db, job_id, priority=7) == time
        assert (jobs.get(job_id).priority, jobs.get(job_id).run_at) == (7, time)
    assert_whole(db)
    assert [row.job_id for row in jobs.claim(3)] == [ready]
    clock.advance(timedelta(hours=2))
    assert {row.job_id for row in jobs.claim(3)} == {later, failed}


def test_a_job_that_is_due_anyway_keeps_its_place(db: Database, jobs: Session) -> None:
    made = [jobs.enqueue() for _ in range(3)]
    reschedule(db, made[0])
    reschedule(db, made[1], priority=0)
    assert [row.job_id for row in jobs.claim(3)] == made


def test_the_deed_is_recorded(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    reschedule(db, job_id, priority=4, reason="big customer", actor="ada")
    assert events(db, DEFAULT_TENANT) == [("ada", "job.reschedule", job_id, "big customer")]
    ((details,),) = events(db, DEFAULT_TENANT, "details")
    assert (details["priority"], details["priority_before"]) == (4, 0)


def test_a_job_that_does_not_wait_is_refused(db: Database, jobs: Session) -> None:
    dead = kill(jobs, kind="die")
    running, done, canceled = jobs.enqueue("run"), jobs.enqueue("ok"), jobs.enqueue("stop")
    jobs.claim_one(kinds=["run"])
    jobs.complete(jobs.claim_one(kinds=["ok"]))
    jobs.cancel(canceled)
    for job_id, state in ((running, "running"), (done, "succeeded"), (canceled, "canceled"), (dead, "dead")):
        with nothing_changed(db), refused("WL004", f"is {state}") as caught:
            reschedule(db, job_id)
        hint = caught.value.diag.message_hint or ""
        assert ("Redrive" in hint) == (state == "dead")


@pytest.mark.parametrize(
    "wrong",
    [
        {"run_at": "infinity"},
        {"run_at": "20000-01-01Z"},
        {"run_at": "-infinity"},
        {"priority": 32768},
        {"priority": -32769},
    ],
)
def test_bad_input_is_refused(db: Database, jobs: Session, wrong: dict[str, Any]) -> None:
    job_id = jobs.enqueue()
    with nothing_changed(db), refused("WL007"):
        reschedule(db, job_id, **wrong)


def test_foreign_and_unknown_jobs_get_the_same_answer(db: Database, jobs: Session, other: Session) -> None:
    foreign = other.enqueue()
    for job_id in (foreign, UNKNOWN):
        with nothing_changed(db), refused("WL001", f"there is no job {job_id}"):
            reschedule(db, job_id)
    bind(db, "producer", OTHER_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "reschedule_job", tenant=DEFAULT_TENANT, job=foreign, role="producer")
    call(db, "reschedule_job", tenant=OTHER_TENANT, job=foreign, role="producer")


def test_a_claim_that_was_first_wins(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    claimer, mover = Session(db.connect(autocommit=False)), Session(db.connect())
    claimer.claim_one()
    query = "select windlass.reschedule_job(%s, %s, clock_timestamp() + interval '1 h')"
    with waiting(db, mover.conn, lambda: mover.call(query, DEFAULT_TENANT, job_id)) as moved:
        claimer.conn.commit()
        with refused("WL004", "is running"):
            moved.result()
    assert_whole(db)


def test_a_claim_passes_over_a_job_that_is_being_moved(db: Database, jobs: Session) -> None:
    moving, next_one = jobs.enqueue(), jobs.enqueue()
    mover = Session(db.connect(autocommit=False))
    query = "select windlass.reschedule_job(%s, %s, clock_timestamp() + interval '1 h')"
    mover.call(query, DEFAULT_TENANT, moving)
    assert [row.job_id for row in jobs.claim(2)] == [next_one]
    mover.conn.commit()
    assert jobs.claim(2) == []
    assert_whole(db)


def test_of_two_moves_the_last_one_stands(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue()
    first, second = Session(db.connect(autocommit=False)), Session(db.connect())
    query = "select windlass.reschedule_job(%s, %s, p_priority => %s)"
    first.call(query, DEFAULT_TENANT, job_id, 1)
    with waiting(db, second.conn, lambda: second.call(query, DEFAULT_TENANT, job_id, 2)) as moved:
        first.conn.commit()
        moved.result()
    assert jobs.get(job_id).priority == 2
    assert_whole(db)


def test_those_who_wait_are_woken_only_by_a_job_that_is_due(
    db: Database, jobs: Session, clock: Clock
) -> None:
    job_id = jobs.enqueue(queue="slow", run_at=clock.now() + timedelta(days=1))
    jobs.claim(1, queues=["slow"], wait=True)
    listener = db.connect()
    listener.execute("listen windlass")
    reschedule(db, job_id, run_at=clock.now() + timedelta(hours=1))
    assert list(listener.notifies(timeout=0, stop_after=1)) == []
    reschedule(db, job_id)
    (notice,) = listener.notifies(timeout=10, stop_after=1)
    assert notice.payload == str(jobs.node)
