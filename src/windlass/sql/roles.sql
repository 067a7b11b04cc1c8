-- The roles of Windlass.  Roles belong to the whole server, so this runs once per server, by a superuser
-- or by a role with CREATEROLE; it may run again at any time.
--
-- windlass_owner owns every table and is itself held by row-level security.  windlass_engine owns the few
-- functions that must see all tenants; nobody logs in as it, and the owner may hand functions to it but must
-- not inherit it: an inherited policy would lift the owner's own row-level security.
do $roles$
declare
  v_role text;
  v_newer boolean := current_setting('server_version_num')::int >= 160000;
begin
  foreach v_role in array array[
    'windlass_owner', 'windlass_engine',
    'windlass_producer', 'windlass_worker', 'windlass_operator', 'windlass_reader'
  ] loop
    if not exists (select from pg_catalog.pg_roles where rolname = v_role) then
      execute format('create role %I nologin', v_role);
    end if;
  end loop;

  if not pg_catalog.pg_has_role('windlass_owner', 'windlass_engine', 'member') then
    if v_newer then
      execute 'grant windlass_engine to windlass_owner with inherit false, set true';
    else
      execute 'alter role windlass_owner noinherit';
      execute 'grant windlass_engine to windlass_owner';
    end if;
  end if;

  -- Whoever runs this without being a superuser will migrate too, and must be able to act as the owner.
  if current_user <> 'windlass_owner'
     and not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
     and not pg_catalog.pg_has_role(current_user, 'windlass_owner', case when v_newer then 'set' else 'member' end) then
    if v_newer then
      execute format('grant windlass_owner to %I with inherit false, set true', current_user);
    else
      execute format('grant windlass_owner to %I', current_user);
    end if;
  end if;
end
$roles$;
