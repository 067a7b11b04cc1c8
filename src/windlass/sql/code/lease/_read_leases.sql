-- The jobs of these fresh leases as claim_jobs returns them, lease after lease.  p_first and p_last: the range of their ids.
-- Part of whatever asks, at no cost of a call.  `offset 0` keeps the look-ups per lease and per job, never a scan of all.
-- definer: none
create function windlass._read_leases(p_tokens uuid[], p_first uuid, p_last uuid)
returns table (
  job_id uuid, tenant_id uuid, queue text, kind text, priority integer, payload jsonb, token uuid, version integer,
  counted integer, max_attempts integer, expires_at timestamptz, timeout_ms integer, trace_id text,
  correlation_id text, created_at timestamptz, lane_id integer, seq bigint)
language sql stable
begin atomic
  select j.id, j.tenant_id, l.queue, l.kind, l.priority::integer, j.payload, e.id, t.version, t.counted,
         j.max_attempts::integer, e.expires_at, j.timeout_ms,
         coalesce(j.trace_id, encode(uuid_send(j.id), 'hex')), j.correlation_id, j.created_at, e.lane_id, j.seq
  from unnest(p_tokens) with ordinality as g(token, turn)
  cross join lateral (select e.* from windlass_data.lease as e where e.id = g.token offset 0) as e
  cross join lateral (select l.* from windlass_data.lane as l where l.id = e.lane_id offset 0) as l
  cross join lateral unnest(e.job_ids, e.versions, e.counted) with ordinality as t(job_id, version, counted, place)
  cross join lateral (
    select j.* from windlass_data.job as j
    where j.tenant_id = e.tenant_id and j.id = t.job_id and j.id between p_first and p_last
    offset 0
  ) as j
  order by g.turn, t.place;
end;
comment on function windlass._read_leases is 'The jobs of fresh leases.';
