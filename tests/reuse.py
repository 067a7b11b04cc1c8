"""One database for many tests: emptied after each, and given up as soon as it is not what it was.

A new database costs little, but everything in it is cold: sessions compile each function and plan each
statement again, which is most of what a short test of a SQL function does.  Whatever a test changes beyond
rows, sequences, the clock and tables of its own (functions, grants, settings, much data) is noticed by a
fingerprint of the catalog, and the next test gets a new database.
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
# What the catalog holds is told by counts and by who wrote last: any change leaves another count or a row
# written by a later transaction.  To read it all would cost more than most tests do.
_CATALOGS = (
    "pg_attrdef",
    "pg_attribute",
    "pg_class",
    "pg_constraint",
    "pg_extension",
    "pg_index",
    "pg_inherits",
    "pg_policy",
    "pg_rewrite",
    "pg_trigger",
    "pg_type",
    "windlass_data.schema_version",
)
_WRITTEN = "count(*) as rows, max(xmin::text::bigint) as written"
_ROWS = [f"select '{place}' as place, {_WRITTEN}, '' as facts from {place}" for place in _CATALOGS]
_REST = f"""
select 'pg_proc', {_WRITTEN}, '' from pg_proc where oid <> 'windlass_data.clock()'::regprocedure
union all
select 'pg_namespace', {_WRITTEN}, '' from pg_namespace where nspname !~ '^pg_(toast_)?temp_'
union all
select 'clock', proowner::bigint, 0, concat(proacl, proconfig, prosecdef)
from pg_proc where oid = 'windlass_data.clock()'::regprocedure
union all
select 'pg_database', d.datconnlimit, 0, concat(d.datname, d.datacl, d.datallowconn, (
  select array_agg((s.setrole, s.setconfig) order by s.setrole)::text
  from pg_db_role_setting as s where s.setdatabase = d.oid
))
from pg_database as d where d.datname = current_database()
"""
_FINGERPRINT = " union all ".join([*_ROWS, _REST])
_CLOCK = "select pg_get_functiondef('windlass_data.clock()'::regprocedure)"
_MUCH_BYTES = 4_000_000
_CALM = (
    b"reset session authorization; reset all; discard temp; unlisten *; close all;"
    b" select pg_advisory_unlock_all()"
)
_GUESTS = """
select format('drop %s if exists %s cascade',
              case relkind when 'v' then 'view' else 'table' end, oid::regclass) as drop
from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
"""


class Pristine:
    """What a database was like before its first test, and how to make it so again."""

    def __init__(self, superuser_url: str) -> None:
        self._conn: Connection[Any] = psycopg.connect(
            superuser_url,
            autocommit=True,
            row_factory=namedtuple_row,
            application_name="tests reuse",
            # No trigger may refuse.  For good: to change it makes the session plan every statement again.
            options="-c session_replication_role=replica",
        )
        self._tables = [row.name for row in self._ask(_TABLES)]
        self._make_reset()
        self._clock = self._value(_CLOCK)
        self._fingerprint = self._ask(_FINGERPRINT)
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
            for guest in self._ask(_GUESTS):
                self._conn.execute(guest.drop.encode())
            if self._value(_CLOCK) != self._clock:
                self._conn.execute(self._clock.encode())
            if self._ask(_FINGERPRINT) != self._fingerprint:
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
