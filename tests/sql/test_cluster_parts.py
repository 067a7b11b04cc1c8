"""Each node's part of a job, and their quorum."""

from uuid import uuid4

import pytest

from tests.sql.audit import verify
from tests.sql.cluster import KIND, LEASE, Cluster
from tests.sql.operate import call
from tests.sql.steps import DEFAULT_TENANT
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def names(count: int) -> list[str]:
    return [f"n{i}" for i in range(count)]


@pytest.mark.parametrize(("nodes", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)])
def test_more_than_half_of_the_parts_are_needed(db: Database, nodes: int, needed: int) -> None:
    cluster = Cluster(db, *names(nodes))
    row = cluster.create_row()
    assert (row.created, row.parts, row.needed) == (True, nodes, needed)
    for done, name in enumerate(names(nodes)[:needed], start=1):
        assert cluster.claim_action("n0") == []
        assert cluster.do(name) == "succeeded"
        assert cluster.get(row.job_id).verdict == ("quorum" if done == needed else None)
    cluster.act("n0")
    assert cluster.state(row.job_id) == "succeeded"
    cluster.tend("n0")
    assert (
        sorted(cluster.parts(row.job_id).values()) == ["skipped"] * (nodes - needed) + ["succeeded"] * needed
    )
    assert cluster.get(row.job_id).warning is None
    assert_whole(db)


def test_all_may_be_asked_for(db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    assert cluster.create_row(quorum="all").needed == 3


def test_a_node_gets_its_own_part_only_and_once(db: Database) -> None:
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create(payload='{"table": "t"}')
    assert cluster.tend("b").parts == 1
    (part,) = cluster.claim("b")
    assert (part.job_id, part.kind, part.payload, part.version) == (job_id, KIND, {"table": "t"}, 1)
    assert cluster.claim("b") == []
    assert cluster.tend("b").parts == 0
    assert cluster.parts(job_id) == {"a": "queued", "b": "running"}


def test_everybody_with_a_part_is_woken(db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    listener = db.connect()
    listener.execute("listen windlass")
    cluster.create()
    woken = [notice.payload for notice in listener.notifies(timeout=5, stop_after=3)]
    assert sorted(woken) == sorted(str(node) for node in cluster.ids.values())


def test_the_quorum_wakes_the_leader(db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    cluster.create()
    cluster.do("b")
    listener = db.connect()
    listener.execute("listen windlass")
    cluster.do("c")
    assert [n.payload for n in listener.notifies(timeout=5, stop_after=1)] == [str(cluster.ids["a"])]


def test_the_action_gets_what_the_parts_came_to(db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create()
    cluster.do("b", "skipped")
    (why, *_) = call(db, "explain_job", tenant=DEFAULT_TENANT, job=job_id)
    assert (why.code, why.details["done"]) == ("parts", 1)
    cluster.do("a", result={"freed": 7})
    (held,) = cluster.claim_action("a")
    found = {part["node_name"]: (part["state"], part["result"]) for part in cluster.begin(held).parts}
    assert found == {"a": ("succeeded", {"freed": 7}), "b": ("skipped", None), "c": ("queued", None)}


def test_a_failed_part_is_tried_again_and_then_fails(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(part_max_attempts=2, part_retry='{"base": 5, "jitter": "none"}')
    assert cluster.do("b", "failed") == "queued"
    assert cluster.parts(job_id)["b"] == "retrying"
    assert cluster.claim("b") == []
    cluster.elapse(5)
    assert cluster.do("b", "failed") == "failed"
    assert cluster.parts(job_id)["b"] == "failed"
    assert cluster.get(job_id).verdict is None  # two of three can still be done
    assert cluster.claim("b") == []


@pytest.mark.parametrize(
    ("policy", "state", "verdict"),
    [("proceed", "queued", "impossible"), ("fail", "dead", "impossible"), ("wait", "dead", "impossible")],
)
def test_a_quorum_that_can_no_longer_come_about_is_not_waited_for(
    db: Database, policy: str, state: str, verdict: str
) -> None:
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(part_max_attempts=1, on_timeout=policy)
    cluster.do("b", "failed")
    cluster.do("c", "failed")
    found = cluster.get(job_id)
    assert (cluster.state(job_id), found.verdict) == (state, verdict)
    assert found.warning == "only 1 of 3 parts can still be done, and 2 are needed"
    assert_whole(db)


@pytest.mark.parametrize(("policy", "state"), [("proceed", "queued"), ("fail", "dead"), ("wait", "queued")])
def test_what_happens_when_the_time_is_up(db: Database, clock: Clock, policy: str, state: str) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(on_timeout=policy, quorum_timeout_ms=10_000)
    cluster.do("a")
    cluster.elapse(9)
    assert cluster.get(job_id).warning is None
    cluster.elapse(2)
    found = cluster.get(job_id)
    assert found.warning == "1 of 3 parts were done after 10 s, and 2 were needed"
    assert cluster.state(job_id) == state
    claimed = cluster.claim_action("a")
    assert bool(claimed) is (policy == "proceed")
    if policy == "proceed":
        assert cluster.begin(claimed[0]).warning == found.warning
        cluster.complete(claimed[0])
    if policy == "wait":
        with nothing_changed(db):
            cluster.tend_all()
        cluster.do("b")
        cluster.act("a")
        assert cluster.get(job_id).warning is None
    assert cluster.state(job_id) == ("dead" if policy == "fail" else "succeeded")
    assert "cluster.timeout" in cluster.actions(job_id)
    assert_whole(db)


def test_a_job_dead_without_a_quorum_can_be_redriven(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(on_timeout="fail")
    cluster.elapse(11)
    (row,) = call(db, "get_job", tenant=DEFAULT_TENANT, job=job_id)
    assert row.error["type"] == "NoQuorum"
    assert set(cluster.parts(job_id).values()) == {"canceled"}
    call(db, "redrive_jobs", tenant=DEFAULT_TENANT, jobs=[job_id])
    cluster.act("a")
    assert cluster.state(job_id) == "succeeded"
    assert cluster.actions(job_id).count("dead") == 1
    cluster.create()
    cluster.do("a")
    audit = verify(db.connection())
    assert (audit.fault, audit.unsealed, audit.sealed > 8) == (None, 0, True)
    assert_whole(db)


def test_an_operator_may_hurry_a_job_and_that_is_recorded(db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(on_timeout="wait")
    call(db, "reschedule_job", tenant=DEFAULT_TENANT, job=job_id)
    cluster.act("a")
    found = cluster.get(job_id)
    assert (found.verdict, cluster.state(job_id)) == ("forced", "succeeded")
    assert found.warning == "the action was begun before it was decided about the parts"


def test_another_priority_alone_hurries_no_job(db: Database) -> None:
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(on_timeout="wait")
    call(db, "reschedule_job", tenant=DEFAULT_TENANT, job=job_id, priority=5)
    assert cluster.claim_action("a") == []
    assert_whole(db)
    for name in "abc":
        cluster.do(name)
    cluster.act("a")
    assert (cluster.get(job_id).warning, cluster.state(job_id)) == (None, "succeeded")


def test_a_late_word_about_a_part_changes_nothing(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b", "c")
    job_id = cluster.create(on_timeout="wait")
    (old,) = cluster.claim("b")
    cluster.elapse(LEASE + 1)
    assert cluster.parts(job_id)["b"] == "retrying"
    (new,) = cluster.claim("b")
    assert (new.version, new.counted) == (2, 1)
    for outcome in ("succeeded", "failed", "released", "canceled"):
        with nothing_changed(db):
            assert cluster.end(old, outcome) == ("lease_lost", None)
    assert [row.token for row in call(db, "renew_parts", tokens=[old.token, new.token])] == [old.token]
    assert cluster.end(new) == ("ok", "succeeded")
    with nothing_changed(db):
        assert cluster.end(new) == ("ok", "succeeded")  # said again because no answer came
        assert cluster.end(new, "failed") == ("lease_lost", None)


def test_a_renewed_part_is_not_recovered(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a")
    job_id = cluster.create(on_timeout="wait")
    (part,) = cluster.claim("a")
    for _ in range(5):
        cluster.elapse(LEASE / 2)
        assert call(db, "renew_parts", tokens=[part.token]) == []
    assert cluster.parts(job_id) == {"a": "running"}
    assert cluster.end(part) == ("ok", "succeeded")


def test_a_renewal_extends_no_other_part(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create(on_timeout="wait")
    (part,), _ = cluster.claim("a"), cluster.claim("b")
    cluster.elapse(LEASE / 2)
    assert call(db, "renew_parts", tokens=[part.token]) == []
    cluster.elapse(LEASE / 2 + 1)
    assert cluster.parts(job_id) == {"a": "running", "b": "retrying"}


@pytest.mark.parametrize(("outcome", "delay"), [("released", None), ("snoozed", [5.0])])
def test_a_part_given_back_or_put_off_counts_no_attempt(
    db: Database, clock: Clock, outcome: str, delay: list[float] | None
) -> None:
    clock.freeze()
    cluster = Cluster(db, "a")
    job_id = cluster.create(on_timeout="wait")
    assert cluster.do("a", outcome, delays=delay) == "queued"
    assert cluster.parts(job_id) == {"a": "queued"}
    assert bool(cluster.claim("a")) is (outcome == "released")


def test_unknown_tokens_are_refused_alike(db: Database) -> None:
    cluster = Cluster(db, "a")
    job_id = cluster.create()
    (part,) = cluster.claim("a")
    with nothing_changed(db):
        for token, job in ((uuid4(), job_id), (part.token, uuid4())):
            (row,) = call(db, "end_parts", tokens=[token], jobs=[job])
            assert (row.code, row.state) == ("lease_lost", None)
