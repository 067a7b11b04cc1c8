-- Enqueue one job that has an id and no key, as _enqueue does, in as few statements as can be.  False: it was there.
--
-- The caller has entered the tenant, and every statement here names it.  As the engine, because to let row-level security
-- ask once more for each of five tables takes 40 % of the time that a lone enqueue takes.
-- definer: engine
create function windlass._enqueue_one(p_tenant uuid, p_job windlass_data.new_job) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_transaction xid8 := pg_current_xact_id();  -- before the clock and the place in line: see survey_lanes
  v_now timestamptz := windlass_data.clock();
  v_actor text := left(coalesce(nullif(current_setting('windlass.actor', true), ''), session_user), 200);
  v_queue text := coalesce(p_job.queue, 'default');
  v_due boolean := coalesce(p_job.run_at <= v_now, true);
  v_lane integer;
  v_look record;
begin
  if windlass._is_bad(p_job) then
    perform windlass._check_new_jobs(array[p_job]);
  end if;
  select l.id into v_lane from windlass_data.lane as l
  where l.tenant_id = p_tenant and l.queue = v_queue and l.kind = p_job.kind and l.priority = coalesce(p_job.priority, 0)
  order by l.id limit 1;
  if not found then
    v_lane := windlass._lane_of(p_tenant, v_queue, p_job.kind, coalesce(p_job.priority, 0));
  end if;
  perform pg_advisory_xact_lock_shared(20053, v_lane & 255);  -- for _note_work: held before its row is looked for
  with written as (
    insert into windlass_data.job
      (tenant_id, id, lane_id, seq, max_attempts, timeout_ms, created_at, run_at, payload, retry, trace_id,
       correlation_id, actor)
    values
      (p_tenant, p_job.id, v_lane, case when v_due then nextval('windlass_data.ready_seq') end,
       coalesce(p_job.max_attempts, 5), p_job.timeout_ms, v_now, p_job.run_at, p_job.payload, p_job.retry,
       p_job.trace_id, p_job.correlation_id, v_actor)
    on conflict do nothing
    returning seq
  ), lined_up as (
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    select v_lane, w.seq, p_tenant, p_job.id, 0, 0 from written as w where v_due
  )
  select exists (select from written) as is_new,
         exists (select from windlass_data.busy_lane as b where b.lane_id = v_lane) as busy,
         exists (select from windlass_data.waiting as w where w.queue = v_queue) as awaited,
         exists (select from windlass_data.depth_limit) as limited
  into v_look;
  if not v_look.is_new then
    return (select r.created from windlass._resolve_duplicate(p_tenant, p_job, p_job.id) as r);
  end if;
  if not v_due then
    insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
    values (p_tenant, p_job.id, p_job.run_at, v_lane, 0, 0);
  end if;
  if v_look.limited then
    perform windlass._check_depth(array[v_lane]);
  end if;
  if not v_look.busy or current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    perform windlass._note_work(array[v_lane]);
  end if;
  if v_look.awaited then
    perform windlass._wake(array[v_queue], 1, array[p_job.kind], p_tenant);
  end if;
  return true;
end
$$;
comment on function windlass._enqueue_one(uuid, windlass_data.new_job) is 'Enqueue one job that has no key.';
