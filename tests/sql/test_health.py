"""health: the server, the session and the tables in one document, as far as the caller may see them."""

from datetime import datetime

import pytest

from tests.sql.operate import bind, call_value, callers
from tests.sql.steps import OTHER_TENANT, Session
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_a_healthy_installation(db: Database, clock: Clock) -> None:
    now = clock.freeze()
    health = call_value(db, "health")
    assert datetime.fromisoformat(health["now"]) == now
    assert health["server_version_num"] // 10000 == db.version
    assert (health["session_is_superuser"], health["bypassrls"]) == (False, False)
    assert (health["rls_forced"], health["unforced_tables"]) == (True, [])
    assert (health["expired_leases"], health["overdue_scheduled"], health["lanes"]) == (0, 0, 0)
    assert health["days_ahead"] >= 2
    assert health["days"] > health["days_ahead"]
    assert 0 <= health["notification_queue_usage"] <= 1
    assert set(health["dead_rows"]) == {"ready", "scheduled", "lease"}


def test_the_holder_of_the_oldest_snapshot_is_named(db: Database) -> None:
    holder = db.connect(autocommit=False)
    holder.execute("set application_name = 'nightly report'")
    holder.execute("set transaction isolation level repeatable read")
    holder.execute("select 1")
    for _ in range(3):
        db.execute("select pg_current_xact_id()", role="superuser")
    (snapshot,) = call_value(db, "health")["snapshots"]
    assert (snapshot["holder"], snapshot["pid"]) == ("session", holder.info.backend_pid)
    assert (snapshot["usename"], snapshot["application_name"]) == ("windlass_app", "nightly report")
    assert snapshot["state"] == "idle in transaction"
    assert snapshot["since"] is not None
    assert snapshot["xmin_age"] >= 3
    holder.rollback()
    assert call_value(db, "health")["snapshots"] == []


def test_sessions_that_the_caller_may_not_see_are_counted(db: Database) -> None:
    db.connect("producer")
    health = call_value(db, "health", role="reader")
    assert health["hidden_sessions"] >= 1
    assert health["snapshots"] == []


def test_a_bound_role_is_told_of_its_own_tenant_only(db: Database, jobs: Session, other: Session) -> None:
    jobs.enqueue("a")
    jobs.enqueue("b")
    other.enqueue("a")
    bind(db, "reader", OTHER_TENANT)
    health = call_value(db, "health", role="reader")
    assert (health["lanes"], health["dead_rows"]) == (1, None)
    assert call_value(db, "health")["lanes"] == 3


def test_operators_and_readers_ask_and_nobody_else(db: Database) -> None:
    assert callers(db, "health") == {"operator", "reader"}
