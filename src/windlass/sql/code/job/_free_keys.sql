-- Give up the idempotency keys of a day's jobs, up to p_limit of them, except those of the jobs named.
--
-- A key that somebody is taking over at this moment is passed over; should it stay behind, it is free all the same.
-- definer: engine
create function windlass._free_keys(p_day date, p_tenants uuid[], p_jobs uuid[], p_limit integer) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_count integer;
begin
  with spare as materialized (
    select k.tid
    from windlass_data.tenant as t
    cross join lateral (
      select k.ctid as tid
      from windlass_data.idempotency_key as k
      where k.tenant_id = t.id
        and k.job_id >= windlass_data.first_id(p_day::timestamp at time zone 'UTC')
        and k.job_id < windlass_data.first_id((p_day + 1)::timestamp at time zone 'UTC')
        and (k.tenant_id, k.job_id) not in (
          select u.tenant_id, u.job_id from unnest(p_tenants, p_jobs) as u(tenant_id, job_id))
      limit p_limit
      for update skip locked
    ) as k
    limit p_limit
  )
  delete from windlass_data.idempotency_key as k where k.ctid = any (array(select s.tid from spare as s));
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
comment on function windlass._free_keys is 'Give up the idempotency keys of a day.';
