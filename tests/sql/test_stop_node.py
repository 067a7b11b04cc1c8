"""stop_node: the node is active no longer, and no notice is sent on its behalf."""

import pytest

from tests.sql.operate import call, call_value
from tests.sql.steps import NODE, UNKNOWN, Session
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_node_stops(db: Database, jobs: Session, clock: Clock) -> None:
    call(db, "heartbeat_node", node=NODE, name="nightjar")
    jobs.claim(1, queues=["a", "b"], wait=True)
    Session(db.connection(), node=UNKNOWN).claim(1, queues=["a"], wait=True)
    now = clock.freeze()
    assert call_value(db, "stop_node", node=NODE) is True
    (row,) = call(db, "list_nodes", stopped=True)
    assert (row.active, row.stopped_at) == (False, now)
    left = db.fetch("select queue, node_id from windlass_data.waiting", role="superuser")
    assert [tuple(row) for row in left] == [("a", UNKNOWN)]


def test_stopping_twice_keeps_the_first_time(db: Database, clock: Clock) -> None:
    call(db, "heartbeat_node", node=NODE, name="nightjar")
    first = clock.freeze()
    call(db, "stop_node", node=NODE)
    clock.advance(60)
    assert call_value(db, "stop_node", node=NODE) is True
    assert call(db, "list_nodes", stopped=True)[0].stopped_at == first


def test_its_leases_are_left_alone(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    call(db, "stop_node", node=NODE)
    assert jobs.complete(held) == []


def test_an_unknown_node_is_no_error(db: Database) -> None:
    with nothing_changed(db):
        assert call_value(db, "stop_node", node=UNKNOWN) is False
        assert call_value(db, "stop_node", node=None) is False
