"""list_job_costs: what one job cost, entry by entry, in the order in which it was reported."""

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.ledger import entries
from tests.sql.operate import bind, call, callers
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_entries_come_by_attempt_with_the_outcomes_cost_last(jobs: Session, clock: Clock) -> None:
    job_id, stranger = jobs.enqueue(), jobs.enqueue("report")
    began = clock.freeze()
    for factor in (1, 10):
        held = jobs.claim_one(kinds=["mail"])
        jobs.cost((held, factor, "stamps"), (held, 2 * factor, "paper"))
        clock.advance(1)
        jobs.fail(held, costs=[3 * factor], delays=[0])
    assert entries(jobs, stranger) == []
    rows = jobs.call("select * from windlass.list_job_costs(%s, %s)", jobs.tenant, job_id)
    told = [(row.attempt, row.cents, row.what) for row in rows]
    assert sorted(told[:2]) == [(1, 1, "stamps"), (1, 2, "paper")]
    assert told[2] == (1, 3, None)
    assert sorted(told[3:5]) == [(2, 10, "stamps"), (2, 20, "paper")]
    assert told[5] == (2, 30, None)
    assert [row.at - began for row in rows] == [timedelta(seconds=n) for n in (0, 0, 1, 1, 1, 2)]


def test_of_very_many_entries_the_latest_are_told(jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    for n in range(4):
        jobs.cost((held, n, f"number {n}"))
        clock.advance(1)
    query = "select what from windlass.list_job_costs(%s, %s, 2)"
    assert [row.what for row in jobs.call(query, jobs.tenant, job_id)] == ["number 2", "number 3"]


@pytest.mark.parametrize("limit", [0, 1001, None])
def test_an_odd_page_is_refused(db: Database, jobs: Session, limit: Any) -> None:
    with refused("WL007", "a page has"):
        call(db, "list_job_costs", tenant=jobs.tenant, job=jobs.enqueue(), limit=limit)


def test_everybody_asks_for_jobs_of_their_own(db: Database, jobs: Session, other: Session) -> None:
    theirs = other.enqueue()
    other.complete(other.claim_one(), costs=[7])
    with nothing_changed(db):
        assert entries(other, theirs) == [(1, 7, None)]
        for job in (theirs, UNKNOWN, None):
            with refused("WL001", "there is no job"):
                call(db, "list_job_costs", tenant=DEFAULT_TENANT, job=job)
        with refused("WL005", "no tenant given"):
            call(db, "list_job_costs", tenant=None, job=theirs)
    asked = {"tenant": OTHER_TENANT, "job": theirs}
    assert callers(db, "list_job_costs", **asked) == {"producer", "worker", "operator", "reader"}
    bind(db, "reader", DEFAULT_TENANT)
    with refused("WL005", "another tenant"):
        call(db, "list_job_costs", role="reader", **asked)
