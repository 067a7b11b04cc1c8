-- These jobs as the outside sees them, with the state that their place in the tables gives them.
--
-- The one text that derives a state.  One statement, hence one snapshot: a job that moves meanwhile is seen
-- in its old place or in its new one, never in both or in none.  That attempts are among p_ids too is said for the planner:
-- it plans for the days of these jobs only.
-- definer: none
create function windlass._describe_jobs(p_tenant uuid, p_ids uuid[])
returns table (
  id uuid, tenant_id uuid, queue text, kind text, state text, priority integer, payload jsonb, result jsonb,
  error jsonb, run_at timestamptz, created_at timestamptz, started_at timestamptz, finished_at timestamptz,
  version integer, counted integer, max_attempts integer, timeout_ms integer, retry jsonb, idempotency_key text,
  trace_id text, correlation_id text, cost_cents bigint, node_id uuid, lease_expires_at timestamptz,
  cancel_requested boolean, ended_reason text, read_at timestamptz,
  concurrency_key text, concurrency_limit integer
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  with placed as materialized (
    select j.*, l.queue, l.kind, l.priority as lane_priority, a.version as a_version, a.counted as a_counted,
           a.result, a.error, a.ends, a.finished_at, a.started_at as a_started_at,
           coalesce(r.version, s.version) as q_version, coalesce(r.counted, s.counted) as q_counted,
           coalesce(nullif(s.run_at, 'infinity'), j.run_at, j.created_at) as due_at,
           case when r.job_id is not null or s.job_id is not null then 'queued'
                when j.ended_state is not null then j.ended_state::text
                when a.ends is not null then a.ends::text
                else 'running' end as state
    from windlass_data.job as j
    join windlass_data.lane as l on l.id = j.lane_id
    left join windlass_data.ready as r on r.lane_id = j.lane_id and r.seq = j.seq and r.job_id = j.id
    left join windlass_data.scheduled as s on s.tenant_id = j.tenant_id and s.job_id = j.id
    left join lateral (
      select a.* from windlass_data.attempt as a
      where a.tenant_id = j.tenant_id and a.job_id = j.id and a.job_id = any (p_ids)
      order by a.version desc limit 1
    ) as a on true
    where j.tenant_id = p_tenant and j.id = any (p_ids)
  )
  select p.id, p.tenant_id, p.queue, p.kind, p.state, p.lane_priority::integer, p.payload,
         case when p.state in ('succeeded', 'skipped') then p.result end, p.error, p.due_at, p.created_at,
         coalesce(le.claimed_at, p.a_started_at),
         case when p.state in ('queued', 'running', 'blocked') then null else coalesce(p.ended_at, p.finished_at) end,
         coalesce(p.q_version, le.version, p.a_version, 0),
         coalesce(p.q_counted, le.counted, p.a_counted, 0),
         p.max_attempts::integer, p.timeout_ms, p.retry, p.idempotency_key,
         coalesce(p.trace_id, replace(p.id::text, '-', '')), p.correlation_id,
         least(coalesce((select sum(a.cost_cents) from windlass_data.attempt as a
                         where a.tenant_id = p.tenant_id and a.job_id = p.id and a.job_id = any (p_ids)), 0)
               + coalesce((select sum(c.cents) from windlass_data.cost as c
                           where c.tenant_id = p.tenant_id and c.job_id = p.id), 0), 9223372036854775807)::bigint,
         le.node_id, le.expires_at,
         p.state = 'running' and exists (
           select from windlass_data.cancel_request as c where c.tenant_id = p.tenant_id and c.job_id = p.id),
         coalesce(p.ended_reason, case
           when p.state = 'skipped' then p.result ->> 'reason'
           when p.state = 'canceled' then nullif(coalesce((  -- whoever asked for it, else the handler
             select coalesce(e.reason, '') from windlass_data.event as e
             where e.tenant_id = p.tenant_id and e.job_id = p.id and e.action = 'job.cancel'
               and e.details ->> 'state' = 'running'
             order by e.id limit 1), case when p.ended_state is null then p.error ->> 'message' end), '') end),
         windlass_data.clock(), p.concurrency_key, p.concurrency_limit::integer
  from placed as p
  left join lateral (
    select le.claimed_at, le.node_id, le.expires_at, m.version, m.counted
    from windlass_data.lease as le
    cross join lateral unnest(le.job_ids, le.versions, le.counted) as m(job_id, version, counted)
    where p.state = 'running' and le.lane_id = p.lane_id and le.tenant_id = p.tenant_id
      and p.id = any (le.job_ids) and m.job_id = p.id
    order by m.version desc limit 1
  ) as le on true;
end
$$;
comment on function windlass._describe_jobs(uuid, uuid[]) is 'Jobs of one tenant as the outside sees them.';
