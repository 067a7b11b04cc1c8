"""A finished job stays while something still names it, however it ended and wherever it lies."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.sql.cluster import Cluster
from tests.sql.days import ENDS, Past, make_id, prune
from tests.sql.operate import call
from tests.sql.steps import Session
from tests.sql.test_fencing import VERBS
from tests.sql.whole import assert_whole, find_problems, lapse
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

# The ways in which a job ends while the rest of its claim goes on.
LEAVES: dict[str, Callable[[Session, Any], Any]] = {
    "succeeded": lambda jobs, held: jobs.complete(held),
    "skipped": lambda jobs, held: jobs.complete(held, states=["skipped"]),
    "dead": lambda jobs, held: jobs.fail(held),
    "stopped": lambda jobs, held: jobs.fail(held, outcomes=["canceled"]),
    "finished": lambda jobs, held: jobs.finish(held),
    "failed, then canceled": lambda jobs, held: (jobs.fail(held, delays=[600]), jobs.cancel(held.job_id)),
    "snoozed, then canceled": lambda jobs, held: (jobs.snooze(held, delays=[600]), jobs.cancel(held.job_id)),
    "released, then canceled": lambda jobs, held: (jobs.release(held), jobs.cancel(held.job_id)),
}
NOTHING_KEPT = dict.fromkeys(set(ENDS.values()), 0)
# Where the jobs lie when they are due: outside all days, in a day that is not over, in one that goes.
PLACES = ("rest", "slice", "day")


@pytest.fixture
def past(db: Database, clock: Clock, jobs: Session) -> Past:
    return Past(db, clock, jobs)


def pair(past: Past, place: str, **fields: Any) -> list[Any]:
    """Two jobs of forty days ago under one token."""
    if place != "rest":
        past.make(40)
    for _ in range(2):
        past.enqueue(40, kind="pair", **fields)
    with past.at(40):
        held = past.jobs.claim(2, kinds=["pair"], lease=86400)
    assert len({one.token for one in held}) == 1
    return held


def prune_at(past: Past, place: str) -> None:
    if place == "slice":
        with past.at(40):
            assert past.prune_all(**NOTHING_KEPT)[0] == []
    else:
        assert past.prune_all(**NOTHING_KEPT)[0] == ([past.day(40)] if place == "day" else [])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("leave", LEAVES)
def test_what_a_lease_names_is_not_pruned(db: Database, past: Past, leave: str, place: str) -> None:
    """Without its attempt a late word would count, and count the lease down for a job that still runs."""
    jobs = past.jobs
    gone, stays = pair(past, place, max_attempts=1 if leave == "dead" else 5)
    with past.at(40):
        LEAVES[leave](jobs, gone)
    ended = jobs.state(gone.job_id)
    assert ended != "running"
    prune_at(past, place)
    assert past.listed() == {gone.job_id, stays.job_id}
    for verb, say in VERBS.items():
        allowed = verb == "complete again" and ended in ("succeeded", "skipped")  # it is told that it is done
        if verb != "renew" and not allowed:
            assert say(jobs, gone) == ["lease_lost"], verb
    assert jobs.state(gone.job_id) == ended
    assert jobs.renew(stays.token) == []
    assert_whole(db)
    assert jobs.complete(stays) == []
    assert db.fetch_value("select count(*) from windlass_data.lease", role="superuser") == 0
    past.prune_all(**NOTHING_KEPT)
    assert past.tables() == {}
    assert_whole(db)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("leave", LEAVES)
def test_a_lease_that_runs_out_is_settled_after_pruning(
    db: Database, past: Past, leave: str, place: str
) -> None:
    jobs = past.jobs
    gone, stays = pair(past, place, max_attempts=1 if leave == "dead" else 5)
    with past.at(40):
        LEAVES[leave](jobs, gone)
    prune_at(past, place)
    assert [row.code for row in jobs.fail(gone)] == ["lease_lost"]  # what is open is counted again
    lapse(db)
    assert [job_id for job_id, _ in jobs.expire()] == [stays.job_id]
    assert db.fetch_value("select count(*) from windlass_data.lease", role="superuser") == 0
    assert_whole(db)


@pytest.mark.parametrize("place", ["rest", "day"])
def test_a_cluster_job_stays_until_its_parts_are_closed(db: Database, past: Past, place: str) -> None:
    """They are closed by looking at it, in a turn of the leader: the nodes may have been down for long."""
    cluster = Cluster(db, "one", "two")
    if place == "day":
        past.make(40)
    job_id = cluster.create(quorum="all", id=make_id(past.noon(40)))
    assert len(cluster.claim("one")) == 1
    past.jobs.cancel(job_id)
    prune_at(past, place)
    assert past.listed() == {job_id}
    cluster.tend_all()
    assert set(cluster.parts(job_id).values()) == {"canceled"}
    past.prune_all(**NOTHING_KEPT)
    assert past.listed() == set()
    call(db, "maintain")
    for table in ("cluster_job", "cluster_part"):
        assert db.fetch_value(f"select count(*) from windlass_data.{table}", role="superuser") == 0


def take_away(db: Database, held: Any) -> None:
    """Remove a job as nothing in the product does while a lease names it."""
    for table, column in (("attempt", "job_id"), ("job", "id"), ("scheduled", "job_id")):
        db.execute(f"delete from windlass_data.{table} where {column} = %s", held.job_id, role="superuser")


@pytest.mark.parametrize("left", ["running", "failed"])
@pytest.mark.parametrize("age", [0, 40])
def test_a_lease_does_not_stay_for_jobs_that_are_gone(db: Database, past: Past, left: str, age: int) -> None:
    jobs = past.jobs
    past.enqueue(age, kind="pair")
    past.enqueue(0, kind="pair")
    gone, stays = jobs.claim(2, kinds=["pair"])
    if left == "failed":
        jobs.fail(gone, delays=[600])
    take_away(db, gone)
    assert [row.code for row in jobs.fail(gone)] == ["lease_lost"]
    assert jobs.renew(stays.token) == [], "the other one runs on"
    lapse(db)
    assert jobs.expire() == [(stays.job_id, "queued")]
    assert db.fetch_value("select count(*) from windlass_data.lease", role="superuser") == 0
    assert_whole(db)


def test_a_lease_of_which_all_jobs_are_gone_is_removed(db: Database, past: Past) -> None:
    past.enqueue(3, kind="one")
    held = past.jobs.claim_one(kinds=["one"])
    take_away(db, held)
    lapse(db)
    assert past.jobs.expire() == []
    assert find_problems(db) == []
    assert db.fetch_value("select count(*) from windlass_data.lease", role="superuser") == 0


def test_a_job_that_is_gone_counts_once(db: Database, past: Past) -> None:
    """One whose attempt is there, and another that somebody holds: the lease stays for the second."""
    past.enqueue(3, kind="pair")
    past.enqueue(0, kind="pair")
    gone, stays = past.jobs.claim(2, kinds=["pair"])
    past.jobs.complete(gone)
    db.execute("delete from windlass_data.job where id = %s", gone.job_id, role="superuser")
    lapse(db)
    operator = Session(db.connect(autocommit=False))
    operator.cancel(stays.job_id)
    assert past.jobs.expire() == []
    operator.conn.rollback()
    assert past.jobs.expire() == [(stays.job_id, "queued")]


def test_an_older_snapshot_takes_no_job_for_gone(db: Database, past: Past) -> None:
    """It sees the lease, and not where the job lies since its day was dropped."""
    past.make(40)
    past.end(40)
    job_id = past.enqueue(40)
    past.claim(job_id)
    lapse(db)
    old = Session(db.connect(autocommit=False))
    old.conn.execute("set transaction isolation level repeatable read")
    old.call("select windlass.tenant_id('default')")
    assert prune(past.jobs.conn).dropped == [past.day(40)]
    assert old.expire() == []
    old.conn.commit()
    assert past.jobs.expire() == [(job_id, "queued")]
    assert_whole(db)
