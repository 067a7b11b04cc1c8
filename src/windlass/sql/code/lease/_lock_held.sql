-- Lock these jobs and then the leases that hold them; returns the jobs that are locked.
--
-- The jobs first: a cancel in somebody's open transaction must not be waited for with a lease in hand, or nobody could
-- renew it meanwhile.  An expiry (p_wait false), which holds its leases already, passes over such jobs instead.
-- definer: none
create function windlass._lock_held(
  p_tokens uuid[], p_jobs uuid[], p_wait boolean, out tenants uuid[], out jobs uuid[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_wait then
    select array_agg(h.tenant_id), array_agg(h.job_id) into tenants, jobs
    from (
      select distinct h.tenant_id, h.job_id
      from unnest(p_tokens, p_jobs) as s(token, job_id)
      join windlass._held_jobs(p_tokens) as h on h.token = s.token and h.job_id = s.job_id
      order by 1, 2
    ) as h
    cross join lateral (
      select from windlass_data.job as j where j.tenant_id = h.tenant_id and j.id = h.job_id
      for no key update
    ) as locked;
    perform windlass._lock_leases(p_tokens);
  else
    select array_agg(h.tenant_id), array_agg(h.job_id) into tenants, jobs
    from (select distinct h.tenant_id, h.job_id from windlass._held_jobs(p_tokens) as h) as h
    cross join lateral (
      select from windlass_data.job as j where j.tenant_id = h.tenant_id and j.id = h.job_id
      for no key update skip locked
    ) as locked;
  end if;
end
$$;
comment on function windlass._lock_held is 'Lock jobs and the leases that hold them.';
