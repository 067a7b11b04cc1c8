-- Put scheduled jobs of these lanes that are due into line, in the order in which they fell due; about p_limit in all,
-- and of each lane that has some.
--
-- A new place in line each time: it lies behind everything that waits in its lane.  Locked rows are passed over
-- (their holder is moving or cancelling the job), so this never waits and never deadlocks.
-- definer: none
create function windlass._promote_jobs(p_lanes integer[], p_limit integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_lanes integer[];
  v_share integer;
begin
  if not exists (select from windlass_data.scheduled as s where s.run_at <= v_now) then
    return;
  end if;
  v_lanes := array(
    select l.id from unnest(p_lanes) as l(id)
    cross join lateral (
      select from windlass_data.scheduled as s where s.lane_id = l.id and s.run_at <= v_now limit 1) as due
    order by random()
    limit p_limit);
  v_share := ceil(p_limit::numeric / greatest(cardinality(v_lanes), 1));

  with due as materialized (
    select s.tid
    from unnest(v_lanes) as l(id)
    cross join lateral (
      select s.ctid as tid
      from windlass_data.scheduled as s
      cross join lateral (
        select from windlass_data.job as j
        where j.tenant_id = s.tenant_id and j.id = s.job_id
        for no key update skip locked
      ) as j
      where s.lane_id = l.id and s.run_at <= v_now
      order by s.run_at
      limit v_share
      for update of s skip locked
    ) as s
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
end
$$;
comment on function windlass._promote_jobs is 'Put scheduled jobs that are due into line.';
