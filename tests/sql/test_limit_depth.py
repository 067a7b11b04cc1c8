"""Limits on depth: a line is never longer than was said, whoever enqueues, and how."""

import json
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest

from tests.sql.limits import limit
from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole
from tests.support import Database

pytestmark = pytest.mark.every_version


def test_depth_is_checked_for_a_batch_as_a_whole(db: Database, jobs: Session) -> None:
    limit(jobs, tenant=jobs.tenant, queue="default", depth=5, rate=2, rate_seconds=60)
    jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(3)])
    with refused("WL006") as error:
        jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(3)])
    detail = str(error.value.diag.message_detail)
    names = ("depth", "waiting", "new", "retry_after")
    assert [json.loads(detail)[name] for name in names] == [5, 3, 3, 30]
    assert "at most 5 jobs of tenant default, queue default may wait: 3 do, and 3 were to come" in str(
        error.value
    )
    jobs.enqueue()
    jobs.enqueue("mail", run_at=datetime(2099, 1, 1, tzinfo=UTC))
    with refused("WL006"):
        jobs.enqueue()
    with refused("WL006"):
        jobs.call(
            "select windlass.enqueue_many(%s, '{\"kind\": \"mail\"}', '[1, 2]', %s)",
            jobs.tenant,
            [uuid4(), uuid4()],
        )
    jobs.enqueue(queue="elsewhere")
    jobs.claim_one()
    jobs.enqueue()
    assert_whole(db)


def test_a_duplicate_is_no_new_job_to_a_full_line(jobs: Session) -> None:
    limit(jobs, depth=1)
    first = jobs.enqueue(key="a")
    assert jobs.enqueue_row(key="a") == (first, False)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_job_that_is_there_asks_nobody_for_room(db: Database, jobs: Session, isolation: str) -> None:
    """Said again with its id, as by a client whose answer got lost, while somebody holds the limit."""
    first = jobs.enqueue()
    limit(jobs, depth=2)
    other = Session(db.connect(autocommit=False))
    other.enqueue()
    with jobs.conn.transaction():
        jobs.call(f"set transaction isolation level {isolation}")
        jobs.call("set local lock_timeout = '300ms'")
        assert tuple(jobs.enqueue_row(id=first)) == (first, False)
    other.conn.commit()
    assert_whole(db)


def test_two_who_enqueue_at_once_do_not_pass_the_depth_together(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    jobs.claim_one()
    limit(jobs, depth=1)
    first = Session(db.connect(autocommit=False))
    first.enqueue()
    second = Session(db.connect(autocommit=False))
    second.call("set local lock_timeout = '300ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        second.enqueue()
    second.conn.rollback()
    first.conn.commit()
    with refused("WL006"):
        second.enqueue()


def test_a_batch_may_go_in_as_far_as_it_fits(db: Database, jobs: Session) -> None:
    limit(jobs, kind="mail", depth=3)
    limit(jobs, queue="default", depth=5)
    jobs.enqueue("mail")
    batch = [
        {"kind": kind, "payload": n}
        for n, kind in enumerate(["mail", "mail", "mail", "report", "report", "report"])
    ]
    text = "select * from windlass.enqueue_jobs(%s, %s, p_partial => true)"
    rows = jobs.call(text, jobs.tenant, json.dumps(batch))
    assert [row.ordinal for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.job_id is not None for row in rows] == [True, True, False, True, True, False]
    assert [row.created for row in rows] == [True, True, False, True, True, False]
    assert_whole(db)
    jobs.call("select windlass.clear_limit(p_kind => 'mail')")
    jobs.call("select windlass.clear_limit(p_queue => 'default')")
    assert all(row.created for row in jobs.call(text, jobs.tenant, json.dumps(batch)))


def test_a_key_that_is_used_again_is_a_new_job_to_a_full_line(jobs: Session) -> None:
    jobs.enqueue(key="k", scope="active")
    jobs.complete(jobs.claim_one())
    limit(jobs, depth=1)
    jobs.enqueue()
    with refused("WL006"):
        jobs.enqueue(key="k", scope="active")


def test_a_duplicate_brings_nothing_to_a_line_that_is_too_long(jobs: Session) -> None:
    jobs.enqueue(key="k")
    jobs.enqueue()
    limit(jobs, kind="mail", depth=1)
    first, second = jobs.enqueue_many(
        [{"kind": "mail", "payload": {}, "key": "k"}, {"kind": "report", "payload": {}}]
    )
    assert (first.created, second.created) == (False, True)
    with refused("WL006", match="at most 1 job of kind mail may wait: 2 do, and 1 was to come"):
        jobs.enqueue_many([{"kind": "mail", "payload": 1}, {"kind": "report", "payload": 2}])


def test_a_snapshot_from_before_gets_no_job_in_under_a_limit(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    limit(jobs, depth=5, concurrency=5)
    old = Session(db.connect(autocommit=False))
    old.call("set transaction isolation level repeatable read")
    with refused("WL007"):
        old.enqueue()
    old.conn.rollback()
    old.call("set transaction isolation level repeatable read")
    assert old.claim(5) == []
