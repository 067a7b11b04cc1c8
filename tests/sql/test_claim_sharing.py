"""claim_jobs between tenants: each gets its turn, and nobody waits for what another holds."""

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.steps import Session
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def ids(rows: list[Any]) -> list[UUID]:
    return [row.job_id for row in rows]


def test_tenants_of_a_fair_queue_share_every_claim(db: Database, jobs: Session, other: Session) -> None:
    jobs.enqueue_many([{"kind": "mail", "payload": n, "priority": 9} for n in range(100)])
    theirs = [other.enqueue(payload=n) for n in range(6)]
    got = jobs.claim(10)
    assert Counter(row.tenant_id for row in got) == {jobs.tenant: 5, other.tenant: 5}
    got += jobs.claim(10)
    assert [row.job_id for row in got if row.tenant_id == other.tenant] == theirs


def test_tenants_of_a_strict_queue_stand_in_one_line(db: Database, jobs: Session, other: Session) -> None:
    db.execute("select windlass.set_queue('default', 'strict')")
    order = [
        jobs.enqueue(priority=2),
        other.enqueue(priority=2),
        jobs.enqueue(priority=2),
        other.enqueue(priority=1),
        jobs.enqueue(priority=0),
    ]
    assert ids(jobs.claim(2)) == order[:2]
    assert ids(jobs.claim(10)) == order[2:]


@pytest.mark.parametrize("limit", [1, 4, 7, 60])
@pytest.mark.parametrize(
    "kinds",
    ["a" * 20 + "bcdefghij", "bcdefghij" + "a" * 20, "aabbccdd" * 4 + "e" * 9 + "fghij", "abcdefghijklm" * 2],
)
@pytest.mark.parametrize("every", [1, 3])
def test_the_line_of_a_strict_queue_is_exact_however_many_kinds_stand_in_it(
    db: Database, jobs: Session, other: Session, kinds: str, limit: int, every: int
) -> None:
    """Also where one kind has the whole head of the line; of one tenant or of two."""
    db.execute("select windlass.set_queue('default', 'strict')")
    order = [(jobs if n % every == 0 else other).enqueue(kind=kind) for n, kind in enumerate(kinds)]
    got: list[UUID] = []
    while claimed := ids(jobs.claim(limit)):
        got += claimed
    assert got == order


def test_rows_that_somebody_holds_do_not_hold_up_those_behind_them(db: Database, jobs: Session) -> None:
    order = [jobs.enqueue() for _ in range(60)]
    holder = Session(db.connect(autocommit=False))
    for job_id in order[:20]:
        holder.cancel(job_id)
    assert ids(jobs.claim(1)) == order[20:21]
    assert ids(jobs.claim(10)) == order[21:31]
    holder.conn.rollback()
    assert ids(jobs.claim(20)) == order[:20]
    assert_whole(db)


def test_the_version_rises_with_each_claim_from_several_lanes(db: Database, jobs: Session) -> None:
    kinds = ("mail", "report")
    for kind in kinds:
        jobs.enqueue(kind)
    for version in range(1, 4):
        rows = jobs.claim(2)
        assert sorted((row.kind, row.version) for row in rows) == [(kind, version) for kind in kinds]
        jobs.release(*rows)
    assert_whole(db)


def test_the_version_rises_with_each_claim_of_several_jobs(db: Database, jobs: Session) -> None:
    order = [jobs.enqueue() for _ in range(3)]
    for version in range(1, 4):
        rows = jobs.claim(3)
        assert [(row.job_id, row.version) for row in rows] == [(job_id, version) for job_id in order]
        jobs.release(*rows)
    assert_whole(db)


def test_a_claim_is_full_while_some_tenant_has_work(db: Database, jobs: Session, other: Session) -> None:
    other.enqueue()
    for _ in range(30):
        jobs.enqueue()
    assert len(jobs.claim(20)) == 20


def test_jobs_that_fell_due_do_not_wait_for_another_tenants(
    db: Database, jobs: Session, other: Session, clock: Clock
) -> None:
    start = clock.freeze()
    for n in range(300):
        jobs.enqueue("flood", run_at=start + timedelta(seconds=n % 10))
    late = other.enqueue(run_at=start + timedelta(seconds=20))
    clock.freeze(start + timedelta(seconds=30))
    assert late in ids(jobs.claim(2))
    assert_whole(db)


def test_one_tenants_new_queue_holds_up_no_other_tenant(db: Database, jobs: Session, other: Session) -> None:
    first = Session(db.connect(autocommit=False))
    first.enqueue(queue="brand-new")
    second = Session(db.connect(), tenant=other.tenant)
    second.conn.execute("set statement_timeout = '5s'")
    job_id = second.enqueue(queue="brand-new")
    first.conn.rollback()
    assert other.state(job_id) == "queued"
