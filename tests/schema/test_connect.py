"""How connections are opened, and what becomes of the driver's errors."""

import psycopg
import pytest

from tests.support import Database
from windlass.db.call import Call, Row
from windlass.db.connect import (
    connect,
    connect_async,
    connection_parameters,
    translate,
    translated,
)
from windlass.db.database import run
from windlass.errors import (
    Forbidden,
    IdempotencyConflict,
    InvalidInput,
    LimitExceeded,
    SchemaMismatch,
    Unavailable,
    WindlassError,
)

URL = "postgresql://someone:secret@host.example/base"


def test_defaults_keep_to_the_primary_and_notice_a_dead_peer() -> None:
    given = connection_parameters(URL, environ={})
    assert given["target_session_attrs"] == "read-write"
    assert given["application_name"] == "windlass"
    assert {"connect_timeout", "keepalives_idle", "tcp_user_timeout"} <= set(given)
    assert (given["user"], given["host"], given["dbname"]) == ("someone", "host.example", "base")


def test_the_url_and_the_environment_come_first() -> None:
    url = f"{URL}?target_session_attrs=any&application_name=mine"
    given = connection_parameters(url, environ={"PGCONNECT_TIMEOUT": "3"})
    assert (given["target_session_attrs"], given["application_name"]) == ("any", "mine")
    assert "connect_timeout" not in given


def test_sessions_work_in_read_committed_and_keep_other_options() -> None:
    ours = "-c default_transaction_isolation=read\\ committed"
    assert connection_parameters(URL, environ={})["options"] == ours
    assert connection_parameters(f"{URL}?options=-c%20a%3Db", environ={})["options"] == f"-c a=b {ours}"
    assert connection_parameters(URL, environ={"PGOPTIONS": "-c c=d"})["options"] == f"-c c=d {ours}"
    assert "options" not in connection_parameters(URL, pooler="transaction", environ={})
    assert "options" not in connection_parameters(f"{URL}?service=mine", environ={}), "its file may have some"


def test_a_bad_url_is_refused_without_repeating_its_password() -> None:
    with pytest.raises(InvalidInput, match="not a PostgreSQL URL") as caught:
        connection_parameters("postgresql://someone:secret@host:port:port/base ?x")
    assert "secret" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_nobody_listening_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        connect("host=/nonexistent dbname=base")


async def test_connections_commit_each_statement_and_carry_a_name(db: Database) -> None:
    with connect(db.url(), application_name="here") as conn:
        assert conn.autocommit
        shown = conn.execute("select current_setting('application_name')").fetchone()
        assert shown == ("here",)
    async with await connect_async(db.url()) as other:
        assert other.autocommit
        assert other.prepare_threshold is not None


async def test_behind_a_transaction_pooler_nothing_is_prepared(db: Database) -> None:
    with connect(db.url(), pooler="transaction") as conn:
        assert conn.prepare_threshold is None
        for _ in range(10):
            conn.execute("select %s::int", [1])
        assert conn.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)
    async with await connect_async(db.url(), pooler="transaction") as other:
        assert other.prepare_threshold is None


def test_no_two_connections_prepare_under_one_name(db: Database) -> None:
    """Behind a pooler that nobody spoke of, one would run the other's statement."""
    names = set()
    for number in range(2):
        with connect(db.direct_url()) as conn:
            conn.execute(f"select {number}".encode(), prepare=True)
            (name,) = conn.execute("select name from pg_prepared_statements").fetchone() or ("",)
            names.add(name)
    assert len(names) == 2


def test_a_statement_that_somebody_else_prepared_in_this_session_is_taken_as_ours(db: Database) -> None:
    call: Call[list[Row]] = Call("select $1::text", ("x",), list, hot=True)
    with connect(db.direct_url()) as conn:
        run(conn, call)
        conn.prepared.clear()  # as a pooler does that gives the session to another client
        with conn.transaction():
            assert run(conn, call) == [("x",)]
        assert run(conn, call) == [("x",)]
        assert conn.execute("select count(*) from pg_prepared_statements").fetchone() == (1,)
        conn.execute("deallocate all")
        with pytest.raises(Unavailable) as caught:
            run(conn, call)
        assert "WINDLASS_POOLER=transaction" in caught.value.details["hint"]


def test_our_own_errors_arrive_with_code_hint_and_named_details(db: Database) -> None:
    raising = """do $$ begin raise exception 'too many' using errcode = 'WL006',
        detail = '{"retry_after": 2.5}', hint = 'Wait.'; end $$"""
    with pytest.raises(LimitExceeded, match=r"^too many$") as caught, translated():
        db.execute(raising)
    assert caught.value.retry_after == 2.5
    assert caught.value.details["hint"] == "Wait."
    with pytest.raises(IdempotencyConflict) as conflict, translated():
        db.execute("do $$ begin raise exception 'taken' using errcode = 'WL002', detail = 'by a job'; end $$")
    assert conflict.value.details["detail"] == "by a job"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("select * from windlass_data.job", Forbidden),
        ("select windlass.no_such_function()", SchemaMismatch),
        ("select 'x'::uuid", InvalidInput),
        ("set transaction read only; create temp table t (); create table t ()", Unavailable),
        ("selec", WindlassError),
    ],
)
def test_postgres_errors_become_ours(db: Database, statement: str, expected: type[WindlassError]) -> None:
    with pytest.raises(WindlassError) as caught, translated(), db.connect().transaction() as block:
        block.connection.execute(statement.encode())
    assert type(caught.value) is expected


def test_a_killed_session_is_unavailable(db: Database) -> None:
    conn = db.connect()
    db.fetch("select pg_terminate_backend(%s)", conn.info.backend_pid, role="superuser")
    with pytest.raises(Unavailable), translated():
        conn.execute("select 1")


def test_what_the_driver_itself_refuses() -> None:
    assert type(translate(psycopg.DataError("NUL"))) is InvalidInput
    assert type(translate(psycopg.ProgrammingError("cannot adapt"))) is WindlassError
    assert type(translate(psycopg.OperationalError("gone"))) is Unavailable
