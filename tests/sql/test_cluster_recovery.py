"""Nodes that die, come back, drain or leave, and jobs that end while parts are open."""

import pytest

from tests.sql.cluster import KIND, LEASE, Cluster
from tests.sql.operate import call
from tests.sql.steps import DEFAULT_TENANT
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_dead_nodes_part_waits_for_it_and_the_quorum_does_not(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create()
    cluster.claim("c")
    cluster.elapse(LEASE + 1, "c")
    assert cluster.parts(job_id)["c"] == "retrying"
    job_id = cluster.create(on_timeout="wait")  # the dead one gets no new part
    assert set(cluster.parts(job_id)) == {"a", "b"}
    assert cluster.get(job_id).needed == 2


def test_a_node_that_joins_later_has_no_part(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create()
    cluster.start("late")
    assert cluster.claim("late") == []
    assert set(cluster.parts(job_id)) == {"a", "b"}


@pytest.mark.parametrize("began", [True, False])
@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize("policy", ["requeue", "fail"])
def test_a_node_that_restarts_finds_its_part_again(
    db: Database, clock: Clock, began: bool, stopped: bool, policy: str
) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(on_timeout="wait", on_crash=policy)
    old = cluster.claim("b") if began else []
    if stopped:
        cluster.stop("b")
    else:
        cluster.elapse(LEASE + 1, "b")
    cluster.start("b")
    if began and policy == "fail":
        assert cluster.parts(job_id)["b"] == "failed"
        assert cluster.claim("b") == []
        return
    (part,) = cluster.claim("b")
    assert (part.job_id, part.version, part.counted) == (job_id, 2, 1) if began else (job_id, 1, 0)
    for late in old:
        with nothing_changed(db):
            assert cluster.end(late) == ("lease_lost", None)
    assert cluster.end(part) == ("ok", "succeeded")
    assert len(cluster.parts(job_id)) == 3


def test_a_second_node_of_the_same_name_takes_nothing_from_a_live_one(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create()
    (part,) = cluster.claim("b")
    cluster.start("b")
    assert cluster.claim("b") == []
    assert cluster.end(part) == ("ok", "succeeded")
    assert cluster.parts(job_id) == {"a": "queued", "b": "succeeded"}


def test_a_node_never_has_two_parts_of_a_job(db: Database, clock: Clock) -> None:
    """Two processes of one name had a part each; the survivor does the other's not as well."""
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    dead = cluster.ids["b"]
    cluster.start("b")
    job_id = cluster.create(on_timeout="wait")
    assert len(cluster.get(job_id).parts) == 3
    cluster.elapse(LEASE + 1)  # the first process of the name takes no turn any more
    assert len(cluster.claim("b")) == 1
    shown = cluster.get(job_id)
    states = {part["node_id"]: part["state"] for part in shown.parts}
    assert states[str(dead)] == "canceled"
    assert shown.needed == 2, "of the two that are left"


@pytest.mark.parametrize(("quorum", "before", "after"), [("majority", 4, 2), ("all", 7, 3)])
def test_a_node_started_again_four_times_counts_once(
    db: Database, clock: Clock, quorum: str, before: int, after: int
) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    for _ in range(4):
        cluster.start("b")
    job_id = cluster.create(on_timeout="wait", quorum=quorum)
    assert (len(cluster.get(job_id).parts), cluster.get(job_id).needed) == (7, before)
    cluster.do("a")
    cluster.elapse(LEASE + 1)  # the earlier lives of b take no turns
    assert cluster.get(job_id).needed == after
    for name in ("b", "c")[: after - 1]:
        assert cluster.claim_action("a") == []
        cluster.do(name)
    cluster.act("a")
    assert cluster.state(job_id) == "succeeded"
    states = [part["state"] for part in cluster.get(job_id).parts]
    assert (states.count("canceled"), states.count("succeeded")) == (4, after)
    assert_whole(db)


def test_the_next_leader_goes_on_where_the_last_one_was(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(on_timeout="wait")
    cluster.do("b", result=1)
    cluster.elapse(LEASE + 1, "a")
    assert cluster.leader.name == "b"
    cluster.do("c", result=2)
    assert cluster.claim("b") == []  # done is done
    (held,) = cluster.claim_action("b")
    begun = cluster.begin(held)
    assert begun.term == 2
    assert [part["result"] for part in begun.parts] == [None, 1, 2]
    cluster.complete(held)
    assert cluster.state(job_id) == "succeeded"
    assert cluster.get(job_id).term == 1
    assert_whole(db)


def test_a_leader_lost_after_the_time_was_up_is_no_excuse(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(quorum_timeout_ms=5_000)
    cluster.elapse(LEASE + 1, "a")
    assert cluster.get(job_id).verdict == "timeout"
    cluster.act(cluster.leader.name)
    assert cluster.state(job_id) == "succeeded"


def test_a_canceled_job_takes_its_parts_along(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create()
    (part,) = cluster.claim("b")
    call(db, "cancel_job", tenant=DEFAULT_TENANT, job=job_id)
    cluster.tend("a")
    assert cluster.parts(job_id) == {"a": "canceled", "b": "canceled"}
    assert [row.token for row in call(db, "renew_parts", tokens=[part.token])] == [part.token]
    with nothing_changed(db):
        assert cluster.end(part) == ("lease_lost", None)
    assert cluster.state(job_id) == "canceled"
    assert_whole(db)


@pytest.mark.parametrize(
    ("verb", "ends", "waiting", "running"),
    [
        ("complete_jobs(%s, %s, p_states => array['skipped'])", "skipped", "skipped", "running"),
        ("fail_jobs(%s, %s)", "dead", "canceled", "canceled"),
    ],
)
def test_what_becomes_of_open_parts_when_the_action_does_not_succeed(
    db: Database, verb: str, ends: str, waiting: str, running: str
) -> None:
    cluster = Cluster(db, "a", "b", "c", "d", "e")
    job_id = cluster.create(max_attempts=1)
    for name in ("a", "b", "c"):
        cluster.do(name)
    (slow,) = cluster.claim("d")
    (held,) = cluster.claim_action("a")
    cluster.begin(held)
    db.fetch(f"select * from windlass.{verb}", [held.token], [held.job_id])
    cluster.tend("a")
    assert cluster.state(job_id) == ends
    done = dict.fromkeys(("a", "b", "c"), "succeeded")
    assert cluster.parts(job_id) == {**done, "d": running, "e": waiting}
    assert cluster.end(slow)[0] == ("ok" if running == "running" else "lease_lost")
    assert_whole(db)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [("succeeded", "succeeded"), ("failed", "failed"), ("released", "canceled"), ("snoozed", "canceled")],
)
def test_a_part_that_runs_when_its_job_succeeds_may_end(db: Database, outcome: str, state: str) -> None:
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create()
    (slow,) = cluster.claim("c")
    cluster.do("a")
    cluster.do("b")
    cluster.act("a")
    cluster.tend("a")
    assert cluster.parts(job_id)["c"] == "running"
    assert cluster.end(slow, outcome) == ("ok", state)
    assert cluster.state(job_id) == "succeeded"


def test_a_part_whose_node_dies_after_the_job_succeeded_is_closed(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create()
    cluster.claim("c")
    cluster.do("a")
    cluster.do("b")
    cluster.act("a")
    cluster.elapse(LEASE + 1, "c")
    assert cluster.parts(job_id)["c"] == "failed"


def test_a_gate_holds_parts_too(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    for scope in (
        {"kind": KIND},
        {"queue": "windlass.cluster"},
        {"node": "a"},
        {"tenant": DEFAULT_TENANT},
        {},
    ):
        call(db, "set_gate", **scope, everything=not scope)
        assert cluster.claim("a") == []
        call(db, "clear_gate", **scope)
    assert len(cluster.claim("a")) == 1


def test_what_is_no_longer_kept_is_forgotten(db: Database) -> None:
    cluster = Cluster(db, "a")
    job_id = cluster.create()
    cluster.do("a")
    cluster.act("a")
    cluster.tend("a")
    call(db, "maintain")
    assert cluster.get(job_id)
    db.execute("delete from windlass_data.job", role="superuser")
    call(db, "maintain")
    for table in ("cluster_job", "cluster_part"):
        assert db.fetch(f"select 1 from windlass_data.{table}", role="superuser") == []


def test_every_step_is_told(db: Database) -> None:
    cluster = Cluster(db, "a")
    job_id = cluster.create()
    cluster.do("a")
    cluster.act("a")
    cluster.tend("a")
    told = cluster.actions(job_id)
    assert sorted(told) == sorted(
        [
            "enqueued",
            "cluster.create",
            "part.claimed",
            "part.succeeded",
            "cluster.quorum",
            "claimed",
            "cluster.action",
            "succeeded",
            "cluster.closed",
        ]
    )
