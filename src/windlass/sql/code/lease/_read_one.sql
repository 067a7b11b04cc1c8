-- One job of a fresh lease as claim_jobs returns it, where all that the lease says of it is at hand.
-- Part of whatever asks, at no cost of a call.
-- definer: none
create function windlass._read_one(
  p_token uuid, p_lane integer, p_tenant uuid, p_job uuid, p_version integer, p_counted integer, p_expires timestamptz)
returns table (
  job_id uuid, tenant_id uuid, queue text, kind text, priority integer, payload jsonb, token uuid, version integer,
  counted integer, max_attempts integer, expires_at timestamptz, timeout_ms integer, trace_id text,
  correlation_id text, created_at timestamptz, lane_id integer, seq bigint)
language sql stable
begin atomic
  select p_job, p_tenant, l.queue, l.kind, l.priority::integer, j.payload, p_token, p_version, p_counted,
         j.max_attempts::integer, p_expires, j.timeout_ms,
         coalesce(j.trace_id, encode(uuid_send(p_job), 'hex')), j.correlation_id, j.created_at, p_lane, j.seq
  from windlass_data.lane as l
  cross join windlass_data.job as j
  where l.id = p_lane and j.tenant_id = p_tenant and j.id = p_job;
end;
comment on function windlass._read_one is 'One job of a fresh lease.';
