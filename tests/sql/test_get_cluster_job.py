"""get_cluster_job: the parts, the quorum and what was decided; of one's own tenant."""

from datetime import timedelta

import pytest

from tests.sql.cluster import LEASE, Cluster
from tests.sql.operate import bind, call, callers
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_from_its_creation_to_its_end(db: Database, clock: Clock) -> None:
    now = clock.freeze()
    cluster = Cluster(db, "a", "b")
    job_id = cluster.create(quorum_timeout_ms=7000, on_timeout="fail", on_crash="fail")
    with nothing_changed(db):
        row = cluster.get(job_id)
    assert (row.job_id, row.term, row.needed, row.quorum_timeout_ms) == (job_id, 1, 2, 7000)
    assert (row.on_timeout, row.on_crash, row.deadline_at) == ("fail", "fail", now + timedelta(seconds=7))
    assert (row.settled_at, row.verdict, row.action_term, row.ended_at) == (None, None, None, None)
    assert [part["node_name"] for part in row.parts] == ["a", "b"]
    assert [part["node_id"] for part in row.parts] == [str(cluster.ids[name]) for name in "ab"]
    cluster.do("a", result=1)
    clock.advance(LEASE / 4)
    cluster.do("b", "skipped")
    row = cluster.get(job_id)
    assert (row.settled_at, row.verdict) == (now + timedelta(seconds=LEASE / 4), "quorum")
    cluster.act("a")
    cluster.tend("a")
    row = cluster.get(job_id)
    assert (row.action_term, row.ended_at is not None) == (1, True)
    first = row.parts[0]
    assert (first["state"], first["attempts"], first["counted"], first["result"]) == ("succeeded", 1, 1, 1)


def test_everybody_may_ask_for_their_own_and_for_cluster_jobs_only(
    db: Database, jobs: Session, other: Session
) -> None:
    cluster = Cluster(db, "a")
    theirs = cluster.create(tenant=OTHER_TENANT)
    for job in (theirs, jobs.enqueue(), UNKNOWN, None):
        with refused("WL001", "there is no cluster job"):
            call(db, "get_cluster_job", tenant=DEFAULT_TENANT, job=job)
    with refused("WL005", "no tenant given"):
        call(db, "get_cluster_job", tenant=None, job=theirs)
    asked = {"tenant": OTHER_TENANT, "job": theirs}
    assert callers(db, "get_cluster_job", **asked) == {"producer", "worker", "operator", "reader"}
    bind(db, "reader", DEFAULT_TENANT)
    with refused("WL005", "another tenant"):
        call(db, "get_cluster_job", role="reader", **asked)
