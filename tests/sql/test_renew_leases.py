"""renew_leases: a lease lives on from now, and the holder hears what it must act on."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_lease_is_extended_from_now(db: Database, jobs: Session, clock: Clock) -> None:
    start = clock.freeze()
    job_id = jobs.enqueue()
    held = jobs.claim_one(lease=30)
    clock.freeze(start + timedelta(seconds=20))
    assert jobs.renew(held.token, lease=30) == []
    assert jobs.get(job_id).lease_expires_at == start + timedelta(seconds=50)
    clock.freeze(start + timedelta(seconds=50))
    assert jobs.expire() == [], "a lease holds to its last moment"
    clock.freeze(start + timedelta(seconds=50, microseconds=1))
    assert jobs.expire() == [(job_id, "queued")]
    assert_whole(db)


def test_every_lease_of_a_node_in_one_call(db: Database, jobs: Session, clock: Clock) -> None:
    for kind in ("a", "b", "c"):
        jobs.enqueue(kind)
    tokens = {row.token for row in jobs.claim(3, lease=10)}
    assert len(tokens) == 3
    clock.advance(8)
    assert jobs.renew(*tokens, lease=10) == []
    clock.advance(8)
    assert jobs.expire() == []
    assert jobs.renew() == []


def test_a_lease_past_its_time_is_still_held_until_somebody_takes_it(
    db: Database, jobs: Session, clock: Clock
) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one(lease=10)
    clock.advance(60)
    assert jobs.renew(held.token) == []
    assert jobs.expire() == []
    assert jobs.state(job_id) == "running"


def test_lost_tokens_are_named(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue("a")
    lost = jobs.claim_one(lease=10)
    clock.advance(11)
    jobs.expire()
    jobs.enqueue("b")
    done = jobs.claim_one(kinds=["b"])
    jobs.complete(done)
    jobs.enqueue("c")
    held = jobs.claim_one(kinds=["c"])
    unknown = uuid4()
    got = jobs.renew(lost.token, done.token, held.token, unknown)
    assert got == [(token, None, "lease_lost") for token in (lost.token, done.token, unknown)]
    with nothing_changed(db):
        assert len(jobs.renew(lost.token, done.token, unknown)) == 3


def test_only_the_running_jobs_of_a_lease_are_named_for_cancel(db: Database, jobs: Session) -> None:
    first, second, third = (jobs.enqueue() for _ in range(3))
    a, b, c = jobs.claim(3)
    assert (a.job_id, b.job_id, c.job_id) == (first, second, third)
    jobs.release(a)
    again = Session(jobs.conn, node=uuid4()).claim_one()
    assert again.job_id == first
    for job_id in (first, second):
        assert jobs.cancel(job_id) == "running"
    assert jobs.renew(a.token) == [(a.token, second, "cancel_requested")]
    assert jobs.renew(again.token) == [(again.token, first, "cancel_requested")]


def test_bad_input_is_refused(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    wrongs: list[Any] = [None, 0, 0.05, -1, 86401, float("nan"), float("inf"), 1e308]
    for lease in wrongs:
        with subtests.test(lease=lease), nothing_changed(db), refused("WL007"):
            jobs.renew(held.token, lease=lease)
    with nothing_changed(db), refused("WL007"):
        jobs.call("select windlass.renew_leases(null)")
