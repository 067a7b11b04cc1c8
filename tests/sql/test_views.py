"""The views jobs, attempts and events: one tenant's rows for people with psql, and nobody's by default."""

from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.operate import bind, call, kill
from tests.sql.steps import DEFAULT_TENANT, NODE, OTHER_TENANT, Session
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

VIEWS = ("jobs", "attempts", "events")


def read(db: Database, view: str, tenant: UUID | str | None, role: str = "reader") -> list[Any]:
    with db.connect(role) as conn, conn.transaction():
        if tenant is not None:
            conn.execute("select set_config('windlass.tenant_id', %s, true)", [str(tenant)])
        return conn.execute(f"select * from windlass.{view}".encode()).fetchall()


@pytest.fixture
def lived(db: Database, jobs: Session, other: Session, clock: Clock) -> None:
    """Two tenants with a job in every state, and with events."""
    db.fetch("select windlass.heartbeat_node(%s, 'mill')", NODE)
    for session in (jobs, other):
        again = kill(session, kind=f"again-{session.tenant}")
        call(db, "redrive_jobs", tenant=session.tenant, jobs=[again])
        kill(session, kind="die")
        session.cancel(session.enqueue("cancel"))
        stopped = session.enqueue("stop")
        held = next(row for row in session.claim(9, kinds=["stop"]) if row.tenant_id == session.tenant)
        session.cancel(stopped, "enough")
        session.fail(held, outcomes=["canceled"])
        for state in ("succeeded", "skipped"):
            session.enqueue(state)
            held = next(row for row in session.claim(9, kinds=[state]) if row.tenant_id == session.tenant)
            session.complete(held, states=[state], results=[{"n": 1}])
        session.enqueue("retry")
        session.fail(session.claim_one(kinds=["retry"]), delays=[60], errors=[{"type": "Boom"}])
        session.enqueue("run")
        session.claim_one(kinds=["run"])
        session.enqueue("later", run_at=clock.now().replace(year=2100))
        session.enqueue("now", priority=4)


@pytest.mark.usefixtures("lived")
def test_jobs_agree_with_get_job(db: Database, jobs: Session) -> None:
    rows = read(db, "jobs", DEFAULT_TENANT)
    assert len(rows) == 10
    for row in rows:
        told = jobs.get(row.id)
        shared = set(row._fields) & set(told._fields)
        assert len(shared) == len(row._fields) - 1
        assert {name: getattr(row, name) for name in shared} == {name: getattr(told, name) for name in shared}
        assert row.attempt == told.version


@pytest.mark.usefixtures("lived")
def test_attempts_agree_with_list_attempts(db: Database) -> None:
    rows = read(db, "attempts", DEFAULT_TENANT)
    told = [
        attempt
        for job in read(db, "jobs", DEFAULT_TENANT)
        for attempt in call(db, "list_attempts", tenant=DEFAULT_TENANT, job=job.id)
    ]
    fields = told[0]._fields
    assert sorted(str([getattr(row, f) for f in fields]) for row in rows) == sorted(
        str(list(row)) for row in told
    )
    assert [row.outcome for row in rows].count(None) == 1


@pytest.mark.usefixtures("lived")
def test_events_are_what_was_done(db: Database) -> None:
    assert {row.action for row in read(db, "events", DEFAULT_TENANT)} == {
        "job.dead",
        "job.redrive",
        "job.cancel",
    }


@pytest.mark.usefixtures("lived")
@pytest.mark.parametrize("view", VIEWS)
def test_one_tenant_at_a_time_and_none_by_default(db: Database, view: str) -> None:
    for role in ("reader", "operator"):
        for setting in (None, "", "nonsense", "00000000", f"{DEFAULT_TENANT} or true"):
            assert read(db, view, setting, role) == []
        for tenant in (DEFAULT_TENANT, OTHER_TENANT):
            rows = read(db, view, tenant, role)
            assert rows
            assert {row.tenant_id for row in rows} == {tenant}


@pytest.mark.usefixtures("lived")
@pytest.mark.parametrize("view", VIEWS)
def test_a_bound_role_sees_its_own_tenant_whatever_it_sets(db: Database, view: str) -> None:
    bind(db, "reader", OTHER_TENANT)
    for setting in (None, "", OTHER_TENANT):
        assert {row.tenant_id for row in read(db, view, setting)} == {OTHER_TENANT}
    assert read(db, view, DEFAULT_TENANT) == []


@pytest.mark.parametrize("view", VIEWS)
def test_the_views_are_for_operators_and_readers(db: Database, view: str) -> None:
    for role in ("producer", "worker", "outsider"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            read(db, view, DEFAULT_TENANT, role)


@pytest.mark.usefixtures("lived")
@pytest.mark.parametrize(("view", "column"), [("jobs", "id"), ("attempts", "job_id"), ("events", "id")])
def test_a_curious_function_is_shown_no_foreign_row(db: Database, view: str, column: str) -> None:
    """A condition that tells what it is shown, and so cheap that the planner would like it first."""
    with db.connect("reader") as conn:
        conn.execute(
            "create function pg_temp.peek(uuid) returns boolean language plpgsql cost 0.0001 "
            "as $$ begin raise notice '%', $1; return true; end $$"
        )
        shown: list[str] = []
        conn.add_notice_handler(lambda notice: shown.append(str(notice.message_primary)))
        with conn.transaction():
            conn.execute("select set_config('windlass.tenant_id', %s, true)", [str(OTHER_TENANT)])
            query = f"select {column} from windlass.{view} where pg_temp.peek({column})"
            rows = conn.execute(query.encode()).fetchall()
    assert rows
    assert set(shown) == {str(row[0]) for row in rows}


def test_nothing_can_be_written_through_a_view(db: Database) -> None:
    for view in VIEWS:
        for role in ("operator", "app"):
            with pytest.raises(psycopg.Error, match=r"permission denied|cannot delete"):
                db.execute(f"delete from windlass.{view}", role=role)
