-- One job.  A foreign id and an unknown one get the same answer.
-- definer: owner
-- grant: producer, worker, operator, reader
create function windlass.get_job(p_tenant uuid, p_job uuid)
returns table (
  id uuid, tenant_id uuid, queue text, kind text, state text, priority integer, payload jsonb, result jsonb,
  error jsonb, run_at timestamptz, created_at timestamptz, started_at timestamptz, finished_at timestamptz,
  version integer, counted integer, max_attempts integer, timeout_ms integer, retry jsonb, idempotency_key text,
  trace_id text, correlation_id text, cost_cents bigint, node_id uuid, lease_expires_at timestamptz,
  cancel_requested boolean, ended_reason text, read_at timestamptz,
  concurrency_key text, concurrency_limit integer
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
begin
  perform windlass._hold_days();
  return query select * from windlass._describe_jobs(p_tenant, array[p_job]);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'WL001';
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.get_job is 'One job with its state, result and error.';
