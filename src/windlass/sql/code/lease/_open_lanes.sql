-- The lanes that a node may claim from now: of its queues and kinds, of the tenant that the session is bound to,
-- behind no gate.  The claim and whoever explains it ask here and nowhere else.
-- definer: none
create function windlass._open_lanes(p_node uuid, p_queues text[], p_kinds text[])
returns table (lane_id integer, tenant_id uuid, priority integer, flow text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_bound uuid := windlass_data.bound_tenant();
  v_nodes text[] := array(select n.name from windlass_data.node as n where n.id = p_node) || p_node::text;
begin
  return query
  select l.id, l.tenant_id, l.priority::integer,
         case q.mode when 'strict' then l.queue else l.queue || ' ' || l.tenant_id end
  from windlass_data.lane as l
  left join windlass_data.queue as q on q.name = l.queue
  where l.queue = any (p_queues)
    and (p_kinds is null or l.kind = any (p_kinds))
    and (v_bound is null or l.tenant_id = v_bound)
    and not exists (
      select from windlass_data.gate as g
      where (g.expires_at is null or g.expires_at > v_now)
        and (g.tenant_id is null or g.tenant_id = l.tenant_id)
        and (g.queue is null or g.queue = l.queue)
        and (g.kind is null or g.kind = l.kind)
        and (g.node is null or g.node = any (v_nodes))
    );
end
$$;
comment on function windlass._open_lanes(uuid, text[], text[]) is 'The lanes that a node may claim from now.';
