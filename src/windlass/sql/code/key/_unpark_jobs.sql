-- Put parked jobs into line, at the back of their lanes in the order given; returns the lanes.  A job that somebody holds
-- (to cancel it, say) or that is parked no more is passed over.
-- definer: none
create function windlass._unpark_jobs(p_tenants uuid[], p_jobs uuid[]) returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lanes integer[];
begin
  with free as materialized (
    select s.tenant_id, s.job_id, n.place
    from unnest(p_tenants, p_jobs) with ordinality as n(tenant_id, job_id, place)
    cross join lateral (
      select s.tenant_id, s.job_id from windlass_data.scheduled as s
      cross join lateral (
        select from windlass_data.job as j where j.tenant_id = s.tenant_id and j.id = s.job_id
        for no key update skip locked
      ) as j
      where s.tenant_id = n.tenant_id and s.job_id = n.job_id and s.run_at = 'infinity'
      for update of s skip locked
    ) as s
  ), left_park as (
    delete from windlass_data.scheduled as s using free as f
    where s.tenant_id = f.tenant_id and s.job_id = f.job_id
    returning s.*, f.place
  ), placed as materialized (
    select p.*, nextval('windlass_data.ready_seq') as seq from (select p.* from left_park as p order by p.place) as p
  ), noted as (
    update windlass_data.job as j set seq = p.seq from placed as p where j.tenant_id = p.tenant_id and j.id = p.job_id
  ), lined_up as (
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    select p.lane_id, p.seq, p.tenant_id, p.job_id, p.version, p.counted from placed as p
  )
  select array_agg(distinct p.lane_id) into v_lanes from placed as p;
  return v_lanes;
end
$$;
comment on function windlass._unpark_jobs is 'Put parked jobs into line.';
