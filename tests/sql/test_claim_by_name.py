"""Claims that name their lanes and look at no others: tenants take turns there, each for several jobs."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.sql.limits import limit, use
from tests.sql.steps import Session
from tests.sql.two import ENDINGS, Ending, Two
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2031, 5, 14, 12, 0, tzinfo=UTC)
TEXT = "select * from windlass.claim_jobs(%s, array['default'], null, %s, 30, false, %s, %s, true)"


def lanes(db: Database) -> list[int]:
    return [row.id for row in db.fetch("select id from windlass_data.lane order by id", role="superuser")]


def claim(session: Session, named: list[int], limit: int, marks: list[int | None] | None = None) -> list[Any]:
    return session.call(TEXT, session.node, limit, named, marks or [0] * len(named))


def test_each_lane_gives_an_equal_part_one_after_the_other(
    db: Database, jobs: Session, other: Session
) -> None:
    for session in (jobs, other):
        session.enqueue_many([{"kind": "mail", "payload": n} for n in range(5)])
    named = lanes(db)[::-1]
    rows = claim(jobs, named, 6)
    assert [(row.lane_id, row.payload) for row in rows] == [(lane, n) for lane in named for n in range(3)]
    assert len({(row.lane_id, row.token) for row in rows}) == 2, "a lease for each lane"
    assert {row.version for row in rows} == {1}
    assert jobs.complete(*rows) == []
    assert Counter(row.lane_id for row in claim(jobs, named, 3)) == {named[0]: 2, named[1]: 1}
    assert_whole(db)


def test_order_does_not_depend_on_how_much_memory_a_sort_may_take(db: Database, jobs: Session) -> None:
    tenants = [db.fetch_value("select windlass.create_tenant(%s)", f"t{n}") for n in range(25)]
    for tenant in tenants:
        Session(jobs.conn, tenant=tenant).enqueue_many([{"kind": "mail", "payload": n} for n in range(20)])
    frugal = Session(db.connect())
    frugal.call("set work_mem = '64kB'")
    named = lanes(db)
    random.Random(1).shuffle(named)
    rows = claim(frugal, named, 500)
    assert [row.payload for row in rows] == [n for _ in tenants for n in range(20)]


def test_what_lies_before_a_mark_is_not_looked_at(db: Database, jobs: Session, other: Session) -> None:
    for session in (jobs, other):
        session.enqueue_many([{"kind": "mail", "payload": n} for n in range(3)])
    seqs = {
        row.lane_id: row.seq
        for row in db.fetch(
            "select lane_id, min(seq) as seq from windlass_data.ready group by 1", role="superuser"
        )
    }
    named = lanes(db)
    rows = claim(jobs, named, 10, [seqs[named[0]], None])
    assert [(row.lane_id, row.payload) for row in rows] == [
        (named[0], 1), (named[0], 2), (named[1], 0), (named[1], 1), (named[1], 2)]  # fmt: skip


def test_within_a_tenant_priority_and_age_decide_also_between_named_lanes(
    db: Database, jobs: Session
) -> None:
    order = [("mail", 0), ("report", 0), ("mail", 0), ("report", 5)]
    for kind, priority in order:
        jobs.enqueue(kind, priority=priority)
    rows = claim(jobs, lanes(db), 4)
    assert [(row.kind, row.priority) for row in rows] == [order[3], *order[:3]]


def test_the_version_rises_with_each_claim(db: Database, jobs: Session, other: Session) -> None:
    for session in (jobs, other):
        session.enqueue()
    for version in (1, 2, 3):
        rows = claim(jobs, lanes(db), 2)
        assert [row.version for row in rows] == [version, version]
        jobs.release(*rows)
    assert_whole(db)


def test_lanes_that_have_nothing_and_lanes_that_are_not_there(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    named = lanes(db)
    assert claim(jobs, [7_000_000], 5) == []
    assert len(claim(jobs, [*named, 7_000_000], 5)) == 1
    assert claim(jobs, named, 5) == []
    assert claim(jobs, [], 5) == []


def test_each_lane_gives_its_part_by_weight(db: Database, jobs: Session, other: Session) -> None:
    db.execute("select windlass.set_tenant(%s, p_weight => 3)", other.tenant, role="app")
    for session in (jobs, other):
        session.enqueue_many([{"kind": "mail", "payload": n} for n in range(9)])
    rows = claim(jobs, lanes(db), 8)
    assert Counter(row.tenant_id for row in rows) == {jobs.tenant: 2, other.tenant: 6}
    assert [row.payload for row in rows] == [0, 1, 0, 1, 2, 3, 4, 5], "one lane after the other"
    assert_whole(db)


def test_a_gate_takes_a_lane_out_and_the_others_give_its_part(
    db: Database, jobs: Session, other: Session
) -> None:
    for session in (jobs, other):
        session.enqueue_many([{"kind": "mail", "payload": n} for n in range(5)])
    jobs.call("select windlass.set_gate(p_tenant => %s, p_reason => 'test')", other.tenant)
    assert {row.tenant_id for row in claim(jobs, lanes(db), 4)} == {jobs.tenant}
    jobs.call("select windlass.set_gate(p_tenant => %s, p_reason => 'test')", jobs.tenant)
    assert claim(jobs, lanes(db), 4) == []


def test_limits_hold_and_what_they_hold_back_others_give(
    db: Database, jobs: Session, other: Session, clock: Clock
) -> None:
    clock.freeze(NOON)
    limit(jobs, tenant=other.tenant, concurrency=4)
    bucket = limit(jobs, tenant=jobs.tenant, rate=1, burst=5)
    for session in (jobs, other):
        session.enqueue_many([{"kind": "mail", "payload": n} for n in range(9)])
    named = lanes(db)
    first = claim(jobs, named, 4)
    assert Counter(row.tenant_id for row in first) == {jobs.tenant: 2, other.tenant: 2}
    assert use(db, bucket).tokens == 3
    assert {row.expires_at for row in first} == {NOON + timedelta(seconds=30)}
    second = claim(jobs, named, 8)
    assert Counter(row.tenant_id for row in second) == {jobs.tenant: 3, other.tenant: 2}
    assert claim(jobs, named, 8) == []
    clock.advance(1)
    assert Counter(row.tenant_id for row in claim(jobs, named, 8)) == {jobs.tenant: 1}
    jobs.complete(*first)
    assert Counter(row.tenant_id for row in claim(jobs, named, 8)) == {other.tenant: 2}
    assert_whole(db)


def test_a_bound_session_takes_nothing_of_others(db: Database, jobs: Session, other: Session) -> None:
    for session in (jobs, other):
        session.enqueue_many([{"kind": "mail", "payload": n} for n in range(3)])
    db.execute("select windlass.bind_role('test_worker', %s)", other.tenant, role="app")
    bound = Session(db.connection("worker"), tenant=other.tenant)
    assert [row.tenant_id for row in claim(bound, lanes(db), 6)] == [other.tenant] * 3


def test_a_strict_queue_gives_by_priority_also_to_who_names_lanes(
    db: Database, jobs: Session, other: Session
) -> None:
    jobs.call("select windlass.set_queue('default', 'strict')")
    jobs.enqueue(priority=1)
    other.enqueue(priority=2)
    other.enqueue(priority=2)
    assert [row.priority for row in claim(jobs, lanes(db), 3)] == [2, 2, 1]


@pytest.mark.parametrize("ending", ENDINGS)
def test_claim_and_claim(db: Database, jobs: Session, other: Session, two: Two, ending: Ending) -> None:
    for session in (jobs, other):
        session.enqueue_many([{"kind": "mail", "payload": n} for n in range(4)])
    named = lanes(db)
    race = two.race(lambda s: claim(s, named, 4), lambda s: claim(s, named, 4), ending=ending)
    assert not race.waited, "a claim waits for nobody"
    assert {row.payload for row in race.first} == {0, 1}
    assert {row.payload for row in race.second} == {2, 3}
    assert_whole(db)
