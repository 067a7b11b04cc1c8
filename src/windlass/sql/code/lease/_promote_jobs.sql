-- Put scheduled jobs that are due into line, in the order in which they fell due, about p_limit of them; p_from: the
-- caller knows that nothing was due before it.
--
-- Where more are due than that, each lane that has some gives its share: one tenant's flood holds up no other's job.
-- A new place in line each time: it lies behind everything that waits in its lane.  Locked rows are passed over
-- (their holder is moving or cancelling the job), so this never waits and never deadlocks.
-- definer: none
create function windlass._promote_jobs(p_limit integer, p_from timestamptz default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_sort = off  -- whatever the statistics say, walk the index by time and not by lane
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_from timestamptz := coalesce(p_from, '-infinity');
  v_bound uuid := windlass_data.bound_tenant();  -- such a session touches no other tenant's jobs
  v_due integer;
  v_lanes integer[];
  v_share integer;
  v_keyed boolean := exists (select from windlass_data.key_line as k where not k.held);
begin
  if v_keyed then
    perform windlass._park_due_keys(p_limit, v_from, v_now);
  end if;
  if exists (select from windlass_data.key_check) then
    perform windlass._call_keys(p_limit);
  end if;
  select array_agg(distinct d.lane_id), count(*) into v_lanes, v_due
  from (
    select s.lane_id from windlass_data.scheduled as s
    where s.run_at <= v_now and s.run_at >= v_from and (v_bound is null or s.tenant_id = v_bound)
    order by s.run_at limit p_limit) as d;
  if v_lanes is null then
    return;
  elsif v_due = p_limit then
    v_lanes := windlass._due_lanes(v_now);
  end if;
  v_share := ceil(p_limit::numeric / cardinality(v_lanes));

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
      where s.lane_id = l.id and s.run_at <= v_now and s.run_at >= v_from and (v_bound is null or s.tenant_id = v_bound)
        and not (v_keyed and exists (
          select from windlass_data.key_line as k where k.tenant_id = s.tenant_id and k.job_id = s.job_id and not k.held))
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
  ), lined_up as (
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    select p.lane_id, p.seq, p.tenant_id, p.job_id, p.version, p.counted from placed as p
  )
  select array_agg(distinct p.lane_id) into v_lanes from placed as p;
  if v_lanes is not null then
    perform windlass._note_work(v_lanes);
  end if;
end
$$;
comment on function windlass._promote_jobs is 'Put scheduled jobs that are due into line.';
