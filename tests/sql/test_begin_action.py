"""begin_action: the leader's action of a job begins, under its token and in a term."""

import pytest

from tests.sql.cluster import KIND, QUEUE, Cluster
from tests.sql.operate import bind, call, callers, events
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def test_it_notes_the_term_and_hands_over_what_was_decided(db: Database) -> None:
    cluster = Cluster(db, "a")
    job_id = cluster.create(payload='{"table": "t"}')
    cluster.do("a", result={"freed": 7})
    (held,) = cluster.claim_action("a")
    begun = cluster.begin(held)
    assert (begun.term, begun.needed, begun.verdict, begun.warning) == (1, 1, "quorum", None)
    ((name, state, result),) = [(p["node_name"], p["state"], p["result"]) for p in begun.parts]
    assert (name, state, result) == ("a", "succeeded", {"freed": 7})
    assert cluster.get(job_id).action_term == 1
    told = events(db, DEFAULT_TENANT, "actor", "action", "job_id", "details")[-1]
    assert told == (str(cluster.ids["a"]), "cluster.action", job_id, {"term": 1, "attempt": 1})


def test_said_again_it_is_the_same_action(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create(local=False)
    (held,) = cluster.claim_action("a")
    assert cluster.begin(held) == cluster.begin(held)


def test_without_the_token_nothing_begins(db: Database) -> None:
    cluster = Cluster(db, "a")
    first, second = cluster.create(local=False), cluster.create(local=False)
    held = {row.job_id: row for row in (*cluster.claim_action("a"), *cluster.claim_action("a"))}
    with nothing_changed(db):
        for token, job in (
            (UNKNOWN, first),
            (held[first].token, second),
            (held[first].token, UNKNOWN),
            (None, first),
            (held[first].token, None),
        ):
            with refused("WL003", "is lost"):
                call(db, "begin_action", token=token, job=job)


def test_an_attempt_that_is_over_does_not_begin_although_its_lease_lives_on(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create(local=False)
    cluster.create(local=False)
    over, open_ = call(db, "claim_jobs", node=cluster.ids["a"], queues=[QUEUE], kinds=[KIND], limit=2)
    assert over.token == open_.token
    cluster.complete(over)
    with nothing_changed(db), refused("WL003", "is lost"):
        cluster.begin(over)
    assert cluster.begin(open_).term == 1


def test_a_plain_job_has_no_action(db: Database, jobs: Session) -> None:
    cluster = Cluster(db, "a")
    jobs.enqueue()
    (plain,) = Session(db.connection(), node=cluster.ids["a"]).claim(1)
    with nothing_changed(db), refused("WL001", "is no cluster job"):
        cluster.begin(plain)


def test_nobody_begins_while_nobody_leads(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    with nothing_changed(db), refused("WL008", "no node leads"):
        call(db, "begin_action", token=held.token, job=held.job_id)


def test_workers_begin_and_none_that_is_bound_to_a_tenant(db: Database) -> None:
    cluster = Cluster(db, "a")
    cluster.create(local=False)
    (held,) = cluster.claim_action("a")
    assert callers(db, "begin_action", token=held.token, job=held.job_id) == {"worker"}
    bind(db, "worker", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "begin_action", role="worker", token=held.token, job=held.job_id)
