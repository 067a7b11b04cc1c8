"""heartbeat_node: a node becomes known, stays active, and is told when it was taken for gone."""

from typing import Any

import pytest

from tests.sql.operate import bind, call, call_value
from tests.sql.steps import DEFAULT_TENANT, NODE, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

FULL: dict[str, Any] = {
    "node": NODE,
    "name": "nightjar",
    "host": "host-1",
    "pid": 4711,
    "version": "0.1.0",
    "queues": ["default", "slow"],
    "kinds": ["mail"],
    "concurrency": 10,
}


def test_the_first_one_makes_the_node_known(db: Database, clock: Clock) -> None:
    now = clock.freeze()
    assert call_value(db, "heartbeat_node", **FULL) is False
    (row,) = call(db, "list_nodes")
    assert (row.id, row.name, row.host, row.pid, row.version) == (NODE, "nightjar", "host-1", 4711, "0.1.0")
    assert (row.queues, row.kinds, row.concurrency) == (["default", "slow"], ["mail"], 10)
    assert (row.started_at, row.heartbeat_at, row.stopped_at, row.active) == (now, now, None, True)


def test_the_next_ones_keep_it_active_and_may_change_what_it_does(db: Database, clock: Clock) -> None:
    start = clock.freeze()
    call(db, "heartbeat_node", **FULL)
    clock.advance(10)
    now = clock.freeze()
    assert call_value(db, "heartbeat_node", **{**FULL, "queues": ["slow"], "concurrency": 4}) is True
    (row,) = call(db, "list_nodes")
    assert (row.started_at, row.heartbeat_at, row.queues, row.concurrency) == (start, now, ["slow"], 4)


def test_a_node_that_was_silent_too_long_is_told(db: Database, clock: Clock) -> None:
    call(db, "heartbeat_node", **FULL)
    clock.advance(29)
    assert call_value(db, "heartbeat_node", **FULL) is True
    clock.advance(31)
    assert call(db, "list_nodes")[0].active is False
    assert call_value(db, "heartbeat_node", **FULL) is False
    assert call(db, "list_nodes")[0].active is True


def test_a_stopped_node_starts_anew(db: Database, clock: Clock) -> None:
    call(db, "heartbeat_node", **FULL)
    call(db, "stop_node", node=NODE)
    clock.advance(5)
    now = clock.freeze()
    assert call_value(db, "heartbeat_node", **FULL) is False
    (row,) = call(db, "list_nodes")
    assert (row.active, row.started_at, row.stopped_at) == (True, now, None)


def test_a_name_and_an_id_are_enough(db: Database) -> None:
    call(db, "heartbeat_node", node=NODE, name="n", host=None, queues=None, kinds=None, concurrency=None)
    (row,) = call(db, "list_nodes")
    assert (row.host, row.pid, row.queues, row.kinds, row.concurrency) == ("", 0, [], [], 0)


@pytest.mark.parametrize(
    "wrong",
    [{"node": None}, {"name": None}, {"name": ""}, {"name": "n" * 201}, {"concurrency": -1}, {"pid": -1}],
)
def test_bad_input_is_refused(db: Database, wrong: dict[str, Any]) -> None:
    with nothing_changed(db), refused("WL007"):
        call(db, "heartbeat_node", **{**FULL, **wrong})


def test_workers_may_and_readers_may_not(db: Database) -> None:
    bind(db, "worker", DEFAULT_TENANT)
    call(db, "heartbeat_node", role="worker", **FULL)
    with nothing_changed(db), refused("42501"):
        call(db, "heartbeat_node", role="reader", **FULL)
