-- Dead jobs of the entered tenant that pass these filters, oldest first.  Null passes everything.
--
-- The engine runs it, and compares states in this way, for the reasons given at _ended_jobs.
-- definer: engine
create function windlass._dead_jobs(
  p_kinds text[], p_queues text[], p_error_like text, p_finished_from timestamptz, p_finished_to timestamptz,
  p_limit integer)
returns setof uuid
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant uuid := windlass_data.current_tenant();
begin
  return query
  select a.job_id
  from windlass_data.attempt as a
  cross join lateral (
    select l.kind, l.queue
    from windlass_data.job as j
    join windlass_data.lane as l on l.id = j.lane_id
    where j.tenant_id = a.tenant_id and j.id = a.job_id
    offset 0  -- a look-up per job, never a scan of all jobs
  ) as l
  where a.tenant_id = v_tenant and a.ends in ('dead', 'canceled', 'skipped') and a.ends >= 'dead' and a.ends <= 'dead'
    and (p_kinds is null or l.kind = any (p_kinds))
    and (p_queues is null or l.queue = any (p_queues))
    and (p_error_like is null or a.error ->> 'message' ilike p_error_like or a.error ->> 'type' ilike p_error_like)
    and (p_finished_from is null or a.finished_at >= p_finished_from)
    and (p_finished_to is null or a.finished_at < p_finished_to)
  order by a.ends, a.job_id
  limit p_limit;
end
$$;
comment on function windlass._dead_jobs is 'Dead jobs that pass these filters.';
