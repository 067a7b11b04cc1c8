-- Stop a redrive: from the commit on it revives nothing more.  What it has revived stays so.  Returns its outcome: that of a
-- redrive which has ended already is left as it is.
--
-- Waits for the slice under way, if there is one, then cancels the job.
-- definer: owner
-- grant: operator
create function windlass.stop_redrive(p_tenant uuid, p_job uuid, p_reason text default null, p_actor text default null)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_outcome text;
begin
  perform windlass._check_said(p_reason, p_actor);
  -- The job before the redrive, as everywhere: a slice under way holds the lease, for which a word about the job waits.
  perform from windlass_data.job as j where j.tenant_id = p_tenant and j.id = p_job for no key update;
  select r.outcome into v_outcome from windlass_data.redrive as r
  where r.tenant_id = p_tenant and r.id = p_job
  for no key update;
  if not found then
    raise exception 'there is no redrive %', p_job using errcode = 'WL001';
  elsif v_outcome is null then
    v_outcome := 'stopped';
    perform windlass._end_redrive(
      p_tenant, p_job, format('stopped by %s', windlass._actor(p_actor)), p_reason, p_actor);
    if exists (
      select from windlass._describe_jobs(p_tenant, array[p_job]) as d where d.state in ('queued', 'running')
    ) then
      perform windlass.cancel_job(p_tenant, p_job, p_reason, p_actor);
    end if;
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
  return v_outcome;
end
$$;
comment on function windlass.stop_redrive is 'Stop a redrive; what it has revived stays so.';
