"""Two sessions at once: an election, the ends of two parts, and transactions that somebody leaves open."""

from typing import Any

import pytest

from tests.sql.cluster import KIND, LEASE, Cluster
from tests.sql.operate import call
from tests.sql.steps import DEFAULT_TENANT, Session, refused
from tests.sql.two import ENDINGS, Ending, Step, Two
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def tending(cluster: Cluster, name: str) -> Step:
    def step(session: Session) -> Any:
        query = "select leads, term from windlass.tend_cluster(%s, %s, %s, %s)"
        return session.call(query, cluster.ids[name], f"{name}:1", [KIND], LEASE)[0]

    return step


def ending(part: Any) -> Step:
    def step(session: Session) -> Any:
        query = "select code, state from windlass.end_parts(%s::uuid[], %s::uuid[])"
        return tuple(session.call(query, [part.token], [part.job_id])[0])

    return step


@pytest.mark.parametrize("how", ENDINGS)
def test_of_two_that_find_the_lease_run_out_one_begins_the_term(
    db: Database, clock: Clock, two: Two, how: Ending
) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    clock.advance(LEASE + 1)
    race = two.race(tending(cluster, "b"), tending(cluster, "c"), ending=how)
    assert race.waited
    assert tuple(race.first) == (True, 2)
    assert tuple(race.second) == ((False, 2) if how == "commit" else (True, 2))
    assert cluster.leader.name == ("b" if how == "commit" else "c")
    assert cluster.leader.term == 2


@pytest.mark.parametrize("how", ENDINGS)
def test_the_ends_of_two_parts_are_counted_one_after_the_other(db: Database, two: Two, how: Ending) -> None:
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create()
    (first,), (second,) = cluster.claim("b"), cluster.claim("c")
    race = two.race(ending(first), ending(second), ending=how)
    assert race.waited
    assert (race.first, race.second) == (("ok", "succeeded"), ("ok", "succeeded"))
    settled = cluster.actions(job_id).count("cluster.quorum")
    assert settled == (1 if how == "commit" else 0)
    if how == "rollback":
        assert cluster.end(first) == ("ok", "succeeded")
    assert len(cluster.claim_action("a")) == 1
    assert_whole(db)


@pytest.mark.parametrize("how", ENDINGS)
def test_the_end_of_a_part_and_its_recovery(db: Database, clock: Clock, two: Two, how: Ending) -> None:
    """The leader passes over a part that somebody is speaking of."""
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create(on_timeout="wait")
    (part,) = cluster.claim("b")
    clock.advance(LEASE / 2)
    cluster.tend("a")
    clock.advance(LEASE / 2 + 1)
    race = two.race(ending(part), tending(cluster, "a"), ending=how)
    assert (race.first, race.waited) == (("ok", "succeeded"), False)
    cluster.tend("a")
    assert cluster.parts(job_id)["b"] == ("succeeded" if how == "commit" else "retrying")


def test_a_part_that_somebody_holds_is_passed_over(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    holder = db.connect("superuser", autocommit=False)
    holder.execute("select from windlass_data.cluster_part for update")
    db.execute("set lock_timeout = '2s'")
    assert cluster.claim("a") == []
    holder.rollback()
    assert len(cluster.claim("a")) == 1


def test_an_open_creation_holds_up_no_election(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    holder = Session(db.connect(autocommit=False))
    query = "select job_id from windlass.create_cluster_job(%s, %s, p_leader => %s, p_term => 1)"
    (row,) = holder.call(query, DEFAULT_TENANT, KIND, cluster.ids["a"])
    clock.advance(LEASE + 1)
    assert cluster.tend("b").leads is True
    holder.conn.commit()
    cluster.do("b")
    assert cluster.get(row.job_id).term == 1
    assert cluster.parts(row.job_id) == {"a": "queued", "b": "succeeded"}


def test_a_leader_whose_lease_ran_out_creates_nothing(db: Database, clock: Clock) -> None:
    cluster = Cluster(db, "a")
    clock.advance(LEASE + 1)
    with nothing_changed(db), refused("WL008"):
        call(db, "create_cluster_job", tenant=DEFAULT_TENANT, kind=KIND, leader=cluster.ids["a"], term=1)
