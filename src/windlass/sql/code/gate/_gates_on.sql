-- The gates that hold jobs of this tenant, queue and kind back from a node (its name and id in p_nodes; null: from any
-- node).  The claim and whoever explains it ask here and nowhere else.
-- definer: none
create function windlass._gates_on(p_tenant uuid, p_queue text, p_kind text, p_nodes text[], p_now timestamptz)
returns setof windlass_data.gate
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select g.* from windlass_data.gate as g
  where (g.expires_at is null or g.expires_at > p_now)
    and (g.tenant_id is null or g.tenant_id = p_tenant)
    and (g.queue is null or g.queue = p_queue)
    and (g.kind is null or g.kind = p_kind)
    and (g.node is null or g.node = any (p_nodes));
end
$$;
comment on function windlass._gates_on is 'The gates that hold jobs back from a node.';
