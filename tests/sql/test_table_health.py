"""table_health: what waits too long, days, row-level security; to a bound role its own counts."""

from datetime import timedelta

import pytest

from tests.sql.operate import bind, call_value, callers
from tests.sql.steps import OTHER_TENANT, Session
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_what_waits_too_long(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue()
    jobs.claim_one(lease=1)
    jobs.enqueue(run_at=clock.now() + timedelta(seconds=1))
    jobs.enqueue(run_at=clock.now() + timedelta(seconds=60))
    clock.advance(5)
    health = call_value(db, "table_health")
    assert (health["expired_leases"], health["overdue_scheduled"], health["lanes"]) == (1, 1, 1)


def test_days_that_nobody_made(db: Database, clock: Clock) -> None:
    clock.advance(timedelta(days=10))
    assert call_value(db, "table_health")["days_ahead"] < 0


def test_a_table_that_lost_its_row_level_security(db: Database) -> None:
    db.execute("alter table windlass_data.gate no force row level security", role="owner")
    health = call_value(db, "table_health")
    assert (health["rls_forced"], health["unforced_tables"]) == (False, ["gate"])


def test_operators_and_readers_ask_and_a_look_changes_nothing(db: Database) -> None:
    assert callers(db, "table_health") == {"operator", "reader"}
    with nothing_changed(db):
        health = call_value(db, "table_health")
    assert (health["rls_forced"], health["unforced_tables"]) == (True, [])
    assert set(health["dead_rows"]) == {"ready", "scheduled", "lease"}


def test_a_bound_role_counts_its_own(db: Database, jobs: Session, other: Session, clock: Clock) -> None:
    for session, late in ((jobs, 1), (other, 2)):
        session.enqueue()
        for _ in range(late):
            session.enqueue(run_at=clock.now() + timedelta(seconds=1))
    jobs.claim(2, lease=1)
    clock.advance(5)
    bind(db, "reader", OTHER_TENANT)
    for role, expected in (("operator", [2, 3, 2]), ("reader", [1, 2, 1])):
        health = call_value(db, "table_health", role=role)
        assert [health[name] for name in ("expired_leases", "overdue_scheduled", "lanes")] == expected
        assert (health["dead_rows"] is None) is (role == "reader")
