"""get_redrive: what one is for, how far it is, and how it ended; of one's own tenant."""

from datetime import timedelta

import pytest

from tests.sql.operate import bind, call, callers, kill
from tests.sql.redrives import Runner, create, get, kill_many
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_it_tells_what_was_asked_and_how_far_it_is(db: Database, jobs: Session, clock: Clock) -> None:
    dead = kill_many(jobs, 3)
    started = clock.freeze() + timedelta(seconds=1)
    clock.advance(1)
    redrive = create(
        db, jobs=dead, kinds=["mail"], queues=["default"], throttle=2.0, stop_rate=0.5, actor="ada"
    )
    row = get(db, redrive)
    assert (row.id, row.tenant_id, row.state, row.created_at) == (redrive, DEFAULT_TENANT, "queued", started)
    assert (row.kinds, row.queues, row.named, row.throttle, row.actor) == (
        ["mail"],
        ["default"],
        3,
        2.0,
        "ada",
    )
    assert (row.patch, row.max_attempts, row.error_like, row.ended_at) == (None, None, None, None)
    runner = Runner(jobs)
    assert runner.run().wait == pytest.approx(1)
    jobs.fail(jobs.claim_one(kinds=["mail"]))
    runner.tend()
    clock.advance(1)
    row = get(db, redrive)
    assert (row.state, row.matched, row.redriven, row.passed, row.refused) == ("running", 2, 2, 0, 0)
    assert (row.ended, row.died, row.stop_reason, row.read_at) == (1, 1, None, started + timedelta(seconds=1))
    runner.step()
    clock.advance(1)
    assert runner.run().outcome == "done"
    row = get(db, redrive)
    assert (row.state, row.redriven, row.ended_at) == ("done", 3, started + timedelta(seconds=2))


def test_of_ones_own_tenant_and_of_no_other_job(db: Database, jobs: Session, other: Session) -> None:
    kill(other)
    theirs = create(db, OTHER_TENANT, everything=True)
    for job in (theirs, jobs.enqueue(), UNKNOWN, None):
        with refused("WL001", "there is no redrive"):
            call(db, "get_redrive", tenant=DEFAULT_TENANT, job=job)
    with refused("WL005", "no tenant given"):
        call(db, "get_redrive", tenant=None, job=theirs)
    assert callers(db, "get_redrive", tenant=OTHER_TENANT, job=theirs) == {"operator", "reader"}
    bind(db, "reader", DEFAULT_TENANT)
    with refused("WL005", "another tenant"):
        call(db, "get_redrive", role="reader", tenant=OTHER_TENANT, job=theirs)
