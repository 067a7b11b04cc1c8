"""list_nodes: who is active by the database's clock, and what each is running."""

from uuid import UUID

import pytest

from tests.sql.operate import bind, call, call_value
from tests.sql.steps import NODE, OTHER_TENANT, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

SECOND, THIRD = (UUID(int=NODE.int + n) for n in (1, 2))


def test_active_ones_first_and_stopped_ones_only_if_asked_for(db: Database, clock: Clock) -> None:
    call(db, "heartbeat_node", node=NODE, name="a-silent")
    clock.advance(31)
    call(db, "heartbeat_node", node=SECOND, name="c-alive")
    call(db, "heartbeat_node", node=THIRD, name="b-stopped")
    call(db, "stop_node", node=THIRD)
    assert [(row.id, row.active) for row in call(db, "list_nodes")] == [(SECOND, True), (NODE, False)]
    every = call(db, "list_nodes", stopped=True)
    assert [row.name for row in every] == ["c-alive", "a-silent", "b-stopped"]


def test_the_jobs_that_each_is_running(db: Database, jobs: Session, other: Session) -> None:
    for node, name in ((NODE, "one"), (SECOND, "two")):
        call(db, "heartbeat_node", node=node, name=name)
    for kind in ("a", "b", "c"):
        jobs.enqueue(kind)
    other.enqueue("d")
    first = jobs.claim(4, kinds=["a", "b", "d"])
    Session(db.connection(), node=SECOND).claim(4)
    assert {row.name: row.running for row in call(db, "list_nodes")} == {"one": 3, "two": 1}
    jobs.complete(next(held for held in first if held.kind == "a"))
    assert {row.name: row.running for row in call(db, "list_nodes")} == {"one": 2, "two": 1}


def test_a_bound_role_knows_its_own_nodes_only(db: Database, jobs: Session, other: Session) -> None:
    call(db, "heartbeat_node", node=NODE, name="theirs")
    bind(db, "worker", OTHER_TENANT)
    call(db, "heartbeat_node", node=SECOND, name="own", role="worker")
    bind(db, "reader", OTHER_TENANT)
    assert call(db, "list_nodes", role="reader") == []
    assert call_value(db, "stop_node", node=NODE, role="worker") is False
    with refused("WL005", "run by another role"):
        call(db, "heartbeat_node", node=NODE, name="mine now", role="worker")
    assert call_value(db, "stop_node", node=SECOND, role="worker") is True
    assert [row.name for row in call(db, "list_nodes")] == ["theirs"]
