-- The lanes that a node may claim from now: of its queues and kinds, of the tenant that the session is bound to,
-- behind no gate, and with something in line as far as is known.  Of all such lanes, or of those in p_lanes.
-- The claim and whoever explains it ask here and nowhere else.
--
-- `flow` is what takes turns: a tenant's part of a queue, or a strict queue as a whole.  Where a queue ages its jobs,
-- `priority` has risen by one for each `ageing_seconds` that the first of the lane has been waiting: the first after the
-- place that p_places have for it, where p_known names it.
-- definer: none
create function windlass._open_lanes(
  p_node uuid, p_queues text[], p_kinds text[], p_lanes integer[] default null, p_known integer[] default null,
  p_places bigint[] default null)
returns table (lane_id integer, tenant_id uuid, queue text, priority integer, flow text, weight integer, one_line boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_bound uuid := windlass_data.bound_tenant();
  v_queues text[] := p_queues;
  v_nodes text[];
  v_look record;  -- what most claims need not ask for each lane
begin
  select s.* into v_look from windlass._said_of(p_node, p_queues) as s;
  if v_look.draining or 'windlass.cluster' = any (p_queues) then
    v_queues := windlass._claimable_queues(p_node, p_queues);
  end if;
  if v_look.gated then
    v_nodes := array(select n.name from windlass_data.node as n where n.id = p_node) || p_node::text;
  end if;
  if not (v_look.gated or v_look.weighed or v_look.special) then
    -- Nothing was said of anything: what a node serves is open to it.  A fifth of what follows.
    if p_lanes is null then
      return query
      select distinct b.lane_id, b.tenant_id, b.queue, b.priority::integer, b.queue || ' ' || b.tenant_id, 1, false
      from windlass_data.busy_lane as b
      where b.queue = any (v_queues) and (p_kinds is null or b.kind = any (p_kinds))
        and (v_bound is null or b.tenant_id = v_bound);
    else
      return query
      select l.id, l.tenant_id, l.queue, l.priority::integer, l.queue || ' ' || l.tenant_id, 1, false
      from unnest(p_lanes) as p(id)
      cross join lateral (select l.* from windlass_data.lane as l where l.id = p.id offset 0) as l
      where l.queue = any (v_queues) and (p_kinds is null or l.kind = any (p_kinds))
        and (v_bound is null or l.tenant_id = v_bound);
    end if;
    return;
  end if;
  return query
  select b.lane_id, b.tenant_id, b.queue,
         b.priority + case when q.ageing_seconds is null then 0 else least(65535, floor(coalesce(
           extract(epoch from v_now - windlass._head_since(b.lane_id, coalesce(k.place, 0))) / q.ageing_seconds, 0)))::integer
         end,
         case q.mode when 'strict' then b.queue else b.queue || ' ' || b.tenant_id end,
         case when v_look.weighed and q.mode is distinct from 'strict'
              then (select t.weight from windlass_data.tenant as t where t.id = b.tenant_id)::integer else 1 end,
         coalesce(q.mode = 'strict', false)
  from (
    select distinct b.lane_id, b.tenant_id, b.queue, b.kind, b.priority
    from windlass_data.busy_lane as b
    where p_lanes is null and b.queue = any (v_queues)
    union all
    select l.id, l.tenant_id, l.queue, l.kind, l.priority
    from unnest(p_lanes) as p(id)
    cross join lateral (select l.* from windlass_data.lane as l where l.id = p.id offset 0) as l
    where l.queue = any (v_queues)
  ) as b
  left join lateral (
    select q.mode, q.ageing_seconds from windlass_data.queue as q where v_look.special and q.name = b.queue offset 0
  ) as q on true
  left join unnest(p_known, p_places) as k(id, place) on k.id = b.lane_id
  where (p_kinds is null or b.kind = any (p_kinds))
    and (v_bound is null or b.tenant_id = v_bound)
    and not (v_look.gated and exists (select from windlass._gates_on(b.tenant_id, b.queue, b.kind, v_nodes, v_now)));
end
$$;
comment on function windlass._open_lanes is 'The lanes that a node may claim from now.';
