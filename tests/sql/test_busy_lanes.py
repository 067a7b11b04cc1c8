"""The list of lanes that claims look at: what is in line is on it, and what is empty leaves it."""

import threading
from typing import Any
from uuid import uuid4

import pytest
from psycopg import Connection, IsolationLevel

from tests.sql.steps import Session
from tests.sql.whole import assert_whole
from tests.support import Database

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


def test_a_transaction_over_thousands_of_lanes_takes_few_locks(db: Database, jobs: Session) -> None:
    with jobs.conn.transaction():
        jobs.enqueue_many([{"kind": f"k{n}", "payload": n} for n in range(3000)])
        locks = jobs.value("select count(*) from pg_locks where locktype = 'advisory'")
    assert locks <= 256
    assert listed(db) == 3000


def test_tenants_without_work_cost_a_claim_nothing(db: Database, jobs: Session) -> None:
    """Ten thousand that had some, and one that has some now."""
    db.execute(
        "insert into windlass_data.tenant (id, slug, name) select ('00000000-0000-7000-9000-' || "
        "lpad(n::text, 12, '0'))::uuid, 't' || n, 't' from generate_series(1, 10000) as n",
        role="superuser",
    )
    db.execute(
        "insert into windlass_data.lane (tenant_id, queue, kind, priority) "
        "select t.id, 'default', 'mail', 0 from windlass_data.tenant as t on conflict do nothing",
        role="superuser",
    )
    conn = db.connect("superuser")
    pages = []
    for _ in range(8):
        jobs.enqueue()
        before = _pages(conn)
        assert len(Session(conn, node=uuid4()).claim(5)) == 1
        pages.append(_pages(conn) - before)
    assert min(pages[3:]) < 200, "pages read by a claim"


def _pages(conn: Connection[Any]) -> int:
    row = conn.execute(
        "select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) "
        "from pg_statio_user_tables "
        "where schemaname = 'windlass_data' and pg_stat_force_next_flush() is not null"
    ).fetchone()
    return int(row[0]) if row else 0
