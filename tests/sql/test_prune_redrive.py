"""A redrive while its job's day goes, one of the two stopped before each of its statements.

Either the job is revived, and then it has its row, its attempts and its key; or it is gone, and the redrive
is told so.
"""

from typing import Any
from uuid import UUID

import pytest

from tests.sql.days import Past, prune
from tests.sql.steps import Session
from tests.sql.stops import Stops
from tests.sql.two import Running, Step
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = [pytest.mark.every_version, pytest.mark.new_database]


@pytest.fixture
def past(db: Database, clock: Clock, jobs: Session) -> Past:
    db.execute("alter function windlass._drop_day set lock_timeout = 0", role="superuser")
    return Past(db, clock, jobs)


def died_long_ago(past: Past, age: int, *, keyed: bool = True) -> UUID:
    """A dead job of a day that can go."""
    past.make(age)
    past.end(age)
    return past.end(age, "dead", kind="mail", key=f"k{age}" if keyed else None)


def redrive(job_id: UUID) -> Step:
    query = "select array_agg(job_id) from windlass.redrive_jobs(%s, %s)"
    return lambda session: session.value(query, session.tenant, [job_id])


def assert_revived_or_gone(db: Database, past: Past, job_id: UUID, age: int, told: Any) -> None:
    assert_whole(db)
    past.prune_all()
    assert not past.has_tables(age)
    assert_whole(db)
    if told == "WL001":
        assert job_id not in past.listed()
        return
    assert told == [job_id]
    if past.jobs.get(job_id).idempotency_key:
        assert past.jobs.enqueue_row("mail", key=f"k{age}", scope="active") == (job_id, False)
    past.jobs.complete(past.jobs.claim_one(kinds=["mail"]))


@pytest.mark.parametrize(
    ("function", "keyed"), [("_drop_day", False), ("_drop_day", True), ("_free_keys", True)]
)
def test_a_redrive_at_each_statement_of_a_drop(db: Database, past: Past, function: str, keyed: bool) -> None:
    pruner, operator = Session(db.connect()), Session(db.connect())
    stops = Stops(db, function)
    told = []
    for age, _ in enumerate(stops.each(), 40):
        job_id = died_long_ago(past, age, keyed=keyed)
        with stops.closed():
            drop = Running(db, pruner, lambda session: prune(session.conn))
            reached = drop.waits()
            revival = Running(db, operator, redrive(job_id))
            revival.waits()
        assert not isinstance(drop.result(), Exception), drop.result()
        told += [revival.result()] if reached else []
        assert_revived_or_gone(db, past, job_id, age, revival.result())
    assert [job_id for job_id in told if job_id != "WL001"], "no redrive was in time"
    assert keyed or "WL001" in told, "none came too late"


@pytest.mark.parametrize("function", ["redrive_jobs", "_retake_keys"])
def test_a_drop_at_each_statement_of_a_redrive(db: Database, past: Past, function: str) -> None:
    operator = Session(db.connect())
    stops = Stops(db, function)
    reached = 0
    for age, _ in enumerate(stops.each(), 40):
        job_id = died_long_ago(past, age)
        db.execute("alter function windlass._drop_day set lock_timeout = '50ms'", role="superuser")
        with stops.closed():
            revival = Running(db, operator, redrive(job_id))
            reached += revival.waits()
            for _ in range(2):
                past.prune()
        assert_revived_or_gone(db, past, job_id, age, revival.result())
    assert reached > 1
