-- Enqueue one job that has an id and no key, as _enqueue does, in as few statements as can be.  False: it was there.
-- definer: none
create function windlass._enqueue_one(p_tenant uuid, p_job windlass_data.new_job) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_transaction xid8 := pg_current_xact_id();  -- before the clock and the place in line: see survey_lanes
  v_now timestamptz := windlass_data.clock();
  v_queue text := coalesce(p_job.queue, 'default');
  v_lane integer;
  v_seq bigint;
begin
  perform windlass._check_new_jobs(array[p_job]);
  v_lane := windlass._lane_of(p_tenant, v_queue, p_job.kind, coalesce(p_job.priority, 0));
  if coalesce(p_job.run_at <= v_now, true) then
    v_seq := nextval('windlass_data.ready_seq');
  end if;
  insert into windlass_data.job
    (tenant_id, id, lane_id, seq, max_attempts, timeout_ms, created_at, run_at, payload, retry, trace_id,
     correlation_id, actor)
  values
    (p_tenant, p_job.id, v_lane, v_seq, coalesce(p_job.max_attempts, 5), p_job.timeout_ms, v_now, p_job.run_at,
     p_job.payload, p_job.retry, p_job.trace_id, p_job.correlation_id,
     nullif(current_setting('windlass.actor', true), ''))
  on conflict do nothing;
  if not found then
    return (select r.created from windlass._resolve_duplicate(p_tenant, p_job, p_job.id) as r);
  end if;
  if v_seq is null then
    insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
    values (p_tenant, p_job.id, p_job.run_at, v_lane, 0, 0);
  else
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    values (v_lane, v_seq, p_tenant, p_job.id, 0, 0);
  end if;
  perform windlass._note_work(array[v_lane]);
  perform windlass._wake(array[v_queue]);
  return true;
end
$$;
comment on function windlass._enqueue_one(uuid, windlass_data.new_job) is 'Enqueue one job that has no key.';
