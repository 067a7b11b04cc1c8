"""The text of an installation or upgrade, as a list of labelled steps.

`migrate` runs these steps and `windlass migrate --sql` prints them: one text, so that both lead to
the same database.  Steps name everything with its schema, because search_path is narrowed first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from psycopg import sql

from windlass.db.release import RELEASE
from windlass.db.sqlfiles import CODE, GROUP_ROLES, CodeFile, Migration, SqlSource

__all__ = [
    "BECOME_OWNER",
    "LOCK_KEY",
    "RECORDS",
    "SCHEMAS",
    "Step",
    "apart_steps",
    "install_steps",
    "render",
    "settings",
]

LOCK_KEY = 0x77696E646C617373  # "windlass"
BECOME_OWNER = "set local role windlass_owner"

_ALL_GROUPS = ", ".join(f"windlass_{role}" for role in GROUP_ROLES)

RECORDS = """\
create table if not exists windlass_data.schema_version (
    name text collate "C" primary key,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz not null default pg_catalog.clock_timestamp(),
    release text
);
comment on table windlass_data.schema_version is
    'Migrations applied, each with the hash of its text, and the digest of the installed code.';
"""

_DROP_CODE = """\
do $drop$
declare
    v_names text;
begin
    select string_agg(format('windlass.%I', c.relname), ', ')
    into v_names
    from pg_catalog.pg_class c
    where c.relnamespace = 'windlass'::regnamespace and c.relkind = 'v';
    if v_names is not null then
        execute 'drop view ' || v_names;
    end if;
    select string_agg(p.oid::regprocedure::text, ', ')
    into v_names
    from pg_catalog.pg_proc p
    where p.pronamespace = 'windlass'::regnamespace;
    if v_names is not null then
        execute 'drop routine ' || v_names;
    end if;
end
$drop$;
"""

# Every role that uses Windlass may ask which release installed it; the table itself stays closed.
_RECORDS_VIEW = """\
create view windlass.schema_version as
select name, sha256, applied_at, release from windlass_data.schema_version;
comment on view windlass.schema_version is 'Migrations applied, and the digest of the installed code.';
"""

_GRANTS = f"""\
revoke all on all routines in schema windlass, windlass_data from public;
grant usage on schema windlass to {_ALL_GROUPS}, windlass_engine;
grant usage on schema windlass_data to windlass_engine;
grant execute on all routines in schema windlass, windlass_data to windlass_engine;
grant select on windlass.schema_version to {_ALL_GROUPS};
"""

SCHEMAS = """\
do $schemas$
begin
    if pg_catalog.to_regnamespace('windlass_data') is null then
        create schema windlass_data authorization windlass_owner;
    end if;
    if pg_catalog.to_regnamespace('windlass') is null then
        create schema windlass authorization windlass_owner;
    end if;
end
$schemas$;
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of the script; the label says where an error came from."""

    label: str
    text: str


def settings(lock_seconds: float) -> str:
    """What holds for the transaction, whatever the connected role has configured for itself."""
    return f"""\
set local lock_timeout = '{int(lock_seconds * 1000)}ms';
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
set local search_path = pg_catalog, pg_temp;
set local check_function_bodies = off;
set local client_min_messages = warning;
"""


def install_steps(pending: Sequence[Migration], code: SqlSource | None) -> Iterator[Step]:
    """What windlass_owner does inside the transaction; `code` is None while the state is an older one."""
    yield Step("dropping the old functions and views", _DROP_CODE)
    for migration in pending:
        yield Step(f"migrations/{migration.name}.sql", migration.text)
        yield Step(f"recording {migration.name}", _record(migration.name, migration.sha256))
    yield Step("the view windlass.schema_version", _RECORDS_VIEW)
    for file in code.code if code else ():
        yield Step(f"code/{file.path}.sql", file.text)
    yield Step("grants", _GRANTS)
    yield Step("forgetting the old code", _forget(CODE))
    if code is None:
        return
    for file in code.code:
        if file.grants:
            yield Step(f"grants of code/{file.path}.sql", _grant(file))
    yield _uncompiled([file for file in code.code if file.definer != "none" and not file.is_view])
    yield from _engine_steps([file for file in code.code if file.definer == "engine"])
    yield Step("recording the code", _record(CODE, code.code_digest))


def apart_steps(migration: Migration) -> Iterator[Step]:
    """A migration that cannot run in a transaction, for windlass_owner; recorded once it has succeeded."""
    yield Step(f"migrations/{migration.name}.sql", migration.text)
    yield Step(f"recording {migration.name}", _record(migration.name, migration.sha256))


def render(source: SqlSource, since: str | None, lock_seconds: float) -> str:
    """The whole script, for psql or any tool that sends SQL; `since` is the newest migration applied."""
    known = [m for m in source.migrations if since is not None and m.name <= since]
    pending = [m for m in source.migrations if m not in known]
    parts = [
        Step("transaction", "begin;\n" + settings(lock_seconds)),
        Step("one migrator at a time", f"select pg_catalog.pg_advisory_xact_lock({LOCK_KEY});\n"),
        Step("roles.sql", source.roles),
        Step("schemas", SCHEMAS),
        Step("owner", f"{BECOME_OWNER};\n"),
        Step("expected state", _expect(known)),
        Step("records", RECORDS),
        *install_steps([m for m in pending if m.transactional], source),
        Step("end of the transaction", "commit;\n"),
    ]
    for migration in pending:
        if not migration.transactional:
            parts += [Step("owner", "set role windlass_owner;\n"), *apart_steps(migration)]
            parts.append(Step("end of the migration", "reset role;\n"))
    return "".join(f"-- {part.label}\n{part.text.rstrip()}\n\n" for part in parts)


def _uncompiled(files: Sequence[CodeFile]) -> Step:
    """Keep the server from compiling the plans of functions: that takes a hundred times as long as they do.

    By their costs it would: what says `enable_seqscan = off` seems to cost ten thousand million before
    PostgreSQL 18.
    """
    settings = "".join(f"alter routine windlass.{file.name} set jit = off;\n" for file in files)
    return Step("no compilation of plans", settings)


def _engine_steps(files: Sequence[CodeFile]) -> Iterator[Step]:
    if not files:
        return
    # Taking ownership needs CREATE on the schema; the engine keeps it no longer than that.
    moves = "".join(f"alter {_kind(f)} windlass.{f.name} owner to windlass_engine;\n" for f in files)
    yield Step(
        "handing functions to windlass_engine",
        f"grant create on schema windlass to windlass_engine;\n{moves}"
        "revoke create on schema windlass from windlass_engine;\n",
    )
    # Only the new owner may now let the old one call them; its other members' rights do not reach
    # windlass_owner, which does not inherit them so that row security still binds it.
    grants = "".join(f"grant {_right(f)} windlass.{f.name} to windlass_owner;\n" for f in files)
    yield Step(
        "letting windlass_owner call them", f"set local role windlass_engine;\n{grants}{BECOME_OWNER};\n"
    )


def _kind(file: CodeFile) -> str:
    return "view" if file.is_view else "routine"


def _right(file: CodeFile) -> str:
    return "select on" if file.is_view else "execute on routine"


def _grant(file: CodeFile) -> str:
    roles = ", ".join(f"windlass_{role}" for role in file.grants)
    return f"grant {_right(file)} windlass.{file.name} to {roles};\n"


def _record(name: str, sha256: str) -> str:
    query = sql.SQL("insert into windlass_data.schema_version (name, sha256, release) values ({}, {}, {});\n")
    return query.format(name, sha256, RELEASE).as_string()


def _forget(name: str) -> str:
    return sql.SQL("delete from windlass_data.schema_version where name = {};\n").format(name).as_string()


def _expect(known: Sequence[Migration]) -> str:
    """Stop before anything is touched if the database is not in the state the script was written for."""
    if not known:
        return """\
do $expect$
begin
    if pg_catalog.to_regclass('windlass_data.schema_version') is not null then
        raise exception 'Windlass is already installed in this database' using errcode = 'object_in_use';
    end if;
end
$expect$;
"""
    query = sql.SQL("""\
do $expect$
begin
    if (select pg_catalog.string_agg(name, ',' order by name) from windlass_data.schema_version
        where name <> {}) is distinct from {} then
        raise exception 'this script does not start from the migrations that this database has'
            using errcode = 'object_in_use';
    end if;
end
$expect$;
""")
    return query.format(CODE, ",".join(migration.name for migration in known)).as_string()
