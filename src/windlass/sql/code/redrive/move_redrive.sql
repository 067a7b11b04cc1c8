-- Revive a slice of a running redrive and move its cursor behind it, in one transaction; returns how many were revived.
--
-- Only the holder of the job's lease may (WL003), so a killed runner's successor goes on exactly behind the last slice that
-- committed.  Said twice, the second time finds the cursor elsewhere and changes nothing.  What is to be revived is looked
-- at again under the locks.  p_refused are jobs of the slice whose patched payload does not fit, p_faults says why.
-- p_keys: where a patch may change the concurrency keys of p_jobs, what these are from now on; with a limit of their own or
-- of p_key_limit.
-- definer: engine
-- grant: worker
create function windlass.move_redrive(
  p_token uuid, p_job uuid, p_after uuid default null, p_upto uuid default null, p_jobs uuid[] default '{}',
  p_refused uuid[] default '{}', p_faults text[] default '{}', p_keys text[] default null,
  p_key_limit integer default null)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set lock_timeout = '5s'
as $$
declare
  v_row windlass_data.redrive := windlass._hold_redrive(p_token, p_job);
  v_before text := windlass._enter_tenant(v_row.tenant_id);
  v_slice windlass_data.redrive := v_row;
  v_ids uuid[];
begin
  if p_after is null or p_upto is null or p_upto <= p_after or cardinality(p_jobs) > 500
     or cardinality(p_refused) is distinct from cardinality(p_faults) then
    raise exception 'a slice is up to 500 jobs behind the cursor, and every refused one needs its reason' using errcode = 'WL007';
  elsif cardinality(p_keys) <> cardinality(p_jobs) or (p_keys is not null and v_row.patch is null)
     or exists (select from unnest(p_keys) as k where length(k) not between 1 and 500) or p_key_limit not between 1 and 1000 then
    raise exception 'with a patch every job has a concurrency key of 1 to 500 characters or none' using errcode = 'WL007';
  end if;
  v_slice.jobs := array(
    select j from unnest(p_jobs) as j
    where j > p_after and j <= p_upto and (v_row.jobs is null or j = any (v_row.jobs)));
  if v_row.outcome is null and v_row.cursor = p_after and windlass._stop_of(v_row) is null then
    perform windlass._lock_dead_jobs(v_row.tenant_id, v_slice.jobs);
    v_ids := array(
      select d.job_id
      from windlass._dead_page(v_slice, p_after, 500) as d
      cross join lateral (
        select j.payload from windlass_data.job as j where j.tenant_id = v_row.tenant_id and j.id = d.job_id offset 0
      ) as j
      cross join lateral (
        select case when v_row.patch is not null then windlass._merge_patch(j.payload, v_row.patch) end as payload offset 0
      ) as p
      where d.matches
        and (pg_column_size(p.payload) > 1048576 and windlass._least_json_bytes(p.payload) > 1048576) is not true);
    v_ids := windlass._retake_keys(v_row.tenant_id, v_ids, false, false);
    if v_row.stop_rate is not null then
      insert into windlass_data.redriven (tenant_id, redrive_id, job_id, version)
      select v_row.tenant_id, v_row.id, a.job_id, a.version
      from windlass_data.attempt as a
      where a.tenant_id = v_row.tenant_id and a.job_id = any (v_ids) and a.ends = 'dead';
    end if;
    update windlass_data.job as j
    set concurrency_key = k.key,
        concurrency_limit = case when k.key is not null then coalesce(j.concurrency_limit, p_key_limit, 1) end
    from unnest(case when p_keys is not null then p_jobs end, p_keys) as k(id, key)
    where j.tenant_id = v_row.tenant_id and j.id = k.id and j.id = any (v_ids) and j.concurrency_key is distinct from k.key;
    perform windlass._revive_jobs(
      v_row.tenant_id, v_ids, v_row.max_attempts, v_row.reason, v_row.actor, v_row.patch, v_row.id);
    update windlass_data.redrive as r
    set cursor = p_upto, redriven = r.redriven + cardinality(v_ids), refused = r.refused + cardinality(p_refused),
        matched = r.matched + cardinality(p_jobs) + cardinality(p_refused),
        passed = r.passed + cardinality(p_jobs) - cardinality(v_ids),
        next_at = greatest(r.next_at, windlass_data.clock()) + make_interval(secs => cardinality(v_ids) / r.throttle),
        refusals = jsonb_path_query_array(r.refusals || coalesce((
          select jsonb_agg(jsonb_build_object('job_id', f.id, 'why', left(f.why, 500)))
          from unnest(p_refused, p_faults) as f(id, why)), '[]'), '$[0 to 9]')
    where r.tenant_id = v_row.tenant_id and r.id = v_row.id;
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
  return coalesce(cardinality(v_ids), 0);
end
$$;
comment on function windlass.move_redrive is 'Revive a slice of a running redrive, and move its cursor behind it.';
