"""list_unserved: what waits for a node that is not there."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.cluster import Cluster
from tests.sql.operate import bind, call
from tests.sql.steps import DEFAULT_TENANT, NODE, OTHER_TENANT, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

SECOND = UUID(int=NODE.int + 1)


def unserved(db: Database, **arguments: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in call(db, "list_unserved", **arguments)]


def start(db: Database, queues: list[str], kinds: list[str], *, node: UUID = NODE, role: str = "app") -> None:
    call(db, "heartbeat_node", node=node, name="mill", queues=queues, kinds=kinds, role=role)


def test_nothing_waits(db: Database, jobs: Session) -> None:
    assert unserved(db) == []
    jobs.enqueue("greet")
    jobs.complete(jobs.claim_one())
    assert unserved(db) == []


def test_queue_and_kind_must_both_be_known_to_one_node(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue("greet", queue="mail")
    jobs.enqueue("greet", queue="mail", priority=5)
    jobs.enqueue("greet", queue="mail", run_at=clock.now() + timedelta(hours=1))
    assert unserved(db) == [("mail", "greet", 2, 1, False)]
    start(db, ["default"], ["greet"])
    assert unserved(db) == [("mail", "greet", 2, 1, True)]
    start(db, ["mail"], ["other"], node=SECOND)
    assert unserved(db) == [("mail", "greet", 2, 1, True)]
    start(db, ["default", "mail"], ["greet"])
    assert unserved(db) == []


def test_a_silent_or_stopped_node_takes_nothing(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue("greet")
    start(db, ["default"], ["greet"])
    assert unserved(db) == []
    clock.advance(31)
    assert unserved(db) == [("default", "greet", 1, 0, False)]
    start(db, ["default"], ["greet"])
    call(db, "stop_node", node=NODE)
    assert unserved(db) == [("default", "greet", 1, 0, False)]


def test_a_node_that_drains_takes_nothing_more(db: Database, jobs: Session) -> None:
    jobs.enqueue("greet")
    start(db, ["default"], ["greet"])
    call(db, "drain_node", node="mill")
    assert unserved(db) == [("default", "greet", 1, 0, False)]


def test_the_queue_of_cluster_jobs_has_rules_of_its_own(db: Database, jobs: Session) -> None:
    cluster = Cluster(db, "a")
    cluster.create()
    cluster.stop("a")
    assert unserved(db) == []


def test_what_waits_most_comes_first_and_can_be_asked_for(
    db: Database, jobs: Session, other: Session
) -> None:
    jobs.enqueue("few")
    for _ in range(3):
        other.enqueue("many")
    assert [row[:3] for row in unserved(db)] == [("default", "many", 3), ("default", "few", 1)]
    assert [row[1] for row in unserved(db, tenant=DEFAULT_TENANT)] == ["few"]
    assert [row[1] for row in unserved(db, kind="many")] == ["many"]
    assert unserved(db, queue="mail") == []


def test_a_bound_role_hears_of_its_own_jobs_only(db: Database, jobs: Session, other: Session) -> None:
    jobs.enqueue("theirs")
    other.enqueue("mine")
    bind(db, "reader", OTHER_TENANT)
    assert [row[1] for row in unserved(db, role="reader")] == ["mine"]
    with refused("WL005", "bound to another tenant"):
        unserved(db, tenant=DEFAULT_TENANT, role="reader")


def test_a_node_that_is_bound_to_a_tenant_serves_no_other(
    db: Database, jobs: Session, other: Session
) -> None:
    jobs.enqueue("greet")
    other.enqueue("greet")
    bind(db, "worker", OTHER_TENANT)
    start(db, ["default"], ["greet"], role="worker")
    assert unserved(db, tenant=OTHER_TENANT) == []
    assert unserved(db, tenant=DEFAULT_TENANT) == [("default", "greet", 1, 0, False)]
    start(db, ["default"], ["greet"], node=SECOND)
    assert unserved(db) == []
