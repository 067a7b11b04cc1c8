"""Compare what a database records about its schema with what this release ships."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from psycopg import AsyncConnection, Connection
from psycopg.rows import tuple_row

from windlass.db.connect import translated
from windlass.db.sqlfiles import CODE, Migration, SqlSource, load
from windlass.db.sqlstates import NOT_INSTALLED, OTHER_RELEASE, OUTSIDER
from windlass.errors import Forbidden, SchemaMismatch

__all__ = ["RECORDED", "Login", "Plan", "check_schema", "check_schema_async", "plan_changes"]

RECORDED = b"select name, sha256 from windlass.schema_version"
_RECORDED_AND_ROLE = b"""
select v.name, v.sha256, pg_catalog.quote_ident(current_user), (
  select r.rolsuper or r.rolbypassrls from pg_catalog.pg_roles as r where r.rolname = current_user), (
  select coalesce(pg_catalog.bool_and(pg_catalog.has_function_privilege(p.oid, 'execute')), false)
  from pg_catalog.pg_proc as p
  where p.pronamespace = 'windlass'::pg_catalog.regnamespace and p.proname = 'claim_jobs')
from windlass.schema_version as v"""


class Login(NamedTuple):
    """Who is connected, as SQL writes the name."""

    name: str
    exempt: bool
    """Row-level security does not hold it."""
    may_claim: bool
    """It may run jobs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What separates a database from this release."""

    pending: tuple[Migration, ...]
    apart: tuple[Migration, ...]  # those that cannot run in a transaction
    complete: bool  # once `pending` is applied the state is this release's, so its code fits
    code_differs: bool

    @property
    def empty(self) -> bool:
        return not (self.pending or self.apart or self.code_differs)


def plan_changes(files: SqlSource, recorded: Mapping[str, str], target: str | None = None) -> Plan:
    """What is missing, up to `target`; SchemaMismatch if the record contradicts this release."""
    known = {migration.name: migration for migration in files.migrations}
    for name in sorted(set(recorded) - {CODE}):
        if name not in known:
            raise SchemaMismatch(
                f"the database has migration {name}, which this release does not know: "
                "upgrade windlass, or connect to another database"
            )
        if known[name].sha256 != recorded[name]:
            raise SchemaMismatch(
                f"migration {name} was changed after it was applied: the database was made by a build that "
                "was never released, so begin with a new database (or, embedded, a new data directory)"
            )
    missing = [migration for name, migration in known.items() if name not in recorded]
    wanted = [migration for migration in missing if target is None or migration.name <= target]
    pending = tuple(migration for migration in wanted if migration.transactional)
    complete = all(migration in pending for migration in missing if migration.transactional)
    code_differs = recorded.get(CODE) != (files.code_digest if complete else None)
    return Plan(pending, tuple(m for m in wanted if not m.transactional), complete, code_differs)


def check_schema(conn: Connection[Any], *, source: Traversable | None = None) -> None:
    """Raise SchemaMismatch unless the database has exactly this release's schema and code."""
    with _explained(), conn.transaction(), conn.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(RECORDED).fetchall()
    _judge(load(source), dict(rows))


async def check_schema_async(conn: AsyncConnection[Any], *, source: Traversable | None = None) -> Login:
    """`check_schema` for an asyncio connection; and who that is."""
    with _explained():
        async with conn.transaction(), conn.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(_RECORDED_AND_ROLE)
            rows = await cursor.fetchall()
    _judge(load(source), {name: sha256 for name, sha256, *_ in rows})
    return Login(*rows[0][2:])


@contextmanager
def _explained() -> Iterator[None]:
    try:
        with translated():
            yield
    except SchemaMismatch as error:
        raise SchemaMismatch(NOT_INSTALLED) from error
    except Forbidden as error:
        raise Forbidden(OUTSIDER) from error


def _judge(files: SqlSource, recorded: Mapping[str, str]) -> None:
    plan = plan_changes(files, recorded)
    if plan.pending or plan.apart:
        missing = ", ".join(migration.name for migration in (*plan.pending, *plan.apart))
        raise SchemaMismatch(
            f"the database is older than this release, it lacks {missing}: run `windlass migrate`"
        )
    if plan.code_differs:
        raise SchemaMismatch(OTHER_RELEASE)
