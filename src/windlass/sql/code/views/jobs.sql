-- For people with psql: the jobs of the tenant that the session has set, in the state that get_job tells.
--
-- Empty while windlass.tenant_id is not set.  Fit for one job or for the newest; a search by state belongs to
-- list_jobs, which knows where each state lies.
-- definer: owner
-- grant: operator, reader
create view windlass.jobs as
select j.id, j.tenant_id, l.queue, l.kind, p.state, l.priority, j.payload,
       case when p.state in ('succeeded', 'skipped') then a.result end as result, a.error,
       coalesce(nullif(s.run_at, 'infinity'), j.run_at, j.created_at) as run_at, j.created_at,
       coalesce(j.ended_at, case when p.state <> 'queued' and a.ends is not null then a.finished_at end) as finished_at,
       coalesce(a.version, 0) + case p.state when 'running' then 1 else 0 end as attempt, j.max_attempts,
       j.idempotency_key, coalesce(j.trace_id, replace(j.id::text, '-', '')) as trace_id, j.correlation_id,
       coalesce(j.ended_reason, case
         when p.state = 'skipped' then a.result ->> 'reason'
         when p.state = 'canceled' then nullif(coalesce((  -- whoever asked for it, else the handler
           select coalesce(e.reason, '') from windlass_data.event as e
           where e.tenant_id = j.tenant_id and e.job_id = j.id and e.action = 'job.cancel'
             and e.details ->> 'state' = 'running'
           order by e.id limit 1), case when j.ended_state is null then a.error ->> 'message' end), '') end) as ended_reason,
       j.concurrency_key, j.concurrency_limit
from windlass_data.job as j
join windlass_data.lane as l on l.id = j.lane_id
left join windlass_data.ready as r on r.lane_id = j.lane_id and r.seq = j.seq and r.job_id = j.id
left join windlass_data.scheduled as s on s.tenant_id = j.tenant_id and s.job_id = j.id
left join lateral (
  select a.* from windlass_data.attempt as a
  where a.tenant_id = j.tenant_id and a.job_id = j.id
  order by a.version desc
  limit 1
) as a on true
cross join lateral (
  select case when r.job_id is not null or s.job_id is not null then 'queued'
              else coalesce(j.ended_state, a.ends, 'running')::text end
) as p(state);
comment on view windlass.jobs is 'The jobs of the tenant that the session has set.';
