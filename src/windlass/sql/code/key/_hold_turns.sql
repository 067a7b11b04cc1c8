-- Note that those of these jobs that stand in line have their turn at their keys.
-- definer: none
create function windlass._hold_turns(p_tenants uuid[], p_jobs uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
declare
  v_day record;
begin
  for v_day in select r.first, r.last from windlass._day_ranges(p_jobs) as r loop
    update windlass_data.key_line as k set held = true
    from unnest(p_tenants, p_jobs) as n(tenant_id, job_id)
    where k.tenant_id = n.tenant_id and k.job_id = n.job_id
      and exists (
        select from windlass_data.ready as r
        join windlass_data.job as j on j.lane_id = r.lane_id and j.seq = r.seq
        where j.tenant_id = n.tenant_id and j.id = n.job_id and j.id between v_day.first and v_day.last
          and r.job_id = n.job_id);
  end loop;
end
$$;
comment on function windlass._hold_turns is 'Note whose turn it is at a key.';
