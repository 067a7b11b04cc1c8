-- State of tenancy: who they are, which logins act for one of them only, and the wall between them.

create table windlass_data.tenant (
  id uuid primary key default windlass_data.new_id(),
  slug text collate "C" not null unique check (slug ~ '^[a-z0-9][a-z0-9_-]{0,99}$'),
  name text not null check (length(name) between 1 and 200),
  weight smallint not null default 1 check (weight between 1 and 1000),  -- its share where tenants take turns
  created_at timestamptz not null default windlass_data.clock()
);
-- Most installations weigh all tenants alike: a claim then sees that in one look, and asks for no tenant's weight.
create index tenant_weight on windlass_data.tenant (id) where weight <> 1;

-- A login role found here acts for this tenant only.
create table windlass_data.role_tenant (
  role_name name primary key,
  tenant_id uuid not null references windlass_data.tenant (id),
  role_oid oid  -- by which a role that was renamed is known; in a restored database it says nothing
);

-- The tenant that the session is bound to, or null: by its login, by the role it switched to, or by a role that either is
-- a member of.  A session with two different bindings belongs to neither: it gets an id that nothing has (the nil id is
-- the installation's).  A bound role that was renamed stays bound: the name that it had is nobody's now.
create function windlass_data.bound_tenant() returns uuid
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants uuid[];
begin
  if not exists (select from windlass_data.role_tenant) then
    return null;
  end if;
  with recursive mine as (
    select r.oid from pg_catalog.pg_roles as r where r.rolname in (session_user, current_setting('role', true)::name)
    union
    select m.roleid from pg_catalog.pg_auth_members as m join mine on m.member = mine.oid
    -- From PostgreSQL 16 on whoever makes a role may hand it on without being able to act as it.
    where coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, true) or coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
  )
  select array_agg(distinct t.tenant_id) into v_tenants
  from mine
  join pg_catalog.pg_roles as r on r.oid = mine.oid
  join windlass_data.role_tenant as t on t.role_name = r.rolname
    or (t.role_oid = r.oid and not exists (select from pg_catalog.pg_roles as n where n.rolname = t.role_name));
  return case when cardinality(v_tenants) > 1 then 'ffffffff-ffff-ffff-ffff-ffffffffffff' else v_tenants[1] end;
end
$$;
comment on function windlass_data.bound_tenant() is 'The tenant this session is bound to, or null when it is free to name one.';

-- The tenant that row-level security lets through.  Unset, empty, malformed or foreign: null, hence no rows.
-- Asked by every statement on every table: where no role is bound, which it sees as its owner, it calls nobody else.
create function windlass_data.current_tenant() returns uuid
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said text := current_setting('windlass.tenant_id', true);
  v_bound uuid;
begin
  if exists (select from windlass_data.role_tenant) then
    v_bound := windlass_data.bound_tenant();
  end if;
  if v_said is null or v_said = '' then
    return v_bound;
  elsif v_said not like '________-____-____-____-____________'
     or translate(lower(v_said), '0123456789abcdef', '') <> '----' then  -- a regular expression would cost as much as all else
    return null;
  elsif v_bound is not null and v_bound <> v_said::uuid then
    return null;
  end if;
  return v_said::uuid;
end
$$;
comment on function windlass_data.current_tenant() is 'The tenant whose rows this transaction may touch, or null.';

-- Row-level security on these tables: on, forced, and closed to all but the engine and, by tenant, whoever says which.
create function windlass_data.wall_off(p_tables text[], p_by_tenant boolean default true) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table text;
begin
  foreach v_table in array p_tables loop
    execute format('alter table windlass_data.%I enable row level security', v_table);
    execute format('alter table windlass_data.%I force row level security', v_table);
    execute format('create policy engine on windlass_data.%I to windlass_engine using (true) with check (true)', v_table);
    if p_by_tenant then
      execute format(
        'create policy tenant on windlass_data.%I using (tenant_id = (select windlass_data.current_tenant())) '
        'with check (tenant_id = (select windlass_data.current_tenant()))', v_table);
    end if;
  end loop;
end
$$;
comment on function windlass_data.wall_off(text[], boolean) is 'Let row-level security hold these tables.';

-- The tenant of those who need no tenants.  Its id is fixed, so that nobody has to look it up.
insert into windlass_data.tenant (id, slug, name) values ('00000000-0000-7000-8000-000000000001', 'default', 'Default');

select windlass_data.wall_off(array['role_tenant', 'tenant'], p_by_tenant => false);
create policy tenant on windlass_data.tenant
  using (id = (select windlass_data.current_tenant())) with check (id = (select windlass_data.current_tenant()));
-- The binding is what current_tenant() itself reads, so it cannot hide behind it; no role but these two reads it.
create policy owner on windlass_data.role_tenant to windlass_owner using (true) with check (false);

revoke all on all functions in schema windlass_data from public;
grant execute on all functions in schema windlass_data to windlass_engine;
-- A policy runs with the rights of whoever reads the view.
grant usage on schema windlass_data to windlass_producer, windlass_worker, windlass_operator, windlass_reader;
grant execute on function windlass_data.current_tenant(), windlass_data.bound_tenant()
  to windlass_producer, windlass_worker, windlass_operator, windlass_reader;
