-- Extend these leases to p_lease_seconds from now.  Returns what the holder must act on: tokens that are lost
-- (lease_lost, no job named) and running jobs that somebody asked to cancel (cancel_requested).
-- definer: engine
-- grant: worker
create function windlass.renew_leases(p_tokens uuid[], p_lease_seconds double precision default 30)
returns table (token uuid, job_id uuid, code text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_until timestamptz;
  v_held uuid[];
begin
  if p_tokens is null or p_lease_seconds is null or not p_lease_seconds between 0.1 and 86400 then
    raise exception 'a renewal needs tokens, and a lease lasts from 0.1 seconds to a day' using errcode = 'WL007';
  end if;
  perform windlass._lock_leases(p_tokens);
  v_until := windlass_data.clock() + make_interval(secs => p_lease_seconds);
  with renewed as (
    update windlass_data.lease as l
    set expires_at = v_until
    where l.id = any (p_tokens) and l.tenant_id = coalesce((select windlass_data.bound_tenant()), l.tenant_id)
    returning l.id
  )
  select array_agg(r.id) into v_held from renewed as r;
  return query
  select t.id, null::uuid, 'lease_lost'
  from unnest(p_tokens) as t(id)
  where t.id <> all (coalesce(v_held, '{}'));
  return query
  select h.token, h.job_id, 'cancel_requested'
  from windlass_data.cancel_request as r
  join windlass._held_jobs(v_held) as h on h.tenant_id = r.tenant_id and h.job_id = r.job_id
  where (
    select a.outcome from windlass_data.attempt as a
    where a.tenant_id = h.tenant_id and a.job_id = h.job_id and a.version = h.version
  ) is null;
end
$$;
comment on function windlass.renew_leases is 'Extend leases; returns the lost ones and the jobs to cancel.';
