-- The gates that hold now, oldest first: all of them, or those that hold something of one tenant.
--
-- A role bound to a tenant sees the gates that name it and those of the installation, which hold it too.
-- definer: engine
-- grant: operator, reader
create function windlass.list_gates(p_tenant uuid default null)
returns table (
  id uuid, tenant_id uuid, queue text, kind text, node text, reason text, actor text, created_at timestamptz,
  expires_at timestamptz, releases boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only uuid := windlass._confine(p_tenant);
begin
  return query
  select g.id, g.tenant_id, g.queue, g.kind, g.node, g.reason, g.actor, g.created_at, g.expires_at, g.releases
  from windlass_data.gate as g
  where (g.expires_at is null or g.expires_at > windlass_data.clock())
    and (v_only is null or g.tenant_id is null or g.tenant_id = v_only)
  order by g.created_at, g.id;
end
$$;
comment on function windlass.list_gates is 'The gates that hold now.';
