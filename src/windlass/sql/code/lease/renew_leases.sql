-- Extend these leases to p_lease_seconds from now.  Returns what the holder must act on: tokens that are lost
-- (lease_lost, no job named), tokens to ask for again soon (busy), running jobs that somebody asked to cancel
-- (cancel_requested), and jobs behind a gate: not to be started (gated), or to be given back even so (release_requested).
--
-- Waits for nobody: a lease on which a report is under way is busy, and is not expired meanwhile.  The server does wait,
-- skip locked or not, where an update of the row commits at that very moment and its next version is locked: hence the
-- order, which is that of everybody.
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
  v_now timestamptz := windlass_data.clock();
  v_until timestamptz;
  v_held uuid[];
  v_bound uuid := windlass_data.bound_tenant();
begin
  if p_tokens is null or p_lease_seconds is null or not p_lease_seconds between 0.1 and 86400 then
    raise exception 'a renewal needs tokens, and a lease lasts from 0.1 seconds to a day' using errcode = 'WL007';
  end if;
  v_until := v_now + make_interval(secs => p_lease_seconds);
  with renewed as (
    update windlass_data.lease as l
    set expires_at = v_until, renewed_at = v_now
    where l.id = any (array(
      select l.id from windlass_data.lease as l
      where l.id = any (p_tokens) and (v_bound is null or l.tenant_id = v_bound)
      order by l.id
      for no key update skip locked))
    returning l.id
  )
  select array_agg(r.id) into v_held from renewed as r;
  return query
  select t.id, null::uuid, case when l.id is null then 'lease_lost' else 'busy' end
  from unnest(p_tokens) as t(id)
  left join lateral (
    select l.id from windlass_data.lease as l where l.id = t.id and (v_bound is null or l.tenant_id = v_bound) offset 0
  ) as l on true
  where t.id <> all (coalesce(v_held, '{}'));
  return query
  select h.token, h.job_id, 'cancel_requested'
  from windlass_data.cancel_request as r
  join windlass._held_jobs(v_held) as h on h.tenant_id = r.tenant_id and h.job_id = r.job_id
  where (
    select a.outcome from windlass_data.attempt as a
    where a.tenant_id = h.tenant_id and a.job_id = h.job_id and a.version = h.version
  ) is null;
  if exists (select from windlass_data.gate) then
    return query select g.* from windlass._gated_jobs(v_held, v_now) as g;
  end if;
end
$$;
comment on function windlass.renew_leases is 'Extend leases; returns the lost ones and the jobs to cancel.';
