"""cancel_job: a waiting job ends at once, a running one is asked to stop."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.steps import UNKNOWN, Session, refused
from tests.sql.two import Running
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def events(db: Database) -> list[tuple[Any, ...]]:
    query = "select actor, action, job_id, reason, details ->> 'state' from windlass_data.event order by id"
    return [tuple(row) for row in db.fetch(query, role="superuser")]


def test_a_ready_job_ends_at_once(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    assert jobs.cancel(job_id, "why", "ada") == "canceled"
    assert jobs.state(job_id) == "canceled"
    assert jobs.claim() == []
    assert events(db) == [("ada", "job.cancel", job_id, "why", "canceled")]
    assert_whole(db)


def test_a_scheduled_job_ends_at_once(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue(run_at=clock.now() + timedelta(hours=1))
    assert jobs.cancel(job_id) == "canceled"
    clock.advance(7200)
    assert jobs.claim() == []
    assert_whole(db)


def test_a_job_between_two_attempts_ends_at_once(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue()
    jobs.fail(jobs.claim_one(), delays=[60], errors=[{"message": "no"}])
    assert jobs.cancel(job_id) == "canceled"
    job = jobs.get(job_id)
    assert (job.state, job.version, job.error) == ("canceled", 1, {"message": "no"})
    clock.advance(120)
    assert jobs.claim() == []
    assert_whole(db)


@pytest.mark.parametrize("word", ["fail", "time out", "snooze", "release", "expire", "cancel"])
def test_a_running_job_ends_canceled_with_the_next_word(
    db: Database, jobs: Session, clock: Clock, word: str
) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one(lease=30)
    assert jobs.cancel(job_id, "why", "ada") == "running"
    assert jobs.renew(held.token) == [(held.token, job_id, "cancel_requested")]
    assert jobs.state(job_id) == "running"
    clock.advance(60)
    said: list[Any] = {
        "fail": lambda: jobs.fail(held),
        "time out": lambda: jobs.fail(held, outcomes=["timed_out"]),
        "snooze": lambda: jobs.snooze(held, delays=[5]),
        "release": lambda: jobs.release(held),
        "expire": jobs.expire,
        "cancel": lambda: jobs.fail(held, outcomes=["canceled"]),
    }[word]()
    if word == "expire":
        assert said == [(job_id, "canceled")]
    else:
        assert [(row.code, row.state, row.run_at) for row in said] == [("ok", "canceled", None)]
    assert jobs.state(job_id) == "canceled"
    assert jobs.claim() == []
    assert_whole(db)


def test_a_running_job_that_succeeds_first_has_succeeded(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    jobs.cancel(job_id)
    assert jobs.complete(held) == []
    assert jobs.state(job_id) == "succeeded"
    assert_whole(db)


def test_asking_twice_is_asking_once(db: Database, jobs: Session) -> None:
    waiting = jobs.enqueue()
    assert [jobs.cancel(waiting, "first"), jobs.cancel(waiting, "second")] == ["canceled", "canceled"]
    assert jobs.get(waiting).ended_reason == "first"
    running = jobs.enqueue()
    held = jobs.claim_one()
    assert [jobs.cancel(running), jobs.cancel(running)] == ["running", "running"]
    assert jobs.renew(held.token) == [(held.token, running, "cancel_requested")]
    assert_whole(db)


@pytest.mark.parametrize("how", ["succeeded", "skipped", "dead"])
def test_a_finished_job_cannot_be_canceled(db: Database, jobs: Session, how: str) -> None:
    job_id = jobs.enqueue(max_attempts=1)
    held = jobs.claim_one()
    if how == "dead":
        jobs.fail(held)
    else:
        jobs.complete(held, states=[how])
    with nothing_changed(db), refused("WL004", f"is {how}"):
        jobs.cancel(job_id)


def test_a_foreign_job_and_an_unknown_one_get_the_same_answer(
    db: Database, jobs: Session, other: Session
) -> None:
    theirs = other.enqueue()
    answers = []
    for job_id in (theirs, UNKNOWN):
        with nothing_changed(db), refused("WL001") as caught:
            jobs.cancel(job_id)
        answers.append(str(caught.value).replace(str(job_id), "…"))
    assert answers[0] == answers[1]
    assert other.cancel(theirs) == "canceled"


def test_no_tenant_is_forbidden(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    with nothing_changed(db), refused("WL005"):
        jobs.call("select windlass.cancel_job(null, %s)", job_id)


def test_the_actor_is_named_or_taken_from_the_session(db: Database, jobs: Session) -> None:
    def actor_of(job_id: UUID) -> Any:
        query = "select actor from windlass_data.event where job_id = %s"
        return db.fetch_value(query, job_id, role="superuser")

    first, second, third = (jobs.enqueue() for _ in range(3))
    jobs.cancel(first, None, "ada")
    with jobs.conn.transaction():
        jobs.call("select set_config('windlass.actor', 'bob', true)")
        jobs.cancel(second)
    jobs.cancel(third)
    assert [actor_of(job_id) for job_id in (first, second, third)] == ["ada", "bob", "windlass_app"]


def test_a_rollback_takes_the_cancel_and_its_event_along(db: Database, jobs: Session) -> None:
    waiting = jobs.enqueue("waiting")
    running = jobs.enqueue("running")
    jobs.claim_one(kinds=["running"])
    with nothing_changed(db), jobs.conn.transaction(force_rollback=True):
        jobs.cancel(waiting)
        jobs.cancel(running)
    assert (jobs.state(waiting), jobs.get(running).cancel_requested) == ("queued", False)


def test_a_job_ends_when_the_wait_for_it_is_over(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    holder = db.connect("superuser", autocommit=False)
    holder.execute("select from windlass_data.job where id = %s for update", [job_id])
    canceling = Running(db, jobs, lambda s: s.cancel(job_id))
    assert canceling.waits()
    (moment,) = holder.execute("select clock_timestamp()").fetchone() or (None,)
    holder.commit()
    assert canceling.result() == "canceled"
    assert jobs.get(job_id).finished_at >= moment
