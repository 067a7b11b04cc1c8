-- Recover up to p_limit expired leases: each job of them that has not been reported is queued at once, or ends dead
-- if its attempts are used up.  Returns the jobs moved; they line up in the order in which they were enqueued.
--
-- p_within: only what ran out so long ago or less.  Rows of long ago need not be stepped over then; every now and then
-- somebody must ask without it.
--
-- Safe to run anywhere, any number at a time, and waits for nobody: a lease or a job that somebody holds locked is
-- passed over until the next time.
-- definer: engine
-- grant: worker, operator
create function windlass.expire_leases(p_limit integer default 100, p_within interval default null)
returns table (job_id uuid, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_bound uuid := windlass_data.bound_tenant();
  v_leases uuid[];
  v_tokens uuid[];
  v_jobs uuid[];
  v_error jsonb := jsonb_build_object(
    'type', 'LeaseExpired', 'message', 'the lease ran out: the worker died, hung or lost the database');
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    raise exception 'expiry takes 1 to 10000 leases at a time' using errcode = 'WL007';
  end if;
  v_leases := array(
    select l.id from windlass_data.lease as l
    where l.expires_at < v_now and l.expires_at >= coalesce(v_now - p_within, '-infinity')
      and (v_bound is null or l.tenant_id = v_bound)
    order by l.expires_at
    limit p_limit
    for update skip locked);
  if cardinality(v_leases) = 0 then
    return;
  end if;
  select array_agg(h.token order by h.job_id), array_agg(h.job_id order by h.job_id) into v_tokens, v_jobs
  from windlass._held_jobs(v_leases) as h;
  return query
  select e.job_id, e.state
  from windlass._end_attempts(
    v_tokens, v_jobs, array_fill('crashed'::windlass_data.outcome, array[cardinality(v_jobs)]),
    array_fill(v_error, array[cardinality(v_jobs)]), null, null, p_wait => false) as e
  where e.code = 'ok';
end
$$;
comment on function windlass.expire_leases is 'Recover the jobs of expired leases.';
