-- Put these jobs, just parked or just back in line, into the lines of their keys, and out of everybody's reach until it
-- is their turn.  Jobs without a key are left alone.  Their places in line are taken in the order of the array.
-- definer: none
create function windlass._join_key_lines(p_tenant uuid, p_jobs uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
declare
  v_turns bigint[];
  v_day record;
begin
  v_turns := array(select nextval('windlass_data.ready_seq') from unnest(p_jobs));
  for v_day in select r.first, r.last from windlass._day_ranges(p_jobs) as r loop
    with keyed as materialized (
      select j.id, j.lane_id, j.seq, j.concurrency_key as key, j.concurrency_limit as allowed, l.kind, l.priority,
             n.place, n.turn, exists (
               select from windlass_data.scheduled as s
               where s.tenant_id = p_tenant and s.job_id = j.id and s.run_at = 'infinity') as parked
      from unnest(p_jobs, v_turns) with ordinality as n(id, turn, place)
      cross join lateral (
        select j.* from windlass_data.job as j
        where j.tenant_id = p_tenant and j.id = n.id and j.id between v_day.first and v_day.last
        offset 0
      ) as j
      join windlass_data.lane as l on l.id = j.lane_id
      where j.concurrency_key is not null
    ), due as materialized (
      delete from windlass_data.ready as r using keyed as k
      where r.lane_id = k.lane_id and r.seq = k.seq and r.job_id = k.id
      returning r.job_id, r.lane_id, r.version, r.counted
    ), parked as (
      insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
      select p_tenant, d.job_id, 'infinity', d.lane_id, d.version, d.counted from due as d
    ), unplaced as (
      update windlass_data.job as j set seq = null from due as d
      where j.tenant_id = p_tenant and j.id = d.job_id and j.id between v_day.first and v_day.last
    ), lined_up as (
      insert into windlass_data.key_line (tenant_id, job_id, kind, key, priority, place, allowed, held)
      select p_tenant, k.id, k.kind, k.key, k.priority, case when k.parked or d.job_id is not null then k.turn end, k.allowed,
             false
      from keyed as k
      left join due as d on d.job_id = k.id
      order by k.place
    )
    insert into windlass_data.key_check (tenant_id, kind, key)
    select distinct p_tenant, k.kind, k.key from keyed as k left join due as d on d.job_id = k.id
    where k.parked or d.job_id is not null;
  end loop;
end
$$;
comment on function windlass._join_key_lines is 'Put jobs into the lines of their keys.';
