-- Take up to p_limit jobs out of the lanes that are open to a node, and name those lanes.  p_lanes, p_marks and p_only are
-- those of claim_jobs; p_limited: whether there are limits at all.  A lane that is named twice would give each job twice.
-- definer: none
create function windlass._take_open(
  p_node uuid, p_queues text[], p_kinds text[], p_limit integer, p_now timestamptz, p_lease double precision,
  p_lanes integer[], p_marks bigint[], p_only boolean, p_limited boolean, p_wait boolean, p_begins boolean,
  out tokens uuid[], out tenants uuid[], out lanes integer[], out jobs uuid[], out versions integer[],
  out counted integer[], out ends timestamptz[], out open integer[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_open record;
  v_limited boolean;
begin
  if cardinality(p_lanes) <> (select count(distinct l) from unnest(p_lanes) as l) then
    raise exception 'a claim names each lane once' using errcode = 'WL007';
  end if;
  select array_agg(o.lane_id) as lanes, array_agg(o.priority) as priorities, array_agg(o.flow) as flows,
         array_agg(o.weight) as weights, array_agg(o.one_line) as one_line, array_agg(o.mark) as marks,
         array_agg(o.first) as firsts
  into v_open
  from (
    select o.*, m.mark, min(m.place) over (partition by o.flow) as first
    from windlass._open_lanes(p_node, p_queues, p_kinds, case when p_only then p_lanes end, p_lanes, p_marks) as o
    left join unnest(p_lanes, p_marks) with ordinality as m(lane_id, mark, place) on m.lane_id = o.lane_id
  ) as o;
  open := v_open.lanes;
  v_limited := p_limited and exists (select from windlass._limits_of(open));
  if open is not null then
    select t.* into tokens, tenants, lanes, jobs, versions, counted, ends
    from windlass._take_ready(p_node, v_open.lanes, v_open.priorities, v_open.flows, v_open.weights, v_open.one_line,
                              v_open.marks, v_open.firsts, p_limit, p_now, p_lease, v_limited, p_wait, p_begins) as t;
  end if;
end
$$;
comment on function windlass._take_open is 'Take jobs out of the lanes that are open to a node.';
