-- Take up to p_limit jobs, in equal parts, out of lanes whose turn it is, onto a fresh lease each: what _take_turn does
-- where nothing was said of anything and every lane is a flow of its own.  Lane after lane: jobs of one lease are likely to
-- end together then, and the lease with them.  Null where lanes share a flow.
-- definer: none
create function windlass._take_lanes(
  p_node uuid, p_queues text[], p_kinds text[], p_lanes integer[], p_marks bigint[], p_limit integer,
  p_lease double precision, p_begins boolean, out tokens uuid[], out jobs uuid[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lanes integer[];
  v_marks bigint[];
  v_flows integer;
  v_now timestamptz;
  v_rows tid[];
  v_of integer[];
  v_tenants uuid[];
  v_versions integer[];
  v_counted integer[];
begin
  select array_agg(l.id order by p.turn), array_agg(coalesce(p.mark, 0) order by p.turn),
         count(distinct l.tenant_id || l.queue)
  into v_lanes, v_marks, v_flows
  from unnest(p_lanes, p_marks) with ordinality as p(id, mark, turn)
  cross join lateral (select l.* from windlass_data.lane as l where l.id = p.id offset 0) as l
  where l.queue = any (p_queues) and (p_kinds is null or l.kind = any (p_kinds));
  if v_flows < cardinality(v_lanes) then
    return;
  end if;
  select array_agg(r.ctid), array_agg(r.lane_id), array_agg(r.tenant_id), array_agg(r.job_id), array_agg(r.version + 1),
         array_agg(r.counted)
  into v_rows, v_of, v_tenants, jobs, v_versions, v_counted
  from (
    select r.* from unnest(v_lanes, v_marks) as g(id, mark)
    cross join lateral (
      select r.ctid, r.* from windlass_data.ready as r
      where r.lane_id = g.id and r.seq > g.mark
      order by r.seq
      limit ceil(p_limit::float8 / v_flows)
      for update skip locked
    ) as r
    limit p_limit
  ) as r;
  if v_rows is null then
    jobs := '{}';
  else
    v_now := windlass_data.clock();  -- after they were seen: nothing starts before it was there
    delete from windlass_data.ready as r where r.ctid = any (v_rows);  -- locked: they stay where they are
    with leased as (
      insert into windlass_data.lease
        (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted, begins)
      select windlass_data.new_id(), t.tenant_id, t.lane_id, p_node, v_now, v_now + make_interval(secs => p_lease), count(*),
             array_agg(t.job_id), array_agg(t.version), array_agg(t.counted), case when p_begins then '{}'::uuid[] end
      from unnest(v_of, v_tenants, jobs, v_versions, v_counted) as t(lane_id, tenant_id, job_id, version, counted)
      group by t.lane_id, t.tenant_id
      returning id, lane_id
    )
    select array_agg(l.id order by array_position(v_lanes, l.lane_id)) into tokens from leased as l;
  end if;
end
$$;
comment on function windlass._take_lanes is 'Take jobs out of lanes whose turn it is onto fresh leases.';
