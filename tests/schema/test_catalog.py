"""The installed schema, read from the catalog: rules that hold for whatever is added later."""

import re

import pytest

from tests.schema.snapshot import snapshot
from tests.support import Database, Server
from windlass.db.migrate import migrate
from windlass.db.sqlfiles import GROUP_ROLES, load

pytestmark = pytest.mark.every_version

PINNED = ["search_path=pg_catalog, pg_temp"]

# A unique key that does not start with tenant_id could tell one tenant what another one has.  These cannot:
# a tenant never chooses the values.
KEYS_WITHOUT_TENANT = {
    "ready_pkey": "lane and sequence number, both made by the database",
    "lane_pkey": "a number made by the database",
    "lease_pkey": "the lease's token, made by the database",
    "job_limit_pkey": "a number made by the database",
    "gate_pkey": "the gate's id, made by the database",
    "role_tenant_pkey": "written by operators only; names a database role, not a tenant's choice",
}


def rows(database: Database, query: str, *parameters: object) -> list[tuple[object, ...]]:
    return [tuple(row) for row in database.fetch(query, *parameters, role="superuser")]


ROUTINES = """
    select n.nspname || '.' || p.proname as name, p.*
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('windlass', 'windlass_data')"""

TENANT_TABLES = """
    select c.* from pg_class c
    where c.relnamespace = 'windlass_data'::regnamespace and c.relkind in ('r', 'p')
        and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')"""


def test_every_routine_has_a_comment(db: Database) -> None:
    assert rows(db, f"select name from ({ROUTINES}) p where obj_description(oid, 'pg_proc') is null") == []


def test_every_view_and_table_of_the_code_schema_is_a_view_with_a_comment(db: Database) -> None:
    relations = rows(
        db,
        """select relname, relkind::text, obj_description(oid, 'pg_class') is not null from pg_class
        where relnamespace = 'windlass'::regnamespace""",
    )
    assert [row for row in relations if row[1:] != ("v", True)] == []


# Called for every row, so they must be inlined, and a function with a setting is not.  All their names are
# qualified instead.
INLINED = ["windlass_data.clock", "windlass_data.new_id"]


def test_every_routine_pins_its_search_path(db: Database) -> None:
    # The names in a body that was parsed when it was created (`return …`) are settled for good.
    query = f"""select name from ({ROUTINES}) p
        where prosqlbody is null and not coalesce(proconfig, '{{}}') @> %s order by name"""
    assert [name for (name,) in rows(db, query, PINNED)] == INLINED


def test_no_plan_of_a_function_is_compiled(db: Database) -> None:
    """What it calls with the caller's rights runs under its settings."""
    query = f"""select name from ({ROUTINES}) p
        where prosecdef and name like 'windlass.%%' and not proconfig @> '{{jit=off}}'"""
    assert rows(db, query) == []


def test_what_is_inlined_qualifies_its_names(db: Database) -> None:
    for (body,) in rows(db, f"select prosrc from ({ROUTINES}) p where name = any (%s)", INLINED):
        words = set(re.findall(r"[a-z_0-9.]+(?=\()", str(body))) - {"operator"}
        assert words
        assert all(word.startswith("pg_catalog.") for word in words)


def test_nothing_is_open_to_the_public(db: Database) -> None:
    routines = rows(
        db,
        f"""select name from ({ROUTINES}) p
        cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where a.grantee = 0""",
    )
    relations = rows(
        db,
        """select relname from pg_class c cross join lateral aclexplode(c.relacl) a
        where relnamespace in ('windlass'::regnamespace, 'windlass_data'::regnamespace) and a.grantee = 0""",
    )
    schemas = rows(
        db,
        """select nspname from pg_namespace n cross join lateral aclexplode(n.nspacl) a
        where nspname in ('windlass', 'windlass_data') and a.grantee = 0""",
    )
    assert routines + relations + schemas == []


def test_every_object_belongs_to_owner_or_engine(db: Database) -> None:
    owners = rows(
        db,
        f"""select name, proowner::regrole::text, prosecdef from ({ROUTINES}) p
        where proowner not in ('windlass_owner'::regrole, 'windlass_engine'::regrole)
            or (proowner = 'windlass_engine'::regrole and not prosecdef)""",
    )
    tables = rows(
        db,
        """select relname from pg_class where relowner <> 'windlass_owner'::regrole
        and relnamespace in ('windlass'::regnamespace, 'windlass_data'::regnamespace)""",
    )
    assert owners + tables == []


def test_every_routine_is_owned_and_granted_as_its_file_says(db: Database) -> None:
    installed = {
        str(name): (owner, definer, set(grantees))  # type: ignore[call-overload]
        for name, owner, definer, grantees in rows(
            db,
            """select p.proname, p.proowner::regrole::text, p.prosecdef, array(
                select r.rolname::text from pg_roles r where r.rolname = any (%s)
                    and has_function_privilege(r.oid, p.oid, 'execute'))
            from pg_proc p where p.pronamespace = 'windlass'::regnamespace""",
            [f"windlass_{role}" for role in GROUP_ROLES],
        )
    }
    declared = {
        file.name: (
            "windlass_engine" if file.definer == "engine" else "windlass_owner",
            file.definer != "none",
            {f"windlass_{role}" for role in file.grants},
        )
        for file in load().code
        if not file.is_view
    }
    assert installed == declared


def test_every_body_is_accepted_by_its_language(db: Database) -> None:
    """The migrator creates functions unchecked, in any order; here each is parsed in the finished schema."""
    conn = db.connection("superuser")
    conn.execute("set check_function_bodies = on")
    for oid, name, validator in rows(
        db,
        f"""select p.oid, p.name, l.lanvalidator::regproc::text from ({ROUTINES}) p
        join pg_language l on l.oid = p.prolang""",
    ):
        assert validator in {"plpgsql_validator", "fmgr_sql_validator"}, name
        conn.execute(f"select {validator}(%s)".encode(), [oid])


def test_row_level_security_is_on_and_forced_on_every_tenant_table(db: Database) -> None:
    assert rows(db, f"select count(*) > 5 from ({TENANT_TABLES}) t") == [(True,)]
    loose = f"select relname from ({TENANT_TABLES}) t where not (relrowsecurity and relforcerowsecurity)"
    assert rows(db, loose) == []
    policy = "select from pg_policy where polrelid = t.oid"
    bare = f"select relname from ({TENANT_TABLES}) t where not exists ({policy})"
    assert rows(db, bare) == []


def test_a_policy_that_lets_everything_through_is_the_engines_alone(db: Database) -> None:
    always = rows(
        db,
        """select c.relname, p.polname, p.polroles::regrole[]::text from pg_policy p
        join pg_class c on c.oid = p.polrelid
        where c.relnamespace = 'windlass_data'::regnamespace
            and (pg_get_expr(p.polqual, p.polrelid) = 'true'
                or pg_get_expr(p.polwithcheck, p.polrelid) = 'true')""",
    )
    assert {(table, roles) for table, _, roles in always if roles != "{windlass_engine}"} <= {
        (
            "role_tenant",
            "{windlass_owner}",
        )  # read by current_tenant() itself, which decides all other policies
    }


def test_an_unset_empty_or_malformed_tenant_shows_no_row(db: Database) -> None:
    """As the owner, whom row-level security binds; with the tenant named, the same reads find rows."""
    tenant = db.fetch_value("select windlass.tenant_id('default')")
    db.execute("select windlass.enqueue_job(%s, 'report', p_key => 'once')", tenant)
    tables = [
        str(name)
        for (name,) in rows(db, f"select relname from ({TENANT_TABLES}) t where relname <> 'role_tenant'")
    ]
    for setting in (None, "", "not-a-uuid", "00000000-0000-0000-0000-00000000000", "' or true --"):
        assert visible_to_owner(db, [*tables, "tenant"], setting) == set(), setting
    shown = visible_to_owner(db, [*tables, "tenant"], str(tenant))
    assert {"tenant", "job", "lane", "ready", "idempotency_key"} <= shown


def visible_to_owner(database: Database, tables: list[str], setting: str | None) -> set[str]:
    """The tables in which the owner finds a row, with windlass.tenant_id set like that."""
    with database.connect("owner") as conn, conn.transaction():
        if setting is not None:
            conn.execute("select set_config('windlass.tenant_id', %s, true)", [setting])
        return {
            table
            for table in tables
            if conn.execute(f"select 1 from windlass_data.{table} limit 1".encode()).fetchone()
        }


def test_no_group_has_a_right_on_any_table(db: Database) -> None:
    rights = rows(
        db,
        """select r.rolname, c.relname from pg_class c, pg_roles r
        where c.relnamespace = 'windlass_data'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
            and r.rolname = any (%s)
            and case when c.relkind = 'S' then has_sequence_privilege(r.oid, c.oid, 'usage, select, update')
                else has_table_privilege(r.oid, c.oid,
                    'select, insert, update, delete, truncate, references, trigger')
                    or has_any_column_privilege(r.oid, c.oid, 'select, insert, update, references') end""",
        [f"windlass_{role}" for role in GROUP_ROLES],
    )
    schemas = rows(
        db,
        """select r.rolname, n.nspname from pg_roles r, pg_namespace n
        where r.rolname = any (%s) and n.nspname in ('windlass', 'windlass_data')
            and has_schema_privilege(r.oid, n.oid, 'create')""",
        [f"windlass_{role}" for role in GROUP_ROLES],
    )
    assert rights + schemas == []


def test_of_the_state_schema_the_groups_may_call_only_what_policies_call(db: Database) -> None:
    callable_ones = rows(
        db,
        """select distinct p.proname::text from pg_proc p, pg_roles r
        where p.pronamespace = 'windlass_data'::regnamespace and r.rolname = any (%s)
            and has_function_privilege(r.oid, p.oid, 'execute')""",
        [f"windlass_{role}" for role in GROUP_ROLES],
    )
    assert {name for (name,) in callable_ones} <= {"current_tenant", "bound_tenant"}


def test_every_unique_key_of_a_tenant_table_starts_with_tenant_id(db: Database) -> None:
    keys = rows(
        db,
        f"""select i.indexrelid::regclass::text, c.relname from ({TENANT_TABLES}) t
        join pg_index i on i.indrelid = t.oid and i.indisunique
        join pg_class c on c.oid = i.indexrelid
        left join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]
        where a.attname is distinct from 'tenant_id'""",
    )
    assert {str(name) for _, name in keys} - set(KEYS_WITHOUT_TENANT) == set()
    assert set(KEYS_WITHOUT_TENANT) - {str(name) for _, name in keys} == set(), (
        "an exception no longer needed"
    )


def test_every_time_has_a_zone_and_json_is_binary(db: Database) -> None:
    columns = rows(
        db,
        """select c.relname, a.attname, format_type(a.atttypid, null) from pg_attribute a
        join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'windlass_data'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0
            and format_type(a.atttypid, null) in
                ('timestamp without time zone', 'time without time zone', 'json')""",
    )
    assert columns == []


def test_ids_are_time_ordered_uuids(db: Database) -> None:
    made = rows(db, "select windlass_data.new_id() from generate_series(1, 200)")
    ids = [str(value) for (value,) in made]
    assert len(set(ids)) == 200
    assert {text[14] for text in ids} == {"7"}
    assert {text[19] for text in ids} <= set("89ab")
    later = [str(value) for (value,) in rows(db, "select windlass_data.new_id() from pg_sleep(0.002)")]
    assert max(ids)[:13] <= later[0][:13]


def test_step_by_step_gives_the_same_as_at_once(server: Server) -> None:
    names = [migration.name for migration in load().migrations]
    with server.empty_database() as fresh:
        migrate(fresh.url("owner"))
        expected = snapshot(fresh.connection("superuser"))
    with server.empty_database() as stepped:
        for name in names:
            assert migrate(stepped.url("owner"), target=name).changed
        migrate(stepped.url("owner"))
        assert snapshot(stepped.connection("superuser")) == expected
        stepped.execute("delete from windlass_data.schema_version where name = 'code'", role="owner")
        assert migrate(stepped.url("owner")).code_replaced
        assert snapshot(stepped.connection("superuser")) == expected


def test_the_clock_can_be_moved(db: Database) -> None:
    before = db.clock.now()
    clock = db.clock
    clock.advance(3600)
    clock.advance(3600)
    assert (clock.now() - before).total_seconds() >= 7200
    frozen = clock.freeze()
    assert clock.now() == clock.now() == frozen
