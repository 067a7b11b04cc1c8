-- Give up the idempotency keys of a day's jobs, up to p_limit of them, except those of jobs that outlive the day.
--
-- p_tenants and p_jobs are those that the caller saw to outlive it.  A redrive may revive another one since then, but not
-- without writing to its key: so once the keys are held here, one more look says whose they are, and a redrive that
-- comes later finds its key gone and takes it again.  A key that somebody is taking over at this moment is passed over;
-- should it stay behind, it is free all the same.
-- definer: engine
create function windlass._free_keys(p_day date, p_before jsonb, p_tenants uuid[], p_jobs uuid[], p_limit integer)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_first date := windlass._first_day(p_day);
  v_held tid[];
  v_count integer := 0;
begin
  v_held := array(
    select k.tid
    from windlass_data.tenant as t
    cross join lateral (
      select k.ctid as tid
      from windlass_data.idempotency_key as k
      where k.tenant_id = t.id
        and k.job_id >= windlass_data.first_id(v_first::timestamp at time zone 'UTC')
        and k.job_id < windlass_data.first_id((p_day + 1)::timestamp at time zone 'UTC')
        and (k.tenant_id, k.job_id) not in (
          select u.tenant_id, u.job_id from unnest(p_tenants, p_jobs) as u(tenant_id, job_id))
      limit p_limit
      for update skip locked
    ) as k
    limit p_limit);
  if cardinality(v_held) > 0 then
    delete from windlass_data.idempotency_key as k
    where k.ctid = any (v_held)
      and (k.tenant_id, k.job_id) not in (
        select j.tenant_id, j.job_id from windlass._kept_jobs(p_day, p_before, null) as j);
    get diagnostics v_count = row_count;
  end if;
  return v_count;
end
$$;
comment on function windlass._free_keys is 'Give up the idempotency keys of a day.';
