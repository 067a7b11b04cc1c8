-- Copy these jobs and their attempts out of a day's tables, which are detached already, to where their ids now belong.
-- definer: engine
create function windlass._move_kept(p_day date, p_tenants uuid[], p_jobs uuid[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  execute format($query$
    insert into windlass_data.job
    select j.*
    from unnest($1, $2) as k(tenant_id, job_id)
    join windlass_data.%I as j on j.tenant_id = k.tenant_id and j.id = k.job_id
  $query$, to_char(p_day, '"job_"YYYYMMDD')) using p_tenants, p_jobs;
  execute format($query$
    insert into windlass_data.attempt
    select a.*
    from unnest($1, $2) as k(tenant_id, job_id)
    join windlass_data.%I as a on a.tenant_id = k.tenant_id and a.job_id = k.job_id
  $query$, to_char(p_day, '"attempt_"YYYYMMDD')) using p_tenants, p_jobs;
end
$$;
comment on function windlass._move_kept is 'Copy the jobs that outlive their day out of its tables.';
