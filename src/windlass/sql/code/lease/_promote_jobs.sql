-- Put scheduled jobs that are due into line, in the order in which they fell due.
--
-- A new place in line each time: it lies behind everything that waits in its lane.  Locked rows are passed over
-- (their holder is moving or cancelling the job), so this never waits and never deadlocks.
-- definer: none
create function windlass._promote_jobs(p_limit integer) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_bound uuid;
  v_count integer;
begin
  if not exists (select from windlass_data.scheduled as s where s.run_at <= v_now) then
    return 0;
  end if;
  v_bound := windlass_data.bound_tenant();
  with due as materialized (
    select s.ctid as tid
    from windlass_data.scheduled as s
    cross join lateral (
      select from windlass_data.job as j
      where j.tenant_id = s.tenant_id and j.id = s.job_id
      for no key update skip locked
    ) as j
    where s.run_at <= v_now and (v_bound is null or s.tenant_id = v_bound)
    order by s.run_at
    limit p_limit
    for update of s skip locked
  ), moved as (
    delete from windlass_data.scheduled as s
    where s.ctid = any (array(select d.tid from due as d))
    returning s.*
  ), placed as materialized (
    select m.*, nextval('windlass_data.ready_seq') as seq
    from (select m.* from moved as m order by m.run_at, m.job_id) as m
  ), noted as (
    update windlass_data.job as j
    set seq = p.seq
    from placed as p
    where j.tenant_id = p.tenant_id and j.id = p.job_id
  )
  insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
  select p.lane_id, p.seq, p.tenant_id, p.job_id, p.version, p.counted from placed as p;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
comment on function windlass._promote_jobs(integer) is 'Put scheduled jobs that are due into line.';
