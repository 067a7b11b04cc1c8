-- Dead jobs of the entered tenant that pass these filters, oldest first.  Null passes everything.
--
-- The engine runs it, for the reason given at _ended_jobs.
-- definer: engine
create function windlass._dead_jobs(
  p_jobs uuid[], p_kinds text[], p_queues text[], p_error_like text, p_finished_from timestamptz,
  p_finished_to timestamptz, p_limit integer)
returns table (job_id uuid, kind text, queue text, finished_at timestamptz, error jsonb)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select a.job_id, l.kind, l.queue, a.finished_at, a.error
  from windlass_data.attempt as a
  join windlass_data.job as j on j.tenant_id = a.tenant_id and j.id = a.job_id
  join windlass_data.lane as l on l.id = j.lane_id
  where a.tenant_id = (select windlass_data.current_tenant()) and a.ends = 'dead'
    and (p_jobs is null or a.job_id = any (p_jobs))
    and (p_kinds is null or l.kind = any (p_kinds))
    and (p_queues is null or l.queue = any (p_queues))
    and (p_error_like is null or a.error ->> 'message' ilike p_error_like or a.error ->> 'type' ilike p_error_like)
    and (p_finished_from is null or a.finished_at >= p_finished_from)
    and (p_finished_to is null or a.finished_at < p_finished_to)
  order by a.job_id
  limit p_limit
$$;
comment on function windlass._dead_jobs is 'Dead jobs that pass these filters.';
