-- Take up to p_limit jobs out of lanes whose turn it is, each its part by weight, onto a fresh lease each: what _take_open does
-- where lanes share flows.  Lane after lane: jobs of one lease are likely to end together then, and the lease with them.
-- p_said: whether anything was said that lanes must be asked for; p_limited: whether there are limits at all.
-- `jobs` is null where lanes share a flow, or a limit leaves one less than its part; `open` are the lanes that were looked at.
-- definer: none
create function windlass._take_lanes(
  p_node uuid, p_queues text[], p_kinds text[], p_lanes integer[], p_marks bigint[], p_limit integer, p_now timestamptz,
  p_lease double precision, p_said boolean, p_limited boolean, p_begins boolean,
  out tokens uuid[], out jobs uuid[], out open integer[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_marks bigint[];
  v_parts integer[];
  v_offers integer[];
  v_shared boolean;
  v_now timestamptz;
  v_rows tid[];
  v_of integer[];
  v_tenants uuid[];
  v_versions integer[];
  v_counted integer[];
begin
  if p_said then
    select array_agg(o.lane_id order by o.turn), array_agg(coalesce(o.mark, 0) order by o.turn),
           array_agg(ceil(p_limit::float8 * o.weight / o.weights)::integer order by o.turn),
           count(distinct o.flow) < count(*) or bool_or(o.one_line)
    into open, v_marks, v_parts, v_shared
    from (
      select o.*, p.mark, p.turn, sum(o.weight) over () as weights
      from windlass._open_lanes(p_node, p_queues, p_kinds, p_lanes, p_lanes, p_marks) as o
      join unnest(p_lanes, p_marks) with ordinality as p(id, mark, turn) on p.id = o.lane_id
    ) as o;
  else
    select array_agg(l.id order by p.turn), array_agg(coalesce(p.mark, 0) order by p.turn),
           count(distinct l.tenant_id || l.queue) < count(*)
    into open, v_marks, v_shared
    from unnest(p_lanes, p_marks) with ordinality as p(id, mark, turn)
    cross join lateral (select l.* from windlass_data.lane as l where l.id = p.id offset 0) as l
    where l.queue = any (p_queues) and (p_kinds is null or l.kind = any (p_kinds));
    v_parts := array_fill(ceil(p_limit::float8 / cardinality(open))::integer, array[coalesce(cardinality(open), 0)]);
  end if;
  if v_shared then
    return;
  end if;
  if p_limited then
    select a.offers into v_offers from windlass._allot(open, v_parts, p_now, true) as a;
    if v_offers <> v_parts then
      return;  -- what one may not give, others may
    end if;
  end if;
  select array_agg(r.ctid), array_agg(r.lane_id), array_agg(r.tenant_id), array_agg(r.job_id), array_agg(r.version + 1),
         array_agg(r.counted)
  into v_rows, v_of, v_tenants, jobs, v_versions, v_counted
  from (
    select r.* from unnest(open, v_marks, v_parts) as g(id, mark, part)
    cross join lateral (
      select r.ctid, r.* from windlass_data.ready as r
      where r.lane_id = g.id and r.seq > g.mark
      order by r.seq
      limit g.part
      for update skip locked
    ) as r
    limit p_limit
  ) as r;
  if v_rows is null then
    jobs := '{}';
    return;
  end if;
  v_now := windlass_data.clock();  -- after they were seen: nothing starts before it was there
  delete from windlass_data.ready as r where r.ctid = any (v_rows);  -- locked: they stay where they are
  with leased as (
    insert into windlass_data.lease
      (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted, begins)
    select windlass_data.new_id(), t.tenant_id, t.lane_id, p_node, v_now, v_now + make_interval(secs => p_lease), count(*),
           array_agg(t.job_id order by t.place), array_agg(t.version order by t.place),
           array_agg(t.counted order by t.place), case when p_begins then '{}'::uuid[] end
    from unnest(v_of, v_tenants, jobs, v_versions, v_counted) with ordinality
      as t(lane_id, tenant_id, job_id, version, counted, place)
    group by t.lane_id, t.tenant_id
    returning id, lane_id
  )
  select array_agg(l.id order by array_position(p_lanes, l.lane_id)) into tokens from leased as l;
  if p_limited then
    -- From when they start by their records: a bucket that counted from before would let the next ones start too soon.
    perform windlass._use_limits(v_of, v_now);
  end if;
end
$$;
comment on function windlass._take_lanes is 'Take parts of lanes whose turn it is onto fresh leases.';
