"""drain_node: a node takes nothing new and hands over; started again it is as before."""

import pytest

from tests.sql.cluster import KIND, Cluster
from tests.sql.operate import NIL, bind, call, callers, events
from tests.sql.steps import DEFAULT_TENANT, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_draining_node_claims_nothing_and_hands_over(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    call(db, "enqueue_job", tenant=DEFAULT_TENANT, kind=KIND)
    job_id = cluster.create()
    assert [row.node_id for row in call(db, "drain_node", node="a")] == [cluster.ids["a"]]
    assert cluster.claim_action("a") == []
    turn = cluster.tend("a")
    assert (turn.draining, turn.leads) == (True, False)
    assert cluster.tend("b").leads is True
    assert set(cluster.parts(cluster.create())) == {"b"}
    assert cluster.do("a") == "succeeded"  # its part from before is not new
    assert cluster.parts(job_id) == {"a": "succeeded", "b": "queued"}
    assert len(cluster.claim_action("b")) == 1
    drains = [row for row in events(db, NIL, "action", "details") if row[0] == "node.drain"]
    assert drains == [("node.drain", {"node": "a"})]
    assert [row.draining for row in call(db, "list_nodes")] == [True, False]


def test_a_node_that_starts_again_is_not_drained(db: Database) -> None:
    cluster = Cluster(db, "a")
    call(db, "drain_node", node=str(cluster.ids["a"]))
    cluster.stop("a")
    cluster.start("a")
    assert cluster.tend("a").draining is False


def test_only_a_running_node_is_drained(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.stop("a")
    for name in ("a", "nobody", None):
        with nothing_changed(db), refused("WL001"):
            call(db, "drain_node", node=name)


def test_all_nodes_of_a_name_drain_and_are_told(db: Database, clock: Clock) -> None:
    cluster = Cluster(db, "other")
    twins = {cluster.start("mill"), cluster.start("mill")}
    listener = db.connect()
    listener.execute("listen windlass")
    now = clock.freeze()
    drained = call(db, "drain_node", node="mill", reason="kernel update", actor="ada")
    assert {row.node_id for row in drained} == twins
    told = [notice.payload for notice in listener.notifies(timeout=5, stop_after=2)]
    assert sorted(told) == sorted(map(str, twins))
    assert events(db, NIL)[-1] == ("ada", "node.drain", None, "kernel update")
    clock.advance(1)
    call(db, "drain_node", node="mill")
    since = db.fetch("select name, draining_at from windlass_data.node order by name", role="superuser")
    assert [tuple(row) for row in since] == [("mill", now), ("mill", now), ("other", None)], (
        "the first counts"
    )


def test_a_silent_node_is_not_drained(db: Database, clock: Clock) -> None:
    Cluster(db, "a")
    clock.advance(3600)
    with nothing_changed(db), refused("WL001", "there is no running node 'a'"):
        call(db, "drain_node", node="a")


def test_operators_drain_for_the_whole_installation(db: Database) -> None:
    Cluster(db, "a")
    assert callers(db, "drain_node", node="a") == {"operator"}
    with nothing_changed(db), refused("WL007", "reason"):
        call(db, "drain_node", node="a", reason="x" * 2001)
    bind(db, "operator", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "drain_node", role="operator", node="a")
