"""release_jobs: given back unharmed, for anybody to take at once."""

from uuid import uuid4

import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_released_job_can_be_claimed_at_once(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue(max_attempts=1)
    (row,) = jobs.release(jobs.claim_one())
    assert tuple(row) == (job_id, "ok", "queued", now)
    assert jobs.get(job_id).counted == 0
    again = Session(jobs.conn, node=uuid4()).claim_one()
    assert (again.job_id, again.version, again.counted) == (job_id, 2, 0)
    assert_whole(db)


def test_part_of_a_claim_may_be_given_back(db: Database, jobs: Session) -> None:
    for n in range(6):
        jobs.enqueue(f"k{n % 2}", n)
    held = jobs.claim(6)
    given = held[2:]
    assert [row.code for row in jobs.release(*given)] == ["ok"] * 4
    assert_whole(db)
    assert jobs.complete(*held) == [(row.job_id, "lease_lost") for row in given]
    assert {row.job_id for row in jobs.claim(10)} == {row.job_id for row in given}
    assert_whole(db)


def test_a_waiting_node_hears_of_released_work(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    node = uuid4()
    Session(jobs.conn, node=node).claim(1, wait=True)
    listener = db.connect()
    listener.execute("listen windlass")
    jobs.release(held)
    assert [notice.payload for notice in listener.notifies(timeout=5, stop_after=1)] == [str(node)]


def test_one_job_twice_in_a_batch_is_released_once(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    assert [row.code for row in jobs.release(held, held)] == ["ok", "lease_lost"]
    assert len(jobs.claim(5)) == 1
    assert_whole(db)


def test_bad_input_is_refused(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    for tokens, ids in (([held.token], []), (None, None), ([held.token], [None])):
        with nothing_changed(db), refused("WL007"):
            jobs.call("select windlass.release_jobs(%s::uuid[], %s::uuid[])", tokens, ids)
    with nothing_changed(db):
        assert jobs.release() == []
