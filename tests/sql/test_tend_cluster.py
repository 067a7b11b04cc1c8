"""tend_cluster: a node's turn tells who leads and what waits, and keeps what the node says of itself."""

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.cluster import KIND, LEASE, Cluster
from tests.sql.operate import bind, call, callers
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def member(db: Database, name: str) -> Any:
    query = "select address, cluster_kinds, local_kinds, member_until from windlass_data.node where name = %s"
    return db.fetch_row(query, name, role="superuser")


def test_a_node_says_where_it_is_and_what_it_knows(db: Database, clock: Clock) -> None:
    now = clock.freeze()
    cluster = Cluster(db, "a")
    until = now + timedelta(seconds=LEASE)
    assert tuple(member(db, "a")) == ("a:1", [KIND], [KIND], until)
    cluster.tend("a", kinds=(KIND, "other"))
    cluster.tend("a", kinds=(KIND, "other"), local=("other",))
    assert tuple(member(db, "a")) == ("a:1", [KIND, "other"], ["other"], until)
    with nothing_changed(db):
        cluster.tend("a", kinds=(KIND, "other"), local=("other",))
    call(db, "tend_cluster", node=cluster.ids["a"], address=None, kinds=None)
    assert tuple(member(db, "a"))[:3] == ("", [], [])


def test_a_third_of_the_lease_passes_before_it_is_written_again(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a")
    clock.advance(LEASE / 3 - 0.1)
    with nothing_changed(db):
        cluster.tend("a")
    clock.advance(0.1)
    cluster.tend("a")
    assert member(db, "a").member_until == clock.now() + timedelta(seconds=LEASE)


def test_it_counts_the_parts_that_this_process_runs(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    cluster.create()
    cluster.create()
    turn = cluster.tend("b")
    assert (turn.parts, turn.busy, turn.leads) == (2, True, False)
    assert cluster.tend("b", local=()).parts == 0
    cluster.claim("b", limit=1)
    assert cluster.tend("b").parts == 1


def test_who_does_not_stand_is_not_elected(db: Database) -> None:
    cluster = Cluster(db)
    cluster.ids["a"] = UNKNOWN
    call(db, "heartbeat_node", node=UNKNOWN, name="a", kinds=[KIND])
    turn = cluster.tend("a", stand=False)
    assert (turn.leader_id, turn.leads, turn.busy) == (None, False, False)
    assert cluster.tend("a").leads is True


def test_a_node_that_nobody_knows_or_that_has_stopped_gets_no_answer(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.stop("a")
    with nothing_changed(db):
        assert cluster.tend("a") is None
        assert call(db, "tend_cluster", node=UNKNOWN) == []


def test_an_odd_turn_is_refused(db: Database) -> None:
    with nothing_changed(db):
        for lease in (0.05, 86_401.0, float("nan"), None):
            with refused("WL007", "a turn needs a node"):
                call(db, "tend_cluster", node=UNKNOWN, lease_seconds=lease)
        with refused("WL007", "a turn needs a node"):
            call(db, "tend_cluster", node=None)


def test_workers_take_turns_and_none_that_is_bound_to_a_tenant(db: Database) -> None:
    cluster = Cluster(db, "a")
    assert callers(db, "tend_cluster", node=cluster.ids["a"]) == {"worker"}
    bind(db, "worker", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "tend_cluster", role="worker", node=cluster.ids["a"])
