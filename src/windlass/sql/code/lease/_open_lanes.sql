-- The lanes that a node may claim from now: of its queues and kinds, of the tenant that the session is bound to,
-- behind no gate.  The claim and whoever explains it ask here and nowhere else.
-- definer: none
create function windlass._open_lanes(p_node uuid, p_queues text[], p_kinds text[])
returns table (lane_id integer, tenant_id uuid, queue text, kind text, priority integer, flow text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select l.id, l.tenant_id, l.queue, l.kind, l.priority::integer,
         case q.mode when 'strict' then l.queue else l.queue || ' ' || l.tenant_id end
  from windlass_data.lane as l
  join windlass_data.queue as q on q.name = l.queue
  where l.queue = any (p_queues)
    and (p_kinds is null or l.kind = any (p_kinds))
    and l.tenant_id = coalesce((select windlass_data.bound_tenant()), l.tenant_id)
    and not exists (
      select from windlass_data.gate as g
      where (g.expires_at is null or g.expires_at > (select windlass_data.clock()))
        and (g.tenant_id is null or g.tenant_id = l.tenant_id)
        and (g.queue is null or g.queue = l.queue)
        and (g.kind is null or g.kind = l.kind)
        and (g.node is null or g.node in (
              p_node::text, (select n.name from windlass_data.node as n where n.id = p_node)))
    )
$$;
comment on function windlass._open_lanes(uuid, text[], text[]) is 'The lanes that a node may claim from now.';
