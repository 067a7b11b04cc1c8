"""list_queues: what waits and runs in each queue, how long already, and whether a gate holds it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.operate import bind, call
from tests.sql.steps import DEFAULT_TENANT, NODE, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def queues(db: Database, **arguments: Any) -> dict[str, Any]:
    return {row.name: row for row in call(db, "list_queues", **arguments)}


def test_an_empty_queue(db: Database) -> None:
    assert call(db, "list_queues") == []
    call(db, "set_queue", queue="default", mode="fair")
    (row,) = call(db, "list_queues")
    assert (row.name, row.mode, row.ready, row.scheduled, row.running) == ("default", "fair", 0, 0, 0)
    assert (row.oldest_run_at, row.oldest_seconds, row.waiting_nodes, row.gated) == (None, None, 0, False)


def test_the_load_over_all_tenants_and_of_one(
    db: Database, jobs: Session, other: Session, clock: Clock
) -> None:
    for kind in ("a", "b"):
        jobs.enqueue(kind, queue="work")
    jobs.enqueue("a", queue="work", run_at=clock.now() + timedelta(hours=1))
    other.enqueue("c", queue="work", priority=-4)
    jobs.claim(1, queues=["work"], kinds=["b"])
    row = queues(db)["work"]
    assert (row.ready, row.scheduled, row.running) == (2, 1, 1)
    mine = queues(db, tenant=DEFAULT_TENANT)["work"]
    assert (mine.ready, mine.scheduled, mine.running) == (1, 1, 1)


def test_the_age_of_the_oldest_ready_job(db: Database, jobs: Session, clock: Clock) -> None:
    start = clock.freeze()
    jobs.enqueue("first")
    clock.freeze(start + timedelta(seconds=40))
    jobs.enqueue("second", priority=9)
    clock.freeze(start + timedelta(seconds=100))
    row = queues(db)["default"]
    assert (row.oldest_run_at, row.oldest_seconds) == (start, 100.0)
    jobs.release(jobs.claim_one(kinds=["first"]))
    row = queues(db)["default"]
    assert (row.oldest_run_at, row.oldest_seconds) == (start + timedelta(seconds=40), 60.0)


def test_a_job_that_fell_due_is_as_old_as_its_time(db: Database, jobs: Session, clock: Clock) -> None:
    start = clock.freeze()
    jobs.enqueue(run_at=start + timedelta(seconds=50))
    jobs.enqueue(priority=1)
    clock.freeze(start + timedelta(seconds=60))
    jobs.claim(1)
    assert queues(db)["default"].oldest_seconds == 10.0


def test_nodes_that_wait_are_counted(db: Database, jobs: Session) -> None:
    call(db, "set_queue", queue="default", mode="fair")
    jobs.claim(1, wait=True)
    Session(db.connection(), node=UNKNOWN).claim(1, wait=True)
    assert queues(db)["default"].waiting_nodes == 2
    call(db, "stop_node", node=NODE)
    assert queues(db)["default"].waiting_nodes == 1


@pytest.mark.parametrize(
    ("scope", "all_gated", "mine_gated"),
    [
        ({}, True, True),
        ({"queue": "default"}, True, True),
        ({"queue": "another"}, False, False),
        ({"tenant": DEFAULT_TENANT}, False, True),
        ({"tenant": DEFAULT_TENANT, "queue": "default"}, False, True),
        ({"kind": "mail"}, False, False),
        ({"node": "nightjar"}, False, False),
    ],
)
def test_gated_means_that_nothing_of_it_can_be_claimed(
    db: Database, jobs: Session, clock: Clock, scope: dict[str, Any], all_gated: bool, mine_gated: bool
) -> None:
    jobs.enqueue()
    call(db, "set_gate", expires_at=clock.now() + timedelta(hours=1), everything=not scope, **scope)
    assert queues(db)["default"].gated is all_gated
    assert queues(db, tenant=DEFAULT_TENANT)["default"].gated is mine_gated
    clock.advance(timedelta(hours=2))
    assert queues(db, tenant=DEFAULT_TENANT)["default"].gated is False


def test_a_long_line_is_counted_up_to_a_bound(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    db.execute(
        "insert into windlass_data.ready (lane_id, version, seq, tenant_id, job_id, counted) "
        "select r.lane_id, 0, r.seq + n, r.tenant_id, windlass_data.new_id(), 0 "
        "from windlass_data.ready as r, generate_series(1, 10500) as n",
        role="superuser",
    )
    assert queues(db)["default"].ready == 10_000


def test_a_bound_role_sees_neither_the_load_nor_the_queues_of_others(
    db: Database, jobs: Session, other: Session
) -> None:
    jobs.enqueue(queue="secret-project")
    jobs.enqueue(queue="shared")
    other.enqueue(queue="shared")
    bind(db, "reader", OTHER_TENANT)
    assert {name: row.ready for name, row in queues(db, role="reader").items()} == {"shared": 1}
    for tenant in (DEFAULT_TENANT, UNKNOWN):
        with refused("WL005"):
            queues(db, tenant=tenant, role="reader")
