-- The parts of a job as one document, by the names of their nodes.  A part that waits after a failure shows as retrying.
-- definer: none
create function windlass._parts_of(p_tenant uuid, p_job uuid) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'node_id', p.node_id, 'node_name', p.node_name,
    'state', case when p.state = 'queued' and p.counted > 0 then 'retrying' else p.state end,
    'attempts', p.version, 'counted', p.counted, 'run_at', p.run_at, 'started_at', p.claimed_at,
    'finished_at', p.finished_at, 'result', p.result, 'error', p.error) order by p.node_name, p.node_id), '[]')
  from windlass_data.cluster_part as p
  where p.tenant_id = p_tenant and p.job_id = p_job
$$;
comment on function windlass._parts_of(uuid, uuid) is 'The parts of a job as one document.';
