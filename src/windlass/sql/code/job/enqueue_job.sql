-- Enqueue one job.  Runs in the caller's transaction: a rollback takes the job along.
--
-- A lone enqueue costs what its statements and expressions cost to set up, once for each transaction, and next to nothing
-- for the rows.  So a plain job for a lane that is there is written here, in as few of both as can be.  Whatever is special
-- about a job, and whatever is wrong with it, is for _enqueue_special.  As the engine, because to let row-level security ask
-- once more for each of five tables takes as long again: every statement names the tenant, and who is bound is asked first.
-- definer: engine
-- grant: producer, operator
create function windlass.enqueue_job(
  p_tenant uuid, p_kind text, p_payload jsonb default '{}', p_queue text default 'default', p_priority integer default 0,
  p_run_at timestamptz default null, p_key text default null, p_scope text default 'forever',
  p_max_attempts integer default 5, p_retry jsonb default null, p_timeout_ms integer default null,
  p_trace_id text default null, p_correlation_id text default null, p_id uuid default null,
  p_concurrency_key text default null, p_concurrency_limit integer default null, p_actor text default null
) returns table (job_id uuid, created boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_indexonlyscan = off  -- which takes longer to set up, for rows that are in memory
as $$
declare
  v_transaction xid8 := pg_current_xact_id();  -- before the clock and the place in line: see survey_lanes
  v_now timestamptz := windlass_data.clock();
  v_plain boolean := p_key is null and p_concurrency_key is null and p_concurrency_limit is null and p_scope = 'forever'
    and p_max_attempts between 1 and 32767 and octet_length(p_payload::text) <= 1048576
    and not (starts_with(p_queue, 'windlass.') or starts_with(p_kind, 'windlass.'));
  v_lane integer;
  v_seq bigint;
  v_bound boolean;
  v_busy boolean;
  v_awaited boolean;
  v_limited boolean;
begin
  if num_nonnulls(p_run_at, p_retry, p_timeout_ms, p_trace_id, p_correlation_id, p_actor) > 0 then
    v_plain := v_plain and (p_run_at is null or windlass._is_time(p_run_at)) and (p_timeout_ms is null or p_timeout_ms > 0)
      and (p_retry is null or windlass._bad_retry(p_retry) is null)
      and octet_length(concat(p_trace_id, p_correlation_id, p_actor)) <= 200 and p_actor is distinct from '';
  end if;
  if v_plain then
    select l.id, exists (select from windlass_data.role_tenant) into v_lane, v_bound
    from windlass_data.lane as l
    where l.tenant_id = p_tenant and l.queue = p_queue and l.kind = p_kind and l.priority = p_priority
    order by l.id;
    if v_bound and windlass_data.bound_tenant() <> p_tenant then
      v_lane := null;
    end if;
  end if;
  if v_lane is not null then
    if not pg_try_advisory_xact_lock_shared(20053, v_lane & 255) then  -- for _note_work: held before its row is looked for
      perform pg_advisory_xact_lock_shared(20053, v_lane & 255);
    end if;
    job_id := coalesce(p_id, windlass_data.new_id());
    if p_run_at is null or p_run_at <= v_now then
      v_seq := nextval('windlass_data.ready_seq');
    end if;
    insert into windlass_data.job
      (tenant_id, id, lane_id, seq, max_attempts, timeout_ms, created_at, run_at, payload, retry, trace_id, correlation_id, actor)
    values
      (p_tenant, job_id, v_lane, v_seq, p_max_attempts, p_timeout_ms, v_now, p_run_at, p_payload, p_retry, p_trace_id,
       p_correlation_id, left(coalesce(p_actor, nullif(current_setting('windlass.actor', true), ''), session_user), 200))
    on conflict do nothing;
    created := found;
  end if;
  if created then
    if v_seq is null then
      insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
      values (p_tenant, job_id, p_run_at, v_lane, 0, 0)
      returning false, false, exists (select from windlass_data.depth_limit) into v_busy, v_awaited, v_limited;
    else
      insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
      values (v_lane, v_seq, p_tenant, job_id, 0, 0)
      returning exists (select from windlass_data.busy_lane as b where b.lane_id = v_lane),
                exists (select from windlass_data.waiting as w where w.queue = p_queue),
                exists (select from windlass_data.depth_limit)
      into v_busy, v_awaited, v_limited;
    end if;
    if v_limited then
      perform windlass._check_depth(array[v_lane]);
    end if;
    if not v_busy or current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
      perform windlass._note_work(array[v_lane]);
    end if;
    if v_awaited then
      perform windlass._wake(array[p_queue], 1, array[p_kind], p_tenant);
    end if;
    return next;
    return;
  end if;
  return query select e.job_id, e.created from windlass._enqueue_special(
    p_tenant,
    row(coalesce(p_id, windlass_data.new_id()), p_kind, p_payload, p_queue, p_priority, p_run_at, p_max_attempts, p_retry,
        p_timeout_ms, p_key, p_scope, p_trace_id, p_correlation_id, p_concurrency_key, p_concurrency_limit),
    p_actor) as e;
end
$$;
comment on function windlass.enqueue_job is 'Enqueue one job; returns its id and whether it is new.';
