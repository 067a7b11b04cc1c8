-- Decide what follows the parts of a job, once that can be decided: the quorum is there, it can no longer come about, or
-- the time is up.  The one place that does.  The caller holds the job row.
--
-- A job that has left its place meanwhile (canceled, or hurried by an operator) is left where it is.
-- definer: none
create function windlass._settle_cluster_job(p_tenant uuid, p_job uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_job windlass_data.cluster_job;
  v_done integer;
  v_open integer;
  v_verdict text;
  v_warning text;
begin
  select c.* into v_job from windlass_data.cluster_job as c
  where c.tenant_id = p_tenant and c.job_id = p_job and c.settled_at is null
  for no key update;
  if not found then
    return;
  end if;
  select p.done, p.open into v_done, v_open from windlass._count_parts(p_tenant, p_job) as p;
  v_verdict := case when v_done >= v_job.needed then 'quorum'
                    when v_done + v_open < v_job.needed then 'impossible'
                    when v_job.deadline_at <= v_now then 'timeout' end;
  if v_verdict is null then
    return;
  end if;
  v_warning := case v_verdict
    when 'quorum' then null
    when 'timeout' then format('%s of %s parts were done after %s s, and %s were needed',
                               v_done, v_job.parts, trim_scale(v_job.quorum_timeout_ms / 1000.0), v_job.needed)
    else format('only %s of %s parts can still be done, and %s are needed', v_done + v_open, v_job.parts, v_job.needed) end;
  update windlass_data.cluster_job as c
  set deadline_at = null, warning = v_warning,
      verdict = case when v_verdict = 'timeout' and c.on_timeout = 'wait' then null else v_verdict end,
      settled_at = case when v_verdict = 'timeout' and c.on_timeout = 'wait' then null else v_now end
  where c.tenant_id = p_tenant and c.job_id = p_job;
  perform windlass._record(
    p_tenant, 'cluster.' || v_verdict, p_job, v_warning, 'windlass',
    jsonb_build_object('done', v_done, 'needed', v_job.needed, 'parts', v_job.parts, 'policy', v_job.on_timeout));
  if v_verdict = 'quorum' or v_job.on_timeout = 'proceed' then
    perform windlass._start_action(p_tenant, p_job);
  elsif v_verdict = 'impossible' or v_job.on_timeout = 'fail' then
    perform windlass._end_without_action(p_tenant, p_job, v_warning);
  end if;
end
$$;
comment on function windlass._settle_cluster_job is 'Decide what follows the parts of a job, once that can be decided.';
