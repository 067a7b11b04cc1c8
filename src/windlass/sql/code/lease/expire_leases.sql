-- Recover up to p_limit expired leases: each job of them that has not been reported is queued at once, or ends dead
-- if its attempts are used up and the last one had begun (see _end_abandoned).  Returns the jobs moved; they line up in
-- the order in which they were enqueued.
--
-- p_within: only what ran out so long ago or less.  Rows of long ago need not be stepped over then; every now and then
-- somebody must ask without it.
--
-- Safe to run anywhere, any number at a time, and waits for nobody: a lease or a job that somebody holds locked is
-- passed over until the next time, and others come in its stead.
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
  v_passed uuid[] := '{}';
  v_error jsonb := jsonb_build_object(
    'type', 'LeaseExpired', 'message', 'the lease ran out: the worker died, hung or lost the database');
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    raise exception 'expiry takes 1 to 10000 leases at a time' using errcode = 'WL007';
  end if;
  loop
    v_leases := array(
      select l.id from windlass_data.lease as l
      where l.expires_at < v_now and l.expires_at >= coalesce(v_now - p_within, '-infinity')
        and (v_bound is null or l.tenant_id = v_bound) and l.id <> all (v_passed)
      order by l.expires_at
      limit p_limit
      for update skip locked);
    exit when cardinality(v_leases) = 0;
    return query select e.job_id, e.state from windlass._end_abandoned(v_leases, v_error) as e;
    exit when cardinality(v_leases) < p_limit;
    v_leases := array(select l.id from windlass_data.lease as l where l.id = any (v_leases));  -- somebody holds jobs of these
    exit when cardinality(v_leases) = 0;
    v_passed := v_passed || v_leases;
  end loop;
end
$$;
comment on function windlass.expire_leases is 'Recover the jobs of expired leases.';
