"""list_history: every transition of a job, with its time and who made it, in order."""

from typing import Any
from uuid import UUID

import pytest

from tests.sql.operate import bind, call
from tests.sql.steps import DEFAULT_TENANT, NODE, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def history(db: Database, job_id: UUID, *columns: str) -> list[Any]:
    rows = call(db, "list_history", tenant=DEFAULT_TENANT, job=job_id)
    assert [row.at for row in rows] == sorted(row.at for row in rows)
    return [tuple(getattr(row, column) for column in columns) for row in rows]


def test_the_whole_life_of_a_job(db: Database, jobs: Session, clock: Clock) -> None:
    node = str(NODE)
    db.execute("set windlass.actor = 'shop'")
    job_id = jobs.enqueue(max_attempts=2)
    jobs.snooze(jobs.claim_one(), delays=[60])
    call(db, "reschedule_job", tenant=DEFAULT_TENANT, job=job_id, reason="hurry", actor="ada")
    jobs.fail(jobs.claim_one(), delays=[0], errors=[{"type": "Boom", "message": "no luck"}])
    jobs.claim_one(lease=1)
    clock.advance(5)
    jobs.expire()
    call(db, "redrive_jobs", tenant=DEFAULT_TENANT, jobs=[job_id], reason="fixed", actor="bob")
    jobs.release(jobs.claim_one())
    held = jobs.claim_one()
    jobs.cancel(job_id, "enough", "eve")
    assert history(db, job_id, "what")[-1] == ("cancel requested",)
    jobs.fail(held, outcomes=["canceled"])
    assert history(db, job_id, "what", "actor", "attempt", "reason") == [
        ("enqueued", "shop", None, None),
        ("claimed", node, 1, None),
        ("snoozed", node, 1, None),
        ("rescheduled", "ada", 1, "hurry"),
        ("claimed", node, 2, None),
        ("failed", node, 2, "no luck"),
        ("claimed", node, 3, None),
        ("crashed", "windlass", 3, "the lease ran out: the worker died, hung or lost the database"),
        ("dead", "windlass", 3, None),
        ("redriven", "bob", 3, "fixed"),
        ("claimed", node, 4, None),
        ("released", node, 4, None),
        ("claimed", node, 5, None),
        ("cancel requested", "eve", None, "enough"),
        ("canceled", node, 5, None),
    ]


def test_a_dead_job_and_one_canceled_in_line(db: Database, jobs: Session) -> None:
    dead = jobs.enqueue(max_attempts=1)
    jobs.fail(jobs.claim_one(), costs=[3], errors=[{"type": "Boom", "message": "no"}])
    assert history(db, dead, "what", "details") == [
        ("enqueued", None),
        ("claimed", None),
        ("failed", {"error": "Boom", "cost_cents": 3}),
        ("dead", None),
    ]
    skipped = jobs.enqueue()
    jobs.complete(jobs.claim_one(), states=["skipped"], results=[{"reason": "nothing new"}])
    assert history(db, skipped, "what", "reason")[-1] == ("skipped", "nothing new")
    assert jobs.get(skipped).ended_reason == "nothing new"
    canceled = jobs.enqueue()
    jobs.cancel(canceled, "changed my mind", "ada")
    jobs.cancel(canceled, "really", "bob")
    assert history(db, canceled, "what", "actor", "reason")[1:] == [
        ("canceled", "ada", "changed my mind"),
        ("cancel requested", "bob", "really"),
    ]


def test_a_request_that_ends_a_failing_job_is_told(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    jobs.cancel(job_id)
    jobs.fail(held)
    whats = [what for (what,) in history(db, job_id, "what")]
    assert whats == ["enqueued", "claimed", "cancel requested", "failed", "canceled"]


def test_facts_of_one_moment_stand_in_their_order(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze()
    job_id = jobs.enqueue(max_attempts=1)
    jobs.fail(jobs.claim_one())
    call(db, "redrive_jobs", tenant=DEFAULT_TENANT, everything=True)
    jobs.complete(jobs.claim_one())
    whats = [what for (what,) in history(db, job_id, "what")]
    assert whats == ["enqueued", "claimed", "failed", "dead", "redriven", "claimed", "succeeded"]


def test_foreign_and_unknown_jobs_get_the_same_answer(db: Database, jobs: Session, other: Session) -> None:
    foreign = other.enqueue()
    other.cancel(foreign)
    for job_id in (foreign, UNKNOWN):
        with refused("WL001", f"there is no job {job_id}"):
            history(db, job_id)
    bind(db, "reader", OTHER_TENANT)
    assert len(call(db, "list_history", tenant=OTHER_TENANT, job=foreign, role="reader")) == 2
    with refused("WL005"):
        call(db, "list_history", tenant=DEFAULT_TENANT, job=foreign, role="reader")
    with refused("WL007"):
        call(db, "list_history", tenant=DEFAULT_TENANT, job=foreign, limit=0)
