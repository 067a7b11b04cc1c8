"""By raw SQL, as each login: no table, no other role's function, no way around the tenant."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.surface import arguments, fitted, public_functions
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version

LOGINS = ("producer", "worker", "operator", "reader", "app", "outsider")
DENIED = "42501"


def denial(conn: Connection[Any], query: str) -> str | None:
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(query.encode())
    except psycopg.Error as error:
        return error.sqlstate
    return None


@contextmanager
def tenant_set_to(conn: Connection[Any], value: str | None) -> Iterator[None]:
    with conn.transaction():
        if value is not None:
            conn.execute("select set_config('windlass.tenant_id', %s, true)", [value])
        yield


@pytest.mark.parametrize("role", LOGINS)
def test_no_login_reads_or_writes_a_table(db: Database, jobs: Session, role: str) -> None:
    jobs.enqueue()
    conn = db.connect(role)
    conn.execute("select set_config('windlass.tenant_id', %s, false)", [str(DEFAULT_TENANT)])
    relations = db.fetch(
        "select relname, relkind from pg_class where relnamespace = 'windlass_data'::regnamespace "
        "and relkind in ('r', 'p', 'S')",
        role="superuser",
    )
    assert len(relations) > 20
    for name, kind in relations:
        queries = [f"select * from windlass_data.{name}"]
        if kind != "S":
            queries += [
                f"insert into windlass_data.{name} default values",
                f"delete from windlass_data.{name}",
                f"truncate windlass_data.{name}",
                f"lock windlass_data.{name}",
                f"create table pg_temp.copy (like windlass_data.{name})",
            ]
        assert {query: denial(conn, query) for query in queries} == dict.fromkeys(queries, DENIED)


@pytest.mark.parametrize("role", LOGINS)
def test_no_login_becomes_another_role_or_changes_the_schema(db: Database, role: str) -> None:
    conn = db.connect(role)
    queries = [
        "set role windlass_owner",
        "set role windlass_engine",
        "set session authorization windlass_owner",
        "create table windlass.mine ()",
        "create table windlass_data.mine ()",
        "create or replace function windlass.clock() returns timestamptz language sql as 'select now()'",
        "drop function windlass.tenant_id(text)",
        "alter function windlass.tenant_id(text) set search_path = public",
        "alter table windlass_data.job no force row level security",
        "drop policy tenant on windlass_data.job",
        "select windlass._enter_tenant(null)",
        "select windlass._describe_jobs(null, null)",
        "select windlass_data.add_day('2000-01-01')",
        "select nextval('windlass_data.ready_seq')",
        "grant windlass_owner to current_user",
    ]
    assert {query: denial(conn, query) for query in queries} == dict.fromkeys(queries, DENIED)


def test_a_login_without_a_group_may_call_nothing(db: Database) -> None:
    conn = db.connect("outsider")
    given = arguments(job_id=UNKNOWN, token=UNKNOWN, gate=UNKNOWN, slug="default")
    for function in public_functions(db):
        answer = function.call(conn, **fitted(function, {**given, "p_tenant": DEFAULT_TENANT}))
        assert answer.startswith(f"('{DENIED}'"), function.name


def test_each_group_may_do_its_part_and_no_other(db: Database) -> None:
    parts = {
        "enqueue_job": {"producer", "operator"},
        "enqueue_jobs": {"producer", "operator"},
        "cancel_job": {"producer", "operator"},
        "get_job": {"producer", "worker", "operator", "reader"},
        "expire_leases": {"worker", "operator"},
    }
    for verb in ("claim", "complete", "fail", "snooze", "release"):
        parts[f"{verb}_jobs"] = {"worker"}
    parts |= {"renew_leases": {"worker"}, "finish_job": {"worker"}}
    given = arguments(job_id=UNKNOWN, token=UNKNOWN, gate=UNKNOWN, slug="default")
    for function in public_functions(db):
        if function.name in parts:
            may = {
                role
                for role in ("producer", "worker", "operator", "reader")
                if not function.call(
                    db.connection(role), **fitted(function, {**given, "p_tenant": DEFAULT_TENANT})
                ).startswith(f"('{DENIED}'")
            }
            assert may == parts.pop(function.name), function.name
    assert parts == {}


def test_views_show_the_set_tenant_and_nothing_when_it_is_wrong(
    db: Database, jobs: Session, other: Session
) -> None:
    for session in (jobs, other):
        session.cancel(session.enqueue())
        session.enqueue()
        session.complete(session.claim_one())
    views = db.fetch(
        "select c.relname from pg_class as c where relnamespace = 'windlass'::regnamespace and relkind = 'v' "
        "and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id')",
        role="superuser",
    )
    assert len(views) >= 3
    wrong = [None, "", " ", "x", "null", str(DEFAULT_TENANT)[:-1], f"{DEFAULT_TENANT}'", str(UNKNOWN)]
    for role in ("reader", "operator"):
        conn = db.connect(role)
        for (view,) in views:
            query = f"select distinct tenant_id from windlass.{view}".encode()
            for setting in wrong:
                with tenant_set_to(conn, setting):
                    assert conn.execute(query).fetchall() == [], (view, setting)
            for tenant in (DEFAULT_TENANT, OTHER_TENANT):
                with tenant_set_to(conn, str(tenant)):
                    assert conn.execute(query).fetchall() == [(tenant,)], view


def test_views_show_a_bound_role_its_own_tenant_whatever_it_says(
    db: Database, jobs: Session, other: Session
) -> None:
    mine = jobs.enqueue()
    other.enqueue()
    db.execute(
        "insert into windlass_data.role_tenant values ('test_reader', %s)", DEFAULT_TENANT, role="superuser"
    )
    conn = db.connect("reader")
    for setting, expected in (
        (None, [mine]),
        ("", [mine]),
        (str(DEFAULT_TENANT), [mine]),
        (str(OTHER_TENANT), []),
    ):
        with tenant_set_to(conn, setting):
            assert [row.id for row in conn.execute("select id from windlass.jobs")] == expected
    conn.execute("set role windlass_reader")
    with tenant_set_to(conn, str(OTHER_TENANT)):
        assert conn.execute("select id from windlass.jobs").fetchall() == []


def test_the_owner_writes_no_row_of_a_tenant_it_did_not_enter(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    owner = db.connect("owner")
    for setting in (None, "", "x", str(UNKNOWN)):
        with nothing_changed(db), tenant_set_to(owner, setting):
            assert owner.execute("update windlass_data.job set max_attempts = 9").rowcount == 0
            assert owner.execute("delete from windlass_data.ready").rowcount == 0
    for setting in (None, str(UNKNOWN)):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), tenant_set_to(owner, setting):
            owner.execute(
                "insert into windlass_data.cancel_request values (%s, %s, now())", [DEFAULT_TENANT, UNKNOWN]
            )
    with tenant_set_to(owner, str(DEFAULT_TENANT)):
        assert owner.execute("update windlass_data.job set max_attempts = 9").rowcount == 1


def test_the_tenant_setting_is_put_back_after_every_call(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    given = arguments(job_id=job_id, token=held.token, gate=UNKNOWN, slug="default")
    query = "select current_setting('windlass.tenant_id', true)"
    conn = db.connect()
    worked = 0
    for function in public_functions(db):
        for setting in ("", str(OTHER_TENANT), "x"):
            with conn.transaction():
                conn.execute("select set_config('windlass.tenant_id', %s, true)", [setting])
                said = function.call(conn, **fitted(function, {**given, "p_tenant": DEFAULT_TENANT}))
                worked += said.startswith("[")
                query = "select current_setting('windlass.tenant_id', true)"
                assert conn.execute(query).fetchone() == (setting,), (function.name, said)
        assert conn.execute("select current_setting('windlass.tenant_id', true)").fetchone() in (
            (None,),
            ("",),
        )
    assert worked > 30


def test_row_security_switched_off_is_an_error_and_not_a_way_in(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    jobs.call("set row_security = off")
    with nothing_changed(db), refused(DENIED):
        jobs.get(job_id)
    with nothing_changed(db), refused(DENIED):
        jobs.claim()
    jobs.call("reset row_security")
    assert jobs.state(job_id) == "queued"


def test_one_session_may_serve_tenants_in_turn(db: Database, jobs: Session, other: Session) -> None:
    """Long enough for the plans to be kept."""
    mine, theirs = jobs.enqueue(payload="mine"), other.enqueue(payload="theirs")
    for _ in range(12):
        assert (jobs.get(mine).payload, other.get(theirs).payload) == ("mine", "theirs")
        for session, job_id in ((jobs, theirs), (other, mine)):
            with refused("WL001"):
                session.get(job_id)
