"""Budgets, and what may be said of a limit at all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.sql.limits import limit, use
from tests.sql.steps import Session, refused
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
    assert db.fetch("select from windlass_data.spending", role="superuser") == []


def test_the_warning_comes_although_nothing_more_is_claimed(db: Database, jobs: Session) -> None:
    made = limit(jobs, tenant=jobs.tenant, warn_cents=60)
    jobs.enqueue()
    jobs.complete(jobs.claim_one(), costs=[70])
    jobs.call("select windlass.fold_costs()")
    text = "select details ->> 'limit' as name from windlass_data.event where action = 'budget.warning'"
    assert [row.name for row in db.fetch(text, role="superuser")] == [str(made)]
    jobs.call("select windlass.fold_costs()")
    assert len(db.fetch(text, role="superuser")) == 1


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "WL007"),
    ({"concurrency": -1}, "WL007"),
    ({"rate": 0}, "WL007"),
    ({"rate": 5, "rate_seconds": 0}, "WL007"),
    ({"rate": 5, "rate_seconds": float("nan")}, "WL007"),
    ({"rate": 5, "burst": 0}, "WL007"),
    ({"burst": 5}, "WL007"),
    ({"rate_seconds": 5}, "WL007"),
    ({"depth": -1}, "WL007"),
    ({"budget_cents": -1}, "WL007"),
    ({"budget_cents": 5, "budget_period": "fortnight"}, "WL007"),
    ({"budget_cents": 5, "warn_cents": 6}, "WL007"),
    ({"budget_period": "day"}, "WL007"),
    ({"queue": "no such name", "depth": 1}, "WL007"),
    ({"kind": "", "depth": 1}, "WL007"),
    ({"tenant": "00000000-0000-7000-8000-00000000dead", "depth": 1}, "WL001"),
]


@pytest.mark.parametrize(("said", "code"), BAD)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    db: Database, jobs: Session, said: dict[str, Any], code: str
) -> None:
    with refused(code):
        limit(jobs, **said) if said else jobs.call("select windlass.set_limit()")
    assert db.fetch("select * from windlass.list_limits()") == []


def test_clearing_takes_back_a_part_or_all(db: Database, jobs: Session) -> None:
    made = limit(jobs, kind="mail", concurrency=3, rate=5, depth=9, budget_cents=10)
    jobs.call("select windlass.clear_limit(p_kind => 'mail', p_what => '{rate,budget}')")
    row = use(db, made)
    assert (row.concurrency, row.rate, row.depth, row.budget_cents) == (3, None, 9, None)
    with refused("WL001"):
        jobs.call("select windlass.clear_limit(p_kind => 'mail', p_what => '{rate}')")
    with refused("WL007"):
        jobs.call("select windlass.clear_limit(p_kind => 'mail', p_what => '{colour}')")
    jobs.call("select windlass.clear_limit(p_kind => 'mail')")
    assert db.fetch("select * from windlass.list_limits()") == []
    with refused("WL001"):
        jobs.call("select windlass.clear_limit(p_kind => 'mail')")


def test_queues_of_windlass_itself_are_nobodys(jobs: Session) -> None:
    with refused("WL007"):
        jobs.enqueue(queue="windlass.system")
    with refused("WL007"):
        limit(jobs, queue="windlass.system", concurrency=1)
