"""Everything the catalog says about the two schemas, as plain text, so that two databases can be compared."""

from typing import Any

from psycopg import Connection
from psycopg.rows import tuple_row

# Day partitions are left out: which ones there are depends on the date of the installation.
_RELATIONS = """
    select c.* , n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('windlass', 'windlass_data') and c.relname !~ '_[0-9]{8}(_|$)'"""


def _acl(column: str) -> str:
    """Rights without the order in which they were granted."""
    return f"(select array_agg(x::text order by x::text)::text from unnest({column}) x)"


_QUERIES = {
    "schemas": f"""
        select nspname, nspowner::regrole::text, {_acl("nspacl")}, obj_description(oid)
        from pg_namespace where nspname in ('windlass', 'windlass_data')""",
    "default rights": f"""
        select defaclrole::regrole::text, defaclnamespace::regnamespace::text, defaclobjtype::text,
            {_acl("defaclacl")}
        from pg_default_acl""",
    "relations": f"""
        select r.nspname, r.relname, r.relkind::text, r.relowner::regrole::text, {_acl("r.relacl")},
            r.relrowsecurity, r.relforcerowsecurity, r.reloptions::text, obj_description(r.oid, 'pg_class'),
            case when r.relkind = 'v' then pg_get_viewdef(r.oid) end,
            case when r.relispartition then pg_get_expr(r.relpartbound, r.oid) end
        from ({_RELATIONS}) r""",
    "columns": f"""
        select r.nspname, r.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            a.attidentity::text, a.attcollation::regcollation::text, {_acl("a.attacl")},
            pg_get_expr(d.adbin, d.adrelid)
        from ({_RELATIONS}) r
        join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum""",
    "constraints": f"""
        select r.nspname, r.relname, k.conname, pg_get_constraintdef(k.oid), k.convalidated
        from ({_RELATIONS}) r join pg_constraint k on k.conrelid = r.oid""",
    "indexes": f"""
        select pg_get_indexdef(i.indexrelid), i.indisvalid
        from ({_RELATIONS}) r join pg_index i on i.indrelid = r.oid""",
    "policies": f"""
        select r.relname, p.polname, p.polcmd::text, p.polpermissive, p.polroles::regrole[]::text,
            pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
        from ({_RELATIONS}) r join pg_policy p on p.polrelid = r.oid""",
    "triggers": f"""
        select pg_get_triggerdef(t.oid)
        from ({_RELATIONS}) r join pg_trigger t on t.tgrelid = r.oid and not t.tgisinternal""",
    "types": f"""
        select t.typname, t.typtype::text, t.typowner::regrole::text, {_acl("t.typacl")},
            (select array_agg(e.enumlabel order by e.enumsortorder)::text from pg_enum e
                where e.enumtypid = t.oid)
        from pg_type t join pg_namespace n on n.oid = t.typnamespace
        where n.nspname in ('windlass', 'windlass_data') and t.typname !~ '_[0-9]{{8}}$'""",
    "routines": f"""
        select pg_get_functiondef(p.oid), p.proowner::regrole::text, {_acl("p.proacl")},
            obj_description(p.oid, 'pg_proc')
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname in ('windlass', 'windlass_data')""",
    "record": "select name, sha256 from windlass_data.schema_version",
}


def snapshot(conn: Connection[Any]) -> dict[str, list[str]]:
    """Sorted lines per kind of object; `conn` must be able to read the catalog and the record."""
    with conn.cursor(row_factory=tuple_row) as cursor:
        return {
            kind: sorted(repr(row) for row in cursor.execute(query.encode()).fetchall())
            for kind, query in _QUERIES.items()
        }
