"""Bring a database to the schema of this release, or say precisely why not.

State changes by numbered migrations, each applied once and recorded with its hash; code is dropped
and re-created from source whenever it differs.  Everything happens in one transaction under an
advisory lock, so a failure leaves the database as it was and two migrators at once do the work once.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from windlass.db import script
from windlass.db.connect import connect, translate, translated
from windlass.db.release import RELEASE, is_newer
from windlass.db.schema import RECORDED, Plan, check_schema, check_schema_async, plan_changes
from windlass.db.script import Step
from windlass.db.sqlfiles import CODE, GROUP_ROLES, Migration, SqlSource, load
from windlass.errors import Forbidden, InvalidInput, SchemaMismatch, Unavailable, WindlassError

__all__ = ["MigrationReport", "check_schema", "check_schema_async", "migrate", "render_sql"]

ROLES = ("windlass_owner", "windlass_engine", *(f"windlass_{role}" for role in GROUP_ROLES))
OLDEST_SERVER = 15

# Apart from the main key: whoever waits for that one holds a snapshot, and CREATE INDEX
# CONCURRENTLY waits for every snapshot, so with one key the two would wait for each other.
_APART_KEY = script.LOCK_KEY + 1


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What a call of `migrate` did; nothing, if the database was already right."""

    applied: tuple[str, ...] = ()
    code_replaced: bool = False

    @property
    def changed(self) -> bool:
        return bool(self.applied) or self.code_replaced


def migrate(
    database: Connection[Any] | str,
    *,
    target: str | None = None,
    source: Traversable | None = None,
    lock_seconds: float = 10.0,
    wait_seconds: float = 120.0,
) -> MigrationReport:
    """Apply what is missing; a second call changes nothing and takes no lock.

    `target` names the last migration to apply; short of the newest one, no code is installed.
    `lock_seconds` bounds the wait for a table in use, `wait_seconds` the wait for another migrator.
    """
    files = load(source)
    _require_known(files, target)
    with _session(database) as conn, translated():
        _require_server(conn)
        if _up_to_date(conn, files, target):
            return MigrationReport()
        with conn.transaction():
            plan = _change(conn, files, target, lock_seconds, wait_seconds)
        apart = [migration for migration in plan.apart if _apply_apart(conn, migration, wait_seconds)]
        applied = tuple(migration.name for migration in (*plan.pending, *apart))
        return MigrationReport(applied, plan.code_differs)


def render_sql(
    *, since: str | None = None, source: Traversable | None = None, lock_seconds: float = 10.0
) -> str:
    """The script that installs Windlass in an empty database, or upgrades one that stands at `since`."""
    files = load(source)
    _require_known(files, since)
    return script.render(files, since, lock_seconds)


def _require_known(files: SqlSource, name: str | None) -> None:
    if name is not None and name not in {migration.name for migration in files.migrations}:
        raise InvalidInput(f"there is no migration named {name}")


@contextmanager
def _session(database: Connection[Any] | str) -> Iterator[Connection[Any]]:
    if isinstance(database, str):
        with connect(database, application_name="windlass migrate") as conn:
            yield conn
        return
    if database.info.transaction_status != TransactionStatus.IDLE:
        raise InvalidInput("migrate needs a connection that is not inside a transaction")
    before = database.autocommit
    database.autocommit = True
    try:
        yield database
    finally:
        if not database.closed:
            database.autocommit = before


def _require_server(conn: Connection[Any]) -> None:
    major = conn.info.server_version // 10000
    if major < OLDEST_SERVER:
        raise SchemaMismatch(f"the server is PostgreSQL {major}: Windlass needs {OLDEST_SERVER} or newer")
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise SchemaMismatch(f"the database's encoding is {encoding}: Windlass needs UTF8")


def _rows(conn: Connection[Any], query: bytes, *parameters: Any) -> list[tuple[Any, ...]]:
    with conn.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(query, parameters or None, prepare=False).fetchall()


def _up_to_date(conn: Connection[Any], files: SqlSource, target: str | None) -> bool:
    if _missing_roles(conn):
        return False
    try:
        recorded = dict(_rows(conn, RECORDED))
    except (
        psycopg.errors.UndefinedTable,
        psycopg.errors.InvalidSchemaName,
        psycopg.errors.InsufficientPrivilege,
    ):
        return False
    return plan_changes(files, recorded, target).empty


def _change(
    conn: Connection[Any], files: SqlSource, target: str | None, lock_seconds: float, wait_seconds: float
) -> Plan:
    _run(conn, Step("preparing", script.settings(wait_seconds)))
    _run(conn, Step("waiting for another migrator", f"select pg_advisory_xact_lock({script.LOCK_KEY})"))
    _run(conn, Step("preparing", script.settings(lock_seconds)))
    _refuse_foreign(conn)
    roles_were_missing = _ensure_roles(conn, files)
    _create_schemas(conn)
    _become_owner(conn)
    [(table, view)] = _rows(
        conn, b"select to_regclass('windlass_data.schema_version'), to_regclass('windlass.schema_version')"
    )
    if table is None:
        _run(conn, Step("the table windlass_data.schema_version", script.RECORDS))
    recorded = dict(_rows(conn, b"select name, sha256 from windlass_data.schema_version"))
    if roles_were_missing or view is None:
        recorded.pop(CODE, None)  # what is there lacks its grants, or was dropped by hand
    plan = plan_changes(files, recorded, target)
    if CODE in recorded and plan.code_differs:
        _refuse_to_go_back(conn)
    if plan.pending or plan.code_differs:
        for step in script.install_steps(plan.pending, files if plan.complete else None):
            _run(conn, step)
    return plan


def _refuse_to_go_back(conn: Connection[Any]) -> None:
    """Two releases may have the same tables and other functions: the older one leaves them alone."""
    [(release,)] = _rows(conn, b"select release from windlass_data.schema_version where name = %s", CODE)
    if is_newer(release):
        raise SchemaMismatch(
            f"the functions in the database are those of release {release}, and this is {RELEASE}: "
            "upgrade windlass, or connect to another database"
        )


def _run(conn: Connection[Any], step: Step) -> None:
    try:
        conn.execute(step.text.encode(), prepare=False)
    except psycopg.Error as error:
        raise _explain(step, error) from error


def _explain(step: Step, error: psycopg.Error) -> WindlassError:
    known = translate(error)
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return Unavailable(f"{step.label}: a lock was not free in time; nothing was changed, try again")
    if isinstance(error, psycopg.errors.DependentObjectsStillExist):
        return SchemaMismatch(
            "objects that are not Windlass's depend on its functions or views, which must be replaced: "
            f"drop them, migrate, create them again ({error.diag.message_detail})"
        )
    return type(known)(f"{step.label}: {known}", **known.details)


def _refuse_foreign(conn: Connection[Any]) -> None:
    """A schema that happens to bear our name, or lost its record, is never built upon."""
    query = b"""
        select n.nspname, pg_get_userbyid(n.nspowner),
            exists (select from pg_class c where c.relnamespace = n.oid),
            exists (select from pg_class c where c.relnamespace = n.oid and c.relname = 'schema_version')
        from pg_namespace n
        where n.nspname in ('windlass', 'windlass_data')"""
    for name, owner, has_relations, has_record in _rows(conn, query):
        if owner != "windlass_owner":
            raise SchemaMismatch(
                f"the schema {name} belongs to {owner}, not to windlass_owner, so Windlass did not make it: "
                "rename it, or connect to another database"
            )
        if name == "windlass_data" and has_relations and not has_record:
            raise SchemaMismatch(
                "the schema windlass_data holds tables but no record of migrations, "
                "so it cannot be told what they are: rename it, or connect to another database"
            )


def _missing_roles(conn: Connection[Any]) -> list[str]:
    query = b"select r from unnest(%s::text[]) r where r not in (select rolname from pg_catalog.pg_roles)"
    return [name for (name,) in _rows(conn, query, list(ROLES))]


def _ensure_roles(conn: Connection[Any], files: SqlSource) -> bool:
    missing = _missing_roles(conn)
    if not missing:
        return False
    try:
        with conn.transaction():
            conn.execute(files.roles.encode(), prepare=False)
    except psycopg.errors.InsufficientPrivilege as error:
        statements = f"{files.roles.rstrip()}\n{_grant_owner(conn)}"
        raise Forbidden(
            f"the roles {', '.join(missing)} are missing and {conn.info.user} may not create them; "
            f"an administrator must run:\n\n{statements}",
            statements=statements,
        ) from error
    return True


def _create_schemas(conn: Connection[Any]) -> None:
    try:
        with conn.transaction():
            conn.execute(script.SCHEMAS.encode(), prepare=False)
    except psycopg.errors.InsufficientPrivilege as error:
        statements = (
            "create schema windlass authorization windlass_owner;\n"
            "create schema windlass_data authorization windlass_owner;\n"
            f"{_grant_owner(conn)}"
        )
        raise Forbidden(
            f"{conn.info.user} may not create schemas of windlass_owner in {conn.info.dbname}; "
            f"an administrator must run:\n\n{statements}",
            statements=statements,
        ) from error


def _become_owner(conn: Connection[Any]) -> None:
    try:
        with conn.transaction():
            conn.execute(script.BECOME_OWNER.encode(), prepare=False)
    except psycopg.errors.InsufficientPrivilege as error:
        statements = _grant_owner(conn)
        raise Forbidden(
            f"{conn.info.user} may not act as windlass_owner; an administrator must run:\n\n{statements}",
            statements=statements,
        ) from error


def _grant_owner(conn: Connection[Any]) -> str:
    return sql.SQL("grant windlass_owner to {};\n").format(sql.Identifier(conn.info.user)).as_string()


def _apply_apart(conn: Connection[Any], migration: Migration, wait_seconds: float) -> bool:
    """Run a migration outside any transaction, unless another migrator has done so meanwhile."""
    deadline = time.monotonic() + wait_seconds
    while not _rows(conn, f"select pg_try_advisory_lock({_APART_KEY})".encode())[0][0]:
        if time.monotonic() > deadline:
            raise Unavailable(f"another migrator has not finished within {wait_seconds:g} s; try again")
        time.sleep(0.1)
    try:
        _run(conn, Step("becoming windlass_owner", "set role windlass_owner"))
        query = b"select 1 from windlass_data.schema_version where name = %s"
        if _rows(conn, query, migration.name):
            return False
        for step in script.apart_steps(migration):
            _run(conn, step)
        return True
    finally:
        if not conn.closed:
            conn.execute("reset role", prepare=False)
            conn.execute(f"select pg_advisory_unlock({_APART_KEY})".encode(), prepare=False)
