"""What operators do: any function by its name, and jobs brought to where an operator meets them."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import Connection, sql

from tests.sql.steps import Session
from tests.support import Database

NIL = UUID(int=0)
T = TypeVar("T")


def call(db: Database, function: str, *, role: str = "app", **arguments: Any) -> list[Any]:
    """The rows of `windlass.<function>`; arguments are given by name, without their p_."""
    names = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(sql.Identifier(f"p_{name}"), sql.Placeholder()) for name in arguments
    )
    query = sql.SQL("select * from {}({})").format(sql.Identifier("windlass", function), names)
    return db.connection(role).execute(query, list(arguments.values())).fetchall()


def call_value(db: Database, function: str, *, role: str = "app", **arguments: Any) -> Any:
    ((value,),) = call(db, function, role=role, **arguments)
    return value


def callers(db: Database, function: str, **arguments: Any) -> set[str]:
    """The groups that may call it, whatever it answers; nothing that it does stays."""
    may = set()
    for role in ("producer", "worker", "operator", "reader"):
        try:
            with db.connection(role).transaction(force_rollback=True):
                call(db, function, role=role, **arguments)
        except psycopg.errors.InsufficientPrivilege:
            continue
        except psycopg.Error:
            pass
        may.add(role)
    return may


def bind(db: Database, role: str, tenant: UUID) -> None:
    """Bind one of the test logins, called as in tests.support."""
    db.execute("select windlass.bind_role(%s, %s)", f"test_{role}", tenant)


def kill(jobs: Session, *, error: Any = None, kind: str = "mail", **fields: Any) -> UUID:
    """A job that died in its only attempt."""
    job_id = jobs.enqueue(kind, max_attempts=1, **fields)
    (held,) = jobs.claim(1, kinds=[kind], queues=[fields.get("queue", "default")])
    assert held.job_id == job_id
    jobs.fail(held, errors=[error or {"type": "ValueError", "message": "no such address"}])
    assert jobs.state(job_id) == "dead"
    return job_id


def events(db: Database, tenant: UUID, *columns: str) -> list[tuple[Any, ...]]:
    """What was recorded for a tenant, oldest first, read behind the back of every function."""
    names = ", ".join(columns or ("actor", "action", "job_id", "reason"))
    rows = db.fetch(
        f"select {names} from windlass_data.event where tenant_id = %s order by at, id",
        tenant,
        role="superuser",
    )
    return [tuple(row) for row in rows]


def ids(rows: Sequence[Any]) -> list[UUID]:
    return [row.id for row in rows]


@contextmanager
def waiting(db: Database, conn: Connection[Any], step: Callable[[], T]) -> Iterator[Future[T]]:
    """Take a step on `conn` that another session holds up; the block runs once it is seen to wait."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(step)
        deadline = time.monotonic() + 30
        query = "select cardinality(pg_blocking_pids(%s)) > 0"
        while not db.fetch_value(query, conn.info.backend_pid, role="superuser"):
            assert not future.done(), "the step did not wait"
            assert time.monotonic() < deadline, "the step neither waits nor ends"
            time.sleep(0.005)
        yield future
