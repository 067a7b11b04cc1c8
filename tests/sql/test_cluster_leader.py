"""One leader at a time, a rising term, and what a stale one may no longer do."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.sql.cluster import KIND, LEASE, Cluster
from tests.sql.operate import NIL, call, events
from tests.sql.steps import DEFAULT_TENANT, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_the_first_node_leads_and_the_others_follow(db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    turn = cluster.tend("b")
    assert (turn.leader_id, turn.leader_name, turn.leader_address) == (cluster.ids["a"], "a", "a:1")
    assert (turn.term, turn.leads, turn.draining, turn.parts) == (1, False, False, 0)
    assert cluster.tend("a").leads is True
    nodes = {row.name: row for row in call(db, "list_nodes")}
    assert [nodes[name].leads for name in "abc"] == [True, False, False]
    assert [nodes[name].address for name in "abc"] == ["a:1", "b:1", "c:1"]
    assert all(nodes[name].member for name in "abc")


def test_a_turn_tells_when_the_next_one_matters(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    clock.advance(3)
    turn = cluster.tend("b")
    assert (turn.busy, turn.leader_seconds) == (False, LEASE - 3)
    cluster.create()
    assert cluster.tend("b").busy is True
    (slow,) = cluster.claim("b")
    cluster.do("a")
    assert cluster.end(slow, "succeeded") == ("ok", "succeeded")
    cluster.act("a")
    assert cluster.tend("b").busy is True  # its parts are not closed yet
    cluster.tend("a")
    assert cluster.tend("b").busy is False


def test_a_leader_that_takes_its_turns_leads_on(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    cluster.elapse(5 * LEASE)
    assert (cluster.leader.name, cluster.leader.term) == ("a", 1)


def test_a_silent_leader_is_replaced_when_its_lease_has_run_out(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    clock.advance(LEASE - 1)
    assert cluster.tend("b").leader_name == "a"
    clock.advance(2)
    assert call(db, "get_leader") == []
    assert cluster.tend("b").leads is True
    assert (cluster.leader.name, cluster.leader.term) == ("b", 2)
    assert cluster.tend("a").leads is False
    assert [action for (action,) in events(db, NIL, "action")] == ["leader.elected"] * 2


def test_a_leader_that_was_away_goes_on_in_its_term_if_nobody_was_there_first(
    db: Database, clock: Clock
) -> None:
    clock.freeze()
    cluster = Cluster(db, "a")
    clock.advance(3 * LEASE)
    assert cluster.tend("a").leads is True
    assert cluster.leader.term == 1


def test_of_many_that_try_at_once_one_gets_the_term(db: Database, clock: Clock) -> None:
    cluster = Cluster(db, "a", *(f"n{i}" for i in range(8)))
    clock.advance(LEASE + 1)
    db.execute("update windlass_data.node set member_until = 'epoch'", role="superuser")

    def turn(name: str) -> Any:
        with psycopg.connect(db.url(), autocommit=True) as conn:
            query = "select leads, term from windlass.tend_cluster(%s, '', %s, %s)"
            return conn.execute(query, (cluster.ids[name], [KIND], LEASE)).fetchone()

    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(turn, [f"n{i}" for i in range(8)]))
    assert [leads for leads, _ in turns].count(True) == 1
    assert cluster.leader.term == 2


def test_a_stopped_leader_hands_over_at_once(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    listener = db.connect()
    listener.execute("listen windlass")
    cluster.stop("a")
    assert [notice.payload for notice in listener.notifies(timeout=5, stop_after=1)] == [
        str(cluster.ids["b"])
    ]
    assert cluster.tend("a") is None
    assert cluster.tend("b").leads is True
    assert cluster.leader.term == 2


def test_one_that_no_longer_stands_keeps_the_lease_while_its_action_runs(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create(local=False)
    (held,) = cluster.claim_action("a")
    assert cluster.tend("a", stand=False).leads is True
    cluster.complete(held)
    assert cluster.tend("a", stand=False).leads is False
    assert cluster.tend("b").leads is True
    assert cluster.state(job_id) == "succeeded"


def test_only_the_leader_claims_an_action(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    cluster.create(local=False)
    assert cluster.claim_action("b") == []
    (held,) = cluster.claim_action("a")
    begun = cluster.begin(held)
    assert (begun.term, begun.needed, begun.verdict, begun.parts) == (1, 0, "quorum", [])


def test_a_leader_whose_lease_ran_out_claims_nothing(db: Database, clock: Clock) -> None:
    cluster = Cluster(db, "a")
    cluster.create(local=False)
    clock.advance(LEASE + 1)
    assert cluster.claim_action("a") == []


@pytest.mark.parametrize("before", ["claimed", "begun"])
def test_an_action_of_the_last_term_is_ended_and_its_late_words_change_nothing(
    db: Database, clock: Clock, before: str
) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create(local=False)
    (old,) = cluster.claim_action("a")
    if before == "begun":
        cluster.begin(old)
    clock.advance(LEASE + 1)
    cluster.tend("b")
    cluster.tend("b")
    for late in ("complete", "fail"):
        with nothing_changed(db):
            code = db.fetch(
                f"select code from windlass.{late}_jobs(%s::uuid[], %s::uuid[])", [old.token], [job_id]
            )
        assert [row.code for row in code] == ["lease_lost"]
    with nothing_changed(db), refused("WL003"):
        cluster.begin(old)
    (new,) = cluster.claim_action("b")
    assert new.version == old.version + 1
    assert cluster.begin(new).term == 2
    cluster.tend("a")
    assert cluster.complete(new) == []
    assert cluster.state(job_id) == "succeeded"
    assert cluster.get(job_id).action_term == 2
    assert_whole(db)


def test_an_action_claimed_in_time_does_not_begin_once_another_leads(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    cluster.create(local=False)
    (held,) = cluster.claim_action("a")
    clock.advance(LEASE + 1)
    cluster.tend("b")  # elected; what the last leader holds is ended in the next turn
    with nothing_changed(db), refused("WL008"):
        cluster.begin(held)


def test_creation_is_refused_in_any_other_name_or_term(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    for leader, term in ((None, None), (cluster.ids["b"], 1), (cluster.ids["a"], 2), (uuid4(), 1)):
        with nothing_changed(db), pytest.raises(psycopg.Error) as refusal:
            call(db, "create_cluster_job", tenant=DEFAULT_TENANT, kind=KIND, leader=leader, term=term)
        assert refusal.value.sqlstate == "WL008"
        assert '"leader": "a:1"' in str(refusal.value.diag.message_detail)
    clock.advance(LEASE + 1)
    cluster.tend("b")
    with nothing_changed(db), refused("WL008"):
        call(db, "create_cluster_job", tenant=DEFAULT_TENANT, kind=KIND, leader=cluster.ids["a"], term=1)


def test_without_a_leader_creation_names_nobody(db: Database) -> None:
    with nothing_changed(db), pytest.raises(psycopg.Error) as refusal:
        call(db, "create_cluster_job", tenant=DEFAULT_TENANT, kind=KIND)
    assert refusal.value.sqlstate == "WL008"
    assert '"leader": null' in str(refusal.value.diag.message_detail)


def test_a_node_without_cluster_kinds_neither_leads_nor_gets_parts(db: Database) -> None:
    cluster = Cluster(db)
    cluster.start("plain", kinds=())
    assert cluster.leader is None
    cluster.start("a")
    job_id = cluster.create()
    assert cluster.parts(job_id) == {"a": "queued"}


def test_a_kind_that_the_leader_does_not_know_is_refused(db: Database) -> None:
    cluster = Cluster(db, "a")
    with nothing_changed(db), refused("WL007"):
        cluster.create(kind="other")
