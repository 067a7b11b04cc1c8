-- The jobs that were taken by turns as claim_jobs returns them, in the order of their turns.  p_first and p_last: the range
-- of their ids.  Part of whatever asks, at no cost of a call.  `offset 0` keeps the look-ups per job, never a scan of all.
-- definer: none
create function windlass._read_turns(
  p_tokens uuid[], p_tenants uuid[], p_lanes integer[], p_jobs uuid[], p_versions integer[], p_counted integer[],
  p_ends timestamptz[], p_first uuid, p_last uuid)
returns table (
  job_id uuid, tenant_id uuid, queue text, kind text, priority integer, payload jsonb, token uuid, version integer,
  counted integer, max_attempts integer, expires_at timestamptz, timeout_ms integer, trace_id text,
  correlation_id text, created_at timestamptz, lane_id integer, seq bigint)
language sql stable
begin atomic
  select j.id, j.tenant_id, l.queue, l.kind, l.priority::integer, j.payload, t.token, t.version, t.counted,
         j.max_attempts::integer, t.expires_at, j.timeout_ms,
         coalesce(j.trace_id, encode(uuid_send(j.id), 'hex')), j.correlation_id, j.created_at, t.lane_id, j.seq
  from unnest(p_tokens, p_tenants, p_lanes, p_jobs, p_versions, p_counted, p_ends) with ordinality
    as t(token, tenant_id, lane_id, job_id, version, counted, expires_at, turn)
  cross join lateral (
    select j.* from windlass_data.job as j
    where j.tenant_id = t.tenant_id and j.id = t.job_id and j.id between p_first and p_last
    offset 0
  ) as j
  cross join lateral (select l.* from windlass_data.lane as l where l.id = t.lane_id offset 0) as l
  order by t.turn;
end;
comment on function windlass._read_turns is 'The jobs that were taken by turns.';
