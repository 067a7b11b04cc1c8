-- What a cluster job has beyond any other: its parts, its quorum, and what was decided.  WL001 if the job is none.
-- definer: owner
-- grant: producer, worker, operator, reader
create function windlass.get_cluster_job(p_tenant uuid, p_job uuid)
returns table (
  job_id uuid, term bigint, needed integer, on_timeout text, on_crash text, quorum_timeout_ms integer,
  deadline_at timestamptz, settled_at timestamptz, verdict text, warning text, action_term bigint, ended_at timestamptz,
  parts jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
begin
  return query
  select c.job_id, c.term, c.needed, c.on_timeout, c.on_crash, c.quorum_timeout_ms, c.deadline_at, c.settled_at, c.verdict,
         c.warning, c.action_term, c.ended_at, windlass._parts_of(p_tenant, p_job)
  from windlass_data.cluster_job as c
  where c.tenant_id = p_tenant and c.job_id = p_job;
  if not found then
    raise exception 'there is no cluster job %', p_job using errcode = 'WL001';
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.get_cluster_job is 'The parts, the quorum and the verdict of a cluster job.';
