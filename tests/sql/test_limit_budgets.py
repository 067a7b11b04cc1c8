"""Budgets: what was spent holds claims until the budget is raised or its period turns."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.sql.limits import limit, use
from tests.sql.steps import Session
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2031, 5, 14, 12, 0, tzinfo=UTC)


def test_a_budget_holds_claims_until_it_is_raised_or_its_period_turns(
    db: Database, jobs: Session, clock: Clock
) -> None:
    clock.freeze(NOON)
    budget = limit(jobs, tenant=jobs.tenant, budget_cents=100, warn_cents=60)
    for _ in range(9):
        jobs.enqueue()
    first, second = jobs.claim(2)
    jobs.complete(first, costs=[70])
    third = jobs.claim_one()
    jobs.fail(second, costs=[40])
    assert use(db, budget).spent_cents == 110
    assert jobs.claim(5) == []
    limit(jobs, tenant=jobs.tenant, budget_cents=120)
    assert len(jobs.claim(1)) == 1
    jobs.complete(third, costs=[10])
    assert jobs.claim(5) == []
    clock.freeze(NOON + timedelta(hours=11, minutes=59))
    assert jobs.claim(5) == []
    clock.freeze(NOON + timedelta(hours=12))
    assert len(jobs.claim(5)) == 5
    warnings = db.fetch(
        "select details from windlass_data.event where action = 'budget.warning'", role="superuser"
    )
    assert [row.details["spent_cents"] for row in warnings] == [70]


def test_a_budget_that_is_cleared_leaves_nothing_that_stops_a_claim(db: Database, jobs: Session) -> None:
    made = limit(jobs, tenant=jobs.tenant, concurrency=5, budget_cents=100)
    jobs.enqueue()
    jobs.complete(jobs.claim_one(), costs=[70])
    jobs.call("select windlass.clear_limit(p_tenant => %s, p_what => '{budget}')", jobs.tenant)
    db.execute(  # by somebody who still saw the budget
        "insert into windlass_data.spending (limit_id, at, cents) values (%s, now(), 5)",
        made,
        role="superuser",
    )
    jobs.enqueue()
    assert len(jobs.claim(5)) == 1
    assert db.fetch("select 1 from windlass_data.spending", role="superuser") == []


def test_the_warning_comes_although_nothing_more_is_claimed(db: Database, jobs: Session) -> None:
    made = limit(jobs, tenant=jobs.tenant, warn_cents=60)
    jobs.enqueue()
    jobs.complete(jobs.claim_one(), costs=[70])
    jobs.call("select windlass.fold_costs()")
    text = "select details ->> 'limit' as name from windlass_data.event where action = 'budget.warning'"
    assert [row.name for row in db.fetch(text, role="superuser")] == [str(made)]
    jobs.call("select windlass.fold_costs()")
    assert len(db.fetch(text, role="superuser")) == 1
