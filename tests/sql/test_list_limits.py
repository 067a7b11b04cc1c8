"""list_limits: what was said and what is used of it; to a bound role no use that others share."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.sql.limits import limit
from tests.sql.operate import bind, call, callers
from tests.sql.steps import OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2031, 5, 14, 12, 0, tzinfo=UTC)


def used(row: Any) -> tuple[Any, ...]:
    return (row.running, row.tokens, row.waiting, row.spent_cents)


def test_what_is_used_stands_beside_what_was_said(db: Database, jobs: Session, clock: Clock) -> None:
    assert call(db, "list_limits") == []
    clock.freeze(NOON)
    for _ in range(5):
        jobs.enqueue()
    said = {"concurrency": 4, "rate": 3, "rate_seconds": 60.0, "depth": 9, "budget_cents": 100}
    limit(jobs, tenant=jobs.tenant, **said, reason="trial", actor="ada")
    limit(jobs, queue="elsewhere", concurrency=2)
    first, _ = jobs.claim(2)
    jobs.complete(first, costs=[30])
    with nothing_changed(db):
        mine, elsewhere = call(db, "list_limits")
    assert {name: getattr(mine, name) for name in said} == said
    assert (mine.tenant, mine.reason, mine.actor) == ("default", "trial", "ada")
    assert used(mine) == (1, 1, 3, 30)
    assert (mine.burst, mine.budget_period, mine.again_at) == (3, "day", None)
    assert (elsewhere.tenant, elsewhere.tenant_id, elsewhere.queue) == (None, None, "elsewhere")
    assert used(elsewhere) == (0, None, None, None), "of what is not limited nothing is counted"
    assert len(jobs.claim(5)) == 1
    mine, _ = call(db, "list_limits")
    assert (mine.tokens, mine.again_at) == (0, NOON + timedelta(seconds=20))


def test_of_one_tenant_those_that_hold_something_of_it(db: Database, jobs: Session, other: Session) -> None:
    everybodys = limit(jobs, queue="default", concurrency=1)
    mine, theirs = (limit(jobs, tenant=one.tenant, concurrency=1) for one in (jobs, other))
    found = {
        tenant: [row.id for row in call(db, "list_limits", tenant=tenant)]
        for tenant in (None, jobs.tenant, other.tenant, UNKNOWN)
    }
    assert found == {
        None: [everybodys, mine, theirs],
        jobs.tenant: [everybodys, mine],
        other.tenant: [everybodys, theirs],
        UNKNOWN: [everybodys],
    }


def test_a_bound_role_does_not_see_how_much_the_others_use(
    db: Database, jobs: Session, other: Session
) -> None:
    said = {"concurrency": 5, "rate": 100, "depth": 9, "budget_cents": 100}
    limit(jobs, queue="default", **said)
    limit(jobs, tenant=jobs.tenant, **said)
    limit(jobs, tenant=other.tenant, **said)
    for session in (jobs, jobs, other):
        session.enqueue()
    jobs.claim(1)
    assert callers(db, "list_limits") == {"operator", "reader"}
    bind(db, "reader", OTHER_TENANT)
    with nothing_changed(db):
        shared, own = call(db, "list_limits", role="reader")
    assert (shared.concurrency, shared.rate, shared.depth, shared.budget_cents) == (5, 100, 9, 100)
    assert (used(shared), shared.again_at) == ((None, None, None, None), None)
    assert (own.tenant_id, own.waiting is not None, own.spent_cents) == (OTHER_TENANT, True, 0)
    with refused("WL005", "another tenant"):
        call(db, "list_limits", role="reader", tenant=jobs.tenant)
