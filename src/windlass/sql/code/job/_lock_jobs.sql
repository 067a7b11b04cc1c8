-- Lock these jobs, and return those that are locked, with where they lie and what decides about their attempts.
--
-- A day after the other, and within a day in the order of tenants and ids: whoever waits for several jobs keeps to this
-- order.  With p_wait false those that somebody holds are passed over.
-- definer: none
create function windlass._lock_jobs(p_tenants uuid[], p_jobs uuid[], p_wait boolean)
returns table (tenant_id uuid, job_id uuid, tid tid, max_attempts smallint, retry jsonb)
language plpgsql volatile rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
set enable_seqscan = off
as $$
declare
  v_tenant uuid := p_tenants[1];
  v_job uuid := p_jobs[1];
  v_day record;
begin
  if cardinality(p_jobs) = 1 and p_wait then  -- as for many, but planned in half the time
    return query
    select j.tenant_id, j.id, j.ctid, j.max_attempts, j.retry from windlass_data.job as j
    where j.tenant_id = v_tenant and j.id = v_job
    for no key update;
    return;
  elsif cardinality(p_jobs) = 1 then
    return query
    select j.tenant_id, j.id, j.ctid, j.max_attempts, j.retry from windlass_data.job as j
    where j.tenant_id = v_tenant and j.id = v_job
    for no key update skip locked;
    return;
  end if;
  for v_day in select r.first, r.last from windlass._day_ranges(p_jobs) as r loop
    if p_wait then
      return query
      select j.tenant_id, j.id, j.tid, j.max_attempts, j.retry
      from (
        select distinct n.* from unnest(p_tenants, p_jobs) as n(tenant_id, job_id)
        where n.job_id between v_day.first and v_day.last order by 1, 2
      ) as n
      cross join lateral (
        select j.tenant_id, j.id, j.ctid as tid, j.max_attempts, j.retry from windlass_data.job as j
        where j.tenant_id = n.tenant_id and j.id = n.job_id and j.id between v_day.first and v_day.last
        for no key update
      ) as j;
    else
      return query
      select j.tenant_id, j.id, j.tid, j.max_attempts, j.retry
      from (select distinct n.* from unnest(p_tenants, p_jobs) as n(tenant_id, job_id)) as n
      cross join lateral (
        select j.tenant_id, j.id, j.ctid as tid, j.max_attempts, j.retry from windlass_data.job as j
        where j.tenant_id = n.tenant_id and j.id = n.job_id and j.id between v_day.first and v_day.last
        for no key update skip locked
      ) as j;
    end if;
  end loop;
end
$$;
comment on function windlass._lock_jobs is 'Lock jobs, a day after the other.';
