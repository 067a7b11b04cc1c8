-- How many attempts these jobs of a day have, counted up to p_limit.
-- definer: engine
create function windlass._kept_attempts(p_day date, p_tenants uuid[], p_jobs uuid[], p_limit integer) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_count bigint;
begin
  execute format($query$
    select count(*) from (
      select from unnest($1, $2) as k(tenant_id, job_id)
      join windlass_data.%I as a on a.tenant_id = k.tenant_id and a.job_id = k.job_id
      limit $3
    ) as found
  $query$, to_char(p_day, '"attempt_"YYYYMMDD')) into v_count using p_tenants, p_jobs, p_limit;
  return v_count;
end
$$;
comment on function windlass._kept_attempts is 'How many attempts these jobs of a day have.';
