"""list_attempts: each attempt with its outcome, the running one included, and no token."""

from typing import Any

import pytest

from tests.sql.operate import bind, call
from tests.sql.steps import DEFAULT_TENANT, NODE, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_job_that_never_ran_has_none(db: Database, jobs: Session) -> None:
    assert call(db, "list_attempts", tenant=DEFAULT_TENANT, job=jobs.enqueue()) == []


def test_every_attempt_with_its_outcome(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue(max_attempts=3)
    jobs.snooze(jobs.claim_one(), delays=[0], costs=[5])
    jobs.fail(jobs.claim_one(), delays=[0], errors=[{"type": "Boom", "message": "no"}], costs=[2])
    jobs.release(jobs.claim_one())
    jobs.claim_one(lease=1)
    clock.advance(2)
    jobs.expire()
    start = clock.freeze()
    held = jobs.claim_one()
    running = call(db, "list_attempts", tenant=DEFAULT_TENANT, job=job_id)[-1]
    assert (running.number, running.outcome, running.finished_at, running.node_id) == (5, None, None, NODE)
    assert (running.started_at, running.counted) == (start, 3)
    clock.advance(1)
    jobs.complete(held, results=[{"ok": True}], costs=[7])
    rows = call(db, "list_attempts", tenant=DEFAULT_TENANT, job=job_id)
    assert [(row.number, row.counted, row.outcome, row.ends, row.cost_cents) for row in rows] == [
        (1, 0, "snoozed", None, 5),
        (2, 1, "failed", None, 2),
        (3, 1, "released", None, None),
        (4, 2, "crashed", None, None),
        (5, 3, "succeeded", "succeeded", 7),
    ]
    assert rows[1].error == {"type": "Boom", "message": "no"}
    assert rows[3].error["type"] == "LeaseExpired"
    assert rows[4].result == {"ok": True}
    assert all(row.started_at <= row.finished_at for row in rows)
    assert {row.job_id for row in rows} == {job_id}
    assert "token" not in rows[0]._fields


def test_an_attempt_finished_in_the_callers_transaction_is_not_running(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    jobs.finish(held)
    rows = call(db, "list_attempts", tenant=DEFAULT_TENANT, job=job_id)
    assert [row.outcome for row in rows] == ["succeeded"]


def test_the_latest_come_first_to_hand_and_older_ones_by_page(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    for _ in range(5):
        jobs.release(jobs.claim_one())
    jobs.claim_one()

    def numbers(**page: Any) -> list[int]:
        return [row.number for row in call(db, "list_attempts", tenant=DEFAULT_TENANT, job=job_id, **page)]

    assert numbers() == [1, 2, 3, 4, 5, 6]
    assert numbers(limit=2) == [5, 6]
    assert numbers(limit=2, before=5) == [3, 4]
    assert numbers(limit=2, before=1) == []
    for limit in (0, 1001):
        with refused("WL007"):
            numbers(limit=limit)


def test_a_node_is_called_by_its_name_where_the_session_may_know_it(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    jobs.release(jobs.claim_one())
    jobs.claim_one()

    def names(role: str = "app") -> list[str | None]:
        of_job: dict[str, Any] = {"tenant": DEFAULT_TENANT, "job": job_id, "role": role}
        return [
            row.node_name
            for row in (*call(db, "list_attempts", **of_job), *call(db, "list_history", **of_job))
        ]

    assert set(names()) == {None}  # it never said what it is called
    db.fetch("select windlass.heartbeat_node(%s, 'mill')", NODE)
    assert names() == ["mill", "mill", None, "mill", "mill", "mill"]
    bind(db, "reader", DEFAULT_TENANT)
    assert set(names("reader")) == {None}


def test_foreign_and_unknown_jobs_get_the_same_answer(db: Database, jobs: Session, other: Session) -> None:
    foreign = other.enqueue()
    other.claim_one()
    for job_id in (foreign, UNKNOWN):
        with refused("WL001", f"there is no job {job_id}"):
            call(db, "list_attempts", tenant=DEFAULT_TENANT, job=job_id)
    bind(db, "reader", OTHER_TENANT)
    assert len(call(db, "list_attempts", tenant=OTHER_TENANT, job=foreign, role="reader")) == 1
    with refused("WL005"):
        call(db, "list_attempts", tenant=DEFAULT_TENANT, job=foreign, role="reader")
