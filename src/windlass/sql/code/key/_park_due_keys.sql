-- Put scheduled jobs that are due into the lines of their keys, where their turn has not come yet.
-- definer: none
create function windlass._park_due_keys(p_limit integer, p_from timestamptz, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();  -- such a session touches no other tenant's jobs
begin
  with due as materialized (
    select s.tenant_id, s.job_id, s.run_at
    from windlass_data.scheduled as s
    cross join lateral (
      select from windlass_data.key_line as k
      where k.tenant_id = s.tenant_id and k.job_id = s.job_id and not k.held
      offset 0
    ) as k
    where s.run_at <= p_now and s.run_at >= p_from and (v_bound is null or s.tenant_id = v_bound)
    order by s.run_at
    limit p_limit
    for update of s skip locked
  ), parked as (
    update windlass_data.scheduled as s set run_at = 'infinity'
    from due as d where s.tenant_id = d.tenant_id and s.job_id = d.job_id
  ), placed as (
    update windlass_data.key_line as k set place = d.place
    from (select d.*, nextval('windlass_data.ready_seq') as place from (select d.* from due as d order by d.run_at) as d) as d
    where k.tenant_id = d.tenant_id and k.job_id = d.job_id
    returning k.tenant_id, k.kind, k.key
  )
  insert into windlass_data.key_check (tenant_id, kind, key) select distinct p.* from placed as p;
end
$$;
comment on function windlass._park_due_keys is 'Put scheduled jobs that are due into the lines of their keys.';
