-- Enqueue one job.  Runs in the caller's transaction: a rollback takes the job along.
-- definer: owner
-- grant: producer, operator
create function windlass.enqueue_job(
  p_tenant uuid,
  p_kind text,
  p_payload jsonb default '{}',
  p_queue text default 'default',
  p_priority integer default 0,
  p_run_at timestamptz default null,
  p_key text default null,
  p_scope text default 'forever',
  p_max_attempts integer default 5,
  p_retry jsonb default null,
  p_timeout_ms integer default null,
  p_trace_id text default null,
  p_correlation_id text default null,
  p_id uuid default null,
  p_concurrency_key text default null,
  p_concurrency_limit integer default null,
  p_actor text default null
) returns table (job_id uuid, created boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_job windlass_data.new_job := row(
    coalesce(p_id, windlass_data.new_id()), p_kind, p_payload, p_queue, p_priority, p_run_at, p_max_attempts, p_retry,
    p_timeout_ms, p_key, p_scope, p_trace_id, p_correlation_id, p_concurrency_key, p_concurrency_limit);
  v_actor text;
begin
  if starts_with(p_queue, 'windlass.') or starts_with(p_kind, 'windlass.') then
    perform windlass._refuse_reserved(p_queue, p_kind);
  end if;
  if p_actor is not null then
    v_actor := windlass._act_as(p_actor);
  end if;
  if p_key is null and p_concurrency_key is null and p_concurrency_limit is null then
    job_id := v_job.id;
    created := windlass._enqueue_one(p_tenant, v_job);
  else
    select e.job_id, e.created into job_id, created from windlass._enqueue(p_tenant, array[v_job]) as e;
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
  if p_actor is not null then
    perform set_config('windlass.actor', v_actor, true);
  end if;
  return next;
end
$$;
comment on function windlass.enqueue_job is 'Enqueue one job; returns its id and whether it is new.';
