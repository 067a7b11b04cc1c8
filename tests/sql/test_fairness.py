"""How tenants share a queue: by weight in turns, by priority where it is strict, and by age where asked."""

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def ids(rows: list[Any]) -> list[UUID]:
    return [row.job_id for row in rows]


def set_weight(db: Database, tenant: UUID, weight: int | None) -> None:
    db.execute("select windlass.set_tenant(%s, %s, 'paid for it', 'ada')", tenant, weight, role="app")


def flood(*sessions: Session, count: int = 200) -> None:
    for session in sessions:
        session.enqueue_many([{"kind": "mail", "payload": n} for n in range(count)])


def test_a_claim_is_shared_out_by_weight(db: Database, jobs: Session, other: Session) -> None:
    flood(jobs, other)
    set_weight(db, other.tenant, 3)
    assert Counter(row.tenant_id for row in jobs.claim(40)) == {jobs.tenant: 10, other.tenant: 30}
    set_weight(db, other.tenant, 1)
    assert Counter(row.tenant_id for row in jobs.claim(40)) == {jobs.tenant: 20, other.tenant: 20}
    assert_whole(db)


def test_what_one_cannot_use_the_others_get(db: Database, jobs: Session, other: Session) -> None:
    flood(jobs)
    set_weight(db, other.tenant, 1000)
    flood(other, count=3)
    assert Counter(row.tenant_id for row in jobs.claim(50)) == {jobs.tenant: 47, other.tenant: 3}


def test_a_claim_of_one_goes_to_each_as_often_as_it_weighs(
    db: Database, jobs: Session, other: Session
) -> None:
    """Whoever remembers nothing between claims gets it right on average; a worker has real turns."""
    flood(jobs, other)
    set_weight(db, other.tenant, 4)
    got = Counter(jobs.claim_one().tenant_id for _ in range(150))
    assert 95 <= got[other.tenant] <= 143, got  # 120 expected; beyond this less than once in 10**6


def test_each_tenant_with_work_is_in_every_claim_that_can_hold_them_all(db: Database, jobs: Session) -> None:
    tenants = [UUID(int=n, version=4) for n in range(1, 21)]
    for n, tenant in enumerate(tenants):
        slug = f"t{n}"
        db.execute(
            "insert into windlass_data.tenant (id, slug, name) values (%s, %s, %s)",
            tenant,
            slug,
            slug,
            role="superuser",
        )
        flood(Session(jobs.conn, tenant=tenant), count=30)
    flood(jobs, count=2000)
    for size in (21, 40, 100):
        got = Counter(row.tenant_id for row in jobs.claim(size))
        assert set(got) == {jobs.tenant, *tenants}
        assert max(got.values()) - min(got.values()) <= 1


def test_a_strict_queue_takes_nothing_lower_while_something_higher_is_left(
    db: Database, jobs: Session, other: Session
) -> None:
    db.execute("select windlass.set_queue('default', 'strict')", role="app")
    expected: dict[int, set[UUID]] = {0: set(), 5: set(), 9: set()}
    for n in range(90):
        session, priority = (jobs, other)[n % 2], (0, 5, 9)[n % 3]
        expected[priority].add(session.enqueue(f"k{n % 7}", priority=priority))
    got = ids(jobs.claim(25)) + ids(jobs.claim(20)) + ids(jobs.claim(90))
    assert [set(got[:30]), set(got[30:60]), set(got[60:])] == [expected[9], expected[5], expected[0]]
    assert_whole(db)


def test_low_priority_waits_for_ever_without_ageing_and_not_with_it(
    db: Database, jobs: Session, clock: Clock
) -> None:
    now = clock.freeze()
    old = jobs.enqueue(priority=0)
    for n in range(1, 6):
        clock.freeze(now + timedelta(hours=n))
        jobs.enqueue(priority=3)
        assert jobs.claim_one().priority == 3
    db.execute("select windlass.set_queue('default', p_ageing_seconds => 3600)", role="app")
    clock.freeze(now + timedelta(hours=6))
    jobs.enqueue(priority=3)
    assert jobs.claim_one().job_id == old, "six hours lifted it by six"
    assert jobs.claim_one().priority == 3


def test_age_counts_from_when_a_job_could_have_started(db: Database, jobs: Session, clock: Clock) -> None:
    db.execute("select windlass.set_queue('default', p_ageing_seconds => 10)", role="app")
    now = clock.freeze()
    later = jobs.enqueue(run_at=now + timedelta(seconds=100))
    clock.freeze(now + timedelta(seconds=105))
    urgent = jobs.enqueue(priority=1)
    assert ids(jobs.claim(2)) == [urgent, later]


def test_ageing_in_a_strict_queue_lifts_one_tenants_job_over_anothers(
    db: Database, jobs: Session, other: Session, clock: Clock
) -> None:
    db.execute("select windlass.set_queue('default', 'strict', p_ageing_seconds => 60)", role="app")
    now = clock.freeze()
    old = jobs.enqueue(priority=0)
    clock.freeze(now + timedelta(seconds=301))
    young = other.enqueue(priority=4)
    assert ids(jobs.claim(2)) == [old, young]


def test_ageing_is_shown_kept_and_turned_off(db: Database, jobs: Session) -> None:
    def shown() -> tuple[str, float | None]:
        (row,) = jobs.call("select * from windlass.list_queues() where name = 'slow'")
        return row.mode, row.ageing_seconds

    db.execute("select windlass.set_queue('slow', p_ageing_seconds => 2.5)", role="app")
    assert shown() == ("fair", 2.5)
    db.execute("select windlass.set_queue('slow', 'strict')", role="app")
    assert shown() == ("strict", 2.5)
    db.execute("select windlass.set_queue('slow', p_ageing_seconds => 0)", role="app")
    assert shown() == ("strict", None)


@pytest.mark.parametrize("given", ["p_ageing_seconds => -1", "p_ageing_seconds => 'nan'", "p_mode => null"])
def test_an_ageing_that_cannot_be(jobs: Session, given: str) -> None:
    with refused("WL007"):
        jobs.call(f"select windlass.set_queue('slow', {given})")
