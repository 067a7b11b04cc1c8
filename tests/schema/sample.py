"""A small sql directory, to try the migrator on what the real one does not (yet) have."""

from importlib.resources import files
from pathlib import Path

MIGRATIONS = {
    "0001_thing": """\
create table windlass_data.thing (tenant_id uuid not null, id integer not null, primary key (tenant_id, id));
alter table windlass_data.thing enable row level security;
alter table windlass_data.thing force row level security;
create policy engine on windlass_data.thing to windlass_engine using (true) with check (true);
grant select, insert on windlass_data.thing to windlass_engine;
create function windlass_data.double(p_id integer) returns integer
language sql immutable set search_path = pg_catalog, pg_temp as 'select 2 * p_id';
""",
    "0002_note": "alter table windlass_data.thing add column note text;\n",
}

APART = """\
-- windlass: no-transaction
create index concurrently thing_note on windlass_data.thing (tenant_id, note);
"""

CODE = {
    "thing/add_thing": """\
-- Needs _note and count_things, which are not there yet when this is created.
-- definer: engine
-- grant: producer, operator
create function windlass.add_thing(p_tenant_id uuid, p_id integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into windlass_data.thing (tenant_id, id, note) values (p_tenant_id, p_id, windlass._note(p_id));
    return windlass.count_things();
end
$$;
comment on function windlass.add_thing is 'Add a thing for any tenant.';
""",
    "thing/_note": """\
-- definer: none
create function windlass._note(p_id integer) returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$ select 'note ' || windlass_data.double(p_id) $$;
comment on function windlass._note is 'What is noted about a thing.';
""",
    "thing/count_things": """\
-- definer: owner
-- grant: reader
create function windlass.count_things() returns integer
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic select count(*)::integer from windlass_data.thing; end;
comment on function windlass.count_things is 'How many things row-level security shows the owner.';
""",
    "thing/count_through": """\
-- definer: owner
-- grant: worker
create function windlass.count_through() returns integer
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select windlass.add_thing('00000000-0000-7000-8000-000000000001', 7) $$;
comment on function windlass.count_through is 'Owner calls engine calls owner.';
""",
    "views/things": """\
-- definer: owner
-- grant: reader
create view windlass.things as select id, windlass._note(id) as note from windlass_data.thing;
comment on view windlass.things is 'Things with their notes.';
""",
    "views/a_summary": """\
-- definer: owner
-- grant: reader
-- windlass: after views/things
create view windlass.a_summary as select count(*) as things from windlass.things;
comment on view windlass.a_summary is 'A view on a view, first by name.';
""",
}


def write_sample(
    root: Path, migrations: dict[str, str] | None = None, code: dict[str, str] | None = None
) -> Path:
    """Write the directory, with the real roles.sql; given parts replace the ones above."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "roles.sql").write_bytes((files("windlass") / "sql" / "roles.sql").read_bytes())
    for folder, parts in (("migrations", migrations or MIGRATIONS), ("code", CODE if code is None else code)):
        for path, text in parts.items():
            file = root / folder / f"{path}.sql"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return root
