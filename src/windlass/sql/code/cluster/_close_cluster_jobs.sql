-- Finalise the parts of up to p_limit jobs that have ended.  A part that waits is skipped; one that runs may finish, and
-- its own word is its last.  Where the job was canceled or died, all of them are canceled and their nodes told.  A job
-- of which somebody holds a part is left for the next turn.
-- definer: none
create function windlass._close_cluster_jobs(p_limit integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_job record;
  v_well boolean;
  v_states text[];
  v_held bigint;
begin
  for v_job in
    select c.tenant_id, c.job_id, coalesce(j.ended_state, a.ends)::text as state
    from windlass_data.cluster_job as c
    cross join lateral (
      select j.ended_state from windlass_data.job as j
      where j.tenant_id = c.tenant_id and j.id = c.job_id
      offset 0  -- a look-up per job, never a scan of all jobs
    ) as j
    left join lateral (
      select a.ends from windlass_data.attempt as a
      where a.tenant_id = c.tenant_id and a.job_id = c.job_id
      order by a.version desc limit 1
    ) as a on true
    where c.ended_at is null and coalesce(j.ended_state, a.ends) is not null
    limit p_limit
  loop
    perform from windlass_data.job as j
    where j.tenant_id = v_job.tenant_id and j.id = v_job.job_id
    for no key update skip locked;
    continue when not found;
    v_well := v_job.state in ('succeeded', 'skipped');
    v_states := case when v_well then array['queued'] else array['queued', 'running'] end;
    select count(*) into v_held from (
      select from windlass_data.cluster_part as p
      where p.tenant_id = v_job.tenant_id and p.job_id = v_job.job_id and p.state = any (v_states)
      for no key update skip locked) as p;
    continue when v_held < (
      select count(*) from windlass_data.cluster_part as p
      where p.tenant_id = v_job.tenant_id and p.job_id = v_job.job_id and p.state = any (v_states));
    update windlass_data.cluster_part as p
    set state = case when v_well then 'skipped' else 'canceled' end, finished_at = v_now, expires_at = null
    where p.tenant_id = v_job.tenant_id and p.job_id = v_job.job_id and p.state = any (v_states);
    update windlass_data.cluster_job as c
    set ended_at = v_now, settled_at = coalesce(c.settled_at, v_now)
    where c.tenant_id = v_job.tenant_id and c.job_id = v_job.job_id;
    perform windlass._record(
      v_job.tenant_id, 'cluster.closed', v_job.job_id, null, 'windlass', jsonb_build_object('job', v_job.state));
    perform pg_notify('windlass', p.node_id::text)
    from windlass_data.cluster_part as p
    where p.tenant_id = v_job.tenant_id and p.job_id = v_job.job_id and p.state = 'canceled';
  end loop;
end
$$;
comment on function windlass._close_cluster_jobs(integer) is 'Finalise the parts of jobs that have ended.';
