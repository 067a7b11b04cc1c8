-- Put parked jobs into line, at the back of their lanes in the order given; returns the lanes.  A job that somebody holds
-- (to cancel it, say) or that is parked no more is passed over.
-- definer: none
create function windlass._unpark_jobs(p_tenants uuid[], p_jobs uuid[]) returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parked record;
begin
  select array_agg(s.tenant_id order by n.place) as tenants, array_agg(s.job_id order by n.place) as jobs into v_parked
  from unnest(p_tenants, p_jobs) with ordinality as n(tenant_id, job_id, place)
  cross join lateral (
    select s.tenant_id, s.job_id from windlass_data.scheduled as s
    where s.tenant_id = n.tenant_id and s.job_id = n.job_id and s.run_at = 'infinity'
    for update of s skip locked
  ) as s;
  return (select l.lanes from windlass._line_up(v_parked.tenants, v_parked.jobs) as l);
end
$$;
comment on function windlass._unpark_jobs is 'Put parked jobs into line.';
