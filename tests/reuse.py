"""One database for many tests: emptied after each, and given up as soon as it is not what it was.

A new database costs little, but everything in it is cold: sessions compile each function and plan each
statement again, which is most of what a short test of a SQL function does.  Whatever a test changes beyond
rows, sequences and the clock (tables, functions, grants, settings, much data) is noticed by a fingerprint of
the catalog, and the next test gets a new database.
"""

from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import namedtuple_row

__all__ = ["Pristine", "is_calm"]

_TABLES = """
select c.oid::regclass::text as name
from pg_class as c
where c.relnamespace = 'windlass_data'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_version'
order by 1
"""
_SEQUENCES = """
select c.oid::regclass::text as name from pg_class as c
where c.relnamespace = 'windlass_data'::regnamespace and c.relkind = 'S'
"""
_FINGERPRINT = """
with mine as (
  select oid from pg_namespace where nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
    and nspname not like 'pg\\_temp%' and nspname not like 'pg\\_toast\\_temp%'
), facts as (
  select (n.oid, n.nspname, n.nspacl)::text as fact
  from pg_namespace as n where n.oid in (select oid from mine)
  union all
  select (c.oid, c.relname, c.relacl, c.relrowsecurity, c.relforcerowsecurity, c.reloptions, c.relowner,
    c.relnatts, c.relchecks, c.relhastriggers)::text
  from pg_class as c where c.relnamespace in (select oid from mine)
  union all
  select (a.attrelid, a.attnum, a.attacl)::text from pg_attribute as a where a.attacl is not null
  union all
  select (p.oid, p.proname, md5(p.prosrc), p.proacl, p.proconfig, p.proowner, p.prosecdef)::text
  from pg_proc as p where p.pronamespace in (select oid from mine)
  union all
  select (p.oid, p.polname, p.polroles, p.polcmd)::text from pg_policy as p
  union all
  select (c.oid, c.conname, c.convalidated)::text from pg_constraint as c
  union all
  select (t.oid, t.tgname, t.tgenabled)::text from pg_trigger as t
  union all
  select (i.indexrelid, i.indisvalid)::text from pg_index as i
  union all
  select (e.oid, e.extname)::text from pg_extension as e
  union all
  select (s.setrole, s.setconfig)::text from pg_db_role_setting as s
  where s.setdatabase = (select d.oid from pg_database as d where d.datname = current_database())
  union all
  select (d.datname, d.datacl, d.datallowconn, d.datconnlimit)::text
  from pg_database as d where d.datname = current_database()
)
select md5(string_agg(fact, ',' order by fact)) from facts
"""
_CLOCK = "select pg_get_functiondef('windlass_data.clock()'::regprocedure)"
_MUCH_BYTES = 4_000_000
_CALM = b"reset session authorization; reset all; unlisten *; close all; select pg_advisory_unlock_all()"


class Pristine:
    """What a database was like before its first test, and how to make it so again."""

    def __init__(self, superuser_url: str) -> None:
        self._conn: Connection[Any] = psycopg.connect(
            superuser_url,
            autocommit=True,
            row_factory=namedtuple_row,
            application_name="windlass tests reuse",
            # No trigger may refuse.  For good: to change it makes the session plan every statement again.
            options="-c session_replication_role=replica",
        )
        self._tables = [row.name for row in self._ask(_TABLES)]
        self._make_reset()
        self._clock = self._value(_CLOCK)
        self._fingerprint = self._value(_FINGERPRINT)
        self._size = self._value("select pg_database_size(current_database())")

    def restore(self, kept: list[Connection[Any]]) -> bool:
        """Make it so again; False if that cannot be done, and the database has to go."""
        try:
            pids = [self._conn.info.backend_pid, *(conn.info.backend_pid for conn in kept)]
            self._conn.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where datname = current_database() and pid <> all (%s) and backend_type = 'client backend'",
                (pids,),
            )
            for conn in kept:
                conn.execute(_CALM)
            if self._value(_CLOCK) != self._clock:
                self._conn.execute(self._clock.encode())
            if self._value(_FINGERPRINT) != self._fingerprint:
                return False
            if self._value("select pg_database_size(current_database())") > self._size + _MUCH_BYTES:
                return False
            self._ask("select pg_temp.reset()")
        except psycopg.Error:
            return False
        return True

    def close(self) -> None:
        self._conn.close()

    def _make_reset(self) -> None:
        """A function, so that its statements are planned once and not after every test."""
        lines = [f"delete from only {table};" for table in self._tables]
        for table in self._tables:
            if (rows := self._rows(table)) is not None:
                row = f"jsonb_populate_recordset(null::{table}, {_literal(rows)}::jsonb)"
                lines.append(f"insert into {table} overriding system value select * from {row};")
        for sequence in self._ask(_SEQUENCES):
            last, called = self._ask(f"select last_value, is_called from {sequence.name}")[0]
            lines.append(f"perform setval('{sequence.name}', {last}, {called});")
        body = "\n".join(["begin", *lines, "end"])
        self._conn.execute(
            f"create function pg_temp.reset() returns void language plpgsql as {_literal(body)}".encode()
        )

    def _rows(self, table: str) -> str | None:
        rows: str | None = self._value(f"select jsonb_agg(t)::text from only {table} as t")
        return rows

    def _ask(self, text: str) -> list[Any]:
        return self._conn.execute(text.encode()).fetchall()

    def _value(self, text: str) -> Any:
        return self._ask(text)[0][0]


def is_calm(conn: Connection[Any]) -> bool:
    """Whether a session may serve another test."""
    return (
        not conn.closed
        and conn.autocommit
        and conn.info.transaction_status == TransactionStatus.IDLE
        and conn.row_factory is namedtuple_row
    )


def _literal(text: str) -> str:
    return sql.Literal(text).as_string()
