"""claim_parts: a node's own parts that are due, of the kinds it knows, each under a token of its own."""

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.cluster import KIND, LEASE, Cluster
from tests.sql.operate import bind, call, callers, events
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_part_comes_with_all_that_its_handler_needs(db: Database, clock: Clock) -> None:
    now = clock.freeze()
    cluster = Cluster(db, "a")
    job_id = cluster.create(payload='{"table": "t"}', part_max_attempts=3, correlation_id="nightly")
    (part,) = cluster.claim("a")
    assert (part.job_id, part.tenant_id, part.kind, part.payload) == (
        job_id,
        DEFAULT_TENANT,
        KIND,
        {"table": "t"},
    )
    assert (part.version, part.counted, part.max_attempts, part.correlation_id) == (1, 0, 3, "nightly")
    assert (part.expires_at, part.trace_id) == (now + timedelta(seconds=LEASE), job_id.hex)
    told = events(db, DEFAULT_TENANT, "actor", "action", "job_id", "details")[-1]
    assert told == (
        str(cluster.ids["a"]),
        "part.claimed",
        job_id,
        {"node": "a", "part_attempt": 1},
    )


def test_the_oldest_first_and_no_more_than_asked_for(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a", "b")
    made = []
    for _ in range(3):
        made.append(cluster.create())
        clock.advance(1)
    claimed = [*cluster.claim("a", limit=2), *cluster.claim("a", limit=2)]
    assert [part.job_id for part in claimed] == made
    assert len({part.token for part in claimed}) == 3
    with nothing_changed(db):
        assert cluster.claim("a") == []
    assert len(cluster.claim("b")) == 3


def test_only_kinds_that_the_node_names(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    with nothing_changed(db):
        for kinds in ([], ["other"]):
            assert call(db, "claim_parts", node=cluster.ids["a"], kinds=kinds) == []
        assert call(db, "claim_parts", node=cluster.ids["a"]) == []
        assert call(db, "claim_parts", node=UNKNOWN, kinds=[KIND]) == []
    assert len(call(db, "claim_parts", node=cluster.ids["a"], kinds=["other", KIND])) == 1


def test_a_part_put_off_is_not_due_before_its_time(db: Database, clock: Clock) -> None:
    clock.freeze()
    cluster = Cluster(db, "a")
    cluster.create(on_timeout="wait")
    cluster.do("a", "snoozed", delays=[5.0])
    assert cluster.claim("a") == []
    clock.advance(5)
    (part,) = cluster.claim("a")
    assert (part.version, part.counted) == (2, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"node": None},
        {"limit": 0},
        {"limit": 10_001},
        {"limit": None},
        {"lease_seconds": 0.05},
        {"lease_seconds": 86_401.0},
        {"lease_seconds": float("nan")},
        {"lease_seconds": None},
    ],
)
def test_an_odd_claim_is_refused(db: Database, wrong: dict[str, Any]) -> None:
    with refused("WL007", "a claim needs a node"):
        call(db, "claim_parts", **{"node": UNKNOWN, "kinds": [KIND], **wrong})


def test_workers_claim_and_none_that_is_bound_to_a_tenant(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    asked = {"node": cluster.ids["a"], "kinds": [KIND]}
    assert callers(db, "claim_parts", **asked) == {"worker"}
    bind(db, "worker", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "claim_parts", role="worker", **asked)
