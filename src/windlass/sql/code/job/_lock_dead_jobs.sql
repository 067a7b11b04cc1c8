-- Lock dead jobs against every other move: their job rows, then the attempts that ended them, each in the order of the ids.
-- Whoever calls looks again: some may be alive by now, or have died once more.
-- definer: none
create function windlass._lock_dead_jobs(p_tenant uuid, p_jobs uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
declare
  v_day record;
begin
  perform from windlass._lock_jobs(array_fill(p_tenant, array[cardinality(p_jobs)]), p_jobs, p_wait => true);
  for v_day in select r.first, r.last from windlass._day_ranges(p_jobs) as r loop
    perform from windlass_data.attempt as a
    where a.tenant_id = p_tenant and a.job_id = any (p_jobs) and a.job_id between v_day.first and v_day.last
      and a.ends = 'dead'
    order by a.job_id
    for no key update;
  end loop;
end
$$;
comment on function windlass._lock_dead_jobs is 'Lock dead jobs against every other move.';
