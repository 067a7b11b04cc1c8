-- Park a job that was put off: no time brings it into line any more, only whoever knows what it waits for.  The time asked
-- for is forgotten, so that none is shown.  The caller has just written the job, or holds its row.
-- definer: none
create function windlass._park_job(p_tenant uuid, p_job uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  update windlass_data.scheduled as s
  set run_at = 'infinity'
  where s.tenant_id = p_tenant and s.job_id = p_job;
  update windlass_data.job as j
  set run_at = null
  where j.tenant_id = p_tenant and j.id = p_job;
end
$$;
comment on function windlass._park_job(uuid, uuid) is 'Park a job that was put off.';
