"""retire_lanes: what is empty leaves the list that claims look at, and what is in line never does."""

import threading
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel

from tests.sql.bulk import measure
from tests.sql.operate import bind, call_value, callers
from tests.sql.steps import OTHER_TENANT, Session
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def listed(db: Database) -> int:
    return int(db.fetch_value("select count(*) from windlass_data.busy_lane", role="superuser"))


def retire(db: Database) -> int:
    return int(db.fetch_value("select windlass.retire_lanes()", role="app"))


def empty_the_lane(jobs: Session) -> None:
    jobs.enqueue()
    jobs.complete(jobs.claim_one())


def test_an_empty_lane_leaves_the_list_and_comes_back_with_its_next_job(db: Database, jobs: Session) -> None:
    empty_the_lane(jobs)
    assert listed(db) == 1
    assert retire(db) == 1
    assert listed(db) == 0
    job_id = jobs.enqueue()
    assert retire(db) == 0
    assert jobs.claim_one().job_id == job_id
    assert_whole(db)


def test_a_lane_is_not_retired_while_somebody_puts_a_job_into_it(db: Database, jobs: Session) -> None:
    empty_the_lane(jobs)
    slow = Session(db.connect(autocommit=False))
    job_id = slow.enqueue()
    assert retire(db) == 0, "it looks empty, but an open transaction has said that it is not"
    slow.conn.commit()
    assert jobs.claim_one().job_id == job_id


def test_what_a_held_snapshot_keeps_is_not_walked_over(db: Database, jobs: Session) -> None:
    holder = db.connect(autocommit=False)
    holder.isolation_level = IsolationLevel.REPEATABLE_READ
    jobs.enqueue_many([{"kind": "mail"}] * 6_000)
    holder.execute("select count(*) from pg_class")
    for _ in range(6):
        claimed = jobs.claim(limit=1_000)
        jobs.complete(*claimed)
    jobs.enqueue()
    with db.connect(autocommit=False) as conn:
        measure(conn, "select windlass.retire_lanes()")  # what a session reads when it says it first
        cost = measure(conn, "select windlass.retire_lanes()")
    assert listed(db) == 1
    assert cost.pages < 40


def test_lanes_of_tenants_that_were_busy_just_now_are_not_looked_at(
    db: Database, jobs: Session, clock: Clock
) -> None:
    """They would be walked over from end to end, where a snapshot is held, and are needed again at once."""
    rest = "select windlass.retire_lanes(p_idle => '1 minute')"
    holder = db.connect(autocommit=False)
    holder.isolation_level = IsolationLevel.REPEATABLE_READ
    holder.execute("select count(*) from pg_class")
    jobs.enqueue_many([{"kind": "mail"}] * 6_000)
    for _ in range(6):
        jobs.complete(*jobs.claim(limit=1_000))
    with db.connect(autocommit=False) as conn:
        measure(conn, rest)
        cost = measure(conn, rest)
        assert listed(db) == 1
        walk = measure(conn, "select windlass.retire_lanes()")
        conn.rollback()
    assert cost.pages < 100 < walk.pages
    clock.advance(120)
    assert db.fetch_value(rest) == 1
    assert listed(db) == 0
    assert_whole(db)


def test_whoever_comes_while_a_lane_is_retired_lists_it_again(db: Database, jobs: Session) -> None:
    empty_the_lane(jobs)
    retirer = db.connect(autocommit=False)
    assert retirer.execute("select windlass.retire_lanes()").fetchone() == (1,)
    enqueuer = Session(db.connect())
    thread = threading.Thread(target=enqueuer.enqueue)
    thread.start()
    thread.join(0.2)
    retirer.commit()
    thread.join()
    assert listed(db) == 1
    assert_whole(db)


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_an_old_snapshot_does_not_believe_in_an_entry_that_is_gone(
    db: Database, jobs: Session, level: IsolationLevel
) -> None:
    empty_the_lane(jobs)
    conn = db.connect()
    conn.isolation_level = level
    old = Session(conn)
    with conn.transaction():
        conn.execute("select 1 from windlass.jobs limit 1")
        assert retire(db) == 1
        job_id = old.enqueue()
    assert jobs.claim_one().job_id == job_id


def test_an_old_snapshot_retires_nothing(db: Database, jobs: Session) -> None:
    empty_the_lane(jobs)
    conn = db.connect()
    conn.isolation_level = IsolationLevel.REPEATABLE_READ
    with conn.transaction():
        assert conn.execute("select windlass.retire_lanes()").fetchone() == (0,)


def test_two_transactions_over_the_same_lanes_in_opposite_order_do_not_wait(
    db: Database, jobs: Session
) -> None:
    for kind in ("a", "b"):
        jobs.enqueue(kind)
    jobs.complete(*jobs.claim(2))
    assert retire(db) == 2
    one, two = Session(db.connect(autocommit=False)), Session(db.connect(autocommit=False))
    for session in (one, two):
        session.call("set local statement_timeout = '20s'")
    one.enqueue("a")
    two.enqueue("b")
    one.enqueue("b")
    two.enqueue("a")
    one.conn.commit()
    two.conn.commit()
    assert listed(db) == 4
    assert len(jobs.claim(10)) == 4, "a lane that is listed twice gives nothing twice"
    jobs.enqueue("a")
    assert retire(db) == 3, "one lane is empty, the other was listed twice"
    assert listed(db) == 1
    assert_whole(db)


def test_no_more_go_than_were_asked_for_and_then_none(db: Database, jobs: Session) -> None:
    for kind in ("a", "b", "c"):
        jobs.enqueue(kind)
    jobs.complete(*jobs.claim(3))
    assert [call_value(db, "retire_lanes", limit=2) for _ in range(2)] == [2, 1]
    with nothing_changed(db):
        assert retire(db) == 0


def test_of_two_at_once_the_second_does_not_wait(db: Database, jobs: Session) -> None:
    empty_the_lane(jobs)
    retire(db)
    pair = [Session(db.connect(autocommit=False)) for _ in range(2)]
    for session in pair:
        session.enqueue()
    for session in pair:
        session.conn.commit()
    assert listed(db) == 2, "each of them listed the lane"
    first, second = db.connect(autocommit=False), db.connect()
    assert first.execute("select windlass.retire_lanes()").fetchone() == (1,)
    second.execute("set lock_timeout = '10s'")
    assert second.execute("select windlass.retire_lanes()").fetchone() == (0,)
    first.rollback()
    assert retire(db) == 1


def test_workers_and_operators_retire_and_a_bound_one_its_own(
    db: Database, jobs: Session, other: Session
) -> None:
    empty_the_lane(jobs)
    empty_the_lane(other)
    assert callers(db, "retire_lanes") == {"worker", "operator"}
    bind(db, "worker", OTHER_TENANT)
    assert call_value(db, "retire_lanes", role="worker") == 1
    left = db.fetch("select tenant_id from windlass_data.busy_lane", role="superuser")
    assert [row.tenant_id for row in left] == [jobs.tenant]


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": -1}, {"limit": None}, {"idle": "-1 s"}, {"idle": "900 years"}]
)
def test_a_call_that_makes_no_sense_is_refused(db: Database, wrong: dict[str, Any]) -> None:
    with pytest.raises(psycopg.Error) as refused:
        call_value(db, "retire_lanes", **wrong)
    assert refused.value.sqlstate == "WL007"
