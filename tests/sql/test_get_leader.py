"""get_leader: who leads now and in which term; by name to those who may know it."""

from datetime import timedelta

import pytest

from tests.sql.cluster import LEASE, Cluster
from tests.sql.operate import bind, call, callers
from tests.sql.steps import DEFAULT_TENANT
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_nobody_leads_before_the_first_turn_and_after_the_last(db: Database, clock: Clock) -> None:
    now = clock.freeze()
    assert call(db, "get_leader") == []
    cluster = Cluster(db, "a", "b")
    with nothing_changed(db):
        (leader,) = call(db, "get_leader")
    assert (leader.node_id, leader.name, leader.address) == (cluster.ids["a"], "a", "a:1")
    assert (leader.term, leader.since) == (1, now)
    assert leader.expires_at == now + timedelta(seconds=LEASE)
    clock.advance(LEASE)
    assert call(db, "get_leader") == [], "a lease that ran out to the second is none"


def test_everybody_may_ask_and_a_bound_role_hears_no_name_but_its_own(db: Database) -> None:
    cluster = Cluster(db, "a")
    assert callers(db, "get_leader") == {"producer", "worker", "operator", "reader"}
    bind(db, "reader", DEFAULT_TENANT)
    (leader,) = call(db, "get_leader", role="reader")
    assert (leader.node_id, leader.term) == (cluster.ids["a"], 1)
    assert (leader.name, leader.address) == (None, None)
    db.execute("update windlass_data.node set login = 'test_reader'", role="superuser")
    (leader,) = call(db, "get_leader", role="reader")
    assert (leader.name, leader.address) == ("a", "a:1")
