-- Take those of these jobs that have ended out of the lines of their keys, have somebody look whose turn it is, and wake
-- those who wait.  Asks whether they have ended, so that it does not matter who says so or how often.
-- definer: none
create function windlass._leave_key_lines(p_jobs uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
declare
  v_queues text[];
  v_kinds text[];
  v_tenants uuid[];
  v_day record;
begin
  for v_day in
    select r.first, r.last
    from windlass._day_ranges(array(select k.job_id from windlass_data.key_line as k where k.job_id = any (p_jobs))) as r
  loop
    with ended as (
      delete from windlass_data.key_line as k
      where k.job_id = any (p_jobs) and k.job_id between v_day.first and v_day.last
        and exists (
          select from windlass_data.job as j
          left join lateral (
            select a.ends from windlass_data.attempt as a
            where a.tenant_id = j.tenant_id and a.job_id = j.id and a.job_id between v_day.first and v_day.last
            order by a.version desc limit 1
          ) as a on true
          where j.tenant_id = k.tenant_id and j.id = k.job_id and j.id between v_day.first and v_day.last
            and (j.ended_state is not null or a.ends is not null))
      returning k.*
    ), told as (
      insert into windlass_data.key_check (tenant_id, kind, key)
      select distinct e.tenant_id, e.kind, e.key from ended as e
    )
    select v_queues || array_agg(distinct l.queue), v_kinds || array_agg(distinct e.kind),
           v_tenants || array_agg(distinct e.tenant_id)
    into v_queues, v_kinds, v_tenants
    from ended as e
    join windlass_data.job as j on j.tenant_id = e.tenant_id and j.id = e.job_id and j.id between v_day.first and v_day.last
    join windlass_data.lane as l on l.id = j.lane_id;
  end loop;
  if v_queues is not null then
    perform windlass._wake(
      v_queues, cardinality(p_jobs), v_kinds, case when v_tenants[1] = all (v_tenants) then v_tenants[1] end);
  end if;
end
$$;
comment on function windlass._leave_key_lines(uuid[]) is 'Take ended jobs out of the lines of their keys.';
