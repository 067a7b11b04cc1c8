-- Lock these jobs and then the leases that hold them.  Returns for each of the jobs where it lies and what decides about
-- it, or nulls if the token does not hold it or it could not be locked.
--
-- The jobs first: a cancel in somebody's open transaction must not be waited for with a lease in hand, or nobody could
-- renew it meanwhile.  An expiry (p_wait false), which holds its leases already, passes over such jobs instead.
-- definer: none
create function windlass._lock_held(
  p_tokens uuid[], p_jobs uuid[], p_wait boolean, out tids tid[], out max_attempts smallint[], out retries jsonb[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants uuid[];
begin
  select array_agg(s.tenant_id) into v_tenants
  from (
    select h.tenant_id
    from unnest(p_tokens, p_jobs) with ordinality as s(token, job_id, place)
    left join windlass._held_jobs(p_tokens) as h on h.token = s.token and h.job_id = s.job_id
    order by s.place
  ) as s;
  select array_agg(s.tid), array_agg(s.max_attempts), array_agg(s.retry) into tids, max_attempts, retries
  from (
    select l.tid, l.max_attempts, l.retry
    from unnest(v_tenants, p_jobs) with ordinality as s(tenant_id, job_id, place)
    left join windlass._lock_jobs(v_tenants, p_jobs, p_wait) as l on l.tenant_id = s.tenant_id and l.job_id = s.job_id
    order by s.place
  ) as s;
  if p_wait then
    perform windlass._lock_leases(p_tokens);
  end if;
end
$$;
comment on function windlass._lock_held is 'Lock jobs and the leases that hold them.';
